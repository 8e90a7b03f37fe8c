// Reductions and cumulative functions, as NumPy has them: over all axes, or over those named, which
// may count from the end.
//
//   sum(x)   sum(x, 0)   sum(x, {0, 1})   sum(x, -1, true)   x.sum(0)
//   sum(x, {.axis = 0, .keepdims = true, .dtype = f64})   x.sum({.axis = {0, 1}})
//
// An axis, then whether reduced axes stay with one element, may be given without names; every other
// option has one.
#pragma once

#include <tessera/array.h>
#include <tessera/detail/anything.h>

namespace tessera::inline v0 {

/// `dtype` is that of the result and of the accumulation; by default booleans and small integers
/// sum in int32 (uint32), and float16 and bfloat16 accumulate in float32. `initial`, a scalar, is
/// one more element of every sum, product or extremum. `where`, which broadcasts to x, says which
/// elements count.
struct ReduceOptions {
  detail::Named named = detail::Named();
  AxisList axis = {};
  bool keepdims = false;
  std::optional<DType> dtype = {};
  std::optional<Array> initial = {};
  std::optional<Array> where = {};
};
struct MeanOptions {
  detail::Named named = detail::Named();
  AxisList axis = {};
  bool keepdims = false;
  std::optional<DType> dtype = {};
  std::optional<Array> where = {};
};
/// The sum of squares is divided by the count less `ddof`.
struct VarOptions {
  detail::Named named = detail::Named();
  AxisList axis = {};
  bool keepdims = false;
  std::optional<DType> dtype = {};
  int ddof = 0;
  std::optional<Array> where = {};
};
struct LogicOptions {
  detail::Named named = detail::Named();
  AxisList axis = {};
  bool keepdims = false;
  std::optional<Array> where = {};
};
/// `ord` as in NumPy: of vectors any number (0 counts what is not zero, inf and -inf take the
/// largest and the smallest magnitude), of matrices, where two axes are named, 1, -1, inf and -inf
/// (sums of columns or rows). Without one: the root of the sum of squares.
struct NormOptions {
  detail::Named named = detail::Named();
  AxisList axis = {};
  bool keepdims = false;
  std::optional<double> ord = {};
};
struct ArgOptions {
  detail::Named named = detail::Named();
  std::optional<std::int64_t> axis = {};
  bool keepdims = false;
};
struct CumulativeOptions {
  detail::Named named = detail::Named();
  std::optional<std::int64_t> axis = {};
  std::optional<DType> dtype = {};
};
struct CumulativeExtremumOptions {
  detail::Named named = detail::Named();
  std::int64_t axis = 0;
};

// The ways to call a reduction, and what is refused: options that it does not have, and a third
// argument that is no bool.
#define TESSERA_UNAVAILABLE_(text) __attribute__((unavailable("tessera: " text)))
#define TESSERA_NO_OPTION_(name, options)                                                         \
  template <class = void>                                                                         \
  TESSERA_UNAVAILABLE_(#name " has no option of this name; its options, in this order: " options) \
  Array name(Operand, detail::NoReduceOption)
#define TESSERA_REDUCE_(name, Options, options)                                       \
  TESSERA_API Array name(Operand x, const Options& o = {});                           \
  template <NamesAxes A, std::same_as<bool> K = bool>                                 \
  Array name(Operand x, const A& axis, K keepdims = false) {                          \
    return name(std::move(x), Options{.axis = AxisList(axis), .keepdims = keepdims}); \
  }                                                                                   \
  template <std::same_as<bool> K = bool>                                              \
  Array name(Operand x, const detail::BracedAxes& axes, K keepdims = false) {         \
    return name(std::move(x), Options{.axis = axes.list(), .keepdims = keepdims});    \
  }                                                                                   \
  TESSERA_NO_OPTION_(name, options);                                                  \
  template <NamesAxes A, NamesAxes B, class... More>                                  \
  TESSERA_UNAVAILABLE_("several axes go in braces, and options have names: " #name    \
                       "(x, {0, 1}), " #name "(x, 0, true), " #name                   \
                       "(x, {.axis = 0, ...}): " options)                             \
  Array                                                                               \
  name(Operand, const A&, const B&, const More&...)
#define TESSERA_ALONG_(name, Options, Axis, options)        \
  TESSERA_API Array name(Operand x, const Options& o = {}); \
  template <Axis A>                                         \
  Array name(Operand x, A axis) {                           \
    return name(std::move(x), Options{.axis = axis});       \
  }                                                         \
  TESSERA_NO_OPTION_(name, options)

TESSERA_REDUCE_(sum, ReduceOptions, "axis, keepdims, dtype, initial, where");
TESSERA_REDUCE_(prod, ReduceOptions, "axis, keepdims, dtype, initial, where");
/// sum / count, in floats.
TESSERA_REDUCE_(mean, MeanOptions, "axis, keepdims, dtype, where");
/// mean(|x - mean(x)|^2), and its root.
TESSERA_REDUCE_(var, VarOptions, "axis, keepdims, dtype, ddof, where");
TESSERA_REDUCE_(std, VarOptions, "axis, keepdims, dtype, ddof, where");
/// NaN wins. The derivative is shared equally by tied elements. ShapeError for a reduction over no
/// elements without `initial`, and for `where` without it.
TESSERA_REDUCE_(max, ReduceOptions, "axis, keepdims, dtype, initial, where");
TESSERA_REDUCE_(min, ReduceOptions, "axis, keepdims, dtype, initial, where");
// all is an object: tessera/index.h.
TESSERA_REDUCE_(any, LogicOptions, "axis, keepdims, where");
/// Number of elements that are not zero, int32, or int64 where 2^31 and more are counted.
TESSERA_REDUCE_(count_nonzero, LogicOptions, "axis, keepdims, where");
/// log(sum(exp(x))) without overflow.
TESSERA_REDUCE_(logsumexp, LogicOptions, "axis, keepdims, where");

template <class Y>
requires(std::same_as<Y, Array> || (Number<Y> && !std::integral<Y>))
    TESSERA_UNAVAILABLE_("max reduces axes; the larger of two is maximum(x, y)")
Array max(Operand, const Y&);
template <class Y>
requires(std::same_as<Y, Array> || (Number<Y> && !std::integral<Y>))
    TESSERA_UNAVAILABLE_("min reduces axes; the smaller of two is minimum(x, y)")
Array min(Operand, const Y&);

/// Magnitudes: sqrt(sum(x^2)), or what `ord` says. What a number alone would mean is the order to
/// some and the axis to others, so both are named.
TESSERA_API Array norm(Operand x, const NormOptions& o = {});
TESSERA_NO_OPTION_(norm, "axis, keepdims, ord");
template <NamesAxes A, class... More>
TESSERA_UNAVAILABLE_("an axis and an order are named: norm(x, {.axis = 1}), norm(x, {.ord = 1})")
Array norm(Operand, const A&, const More&...);
template <class = void>
TESSERA_UNAVAILABLE_("axes are named: norm(x, {.axis = {0, 1}})")
Array norm(Operand, const detail::BracedAxes&);

/// Position of the first largest element along an axis, or in the flattened array: int32, or int64
/// where there are 2^31 elements and more. NaN wins.
TESSERA_ALONG_(argmax, ArgOptions, NamesAxis, "axis, keepdims");
TESSERA_ALONG_(argmin, ArgOptions, NamesAxis, "axis, keepdims");
template <NamesAxis A, std::same_as<bool> K>
Array argmax(Operand x, A axis, K keepdims) {
  return argmax(std::move(x), ArgOptions{.axis = axis, .keepdims = keepdims});
}
template <NamesAxis A, std::same_as<bool> K>
Array argmin(Operand x, A axis, K keepdims) {
  return argmin(std::move(x), ArgOptions{.axis = axis, .keepdims = keepdims});
}
/// Running sum (product) along an axis, or of the flattened array.
TESSERA_ALONG_(cumsum, CumulativeOptions, NamesAxis, "axis, dtype");
TESSERA_ALONG_(cumprod, CumulativeOptions, NamesAxis, "axis, dtype");
TESSERA_ALONG_(cummax, CumulativeExtremumOptions, Position, "axis");
TESSERA_ALONG_(cummin, CumulativeExtremumOptions, Position, "axis");

#undef TESSERA_ALONG_
#undef TESSERA_REDUCE_
#undef TESSERA_NO_OPTION_

/// Whether shapes and all elements are equal: a boolean scalar.
TESSERA_API Array array_equal(Operand x, Operand y);
/// |x - y| <= atol + rtol * |y| everywhere: a boolean scalar. The arrays may live on different
/// devices.
TESSERA_API Array allclose(Operand x, Operand y, double rtol = 1e-5, double atol = 1e-8,
                           bool equal_nan = false);
TESSERA_API Array isclose(Operand x, Operand y, double rtol = 1e-5, double atol = 1e-8,
                          bool equal_nan = false);

}  // namespace tessera::inline v0
