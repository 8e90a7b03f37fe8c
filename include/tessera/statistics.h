// Averages, quantiles, correlations and histograms, as NumPy has them. In floats, unless said
// otherwise.
#pragma once

#include <tessera/array.h>

#include <string>
#include <utility>

namespace tessera::inline v0 {

struct AverageOptions {
  detail::Named named = detail::Named();
  AxisList axis = {};
  std::optional<Array> weights = {};
  bool keepdims = false;
};
/// sum(weights * x) / sum(weights) over the axes. Weights have the shape of x, or are a vector
/// along the one axis. ShapeError otherwise.
TESSERA_API Array average(Operand x, const AverageOptions& options = {});

/// `method` says what is between two elements: "linear", "lower", "higher", "midpoint", "nearest".
struct QuantileOptions {
  detail::Named named = detail::Named();
  AxisList axis = {};
  std::string method = "linear";
  bool keepdims = false;
};
/// The element at the part q of the way through the sorted elements over the axes; q from 0 to 1, a
/// scalar, or a vector, which then is the first axis of the result. NaN where an element is NaN;
/// the nan functions leave those out, and give NaN where nothing is left. Throws ShapeError where
/// there are no elements, Error for another method.
TESSERA_API Array quantile(Operand x, Operand q, const QuantileOptions& options = {});
TESSERA_API Array nanquantile(Operand x, Operand q, const QuantileOptions& options = {});
/// The same of q / 100.
TESSERA_API Array percentile(Operand x, Operand q, const QuantileOptions& options = {});
TESSERA_API Array nanpercentile(Operand x, Operand q, const QuantileOptions& options = {});
struct OverOptions {
  detail::Named named = detail::Named();
  AxisList axis = {};
  bool keepdims = false;
};
/// The element in the middle of the sorted ones, or the mean of the two there.
TESSERA_API Array median(Operand x, const OverOptions& options = {});
TESSERA_API Array nanmedian(Operand x, const OverOptions& options = {});
/// max - min, in x's dtype.
TESSERA_API Array ptp(Operand x, const OverOptions& options = {});

/// The reductions without the elements that are NaN: sums of nothing are 0, products 1, the others
/// NaN; nanargmax and nanargmin then give -1. Integers reduce as they are.
TESSERA_API Array nansum(Operand x, const ReduceOptions& options = {});
TESSERA_API Array nanprod(Operand x, const ReduceOptions& options = {});
TESSERA_API Array nanmax(Operand x, const OverOptions& options = {});
TESSERA_API Array nanmin(Operand x, const OverOptions& options = {});
TESSERA_API Array nanmean(Operand x, const MeanOptions& options = {});
TESSERA_API Array nanvar(Operand x, const VarOptions& options = {});
TESSERA_API Array nanstd(Operand x, const VarOptions& options = {});
TESSERA_API Array nanargmax(Operand x, const ArgOptions& options = {});
TESSERA_API Array nanargmin(Operand x, const ArgOptions& options = {});

/// Variables are the rows of x, and of y, observations the columns; the other way around unless
/// `rowvar`. The divisor is the number of observations less `ddof`, or less 1, or less 0 with
/// `bias`.
struct CovOptions {
  detail::Named named = detail::Named();
  std::optional<Array> y = {};
  bool rowvar = true, bias = false;
  std::optional<int> ddof = {};
};
/// The covariances of variables, a scalar where there is one. ShapeError for more than two axes.
TESSERA_API Array cov(Operand x, const CovOptions& options = {});
struct CorrcoefOptions {
  detail::Named named = detail::Named();
  std::optional<Array> y = {};
  bool rowvar = true;
};
/// Their correlations, from -1 to 1.
TESSERA_API Array corrcoef(Operand x, const CorrcoefOptions& options = {});

/// `bins` of one width over `range` (that of x), or between `edges`, which ascend. `density`
/// divides by the widths and the sum.
struct HistogramOptions {
  detail::Named named = detail::Named();
  std::int64_t bins = 10;
  std::optional<Array> edges = {};
  std::optional<std::pair<double, double>> range = {};
  std::optional<Array> weights = {};
  bool density = false;
};
struct Histogram {
  Array counts, edges;
};
/// The number of elements (the sum of weights) in each bin, in floats; the last one has its right
/// edge too. ShapeError for less than one bin and for weights of another shape.
TESSERA_API Histogram histogram(Operand x, const HistogramOptions& options = {});
TESSERA_API Array histogram_bin_edges(Operand x, const HistogramOptions& options = {});

/// `length` says how many counts there are: in traced functions it has to, elsewhere it is one more
/// than the largest element, and `minlength` at least.
struct BincountOptions {
  detail::Named named = detail::Named();
  std::optional<Array> weights = {};
  std::int64_t minlength = 0;
  std::optional<std::int64_t> length = {};
};
/// How often 0, 1, ... occurs in a vector of integers (the sum of weights), int32 (int64 of vectors
/// of 2^31 elements and more) or the weights' dtype. Negative elements count as 0, those past the
/// end do not. ShapeError unless x is a vector, DTypeError of floats, TraceError in traced
/// functions without a length.
TESSERA_API Array bincount(Operand x, const BincountOptions& options = {});

}  // namespace tessera::inline v0
