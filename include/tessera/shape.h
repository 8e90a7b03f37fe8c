// The extents of an array.
#pragma once

#include <tessera/axis_list.h>
#include <tessera/config.h>
#include <tessera/inline_vector.h>

#include <array>
#include <concepts>
#include <cstdint>
#include <iosfwd>
#include <source_location>
#include <string>
#include <type_traits>
#include <vector>

namespace tessera::inline v0 {

/// One extent. Any integer type converts to it, so `{n, 784}` works whatever the type of `n`.
struct Dim {
  /// The extent.
  std::int64_t value = 0;
  Dim() = default;
  template <Position I>
  Dim(I v) : value(detail::as_position(v)) {}
  operator std::int64_t() const { return value; }
};

/// The extents, outermost first; arrays are row-major. A scalar has none.
class Shape : public InlineVector<std::int64_t, 6> {
 public:
  Shape() = default;
  Shape(std::initializer_list<Dim> dims) {
    for (Dim d : dims) push_back(d.value);
  }
  /// A single extent: zeros(3) is zeros({3}).
  template <std::integral I>
  requires(!std::is_same_v<I, bool>) Shape(I extent) : Shape({Dim(extent)}) {}
  template <std::integral I>
  requires(!std::is_same_v<I, bool>) Shape(const std::vector<I>& dims) {
    for (I d : dims) push_back(static_cast<std::int64_t>(d));
  }
  template <class It>
  requires requires(It i) { *i, ++i; }
  Shape(It first, It last) : InlineVector(first, last) {}

  /// The number of dimensions.
  int rank() const { return static_cast<int>(size()); }
  /// The number of elements: the product of the extents, 1 for a scalar. Throws ShapeError if it
  /// exceeds 64 bits.
  std::int64_t count() const {
    std::int64_t n = 1;
    bool wraps = false;
    for (std::int64_t d : *this) wraps |= __builtin_mul_overflow(n, d, &n);
    return wraps ? count_of_large() : n;
  }
  /// The extents.
  std::vector<std::int64_t> to_vector() const { return {begin(), end()}; }
  /// The extents for a structured binding, which needs their number at compile time: auto [rows,
  /// columns] = x.shape().unpack<2>(). Throws ShapeError unless the rank is N.
  template <std::size_t N>
  std::array<std::int64_t, N> unpack(
      std::source_location loc = std::source_location::current()) const {
    require_rank(N, loc);
    std::array<std::int64_t, N> out;
    for (std::size_t i = 0; i < N; ++i) out[i] = (*this)[i];
    return out;
  }
  /// Row-major strides in elements.
  TESSERA_API Shape strides() const;

 private:
  TESSERA_API std::int64_t count_of_large() const;
  TESSERA_API void require_rank(std::size_t rank, std::source_location loc) const;
};

/// NumPy's notation: "()", "(3,)", "(2, 3)".
TESSERA_API std::string to_string(const Shape& shape);
TESSERA_API std::ostream& operator<<(std::ostream& out, const Shape& shape);

/// Broadcasts two shapes by NumPy's rules. Throws a ShapeError that names `function` if they do not
/// match.
TESSERA_API Shape broadcast_shapes(const Shape& a, const Shape& b,
                                   const char* function = "broadcast_shapes");

/// Normalises `axis`, which may be negative, to [0, rank). Throws a ShapeError that names
/// `function` if it is out of range.
TESSERA_API int normalize_axis(std::int64_t axis, int rank, const char* function);

}  // namespace tessera::inline v0
