// Units in the last place of each floating-point type.
#pragma once

#include <tessera/tessera.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <type_traits>

namespace accuracy {

namespace ts = tessera;

// The properties of a floating-point type.
template <class T>
struct Format;
template <>
struct Format<float> {
  using Bits = std::uint32_t;
  static constexpr int precision = 24, least = -149, most = 128;
};
template <>
struct Format<double> {
  using Bits = std::uint64_t;
  static constexpr int precision = 53, least = -1074, most = 1024;
};
template <>
struct Format<ts::float16_t> {
  using Bits = std::uint16_t;
  static constexpr int precision = 11, least = -24, most = 16;
};
template <>
struct Format<ts::bfloat16_t> {
  using Bits = std::uint16_t;
  static constexpr int precision = 8, least = -133, most = 128;
};

template <class T>
using Wider = std::conditional_t<std::is_same_v<T, double>, long double, double>;
template <class T>
Wider<T> widened(T x) {
  if constexpr (std::is_floating_point_v<T>)
    return x;
  else
    return static_cast<float>(x);
}

// The error in units that are at least those of `least`; infinite if the result is of the wrong
// kind.
template <class T>
double ulps_between(T got_narrow, Wider<T> exact, double least) {
  using F = Format<T>;
  constexpr double wrong = std::numeric_limits<double>::infinity();
  const Wider<T> got = widened(got_narrow);
  if (std::isnan(exact) || std::isnan(got)) return std::isnan(exact) == std::isnan(got) ? 0 : wrong;
  if (exact == 0) return got == 0 && std::signbit(got) == std::signbit(exact) ? 0 : wrong;
  if (std::isinf(exact)) return got == exact ? 0 : wrong;
  // Beyond the range, an infinity stands for the next power of two above the largest number.
  const Wider<T> end = std::ldexp(Wider<T>(1), F::most);
  auto within = [&](Wider<T> v) { return std::clamp(v, -end, end); };
  int exponent;
  std::frexp(std::max(std::fabs(exact), Wider<T>(least)), &exponent);
  exponent = std::clamp(exponent - F::precision, F::least, F::most - F::precision);
  return static_cast<double>(std::ldexp(std::fabs(within(got) - within(exact)), -exponent));
}

}  // namespace accuracy
