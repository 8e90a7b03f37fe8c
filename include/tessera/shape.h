// The extents of an array.
#pragma once

#include <tessera/config.h>
#include <tessera/inline_vector.h>

#include <concepts>
#include <cstdint>
#include <iosfwd>
#include <span>
#include <string>
#include <type_traits>
#include <vector>

namespace tessera::inline v0 {

namespace detail {
/// A position, an axis or an extent as int64; what is larger than that stays larger than any
/// extent.
template <std::integral I>
constexpr std::int64_t as_position(I i) {
  if constexpr (std::is_unsigned_v<I> && sizeof(I) >= sizeof(std::int64_t))
    return i > static_cast<I>(INT64_MAX) ? INT64_MAX : static_cast<std::int64_t>(i);
  else
    return static_cast<std::int64_t>(i);
}
}  // namespace detail

/// One extent. Takes any integer type, so that `{n, 784}` works whatever type `n` has.
struct Dim {
  std::int64_t value = 0;
  Dim() = default;
  template <std::integral I>
  requires(!std::is_same_v<I, bool>) Dim(I v) : value(detail::as_position(v)) {}
  operator std::int64_t() const { return value; }
};

/// Extents, outermost first; row-major. A scalar has none.
class Shape : public InlineVector<std::int64_t, 6> {
 public:
  Shape() = default;
  Shape(std::initializer_list<Dim> dims) {
    for (Dim d : dims) push_back(d.value);
  }
  Shape(const std::vector<std::int64_t>& dims) { assign(dims.begin(), dims.end()); }
  template <std::input_iterator It>
  Shape(It first, It last) : InlineVector(first, last) {}

  int rank() const { return static_cast<int>(size()); }
  /// Number of elements: the product of the extents, 1 for a scalar.
  std::int64_t count() const {
    std::int64_t n = 1;
    for (std::int64_t d : *this) n *= d;
    return n;
  }
  std::vector<std::int64_t> to_vector() const { return {begin(), end()}; }
  /// Row-major strides in elements.
  TESSERA_API Shape strides() const;
};

/// As NumPy prints it: "()", "(3,)", "(2, 3)".
TESSERA_API std::string to_string(const Shape& shape);
TESSERA_API std::ostream& operator<<(std::ostream& out, const Shape& shape);

/// NumPy broadcasting of two shapes; throws ShapeError naming `function` when they do not agree.
TESSERA_API Shape broadcast_shapes(const Shape& a, const Shape& b,
                                   const char* function = "broadcast_shapes");

/// Brings `axis`, which may count from the end, into [0, rank); throws ShapeError naming `function`
/// otherwise.
TESSERA_API int normalize_axis(std::int64_t axis, int rank, const char* function);

}  // namespace tessera::inline v0
