// Coordinate grids and structured matrices under NumPy's names. Positions are int32.
#pragma once

#include <tessera/array.h>

#include <array>
#include <source_location>
#include <string>
#include <vector>

namespace tessera::inline v0 {

/// "xy" puts the first coordinate along the second axis, as in pictures; "ij" along the first.
/// `sparse` keeps an extent of 1 along the axes of the other coordinates.
struct MeshgridOptions {
  detail::Named named = detail::Named();
  std::string indexing = "xy";
  bool sparse = false;
};
/// The coordinates of a grid's points, one array per axis. Throws Error for any other indexing, and
/// ShapeError for coordinates of more than one axis.
TESSERA_API std::vector<Array> meshgrid(const std::vector<Array>& xs,
                                        const MeshgridOptions& options = {},
                                        std::source_location loc = std::source_location::current());
/// Reshapes vectors of positions so that each has its own axis and x.get({a, b}) selects a block.
TESSERA_API std::vector<Array> ix_(const std::vector<Array>& xs,
                                   std::source_location loc = std::source_location::current());
/// The positions in an array of this shape: result(i, ...) is the position along axis i.
TESSERA_API Array indices(const Shape& shape, DType dtype = DType::int32,
                          std::source_location loc = std::source_location::current());

/// `num` values from base ** start to base ** stop, with evenly spaced logarithms.
TESSERA_API Array logspace(double start, double stop, std::int64_t num = 50, bool endpoint = true,
                           double base = 10, DType dtype = DType::float32,
                           std::source_location loc = std::source_location::current());
/// `num` values from start to stop in a geometric progression. Throws Error if an end is zero or
/// their signs differ.
TESSERA_API Array geomspace(double start, double stop, std::int64_t num = 50, bool endpoint = true,
                            DType dtype = DType::float32,
                            std::source_location loc = std::source_location::current());

/// The n by n identity matrix.
TESSERA_API Array identity(std::int64_t n, DType dtype = DType::float32,
                           std::source_location loc = std::source_location::current());
/// An n by m array (m = n by default) with ones on diagonal k and below.
TESSERA_API Array tri(std::int64_t n, std::optional<std::int64_t> m = {}, std::int64_t k = 0,
                      DType dtype = DType::float32,
                      std::source_location loc = std::source_location::current());
/// Rows and columns of the elements on and below diagonal k of an n by m array (by default n by n),
/// as int32.
TESSERA_API std::array<Array, 2> tril_indices(
    std::int64_t n, std::int64_t k = 0, std::optional<std::int64_t> m = {},
    std::source_location loc = std::source_location::current());
/// Rows and columns of the elements on and above diagonal k of an n by m array (by default n by n),
/// as int32.
TESSERA_API std::array<Array, 2> triu_indices(
    std::int64_t n, std::int64_t k = 0, std::optional<std::int64_t> m = {},
    std::source_location loc = std::source_location::current());
/// A matrix whose rows hold the powers n - 1, ..., 0 of a vector's elements (0, ..., n - 1 if
/// `increasing`). The default n is the vector's length.
TESSERA_API Array vander(Operand x, std::optional<std::int64_t> n = {}, bool increasing = false);

/// The elements whose position along axis2 is `offset` more than that along axis1, along a new last
/// axis. Throws ShapeError for fewer than two axes.
TESSERA_API Array diagonal(Operand x, std::int64_t offset = 0, std::int64_t axis1 = 0,
                           std::int64_t axis2 = 1);
/// The matrix with the elements of x on diagonal k and zeros elsewhere.
TESSERA_API Array diagflat(Operand x, std::int64_t k = 0);
/// Returns x with `value` on its main diagonal: a scalar, or one value per position. Throws
/// ShapeError for fewer than two axes, and for more than two axes of different extents.
TESSERA_API Array fill_diagonal(Operand x, Operand value);

}  // namespace tessera::inline v0
