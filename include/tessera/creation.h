// Creation of arrays. Negative extents and counts throw ShapeError.
#pragma once

#include <tessera/array.h>
#include <tessera/detail/braces.h>

#include <string>

namespace tessera::inline v0 {

namespace detail {
/// A number or a braced list of them, for array({{1, 2}, {3, 4}}).
struct Nested {
  template <class T>
  requires std::is_arithmetic_v<T> Nested(T v)
      : kind(std::is_same_v<T, bool>       ? kBoolean
             : std::is_floating_point_v<T> ? kReal
                                           : kInteger),
        integer(std::is_integral_v<T> ? static_cast<std::int64_t>(v) : 0),
        past_int64(std::is_unsigned_v<T> && integer < 0),
        real(static_cast<double>(v)) {}
  template <class T>
  Nested(std::complex<T> v)
      : kind(kComplex), real(static_cast<double>(v.real())), imag(static_cast<double>(v.imag())) {}
  TESSERA_API Nested(std::initializer_list<Nested> v);
  TESSERA_API Nested(const Nested&);
  TESSERA_API ~Nested();
  static constexpr int kBoolean = 0, kInteger = 1, kReal = 2, kComplex = 3, kList = 4;
  int kind;
  std::int64_t integer = 0;
  bool past_int64 = false;  // `integer` holds the bits of a uint64 beyond int64
  double real = 0, imag = 0;
  std::vector<Nested> rows;
};
[[noreturn]] TESSERA_API void ragged_rows(std::size_t first, std::size_t other,
                                          std::source_location loc);
}  // namespace detail

/// Makes an array from nested braces: array({{1, 2}, {3, 4}}) is int32 of shape (2, 2) (int64 if a
/// value needs it), array({1.5, 2}) float32, array({true}) bool; it is complex64 if a number is
/// complex. `dtype` overrides this. Throws ShapeError if rows differ in length, and DTypeError for
/// a value that the dtype cannot hold.
TESSERA_API Array array(std::initializer_list<detail::Nested> values,
                        std::optional<DType> dtype = {},
                        std::source_location loc = std::source_location::current());
/// Makes a strongly typed array from a number, an array or a vector.
TESSERA_API Array array(Operand value, std::optional<DType> dtype = {});
template <Element T>
Array array(const std::vector<T>& values, std::optional<DType> dtype = {}) {
  Array a(values);
  return dtype ? a.astype(*dtype) : a;
}
/// Makes a matrix from rows of equal length.
template <Element T>
Array array(const std::vector<std::vector<T>>& rows,
            std::source_location loc = std::source_location::current()) {
  std::vector<T> flat;
  for (const auto& r : rows) {
    if (r.size() != rows[0].size()) detail::ragged_rows(rows[0].size(), r.size(), loc);
    flat.insert(flat.end(), r.begin(), r.end());
  }
  return Array(flat).reshape(Shape{rows.size(), rows.empty() ? 0 : rows[0].size()});
}

/// An array of zeros.
TESSERA_API Array zeros(const Shape& shape, DType dtype = DType::float32,
                        std::source_location loc = std::source_location::current());
/// An array of ones.
TESSERA_API Array ones(const Shape& shape, DType dtype = DType::float32,
                       std::source_location loc = std::source_location::current());
TESSERA_SHAPE_IN_BRACES_(zeros, "zeros({2, 3})");
TESSERA_SHAPE_IN_BRACES_(ones, "ones({2, 3})");
/// An array filled with `value`, by default in its own dtype (int32 or float32 for bare numbers).
TESSERA_API Array full(const Shape& shape, Operand value, std::optional<DType> dtype = {});
/// Zeros with the shape and dtype of x.
TESSERA_API Array zeros_like(Operand x);
/// Ones with the shape and dtype of x.
TESSERA_API Array ones_like(Operand x);
/// An array with the shape and dtype of x in which every element is `value`.
TESSERA_API Array full_like(Operand x, Operand value);

namespace detail {
// start, start + step, ... below stop; for floats the count is computed in double. Without a dtype
// integers give int32 (int64 or uint64 if a value needs it), floats float32.
TESSERA_API Array arange(double start, double stop, double step, std::optional<DType> dtype,
                         std::source_location loc);
struct Whole {
  std::int64_t integer = 0;
  bool past_int64 = false;  // `integer` holds the bits of a uint64 beyond int64
  template <std::integral I>
  Whole(I v)
      : integer(static_cast<std::int64_t>(v)), past_int64(std::is_unsigned_v<I> && integer < 0) {}
};
TESSERA_API Array arange_integers(Whole start, Whole stop, Whole step, std::optional<DType> dtype,
                                  std::source_location loc);
template <class T, class U, class S>
Array arange_of(T start, U stop, S step, std::optional<DType> dtype, std::source_location loc) {
  if constexpr (std::is_integral_v<T> && std::is_integral_v<U> && std::is_integral_v<S>)
    return arange_integers(start, stop, step, dtype, loc);
  else
    return arange(static_cast<double>(start), static_cast<double>(stop), static_cast<double>(step),
                  dtype, loc);
}
}  // namespace detail

/// 0, 1, ..., below stop: arange(0, stop, 1).
template <class T>
requires std::is_arithmetic_v<T> Array
arange(T stop, std::optional<DType> dtype = {},
       std::source_location loc = std::source_location::current()) {
  return detail::arange_of(0, stop, 1, dtype, loc);
}
/// start, start + step, ... before stop. Without a dtype integers give int32 (int64 if a value
/// needs it), floats float32. Throws DTypeError if the dtype cannot hold the values, and ShapeError
/// for a step of 0, an infinite bound, or more than 2^50 values.
template <class T, class U, class S = int>
requires(std::is_arithmetic_v<T>&& std::is_arithmetic_v<U>&& std::is_arithmetic_v<S>) Array
    arange(T start, U stop, S step = S(1), std::optional<DType> dtype = {},
           std::source_location loc = std::source_location::current()) {
  return detail::arange_of(start, stop, step, dtype, loc);
}
/// `num` evenly spaced values from start to stop, including stop unless `endpoint` is false. For an
/// integer dtype they are rounded down. Throws DTypeError if the dtype cannot hold them.
TESSERA_API Array linspace(double start, double stop, std::int64_t num = 50, bool endpoint = true,
                           DType dtype = DType::float32,
                           std::source_location loc = std::source_location::current());
/// An n by m array (m = n by default) with ones on diagonal `k`.
TESSERA_API Array eye(std::int64_t n, std::optional<std::int64_t> m = {}, std::int64_t k = 0,
                      DType dtype = DType::float32,
                      std::source_location loc = std::source_location::current());

}  // namespace tessera::inline v0
