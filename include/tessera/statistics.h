// Averages, quantiles, correlations and histograms under NumPy's names. They compute in floats
// unless stated otherwise.
#pragma once

#include <tessera/array.h>

#include <string>
#include <utility>

namespace tessera::inline v0 {

/// The options of average: `axis` (by default all axes), `keepdims`, which keeps them with one
/// element, and `weights` with the shape of x, or with that of the axes.
struct AverageOptions {
  detail::Named named = detail::Named();
  AxisList axis = {};
  std::optional<Array> weights = {};
  bool keepdims = false;
};
/// sum(weights * x) / sum(weights) over the axes. Weights have the shape of x, or are a vector
/// along a single axis. Throws ShapeError otherwise.
TESSERA_API Array average(Operand x, const AverageOptions& options = {});

/// `method` is the interpolation between two elements: "linear", "lower", "higher", "midpoint" or
/// "nearest".
struct QuantileOptions {
  detail::Named named = detail::Named();
  AxisList axis = {};
  std::string method = "linear";
  bool keepdims = false;
};
/// The q-quantile over the axes: the value at the fraction q of the sorted elements. q in [0, 1] is
/// a scalar, or a vector, which becomes the first axis of the result. The result is NaN if an
/// element is NaN; the nan functions ignore NaN, and return NaN only if nothing remains. Throws
/// ShapeError if there are no elements, and Error for any other method.
TESSERA_API Array quantile(Operand x, Operand q, const QuantileOptions& options = {});
/// quantile of the elements that are not NaN; NaN if there are none.
TESSERA_API Array nanquantile(Operand x, Operand q, const QuantileOptions& options = {});
/// The quantiles of q / 100.
TESSERA_API Array percentile(Operand x, Operand q, const QuantileOptions& options = {});
/// percentile of the elements that are not NaN; NaN if there are none.
TESSERA_API Array nanpercentile(Operand x, Operand q, const QuantileOptions& options = {});
/// The options of reductions that have no others: `axis` (by default all axes), and `keepdims`,
/// which keeps them with one element.
struct OverOptions {
  detail::Named named = detail::Named();
  AxisList axis = {};
  bool keepdims = false;
};
/// The middle one of the sorted elements, or the mean of the two middle ones.
TESSERA_API Array median(Operand x, const OverOptions& options = {});
/// The median of the elements that are not NaN; NaN if there are none.
TESSERA_API Array nanmedian(Operand x, const OverOptions& options = {});
/// max - min, in x's dtype.
TESSERA_API Array ptp(Operand x, const OverOptions& options = {});

/// Reductions that ignore NaN. Without other elements sums are 0, products 1, and the others NaN,
/// except that nanargmax and nanargmin are -1. Integers are reduced as usual.
TESSERA_API Array nansum(Operand x, const ReduceOptions& options = {});
/// The product of the elements that are not NaN; 1 if there are none.
TESSERA_API Array nanprod(Operand x, const ReduceOptions& options = {});
/// The largest element that is not NaN; NaN if there is none.
TESSERA_API Array nanmax(Operand x, const OverOptions& options = {});
/// The smallest element that is not NaN; NaN if there is none.
TESSERA_API Array nanmin(Operand x, const OverOptions& options = {});
/// The mean of the elements that are not NaN; NaN if there are none.
TESSERA_API Array nanmean(Operand x, const MeanOptions& options = {});
/// The variance of the elements that are not NaN; NaN if there are none.
TESSERA_API Array nanvar(Operand x, const VarOptions& options = {});
/// The standard deviation of the elements that are not NaN; NaN if there are none.
TESSERA_API Array nanstd(Operand x, const VarOptions& options = {});
/// The position of the largest element that is not NaN, as argmax gives it; -1 if there is none.
TESSERA_API Array nanargmax(Operand x, const ArgOptions& options = {});
/// The position of the smallest element that is not NaN, as argmin gives it; -1 if there is none.
TESSERA_API Array nanargmin(Operand x, const ArgOptions& options = {});

/// Variables are the rows of x, and of y, and observations the columns; without `rowvar` the
/// reverse. The divisor is the number of observations minus `ddof`, whose default is 1, or 0 with
/// `bias`.
struct CovOptions {
  detail::Named named = detail::Named();
  std::optional<Array> y = {};
  bool rowvar = true, bias = false;
  std::optional<int> ddof = {};
};
/// The covariance matrix of the variables, a scalar if there is only one. Throws ShapeError for
/// more than two axes.
TESSERA_API Array cov(Operand x, const CovOptions& options = {});
/// The options of corrcoef: further variables `y`; the rows are the variables, or without `rowvar`
/// the columns.
struct CorrcoefOptions {
  detail::Named named = detail::Named();
  std::optional<Array> y = {};
  bool rowvar = true;
};
/// The correlation matrix of the variables, with values from -1 to 1.
TESSERA_API Array corrcoef(Operand x, const CorrcoefOptions& options = {});

/// The bins: `bins` of equal width over `range` (by default that of x), or between the ascending
/// `edges`. `density` divides the counts by the bin widths and the total.
struct HistogramOptions {
  detail::Named named = detail::Named();
  std::int64_t bins = 10;
  std::optional<Array> edges = {};
  std::optional<std::pair<double, double>> range = {};
  std::optional<Array> weights = {};
  bool density = false;
};
/// The bins of a histogram: their counts (n), and their edges (n + 1).
struct Histogram {
  Array counts, edges;
};
/// The number of elements (or the sum of weights) in each bin, in floats. The last bin includes its
/// right edge. Throws ShapeError for fewer than one bin, and for weights of another shape.
TESSERA_API Histogram histogram(Operand x, const HistogramOptions& options = {});
/// The edges of the bins that histogram uses, n + 1 in ascending order.
TESSERA_API Array histogram_bin_edges(Operand x, const HistogramOptions& options = {});

/// `length` is the number of counts. It is required in traced functions; elsewhere the default is
/// one more than the largest element, and at least `minlength`.
struct BincountOptions {
  detail::Named named = detail::Named();
  std::optional<Array> weights = {};
  std::int64_t minlength = 0;
  std::optional<std::int64_t> length = {};
};
/// How often 0, 1, ... occur in a vector of integers, or the sums of their weights. The dtype is
/// int32 (int64 for vectors of 2^31 elements or more), or that of the weights. Negative elements
/// count as 0, those past the end are ignored. Throws ShapeError unless x is a vector, DTypeError
/// for floats, and TraceError in traced functions without a length.
TESSERA_API Array bincount(Operand x, const BincountOptions& options = {});

}  // namespace tessera::inline v0
