// Shapes, joining and splitting, indexing functions and sorting, as NumPy has them. Axes may count
// from the end.
#pragma once

#include <tessera/array.h>
#include <tessera/detail/braces.h>

namespace tessera::inline v0 {

/// Same elements, row-major, in another shape; one extent may be -1.
TESSERA_API Array reshape(Operand x, const Shape& shape);
TESSERA_API Array ravel(Operand x);
/// Axes permuted: result axis i is axis permutation[i]; reversed when none is given.
TESSERA_API Array transpose(Operand x, const std::vector<std::int64_t>& permutation = {});
TESSERA_API Array swapaxes(Operand x, std::int64_t a, std::int64_t b);
TESSERA_API Array moveaxis(Operand x, std::int64_t source, std::int64_t destination);
/// New axes of one element at these positions of the result.
TESSERA_API Array expand_dims(Operand x, AxisList axis);
/// Axes of one element removed: all of them, or those named.
TESSERA_API Array squeeze(Operand x, AxisList axis = {});
TESSERA_API Array broadcast_to(Operand x, const Shape& shape);
TESSERA_LATER_SHAPE_IN_BRACES_(broadcast_to, "broadcast_to(x, {2, 3})");
TESSERA_LATER_SHAPE_IN_BRACES_(reshape, "reshape(x, {2, 3})");

/// Along an existing axis. Dtypes promote.
TESSERA_API Array concatenate(const std::vector<Array>& xs, std::int64_t axis = 0,
                              std::source_location loc = std::source_location::current());
TESSERA_ARRAYS_IN_BRACES_(concatenate, "concatenate({x, y})");
/// Along a new axis. Stacking one array n times stores it once.
TESSERA_API Array stack(const std::vector<Array>& xs, std::int64_t axis = 0,
                        std::source_location loc = std::source_location::current());
TESSERA_ARRAYS_IN_BRACES_(stack, "stack({x, y})");
/// Equal parts; ShapeError when they are not equal.
TESSERA_API std::vector<Array> split(Operand x, std::int64_t parts, std::int64_t axis = 0);
/// Parts that begin at these positions (and at 0).
TESSERA_API std::vector<Array> split_at(Operand x, const std::vector<std::int64_t>& positions,
                                        std::int64_t axis = 0);
/// x repeated `reps[i]` times along axis i.
TESSERA_API Array tile(Operand x, const std::vector<std::int64_t>& reps);
/// Each element `n` times along `axis` (in the flattened array without one).
TESSERA_API Array repeat(Operand x, std::int64_t n, std::optional<std::int64_t> axis = {});
/// `before[i]` and `after[i]` copies of `value` around axis i.
TESSERA_API Array pad(Operand x, const std::vector<std::pair<std::int64_t, std::int64_t>>& widths,
                      Operand value = 0);
TESSERA_API Array flip(Operand x, AxisList axis = {});
/// Elements shifted along `axis` (or in the flattened array), those pushed out re-enter at the
/// other end.
TESSERA_API Array roll(Operand x, std::int64_t shift, std::optional<std::int64_t> axis = {});

/// Lower triangle: zeros above diagonal k. Upper triangle: zeros below it.
TESSERA_API Array tril(Operand x, std::int64_t k = 0);
TESSERA_API Array triu(Operand x, std::int64_t k = 0);
/// The diagonal of a matrix, or a matrix with this diagonal.
TESSERA_API Array diag(Operand x);

/// x picked at integer positions along `axis` (in the flattened array without one). Positions may
/// count from the end; those outside give NaN (the smallest integer, the largest unsigned one,
/// true).
TESSERA_API Array take(Operand x, Operand positions, std::optional<std::int64_t> axis = {});
/// For each place of `positions` the element of x at that position along `axis`; the other axes
/// broadcast.
TESSERA_API Array take_along_axis(Operand x, Operand positions, std::int64_t axis);
/// `classes` entries along a new last axis: 1 at the label, 0 elsewhere (all 0 for a label
/// outside).
TESSERA_API Array one_hot(Operand labels, std::int64_t classes, DType dtype = DType::float32);

/// A block of `sizes` that starts at `starts` (integer scalars; those before 0 count from the end),
/// moved inside the array where it would reach outside.
TESSERA_API Array dynamic_slice(Operand x, const std::vector<Array>& starts, const Shape& sizes);
TESSERA_API Array dynamic_update_slice(Operand x, Operand update, const std::vector<Array>& starts);

/// Ascending and stable, NaN last.
TESSERA_API Array sort(Operand x, std::int64_t axis = -1);
/// Positions that sort x, int32, or int64 along an axis of 2^31 elements and more; stable.
TESSERA_API Array argsort(Operand x, std::int64_t axis = -1);

/// The k greatest elements of each row along the last axis, descending, and their int32 positions
/// there. Of equal elements the first comes first; NaN counts as greater than all numbers.
struct TopK {
  Array values, indices;
};
TESSERA_API TopK top_k(Operand x, std::int64_t k);

}  // namespace tessera::inline v0
