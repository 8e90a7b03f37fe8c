// Reading and replacing elements by position.
#pragma once

#include <tessera/array.h>

#include <cstdint>
#include <string>
#include <vector>

namespace tessera::inline v0 {

/// Takes each element from the choice that `index` names there; all arguments broadcast. For
/// positions out of range, `mode` "clip" uses the first or last choice and "wrap" counts modulo
/// their number. Throws DTypeError unless positions are integers, ShapeError if there are no
/// choices, and Error for any other mode.
TESSERA_API Array choose(Operand index, const std::vector<Array>& choices,
                         const std::string& mode = "clip");
/// Returns x with `values`, repeated in order, written where the mask holds. Throws ShapeError if
/// the mask does not have x's shape, or if there are no values.
TESSERA_API Array place(Operand x, Operand mask, Operand values);
/// Returns x with `values` at the positions along an axis that take_along_axis would read. If a
/// position occurs twice, the last value counts; positions out of range have no effect.
TESSERA_API Array put_along_axis(Operand x, Operand positions, Operand values, std::int64_t axis);

/// Converts positions in a flattened array of this shape to positions along each axis, clipping
/// them into range. Throws DTypeError unless they are integers.
TESSERA_API std::vector<Array> unravel_index(Operand positions, const Shape& shape);
/// Converts positions along each axis to positions in a flattened array of this shape. Throws
/// DTypeError unless they are integers.
TESSERA_API Array ravel_multi_index(const std::vector<Array>& positions, const Shape& shape,
                                    std::source_location loc = std::source_location::current());

/// The element at a position along an axis, which is kept with size one, or removed without
/// `keepdims`. The position is an integer scalar, which may be traced; here and in the next three
/// functions negative positions count from the end, and all are clipped into range.
TESSERA_API Array dynamic_index_in_dim(Operand x, Operand index, std::int64_t axis = 0,
                                       bool keepdims = true);
/// Returns `size` elements along an axis, from `start` on, as dynamic_slice does.
TESSERA_API Array dynamic_slice_in_dim(Operand x, Operand start, std::int64_t size,
                                       std::int64_t axis = 0);
/// Returns x with the element at a position along an axis replaced by `update`.
TESSERA_API Array dynamic_update_index_in_dim(Operand x, Operand update, Operand index,
                                              std::int64_t axis = 0);
/// Returns x with the elements from `start` on along an axis replaced by `update`.
TESSERA_API Array dynamic_update_slice_in_dim(Operand x, Operand update, Operand start,
                                              std::int64_t axis = 0);

/// The dimension numbers of a general gather, as in StableHLO.
struct GatherDimensionNumbers {
  std::vector<std::int64_t> offset_dims, collapsed_slice_dims, start_index_map;
  std::vector<std::int64_t> operand_batching_dims = {}, start_indices_batching_dims = {};
};
/// Gathers the slices of `slice_sizes` that begin at the rows of `indices` (along its last axis).
/// For slices that reach outside, `mode` "clip" moves them inside, and "fill" gives NaN (as in
/// take). Throws ShapeError if the dimensions do not match.
TESSERA_API Array gather(Operand x, Operand indices, const GatherDimensionNumbers& dimensions,
                         const std::vector<std::int64_t>& slice_sizes,
                         const std::string& mode = "fill");
/// The dimension numbers of a general scatter, as in jax.lax: update_window_dims,
/// inserted_window_dims, scatter_dims_to_operand_dims, operand_batching_dims and
/// scatter_indices_batching_dims.
struct ScatterDimensionNumbers {
  std::vector<std::int64_t> update_window_dims, inserted_window_dims, scatter_dims_to_operand_dims;
  std::vector<std::int64_t> operand_batching_dims = {}, scatter_indices_batching_dims = {};
};
/// Returns x with the windows of `updates` written at the rows of `indices`. For windows that reach
/// outside, `mode` "drop" omits them, and "clip" moves them inside. Throws ShapeError if the
/// dimensions do not match.
TESSERA_API Array scatter(Operand x, Operand indices, Operand updates,
                          const ScatterDimensionNumbers& dimensions,
                          const std::string& mode = "drop");
/// Returns x with the windows of `updates` added at the rows of `indices`; windows that overlap all
/// count. Otherwise as scatter.
TESSERA_API Array scatter_add(Operand x, Operand indices, Operand updates,
                              const ScatterDimensionNumbers& dimensions,
                              const std::string& mode = "drop");

}  // namespace tessera::inline v0
