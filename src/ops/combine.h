// Combines two elements into one, for ops that fold elements in a given order: running totals and
// scatters.
#pragma once

#include "base/complex_math.h"
#include "base/message.h"
#include "ir/combiner.h"

#include <tessera/dtype.h>

#include <bit>
#include <complex>
#include <cstdint>
#include <string>
#include <type_traits>

namespace tessera::inline v0::ops {

/// The type in which running values of element type T are kept: float for 16-bit floats, else T.
template <class T>
using Total =
    std::conditional_t<std::is_same_v<T, float16_t> || std::is_same_v<T, bfloat16_t>, float, T>;

/// Whether the sign bit is set, also for zeros and NaN.
template <class T>
bool negative(T x) {
  using Bits = std::conditional_t<sizeof(T) == 8, std::int64_t, std::int32_t>;
  return std::bit_cast<Bits>(x) < 0;
}

/// Integers wrap. In min and max, NaN wins over everything and -0 is less than 0. For booleans min
/// is "and" and max is "or".
template <Combiner how, class T>
inline T combine(T old, T next) {
  if constexpr (how == Combiner::replace) {
    return next;
  } else if constexpr (is_complex_v<T>) {
    if (how == Combiner::add) return old + next;
    if (how == Combiner::mul) return times(old, next);
    throw InternalError("complex numbers have no order");
  } else if constexpr (!std::is_same_v<T, Total<T>>) {
    return T(combine<how>(static_cast<float>(old), static_cast<float>(next)));
  } else if constexpr (std::is_same_v<T, bool>) {
    return how == Combiner::max || how == Combiner::add ? old || next : old && next;
  } else if constexpr (how == Combiner::max || how == Combiner::min) {
    // Branch-free, so that loops over it vectorise.
    bool take = how == Combiner::max ? old < next : next < old;
    if constexpr (std::is_floating_point_v<T>) {
      const bool lower =
          how == Combiner::max ? negative(old) & !negative(next) : negative(next) & !negative(old);
      take = (take | ((old == next) & lower) | (next != next)) & (old == old);
    }
    return take ? next : old;
  } else if constexpr (std::is_integral_v<T>) {
    auto a = static_cast<std::uint64_t>(old), b = static_cast<std::uint64_t>(next);
    return static_cast<T>(how == Combiner::add ? a + b : a * b);
  } else {
    return how == Combiner::add ? old + next : old * next;
  }
}

/// Calls f(std::integral_constant<Combiner, how>{}).
template <class F>
decltype(auto) with_combine(Combiner how, F&& f) {
  switch (how) {
    case Combiner::replace: return f(std::integral_constant<Combiner, Combiner::replace>{});
    case Combiner::add: return f(std::integral_constant<Combiner, Combiner::add>{});
    case Combiner::mul: return f(std::integral_constant<Combiner, Combiner::mul>{});
    case Combiner::min: return f(std::integral_constant<Combiner, Combiner::min>{});
    case Combiner::max: return f(std::integral_constant<Combiner, Combiner::max>{});
    case Combiner::and_:
    case Combiner::or_: break;  // for booleans these are min and max
  }
  throw InternalError("elements are not combined by " + std::string(name_of(how)));
}

/// Calls f(std::integral_constant<Combiner, how>{}, T{}) with a type whose elements combine to the
/// same bits as those of `dtype`: replacing only moves bytes, and sums and products wrap alike for
/// signed and unsigned integers. So fewer loops are compiled than there are dtypes.
template <class F>
decltype(auto) with_combined(Combiner how, DType dtype, F&& f) {
  return with_combine(how, [&](auto h) -> decltype(auto) {
    const auto by_size = [&]() -> decltype(auto) {
      switch (size_of(dtype)) {
        case 1: return f(h, std::uint8_t{});
        case 2: return f(h, std::uint16_t{});
        case 4: return f(h, std::uint32_t{});
        default: return f(h, std::uint64_t{});
      }
    };
    if constexpr (h.value == Combiner::replace) {
      if (size_of(dtype) == 16) return f(h, std::complex<double>{});
      return by_size();
    } else if constexpr (h.value == Combiner::add || h.value == Combiner::mul) {
      switch (dtype) {
        case DType::boolean: return f(h, bool{});
        case DType::float16: return f(h, float16_t{});
        case DType::bfloat16: return f(h, bfloat16_t{});
        case DType::float32: return f(h, float{});
        case DType::float64: return f(h, double{});
        case DType::complex64: return f(h, std::complex<float>{});
        case DType::complex128: return f(h, std::complex<double>{});
        default: return by_size();
      }
    } else {
      if (is_complex(dtype)) throw InternalError("complex numbers have no order");
      return dispatch_real(dtype, [&](auto tag) -> decltype(auto) { return f(h, tag); });
    }
  });
}

}  // namespace tessera::inline v0::ops
