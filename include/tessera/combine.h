// Reductions, windows and sorts by a user-supplied function, as in jax.lax. The function works on
// scalars and is compiled into the loop. It is traced once and must not use traced values from
// outside.
#pragma once

#include <tessera/array.h>
#include <tessera/axis_list.h>
#include <functional>

#include <vector>

namespace tessera::inline v0 {

/// An associative function that combines two elements.
using Combine = std::function<Array(Array accumulated, Array element)>;
/// A function that combines elements of several arrays at once: it maps (accumulated, elements) to
/// the next accumulated values, one per array.
using CombineAll =
    std::function<std::vector<Array>(std::vector<Array> accumulated, std::vector<Array> elements)>;

/// Folds the elements of x over `axes` in row-major order, starting with `init`, a scalar of x's
/// dtype:
///
///     reduce(x, 1, [](Array a, Array b) { return a * b; }, {0})
///
/// Differentiable if `combine` is. Throws ShapeError for axes that x does not have, and DTypeError
/// or ShapeError if the function does not return a scalar of x's dtype.
TESSERA_API Array reduce(Operand x, Operand init, const Combine& combine, const AxisList& axes);
/// Folds several arrays of the same shape together, with one init each.
TESSERA_API std::vector<Array> reduce(const std::vector<Array>& xs, const std::vector<Array>& inits,
                                      const CombineAll& combine, const AxisList& axes,
                                      std::source_location loc = std::source_location::current());

/// The windows of `reduce_window`. An empty list means 1 in every dimension, or no padding.
struct ReduceWindowOptions {
  std::vector<std::int64_t> window, strides = {};
  std::vector<std::pair<std::int64_t, std::int64_t>> padding = {};
  std::vector<std::int64_t> base_dilation = {}, window_dilation = {};
};
/// Folds the elements of each window that slides over x. Padding and dilation holes do not count.
TESSERA_API Array reduce_window(Operand x, Operand init, const Combine& combine,
                                const ReduceWindowOptions& options);

/// The comparison for sort_by, which sorts arrays of the same shape together along `axis`, stably.
/// It receives two elements of each array, a and b, and returns whether a comes before b.
using Before = std::function<Array(std::vector<Array> a, std::vector<Array> b)>;
TESSERA_API std::vector<Array> sort_by(const std::vector<Array>& xs, const Before& before,
                                       std::int64_t axis = -1,
                                       std::source_location loc = std::source_location::current());

}  // namespace tessera::inline v0
