// Elements by places: what stands there, and other elements put there.
#pragma once

#include <tessera/array.h>

#include <cstdint>
#include <string>
#include <vector>

namespace tessera::inline v0 {

/// For each place the element of the choice that `index` names there; all broadcast. `mode` "clip"
/// takes the first and the last choice for positions outside, "wrap" counts around. Throws
/// DTypeError unless positions are integers, ShapeError without choices, Error for another mode.
TESSERA_API Array choose(Operand index, const std::vector<Array>& choices,
                         const std::string& mode = "clip");
/// x with `values` in order, over and over, where the mask holds. ShapeError where the mask has not
/// x's shape, and without values.
TESSERA_API Array place(Operand x, Operand mask, Operand values);
/// x with `values` at the positions along an axis that take_along_axis would read; of positions
/// that are named twice the last counts, those outside change nothing.
TESSERA_API Array put_along_axis(Operand x, Operand positions, Operand values, std::int64_t axis);

/// The positions along each axis of an array of this shape of positions in the flattened one, which
/// are brought inside; and back. DTypeError unless they are integers.
TESSERA_API std::vector<Array> unravel_index(Operand positions, const Shape& shape);
TESSERA_API Array ravel_multi_index(const std::vector<Array>& positions, const Shape& shape,
                                    std::source_location loc = std::source_location::current());

/// The element at a position along an axis, which stays with one element, or goes without
/// `keepdims`; `size` elements from `start` on; and x with others there. Positions are integer
/// scalars, which may be traced; they count from the end where they are negative, and are moved
/// inside.
TESSERA_API Array dynamic_index_in_dim(Operand x, Operand index, std::int64_t axis = 0,
                                       bool keepdims = true);
TESSERA_API Array dynamic_slice_in_dim(Operand x, Operand start, std::int64_t size,
                                       std::int64_t axis = 0);
TESSERA_API Array dynamic_update_index_in_dim(Operand x, Operand update, Operand index,
                                              std::int64_t axis = 0);
TESSERA_API Array dynamic_update_slice_in_dim(Operand x, Operand update, Operand start,
                                              std::int64_t axis = 0);

/// What the dimensions of a general gather are, as StableHLO's gather has them.
struct GatherDimensionNumbers {
  std::vector<std::int64_t> offset_dims, collapsed_slice_dims, start_index_map;
  std::vector<std::int64_t> operand_batching_dims = {}, start_indices_batching_dims = {};
};
/// The slices of `slice_sizes` that begin at the rows of `indices`, its last axis. `mode` "clip"
/// moves them inside, "fill" gives NaN (as take) for those that reach outside. ShapeError where the
/// dimensions do not fit.
TESSERA_API Array gather(Operand x, Operand indices, const GatherDimensionNumbers& dimensions,
                         const std::vector<std::int64_t>& slice_sizes,
                         const std::string& mode = "fill");
struct ScatterDimensionNumbers {
  std::vector<std::int64_t> update_window_dims, inserted_window_dims, scatter_dims_to_operand_dims;
  std::vector<std::int64_t> operand_batching_dims = {}, scatter_indices_batching_dims = {};
};
/// x with the windows of `updates` at the rows of `indices`: set, or added to what is there. `mode`
/// "drop" leaves out windows that reach outside, "clip" moves them inside. ShapeError where the
/// dimensions do not fit.
TESSERA_API Array scatter(Operand x, Operand indices, Operand updates,
                          const ScatterDimensionNumbers& dimensions,
                          const std::string& mode = "drop");
TESSERA_API Array scatter_add(Operand x, Operand indices, Operand updates,
                              const ScatterDimensionNumbers& dimensions,
                              const std::string& mode = "drop");

}  // namespace tessera::inline v0
