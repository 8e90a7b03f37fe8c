// Rows, columns and layers put together and taken apart, and arrays turned, as NumPy has them.
#pragma once

#include <tessera/array.h>
#include <tessera/detail/braces.h>

#include <source_location>
#include <utility>
#include <vector>

namespace tessera::inline v0 {

/// x with at least so many axes: a scalar is one element, a vector is a row, a matrix one layer of
/// rows, (n, m, 1).
TESSERA_API Array atleast_1d(Operand x);
TESSERA_API Array atleast_2d(Operand x);
TESSERA_API Array atleast_3d(Operand x);

/// Joined along the first axis, where vectors are rows; along the second, where vectors are joined
/// along their only one; along the third. column_stack takes vectors as columns. Dtypes promote.
/// ShapeError for an empty list, and where the other axes differ.
TESSERA_API Array vstack(const std::vector<Array>& xs,
                         std::source_location loc = std::source_location::current());
TESSERA_ARRAYS_IN_BRACES_(vstack, "vstack({x, y})");
TESSERA_API Array hstack(const std::vector<Array>& xs,
                         std::source_location loc = std::source_location::current());
TESSERA_ARRAYS_IN_BRACES_(hstack, "hstack({x, y})");
TESSERA_API Array dstack(const std::vector<Array>& xs,
                         std::source_location loc = std::source_location::current());
TESSERA_ARRAYS_IN_BRACES_(dstack, "dstack({x, y})");
TESSERA_API Array column_stack(const std::vector<Array>& xs,
                               std::source_location loc = std::source_location::current());
TESSERA_ARRAYS_IN_BRACES_(column_stack, "column_stack({x, y})");
/// Blocks of one row beside each other, along the last axis, and rows of blocks below each other,
/// along the one before: block({{a, b}, {c, d}}). Scalars and vectors count as rows. ShapeError
/// where extents do not meet.
TESSERA_API Array block(const std::vector<std::vector<Array>>& rows,
                        std::source_location loc = std::source_location::current());
/// x and behind it `values`, along `axis`; both flattened without one.
TESSERA_API Array append(Operand x, Operand values, std::optional<std::int64_t> axis = {});
/// All in the shape that they broadcast to.
TESSERA_API std::vector<Array> broadcast_arrays(
    const std::vector<Array>& xs, std::source_location loc = std::source_location::current());

/// Parts along an axis, the first ones longer by one where they are not equal; or parts that begin
/// at these positions, and at 0. ShapeError for no parts.
TESSERA_API std::vector<Array> array_split(Operand x, std::int64_t parts, std::int64_t axis = 0);
TESSERA_API std::vector<Array> array_split(Operand x, const std::vector<std::int64_t>& positions,
                                           std::int64_t axis = 0);
/// split and split_at along the first axis, the second (a vector's only one), the third. ShapeError
/// where it is missing, and for parts that are not equal.
TESSERA_API std::vector<Array> vsplit(Operand x, std::int64_t parts);
TESSERA_API std::vector<Array> vsplit(Operand x, const std::vector<std::int64_t>& positions);
TESSERA_API std::vector<Array> hsplit(Operand x, std::int64_t parts);
TESSERA_API std::vector<Array> hsplit(Operand x, const std::vector<std::int64_t>& positions);
TESSERA_API std::vector<Array> dsplit(Operand x, std::int64_t parts);
TESSERA_API std::vector<Array> dsplit(Operand x, const std::vector<std::int64_t>& positions);
/// The elements along an axis, as many arrays.
TESSERA_API std::vector<Array> unstack(Operand x, std::int64_t axis = 0);
/// x without the elements at these positions along `axis`, or of the flattened array. Positions
/// count from the end where they are negative; ShapeError for one outside.
TESSERA_API Array delete_(Operand x, const std::vector<std::int64_t>& positions,
                          std::optional<std::int64_t> axis = {});
TESSERA_API Array delete_(Operand x, std::int64_t position, std::optional<std::int64_t> axis = {});

/// The axis moved in front of the axis `start`.
TESSERA_API Array rollaxis(Operand x, std::int64_t axis, std::int64_t start = 0);
/// Turned k times by a quarter from the first of two axes to the second. ShapeError where they are
/// one.
TESSERA_API Array rot90(Operand x, std::int64_t k = 1,
                        std::pair<std::int64_t, std::int64_t> axes = {0, 1});
/// The second axis reversed, and the first. ShapeError where there is none.
TESSERA_API Array fliplr(Operand x);
TESSERA_API Array flipud(Operand x);

}  // namespace tessera::inline v0
