// The element order that sort and top_k share.
#pragma once

#include "ir/op.h"

#include <tessera/dtype.h>

#include <bit>
#include <cstdint>
#include <limits>
#include <type_traits>

namespace tessera::inline v0::ops {

/// Throws the user's error for complex elements, which have no order.
inline void check_ordered(const InferArgs& a, const Type& x) {
  if (is_complex(x.dtype))
    Message(a.op.name)
        .problem("operands have dtype " + std::string(name_of(x.dtype)))
        .rule("operands are of a dtype with an order, which complex numbers lack")
        .from(a.loc)
        .advice("take a part of each element: real(x), imag(x) or abs(x)")
        .raise<DTypeError>();
}

/// The unsigned integers in whose order elements of a type are sorted.
template <class T>
struct Ordered {
  static constexpr bool is_float = !std::is_integral_v<T>;
  using Bits = std::conditional_t<
      sizeof(T) == 1, std::uint8_t,
      std::conditional_t<sizeof(T) == 2, std::uint16_t,
                         std::conditional_t<sizeof(T) == 4, std::uint32_t, std::uint64_t>>>;
  static constexpr int kBits = 8 * static_cast<int>(sizeof(T));
  static constexpr Bits kSign = static_cast<Bits>(Bits{1} << (kBits - 1));
  static constexpr Bits kLast = std::numeric_limits<Bits>::max();

  static Bits bits(T x) { return std::bit_cast<Bits>(x); }
  static constexpr Bits infinity() {
    if constexpr (std::is_same_v<T, float16_t>) return 0x7c00;
    if constexpr (std::is_same_v<T, bfloat16_t>) return 0x7f80;
    if constexpr (sizeof(T) == 4) return static_cast<Bits>(0x7f800000u);
    return static_cast<Bits>(0x7ff0000000000000ull);
  }
  /// The NaN that is made of kLast.
  static constexpr Bits quiet_nan() {
    return static_cast<Bits>(infinity() | (infinity() >> 1 & ~infinity()));
  }

  static Bits of(T x) {
    if constexpr (std::is_same_v<T, bool>) return static_cast<Bits>(x);
    const Bits b = bits(x);
    if constexpr (is_float) {
      const Bits magnitude = static_cast<Bits>(b & ~kSign);
      const Bits turned = static_cast<Bits>(b & kSign ? ~b : b | kSign);
      return magnitude > infinity() ? kLast : magnitude == 0 ? kSign : turned;
    }
    return static_cast<Bits>(b ^ (std::is_signed_v<T> ? kSign : Bits{0}));
  }
  /// An element with this number. Elements with equal numbers may differ if is_float; see exact().
  static T back(Bits key) {
    if constexpr (std::is_same_v<T, bool>) return key != 0;
    if constexpr (is_float) {
      const Bits b = static_cast<Bits>(key & kSign ? key ^ kSign : ~key);
      return std::bit_cast<T>(key == kLast ? quiet_nan() : b);
    }
    return std::bit_cast<T>(static_cast<Bits>(key ^ (std::is_signed_v<T> ? kSign : Bits{0})));
  }
  /// Whether back(of(x)) has the bits of x.
  static bool exact(T x) {
    if constexpr (!is_float) return true;
    const Bits b = bits(x), magnitude = static_cast<Bits>(b & ~kSign);
    return !((b == kSign) | ((magnitude > infinity()) & (b != quiet_nan())));
  }
};

/// Maps x to an unsigned integer with the order of the sort: NaN comes last and equals NaN, -0
/// equals 0.
template <class T>
auto ordered(T x) {
  return Ordered<T>::of(x);
}

}  // namespace tessera::inline v0::ops
