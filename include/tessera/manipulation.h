// Shapes, joining and splitting, indexing functions and sorting under NumPy's names. Negative axes
// count from the end; axes out of range throw ShapeError.
#pragma once

#include <tessera/array.h>
#include <tessera/detail/braces.h>

namespace tessera::inline v0 {

/// The same elements in row-major order with another shape; one extent may be -1 and is inferred.
TESSERA_API Array reshape(Operand x, const Shape& shape);
/// The elements in row-major order as a vector.
TESSERA_API Array ravel(Operand x);
/// Permutes the axes: axis i of the result is axis permutation[i] of x. Without a permutation the
/// axes are reversed. Throws ShapeError unless each axis is listed once.
TESSERA_API Array transpose(Operand x, const std::vector<std::int64_t>& permutation = {});
/// Exchanges the axes a and b.
TESSERA_API Array swapaxes(Operand x, std::int64_t a, std::int64_t b);
/// Moves one axis to another position; the others keep their order.
TESSERA_API Array moveaxis(Operand x, std::int64_t source, std::int64_t destination);
/// Inserts axes of one element at these positions of the result.
TESSERA_API Array expand_dims(Operand x, AxisList axis);
/// Removes axes of one element: all of them, or those given. Throws ShapeError for an axis of
/// another extent.
TESSERA_API Array squeeze(Operand x, AxisList axis = {});
/// Repeats x along new leading axes and along axes of one element, so that it has this shape.
/// Throws ShapeError if the shapes do not broadcast.
TESSERA_API Array broadcast_to(Operand x, const Shape& shape);
TESSERA_LATER_SHAPE_IN_BRACES_(broadcast_to, "broadcast_to(x, {2, 3})");
TESSERA_LATER_SHAPE_IN_BRACES_(reshape, "reshape(x, {2, 3})");

/// Joins arrays along an existing axis. Dtypes promote.
TESSERA_API Array concatenate(const std::vector<Array>& xs, std::int64_t axis = 0,
                              std::source_location loc = std::source_location::current());
TESSERA_ARRAYS_IN_BRACES_(concatenate, "concatenate({x, y})");
/// Joins arrays along a new axis. Stacking one array n times stores it once.
TESSERA_API Array stack(const std::vector<Array>& xs, std::int64_t axis = 0,
                        std::source_location loc = std::source_location::current());
TESSERA_ARRAYS_IN_BRACES_(stack, "stack({x, y})");
/// Splits x into equal parts. Throws ShapeError if the extent does not divide.
TESSERA_API std::vector<Array> split(Operand x, std::int64_t parts, std::int64_t axis = 0);
/// Splits x into parts that begin at these positions (and at 0).
TESSERA_API std::vector<Array> split_at(Operand x, const std::vector<std::int64_t>& positions,
                                        std::int64_t axis = 0);
/// Repeats x `reps[i]` times along axis i.
TESSERA_API Array tile(Operand x, const std::vector<std::int64_t>& reps);
/// Repeats each element `n` times along `axis` (of the flattened array by default).
TESSERA_API Array repeat(Operand x, std::int64_t n, std::optional<std::int64_t> axis = {});
/// Puts `widths[i].first` copies of `value` before and `widths[i].second` after x along axis i.
TESSERA_API Array pad(Operand x, const std::vector<std::pair<std::int64_t, std::int64_t>>& widths,
                      Operand value = 0);
/// Reverses the order of the elements along these axes, by default along all of them.
TESSERA_API Array flip(Operand x, AxisList axis = {});
/// Shifts elements along `axis` (or in the flattened array); those pushed out re-enter at the other
/// end.
TESSERA_API Array roll(Operand x, std::int64_t shift, std::optional<std::int64_t> axis = {});

/// tril sets the elements above diagonal k to zero, triu those below it.
TESSERA_API Array tril(Operand x, std::int64_t k = 0);
TESSERA_API Array triu(Operand x, std::int64_t k = 0);
/// The diagonal of a matrix, or a matrix with this diagonal. Throws ShapeError for other arrays.
TESSERA_API Array diag(Operand x);

/// Takes the elements of x at integer positions along `axis` (of the flattened array by default).
/// Negative positions count from the end. Positions out of range give NaN, or in other dtypes the
/// smallest signed integer, the largest unsigned integer or true. Throws DTypeError unless the
/// positions are integers, and ShapeError for an axis without elements.
TESSERA_API Array take(Operand x, Operand positions, std::optional<std::int64_t> axis = {});
/// For each entry of `positions`, the element of x at that position along `axis`; the other axes
/// broadcast. Positions are as in `take`. Throws ShapeError unless x and `positions` have the same
/// number of axes.
TESSERA_API Array take_along_axis(Operand x, Operand positions, std::int64_t axis);
/// `classes` entries along a new last axis: 1 at the label, 0 elsewhere (all 0 for a label out of
/// range). Throws DTypeError unless the labels are integers.
TESSERA_API Array one_hot(Operand labels, std::int64_t classes, DType dtype = DType::float32);

/// The block of `sizes` that starts at `starts` (integer scalars; negative ones count from the
/// end), moved inside the array if it would reach outside. Throws DTypeError unless the starts are
/// integers.
TESSERA_API Array dynamic_slice(Operand x, const std::vector<Array>& starts, const Shape& sizes);
/// Returns x with the block that starts at `starts` replaced by `update`; the block is moved inside
/// the array if it would reach outside.
TESSERA_API Array dynamic_update_slice(Operand x, Operand update, const std::vector<Array>& starts);

/// Sorts in ascending order, stably, with NaN last.
TESSERA_API Array sort(Operand x, std::int64_t axis = -1);
/// The positions that sort x stably; int32, or int64 along an axis of 2^31 elements or more.
TESSERA_API Array argsort(Operand x, std::int64_t axis = -1);

/// The k largest elements along the last axis in descending order (values), and their int32
/// positions (indices). Equal elements keep their order; NaN counts as greater than all numbers.
struct TopK {
  Array values, indices;
};
TESSERA_API TopK top_k(Operand x, std::int64_t k);

}  // namespace tessera::inline v0
