// Reductions and cumulative functions under NumPy's names, over all axes or over those given.
// Negative axes count from the end; axes out of range throw ShapeError.
//
//   sum(x)   sum(x, 0)   sum(x, {0, 1})   sum(x, -1, true)   x.sum(0)
//   sum(x, {.axis = 0, .keepdims = true, .dtype = f64})   x.sum({.axis = {0, 1}})
//
// The axes and keepdims may be given by position; every other option is given by name.
#pragma once

#include <tessera/array.h>
#include <tessera/detail/foreign_options.h>

namespace tessera::inline v0 {

/// `dtype` is the dtype of the result and of the accumulation. By default booleans and small
/// integers are summed in int32 (uint32), and float16 and bfloat16 accumulate in float32.
/// `initial`, a scalar, is an additional element of every sum, product or extremum. `where`, which
/// broadcasts to x, selects the elements that count.
struct ReduceOptions {
  detail::Named named = detail::Named();
  AxisList axis = {};
  bool keepdims = false;
  std::optional<DType> dtype = {};
  std::optional<Array> initial = {};
  std::optional<Array> where = {};
};
/// The options of mean and similar reductions. `axis` is all axes by default, `keepdims` keeps them
/// with one element, `dtype` is that of the result and of the accumulation, and `where` selects the
/// elements that count.
struct MeanOptions {
  detail::Named named = detail::Named();
  AxisList axis = {};
  bool keepdims = false;
  std::optional<DType> dtype = {};
  std::optional<Array> where = {};
};
/// The sum of squares is divided by the count minus `ddof`.
struct VarOptions {
  detail::Named named = detail::Named();
  AxisList axis = {};
  bool keepdims = false;
  std::optional<DType> dtype = {};
  int ddof = 0;
  std::optional<Array> where = {};
};
/// The options of any and all: `axis` is all axes by default, `keepdims` keeps them with one
/// element, and `where` selects the elements that count.
struct LogicOptions {
  detail::Named named = detail::Named();
  AxisList axis = {};
  bool keepdims = false;
  std::optional<Array> where = {};
};
/// `ord` is as in NumPy. For vectors it is any number (0 counts non-zero elements, inf and -inf
/// give the largest and the smallest magnitude). For matrices, that is, over two axes, it is 1, -1,
/// inf or -inf (the largest or smallest sum of magnitudes in a column or row), or 2 or -2 (the
/// largest or smallest singular value). Any other order throws ShapeError. The default is the root
/// of the sum of squares, over any number of axes.
struct NormOptions {
  detail::Named named = detail::Named();
  AxisList axis = {};
  bool keepdims = false;
  std::optional<double> ord = {};
};
/// The options of argmax and argmin: without `axis` they search the flattened array; `keepdims`
/// keeps the axis with one element.
struct ArgOptions {
  detail::Named named = detail::Named();
  std::optional<std::int64_t> axis = {};
  bool keepdims = false;
};
/// The options of cumsum and cumprod: without `axis` they run over the flattened array; `dtype` is
/// that of the result.
struct CumulativeOptions {
  detail::Named named = detail::Named();
  std::optional<std::int64_t> axis = {};
  std::optional<DType> dtype = {};
};
/// The option of cummax and cummin, their axis.
struct CumulativeExtremumOptions {
  detail::Named named = detail::Named();
  std::int64_t axis = 0;
};

// Declares the call forms of a reduction, and overloads that reject unknown options and a third
// argument that is not a bool.
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

/// The sum of the elements over the axes; 0 if there are none. ReduceOptions describes its dtype.
TESSERA_REDUCE_(sum, ReduceOptions, "axis, keepdims, dtype, initial, where");
/// The product of the elements over the axes; 1 if there are none. ReduceOptions describes its
/// dtype.
TESSERA_REDUCE_(prod, ReduceOptions, "axis, keepdims, dtype, initial, where");
/// sum / count, in floats.
TESSERA_REDUCE_(mean, MeanOptions, "axis, keepdims, dtype, where");
/// The variance, mean(|x - mean(x)|^2), where the divisor is the count minus `ddof`.
TESSERA_REDUCE_(var, VarOptions, "axis, keepdims, dtype, ddof, where");
/// The standard deviation, the root of var.
TESSERA_REDUCE_(std, VarOptions, "axis, keepdims, dtype, ddof, where");
/// The largest element over the axes; NaN if any element is NaN. Tied elements share the derivative
/// equally. Throws ShapeError for a reduction over no elements without `initial`, and for `where`
/// without it.
TESSERA_REDUCE_(max, ReduceOptions, "axis, keepdims, dtype, initial, where");
/// The smallest element over the axes; NaN if any element is NaN. Tied elements share the
/// derivative equally. Throws ShapeError for a reduction over no elements without `initial`, and
/// for `where` without it.
TESSERA_REDUCE_(min, ReduceOptions, "axis, keepdims, dtype, initial, where");
// `all` is an object, declared in tessera/index.h.
/// Whether any element is not zero, as booleans; false if there are none.
TESSERA_REDUCE_(any, LogicOptions, "axis, keepdims, where");
/// The number of non-zero elements, as int32, or int64 if 2^31 elements or more are counted.
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

/// The norm: sqrt(sum(|x|^2)), or the one selected by `ord`. Options must be named, because an
/// unnamed number would be the order in some libraries and the axis in others.
TESSERA_API Array norm(Operand x, const NormOptions& o = {});
TESSERA_NO_OPTION_(norm, "axis, keepdims, ord");
template <NamesAxes A, class... More>
TESSERA_UNAVAILABLE_("an axis and an order are named: norm(x, {.axis = 1}), norm(x, {.ord = 1})")
Array norm(Operand, const A&, const More&...);
template <class = void>
TESSERA_UNAVAILABLE_("axes are named: norm(x, {.axis = {0, 1}})")
Array norm(Operand, const detail::BracedAxes&);

/// The position of the first largest element along an axis, or in the flattened array: int32, or
/// int64 if there are 2^31 elements or more. NaN counts as the largest.
TESSERA_ALONG_(argmax, ArgOptions, NamesAxis, "axis, keepdims");
/// The position of the first smallest element along an axis, or in the flattened array: int32, or
/// int64 if there are 2^31 elements or more. NaN counts as the smallest.
TESSERA_ALONG_(argmin, ArgOptions, NamesAxis, "axis, keepdims");
template <NamesAxis A, std::same_as<bool> K>
Array argmax(Operand x, A axis, K keepdims) {
  return argmax(std::move(x), ArgOptions{.axis = axis, .keepdims = keepdims});
}
template <NamesAxis A, std::same_as<bool> K>
Array argmin(Operand x, A axis, K keepdims) {
  return argmin(std::move(x), ArgOptions{.axis = axis, .keepdims = keepdims});
}
/// The running sum along an axis, by default of the flattened array.
TESSERA_ALONG_(cumsum, CumulativeOptions, NamesAxis, "axis, dtype");
/// The running product along an axis, by default of the flattened array.
TESSERA_ALONG_(cumprod, CumulativeOptions, NamesAxis, "axis, dtype");
/// The running maximum along an axis, by default the first.
TESSERA_ALONG_(cummax, CumulativeExtremumOptions, Position, "axis");
/// The running minimum along an axis, by default the first.
TESSERA_ALONG_(cummin, CumulativeExtremumOptions, Position, "axis");

#undef TESSERA_ALONG_
#undef TESSERA_REDUCE_
#undef TESSERA_NO_OPTION_

/// Whether the shapes and all elements are equal, as a boolean scalar.
TESSERA_API Array array_equal(Operand x, Operand y);
/// Whether |x - y| <= atol + rtol * |y| everywhere, as a boolean scalar. The arrays may be on
/// different devices.
TESSERA_API Array allclose(Operand x, Operand y, double rtol = 1e-5, double atol = 1e-8,
                           bool equal_nan = false);
/// Whether |x - y| <= atol + rtol * |y| for each pair of elements, as booleans. With `equal_nan`
/// two NaN are close.
TESSERA_API Array isclose(Operand x, Operand y, double rtol = 1e-5, double atol = 1e-8,
                          bool equal_nan = false);

}  // namespace tessera::inline v0
