// The element order that sort and top_k share.
#pragma once

#include "ir/op.h"

#include <tessera/dtype.h>

#include <bit>
#include <cmath>
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

/// Maps x to an unsigned integer with the order of the sort: NaN comes last and equals NaN, -0
/// equals 0.
template <class T>
auto ordered(T x) {
  if constexpr (std::is_same_v<T, bool>) {
    return static_cast<std::uint8_t>(x);
  } else if constexpr (std::is_same_v<T, float16_t> || std::is_same_v<T, bfloat16_t>) {
    constexpr auto kSign = std::uint16_t{0x8000};
    auto f = static_cast<float>(x);
    if (std::isnan(f)) return std::numeric_limits<std::uint16_t>::max();
    std::uint16_t bits = f == 0 ? std::uint16_t{0} : x.bits;
    return static_cast<std::uint16_t>(bits & kSign ? ~bits : bits | kSign);
  } else if constexpr (std::is_floating_point_v<T>) {
    using U = std::conditional_t<sizeof(T) == 4, std::uint32_t, std::uint64_t>;
    constexpr U kSign = U{1} << (8 * sizeof(U) - 1);
    if (std::isnan(x)) return std::numeric_limits<U>::max();
    U bits = std::bit_cast<U>(x == 0 ? T{0} : x);
    return static_cast<U>(bits & kSign ? ~bits : bits | kSign);
  } else {
    using U = std::make_unsigned_t<T>;
    constexpr U kFlip = std::is_signed_v<T> ? static_cast<U>(U{1} << (8 * sizeof(U) - 1)) : U{0};
    return static_cast<U>(static_cast<U>(x) ^ kFlip);
  }
}

}  // namespace tessera::inline v0::ops
