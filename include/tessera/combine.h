// Reductions, windows and sorts by a function of the caller's, as jax.lax has them. The function is
// of scalars, and is compiled into the loop. It is traced once and uses nothing traced from
// outside.
#pragma once

#include <tessera/array.h>
#include <tessera/axis_list.h>

#include <functional>
#include <vector>

namespace tessera::inline v0 {

/// Two elements to one, associative.
using Combine = std::function<Array(Array accumulated, Array element)>;
/// One of each of several arrays: (accumulated, elements) to the next accumulated.
using CombineAll =
    std::function<std::vector<Array>(std::vector<Array> accumulated, std::vector<Array> elements)>;

/// Folds the elements of x over `axes` in row-major order, beginning with `init`, a scalar of x's
/// dtype:
///
///     reduce(x, 1, [](Array a, Array b) { return a * b; }, {0})
///
/// Differentiable where `combine` is. Throws ShapeError for axes that x has not, DTypeError and
/// ShapeError for a function that does not give a scalar of x's dtype.
TESSERA_API Array reduce(Operand x, Operand init, const Combine& combine, const AxisList& axes);
/// Several arrays of one shape together, with an init for each.
TESSERA_API std::vector<Array> reduce(const std::vector<Array>& xs, const std::vector<Array>& inits,
                                      const CombineAll& combine, const AxisList& axes,
                                      std::source_location loc = std::source_location::current());

/// The windows of `reduce_window`: a list that is empty stands for 1 in every dimension, or no
/// padding.
struct ReduceWindowOptions {
  std::vector<std::int64_t> window, strides = {};
  std::vector<std::pair<std::int64_t, std::int64_t>> padding = {};
  std::vector<std::int64_t> base_dilation = {}, window_dilation = {};
};
/// The same over the windows that slide over every dimension of x; padding and holes do not count.
TESSERA_API Array reduce_window(Operand x, Operand init, const Combine& combine,
                                const ReduceWindowOptions& options);

/// Arrays of one shape sorted together along `axis`, stable: `before` has one element of each array
/// twice, and says whether the first ones come before the others.
using Before = std::function<Array(std::vector<Array> a, std::vector<Array> b)>;
TESSERA_API std::vector<Array> sort_by(const std::vector<Array>& xs, const Before& before,
                                       std::int64_t axis = -1,
                                       std::source_location loc = std::source_location::current());

}  // namespace tessera::inline v0
