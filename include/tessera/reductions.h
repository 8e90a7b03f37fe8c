// Reductions and cumulative functions, as NumPy has them: over all axes, or over those named, which
// may count from the end.
#pragma once

#include <tessera/array.h>

namespace tessera::inline v0 {

/// sum(x, {.axis = 0, .keepdims = true, .dtype = f64}). `dtype` is that of the result and of the
/// accumulation; by default booleans and small integers sum in int32 (uint32), and float16 and
/// bfloat16 accumulate in float32.
struct ReduceOptions {
  AxisList axis;
  bool keepdims = false;
  std::optional<DType> dtype;
};

TESSERA_API Array sum(Operand x, AxisList axis = {}, bool keepdims = false);
TESSERA_API Array sum(Operand x, ReduceOptions options);
TESSERA_API Array prod(Operand x, AxisList axis = {}, bool keepdims = false);
TESSERA_API Array prod(Operand x, ReduceOptions options);
/// sum / count, in floats.
TESSERA_API Array mean(Operand x, AxisList axis = {}, bool keepdims = false);
TESSERA_API Array mean(Operand x, ReduceOptions options);
/// mean(|x - mean(x)|^2) with `ddof` taken from the count.
TESSERA_API Array var(Operand x, AxisList axis = {}, bool keepdims = false, int ddof = 0);
TESSERA_API Array std(Operand x, AxisList axis = {}, bool keepdims = false, int ddof = 0);
/// NaN wins. The derivative is shared equally by tied elements. ShapeError for a reduction over no
/// elements.
TESSERA_API Array max(Operand x, AxisList axis = {}, bool keepdims = false);
TESSERA_API Array max(Operand x, ReduceOptions options);
TESSERA_API Array min(Operand x, AxisList axis = {}, bool keepdims = false);
TESSERA_API Array min(Operand x, ReduceOptions options);
TESSERA_API Array any(Operand x, AxisList axis = {}, bool keepdims = false);
// all(x, axis, keepdims) is the call of tessera::all (array.h).
// Several axes in braces: sum(x, {0, 1}).
#define TESSERA_REDUCE_AXES_(name)                                                                \
  inline Array name(Operand x, std::initializer_list<std::int64_t> axes, bool keepdims = false) { \
    return name(std::move(x), AxisList(axes), keepdims);                                          \
  }
TESSERA_REDUCE_AXES_(sum)
TESSERA_REDUCE_AXES_(prod)
TESSERA_REDUCE_AXES_(mean)
TESSERA_REDUCE_AXES_(max)
TESSERA_REDUCE_AXES_(min)
#undef TESSERA_REDUCE_AXES_
/// int32 position of the first largest element along an axis, or in the flattened array. NaN wins.
TESSERA_API Array argmax(Operand x, std::optional<std::int64_t> axis = {}, bool keepdims = false);
TESSERA_API Array argmin(Operand x, std::optional<std::int64_t> axis = {}, bool keepdims = false);
/// log(sum(exp(x))) without overflow.
TESSERA_API Array logsumexp(Operand x, AxisList axis = {}, bool keepdims = false);
/// Running sum (product) along an axis, or of the flattened array.
TESSERA_API Array cumsum(Operand x, std::optional<std::int64_t> axis = {});
TESSERA_API Array cumprod(Operand x, std::optional<std::int64_t> axis = {});
TESSERA_API Array cummax(Operand x, std::int64_t axis = 0);
TESSERA_API Array cummin(Operand x, std::int64_t axis = 0);
/// Number of elements that are not zero.
TESSERA_API Array count_nonzero(Operand x, AxisList axis = {}, bool keepdims = false);
/// sqrt(sum(x^2)).
TESSERA_API Array norm(Operand x, AxisList axis = {}, bool keepdims = false);

/// Whether shapes and all elements are equal: a boolean scalar.
TESSERA_API Array array_equal(Operand x, Operand y);
/// |x - y| <= atol + rtol * |y| everywhere: a boolean scalar. The arrays may live on different
/// devices.
TESSERA_API Array allclose(Operand x, Operand y, double rtol = 1e-5, double atol = 1e-8,
                           bool equal_nan = false);
TESSERA_API Array isclose(Operand x, Operand y, double rtol = 1e-5, double atol = 1e-8,
                          bool equal_nan = false);

}  // namespace tessera::inline v0
