// Element types and the promotion rules between them.
//
// A dtype is *weak* if it came from a bare C++ number. A weak dtype yields to a strong one of the
// same or a higher kind, so `x + 1.5` keeps the dtype of a float array `x`. 64-bit types are always
// available; defaults are 32-bit.
#pragma once

#include <tessera/config.h>
#include <tessera/detail/complex_fwd.h>

#include <bit>
#include <cstdint>
#include <iosfwd>
#include <string>
#include <string_view>
#include <type_traits>

namespace tessera::inline v0 {

/// The element types of arrays. An enumerator has the name of NumPy's dtype, except for `boolean`:
/// int8, int16, int32, int64, uint8, uint16, uint32, uint64, float16, bfloat16, float32, float64,
/// complex64 and complex128.
enum class DType : std::uint8_t {
  boolean,
  int8,
  int16,
  int32,
  int64,
  uint8,
  uint16,
  uint32,
  uint64,
  float16,
  bfloat16,
  float32,
  float64,
  complex64,
  complex128,
};

// The dtypes under their short names and NumPy's names.
/// Booleans, one byte each.
inline constexpr DType bool_ = DType::boolean;
/// 8-bit signed integers.
inline constexpr DType i8 = DType::int8;
/// 16-bit signed integers.
inline constexpr DType i16 = DType::int16;
/// 32-bit signed integers, the default for bare C++ integers.
inline constexpr DType i32 = DType::int32;
/// 64-bit signed integers.
inline constexpr DType i64 = DType::int64;
/// 8-bit unsigned integers.
inline constexpr DType u8 = DType::uint8;
/// 16-bit unsigned integers.
inline constexpr DType u16 = DType::uint16;
/// 32-bit unsigned integers.
inline constexpr DType u32 = DType::uint32;
/// 64-bit unsigned integers.
inline constexpr DType u64 = DType::uint64;
/// IEEE half precision: 11 bits of precision, up to 65504.
inline constexpr DType f16 = DType::float16;
/// The upper half of a float32: 8 bits of precision, with the range of float32.
inline constexpr DType bf16 = DType::bfloat16;
/// IEEE single precision, the default for bare C++ floats.
inline constexpr DType f32 = DType::float32;
/// IEEE double precision.
inline constexpr DType f64 = DType::float64;
/// Complex numbers of two float32.
inline constexpr DType c64 = DType::complex64;
/// Complex numbers of two float64.
inline constexpr DType c128 = DType::complex128;
/// 8-bit signed integers, as i8.
inline constexpr DType int8 = DType::int8;
/// 16-bit signed integers, as i16.
inline constexpr DType int16 = DType::int16;
/// 32-bit signed integers, as i32.
inline constexpr DType int32 = DType::int32;
/// 64-bit signed integers, as i64.
inline constexpr DType int64 = DType::int64;
/// 8-bit unsigned integers, as u8.
inline constexpr DType uint8 = DType::uint8;
/// 16-bit unsigned integers, as u16.
inline constexpr DType uint16 = DType::uint16;
/// 32-bit unsigned integers, as u32.
inline constexpr DType uint32 = DType::uint32;
/// 64-bit unsigned integers, as u64.
inline constexpr DType uint64 = DType::uint64;
/// IEEE half precision, as f16.
inline constexpr DType float16 = DType::float16;
/// The upper half of a float32, as bf16.
inline constexpr DType bfloat16 = DType::bfloat16;
/// IEEE single precision, as f32.
inline constexpr DType float32 = DType::float32;
/// IEEE double precision, as f64.
inline constexpr DType float64 = DType::float64;
/// Complex numbers of two float32, as c64.
inline constexpr DType complex64 = DType::complex64;
/// Complex numbers of two float64, as c128.
inline constexpr DType complex128 = DType::complex128;
/// The number of dtypes.
inline constexpr int kDTypeCount = 15;

/// is_floating covers real floats only; is_inexact also covers complex numbers.
constexpr bool is_floating(DType d) { return d >= DType::float16 && d <= DType::float64; }
/// Whether the dtype is complex64 or complex128.
constexpr bool is_complex(DType d) { return d >= DType::complex64; }
/// Whether the dtype is a real or a complex float.
constexpr bool is_inexact(DType d) { return d >= DType::float16; }
/// Whether values of this dtype have derivatives.
constexpr bool is_differentiable(DType d) { return is_inexact(d); }
/// Whether the dtype is an integer from int8 to int64.
constexpr bool is_signed_integer(DType d) { return d >= DType::int8 && d <= DType::int64; }
/// Whether the dtype is an integer from uint8 to uint64.
constexpr bool is_unsigned_integer(DType d) { return d >= DType::uint8 && d <= DType::uint64; }
/// Whether the dtype is a signed or an unsigned integer; boolean is not.
constexpr bool is_integer(DType d) { return d >= DType::int8 && d <= DType::uint64; }

/// The size of one element in bytes.
constexpr int size_of(DType d) {
  switch (d) {
    case DType::boolean:
    case DType::int8:
    case DType::uint8: return 1;
    case DType::int16:
    case DType::uint16:
    case DType::float16:
    case DType::bfloat16: return 2;
    case DType::int32:
    case DType::uint32:
    case DType::float32: return 4;
    case DType::int64:
    case DType::uint64:
    case DType::float64:
    case DType::complex64: return 8;
    case DType::complex128: return 16;
  }
  return 0;
}

/// The dtype of the real and imaginary parts; a real dtype is its own.
constexpr DType real_dtype(DType d) {
  return d == DType::complex64 ? DType::float32 : d == DType::complex128 ? DType::float64 : d;
}
/// The complex dtype for numbers of dtype `d`: complex128 for float64 and for integers that need
/// its precision, else complex64.
constexpr DType complex_dtype(DType d) {
  return d == DType::float64 || d == DType::int64 || d == DType::uint64 || d == DType::complex128
             ? DType::complex128
             : DType::complex64;
}

/// NumPy's name: "bool", "int32", "bfloat16", "float32", ...
TESSERA_API std::string_view name_of(DType d);
/// The short name used in printed programs and types: "bool", "i32", "bf16", "f32", ...
TESSERA_API std::string_view short_name_of(DType d);
/// Same as name_of.
TESSERA_API std::string to_string(DType d);
TESSERA_API std::ostream& operator<<(std::ostream& out, DType d);

/// A dtype, and whether it is weak, that is, whether it came from a bare C++ number.
struct Promoted {
  DType dtype;
  bool weak;
  bool operator==(const Promoted&) const = default;
};

/// The least upper bound of two (dtype, weak) pairs in the promotion lattice of JAX (64-bit types
/// enabled). Booleans are never weak. The weak integer is int32, the weak float float32, the weak
/// complex number complex64.
TESSERA_API Promoted promote(DType a, bool a_weak, DType b, bool b_weak);

/// IEEE binary16, for storage and conversion; arithmetic goes through float.
struct float16_t {
  /// The bits of the IEEE format.
  std::uint16_t bits = 0;
  float16_t() = default;
  TESSERA_API explicit float16_t(float value);
  TESSERA_API explicit operator float() const;
  bool operator==(const float16_t& o) const { return float(*this) == float(o); }
};

/// The upper half of a float32, for storage and conversion; arithmetic goes through float. Rounds
/// to nearest even.
struct bfloat16_t {
  /// The upper 16 bits of the float32.
  std::uint16_t bits = 0;
  bfloat16_t() = default;
  explicit bfloat16_t(float value) {
    std::uint32_t u = std::bit_cast<std::uint32_t>(value);
    if ((u & 0x7fffffffu) > 0x7f800000u) {
      bits = static_cast<std::uint16_t>((u >> 16) | 0x40u);  // keep a NaN a NaN
      return;
    }
    u += 0x7fffu + ((u >> 16) & 1u);
    bits = static_cast<std::uint16_t>(u >> 16);
  }
  explicit operator float() const {
    return std::bit_cast<float>(static_cast<std::uint32_t>(bits) << 16);
  }
  bool operator==(const bfloat16_t& o) const { return float(*this) == float(o); }
};

namespace detail {
template <class T, class... U>
inline constexpr bool is_one_of = (std::is_same_v<T, U> || ...);

/// std::complex<T> for code that is compiled once F is known, when the type may be complete.
template <class F, class T>
struct ComplexFor {
  using type = std::complex<T>;
};
}  // namespace detail

/// C++ types of complex elements.
template <class T>
inline constexpr bool is_complex_v =
    detail::is_one_of<T, std::complex<float>, std::complex<double>>;

/// The C++ types of array elements. long long counts as int64_t on platforms where int64_t is long.
template <class T>
concept Element = detail::is_one_of<T, bool, std::int8_t, std::int16_t, std::int32_t, std::int64_t,
                                    std::uint8_t, std::uint16_t, std::uint32_t, std::uint64_t,
                                    long long, unsigned long long, float16_t, bfloat16_t, float,
                                    double, std::complex<float>, std::complex<double>>;

/// The dtype whose elements have the C++ type T.
template <Element T>
constexpr DType dtype_of() {
  if constexpr (std::is_same_v<T, bool>) return DType::boolean;
  if constexpr (std::is_same_v<T, std::int8_t>) return DType::int8;
  if constexpr (std::is_same_v<T, std::int16_t>) return DType::int16;
  if constexpr (std::is_same_v<T, std::int32_t>) return DType::int32;
  if constexpr (detail::is_one_of<T, std::int64_t, long long>) return DType::int64;
  if constexpr (std::is_same_v<T, std::uint8_t>) return DType::uint8;
  if constexpr (std::is_same_v<T, std::uint16_t>) return DType::uint16;
  if constexpr (std::is_same_v<T, std::uint32_t>) return DType::uint32;
  if constexpr (detail::is_one_of<T, std::uint64_t, unsigned long long>) return DType::uint64;
  if constexpr (std::is_same_v<T, float16_t>) return DType::float16;
  if constexpr (std::is_same_v<T, bfloat16_t>) return DType::bfloat16;
  if constexpr (std::is_same_v<T, float>) return DType::float32;
  if constexpr (std::is_same_v<T, double>) return DType::float64;
  if constexpr (std::is_same_v<T, std::complex<float>>) return DType::complex64;
  if constexpr (std::is_same_v<T, std::complex<double>>) return DType::complex128;
}

/// Calls `f(T{})` with the C++ type that stores `d`, which is not complex: callers have rejected
/// complex dtypes (comparison, fractions).
template <class F>
decltype(auto) dispatch_real(DType d, F&& f) {
  switch (d) {
    case DType::boolean: return f(bool{});
    case DType::int8: return f(std::int8_t{});
    case DType::int16: return f(std::int16_t{});
    case DType::int32: return f(std::int32_t{});
    case DType::int64: return f(std::int64_t{});
    case DType::uint8: return f(std::uint8_t{});
    case DType::uint16: return f(std::uint16_t{});
    case DType::uint32: return f(std::uint32_t{});
    case DType::uint64: return f(std::uint64_t{});
    case DType::float16: return f(float16_t{});
    case DType::bfloat16: return f(bfloat16_t{});
    case DType::float32: return f(float{});
    case DType::float64:
    case DType::complex64:
    case DType::complex128: break;
  }
  return f(double{});
}

/// The same for all dtypes. Callers include <complex>.
template <class F>
decltype(auto) dispatch(DType d, F&& f) {
  if (d == DType::complex64) return f(typename detail::ComplexFor<F, float>::type{});
  if (d == DType::complex128) return f(typename detail::ComplexFor<F, double>::type{});
  return dispatch_real(d, f);
}

}  // namespace tessera::inline v0
