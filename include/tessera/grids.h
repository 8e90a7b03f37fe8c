// Grids of coordinates, and matrices made of one rule, as NumPy has them. Positions are int32.
#pragma once

#include <tessera/array.h>

#include <array>
#include <source_location>
#include <string>
#include <vector>

namespace tessera::inline v0 {

/// "xy": the first coordinate goes along the second axis, as in pictures; "ij": along the first.
/// `sparse` leaves the axes of the others at 1.
struct MeshgridOptions {
  detail::Named named = detail::Named();
  std::string indexing = "xy";
  bool sparse = false;
};
/// The coordinates of a grid's points, one array an axis. Throws Error for another indexing,
/// ShapeError for coordinates of more than one axis.
TESSERA_API std::vector<Array> meshgrid(const std::vector<Array>& xs,
                                        const MeshgridOptions& options = {},
                                        std::source_location loc = std::source_location::current());
/// Vectors of positions, each along an axis of its own, so that x.get({a, b}) picks a block.
TESSERA_API std::vector<Array> ix_(const std::vector<Array>& xs,
                                   std::source_location loc = std::source_location::current());
/// The positions in an array of this shape: result(i, ...) goes along axis i.
TESSERA_API Array indices(const Shape& shape, DType dtype = DType::int32,
                          std::source_location loc = std::source_location::current());

/// `num` values from base ** start to base ** stop, whose logarithms are evenly spaced.
TESSERA_API Array logspace(double start, double stop, std::int64_t num = 50, bool endpoint = true,
                           double base = 10, DType dtype = DType::float32,
                           std::source_location loc = std::source_location::current());
/// `num` values from start to stop, each the same multiple of the one before. Throws Error where
/// one is zero or their signs differ.
TESSERA_API Array geomspace(double start, double stop, std::int64_t num = 50, bool endpoint = true,
                            DType dtype = DType::float32,
                            std::source_location loc = std::source_location::current());

/// Ones on the diagonal of an n by n array.
TESSERA_API Array identity(std::int64_t n, DType dtype = DType::float32,
                           std::source_location loc = std::source_location::current());
/// Ones on diagonal k and below of an n by m array (m = n unless given).
TESSERA_API Array tri(std::int64_t n, std::optional<std::int64_t> m = {}, std::int64_t k = 0,
                      DType dtype = DType::float32,
                      std::source_location loc = std::source_location::current());
/// Rows and columns of the elements on diagonal k and below it (above it) of an n by m array.
TESSERA_API std::array<Array, 2> tril_indices(
    std::int64_t n, std::int64_t k = 0, std::optional<std::int64_t> m = {},
    std::source_location loc = std::source_location::current());
TESSERA_API std::array<Array, 2> triu_indices(
    std::int64_t n, std::int64_t k = 0, std::optional<std::int64_t> m = {},
    std::source_location loc = std::source_location::current());
/// The powers n - 1, ..., 0 of a vector's elements (0, ..., n - 1 where `increasing`) in its rows;
/// n is the vector's length unless given.
TESSERA_API Array vander(Operand x, std::optional<std::int64_t> n = {}, bool increasing = false);

/// The elements whose position along axis2 is `offset` more than that along axis1, along a new last
/// axis. ShapeError for less than two axes.
TESSERA_API Array diagonal(Operand x, std::int64_t offset = 0, std::int64_t axis1 = 0,
                           std::int64_t axis2 = 1);
/// The matrix with the elements of x on diagonal k, and zeros elsewhere.
TESSERA_API Array diagflat(Operand x, std::int64_t k = 0);
/// x with `value` on its diagonal, from the first element on: a scalar, or as many as there are
/// places. ShapeError for less than two axes, and for more than two that differ.
TESSERA_API Array fill_diagonal(Operand x, Operand value);

}  // namespace tessera::inline v0
