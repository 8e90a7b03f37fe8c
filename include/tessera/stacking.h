// Stacking, splitting and rotating arrays under NumPy's names.
#pragma once

#include <tessera/array.h>
#include <tessera/detail/braces.h>

#include <source_location>
#include <utility>
#include <vector>

namespace tessera::inline v0 {

/// x with at least one axis: a scalar becomes one element.
TESSERA_API Array atleast_1d(Operand x);
/// x with at least two axes: a scalar becomes (1, 1), and a vector a row.
TESSERA_API Array atleast_2d(Operand x);
/// x with at least three axes: a scalar becomes (1, 1, 1), a vector (1, n, 1), and a matrix (n, m,
/// 1).
TESSERA_API Array atleast_3d(Operand x);

/// Join arrays along the first axis, with vectors as rows (vstack); along the second, or for
/// vectors their only one (hstack); or along the third (dstack). column_stack takes vectors as
/// columns. Dtypes promote. Throws ShapeError for an empty list, and if the other axes differ.
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
/// Assembles blocks: those of one row are joined along the last axis, and the rows along the one
/// before: block({{a, b}, {c, d}}). Scalars and vectors count as rows. Throws ShapeError if the
/// extents do not match.
TESSERA_API Array block(const std::vector<std::vector<Array>>& rows,
                        std::source_location loc = std::source_location::current());
/// Appends `values` to x along `axis`; without an axis both are flattened.
TESSERA_API Array append(Operand x, Operand values, std::optional<std::int64_t> axis = {});
/// Broadcasts all arrays to their common shape.
TESSERA_API std::vector<Array> broadcast_arrays(
    const std::vector<Array>& xs, std::source_location loc = std::source_location::current());

/// Splits x along an axis into this number of parts, the first of which are longer by one if the
/// extent does not divide, or into parts that begin at these positions and at 0. Throws ShapeError
/// for zero parts.
TESSERA_API std::vector<Array> array_split(Operand x, std::int64_t parts, std::int64_t axis = 0);
TESSERA_API std::vector<Array> array_split(Operand x, const std::vector<std::int64_t>& positions,
                                           std::int64_t axis = 0);
/// split and split_at along the first axis (vsplit), the second, or a vector's only one (hsplit),
/// and the third (dsplit). Throws ShapeError if x has no such axis, or if the parts are not equal.
TESSERA_API std::vector<Array> vsplit(Operand x, std::int64_t parts);
TESSERA_API std::vector<Array> vsplit(Operand x, const std::vector<std::int64_t>& positions);
TESSERA_API std::vector<Array> hsplit(Operand x, std::int64_t parts);
TESSERA_API std::vector<Array> hsplit(Operand x, const std::vector<std::int64_t>& positions);
TESSERA_API std::vector<Array> dsplit(Operand x, std::int64_t parts);
TESSERA_API std::vector<Array> dsplit(Operand x, const std::vector<std::int64_t>& positions);
/// The entries along an axis, each as an array.
TESSERA_API std::vector<Array> unstack(Operand x, std::int64_t axis = 0);
/// x without the elements at these positions along `axis`, or of the flattened array. Negative
/// positions count from the end. Throws ShapeError if one is out of range.
TESSERA_API Array delete_(Operand x, const std::vector<std::int64_t>& positions,
                          std::optional<std::int64_t> axis = {});
TESSERA_API Array delete_(Operand x, std::int64_t position, std::optional<std::int64_t> axis = {});

/// Moves the axis to the position before axis `start`.
TESSERA_API Array rollaxis(Operand x, std::int64_t axis, std::int64_t start = 0);
/// Rotates x by k quarter turns, from the first towards the second of two axes. Throws ShapeError
/// if the axes are equal.
TESSERA_API Array rot90(Operand x, std::int64_t k = 1,
                        std::pair<std::int64_t, std::int64_t> axes = {0, 1});
/// Reverses the second (fliplr) or first (flipud) axis. Throws ShapeError if it does not exist.
TESSERA_API Array fliplr(Operand x);
TESSERA_API Array flipud(Operand x);

}  // namespace tessera::inline v0
