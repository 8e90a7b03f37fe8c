// Integer arithmetic defined for all operands, as in docs/ops.md: results wrap; x / 0 is -1 (all
// ones if unsigned) and x rem 0 is x; the smallest integer divided by -1 is itself; a shift by the
// width or more shifts everything out.
#pragma once

#include <concepts>
#include <cstdint>
#include <limits>
#include <type_traits>

namespace tessera::inline v0::ops {

// The low bits of 64-bit modular arithmetic are correct for every narrower type.
template <std::integral T>
constexpr std::uint64_t bits64(T v) {
  return static_cast<std::uint64_t>(static_cast<std::int64_t>(v));
}
template <std::integral T>
constexpr T wrap_add(T x, T y) {
  return static_cast<T>(bits64(x) + bits64(y));
}
template <std::integral T>
constexpr T wrap_sub(T x, T y) {
  return static_cast<T>(bits64(x) - bits64(y));
}
template <std::integral T>
constexpr T wrap_mul(T x, T y) {
  return static_cast<T>(bits64(x) * bits64(y));
}
template <std::integral T>
constexpr T wrap_neg(T x) {
  return static_cast<T>(-bits64(x));
}

template <std::integral T>
constexpr T defined_div(T x, T y) {
  if (y == 0) return static_cast<T>(~T(0));
  if constexpr (std::is_signed_v<T>)
    if (y == -1) return wrap_neg(x);
  return static_cast<T>(x / y);
}
template <std::integral T>
constexpr T defined_rem(T x, T y) {
  if (y == 0) return x;
  if constexpr (std::is_signed_v<T>)
    if (y == -1) return 0;
  return static_cast<T>(x % y);
}

/// The shift amount as an unsigned number, capped at the width; a negative amount counts as a large
/// one.
template <std::integral T>
constexpr int shift_amount(T y) {
  constexpr auto width = std::numeric_limits<std::make_unsigned_t<T>>::digits;
  auto amount = static_cast<std::make_unsigned_t<T>>(y);
  return amount < static_cast<unsigned>(width) ? static_cast<int>(amount) : width;
}
template <std::integral T>
constexpr T defined_shl(T x, T y) {
  int s = shift_amount(y);
  return s == std::numeric_limits<std::make_unsigned_t<T>>::digits ? T(0)
                                                                   : static_cast<T>(bits64(x) << s);
}
template <std::integral T>
constexpr T defined_shr_logical(T x, T y) {
  using U = std::make_unsigned_t<T>;
  int s = shift_amount(y);
  return s == std::numeric_limits<U>::digits ? T(0) : static_cast<T>(static_cast<U>(x) >> s);
}
template <std::integral T>
constexpr T defined_shr_arithmetic(T x, T y) {
  constexpr int width = std::numeric_limits<std::make_unsigned_t<T>>::digits;
  int s = shift_amount(y);
  auto wide = static_cast<std::make_signed_t<T>>(x);  // the top bit fills in, even if T is unsigned
  return static_cast<T>(wide >> (s == width ? width - 1 : s));
}

}  // namespace tessera::inline v0::ops
