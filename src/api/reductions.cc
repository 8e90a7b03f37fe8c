#include <tessera/device.h>
#include <tessera/reductions.h>

#include "api/composite.h"

namespace tessera::inline v0 {

using detail::composite1;
using detail::to_inexact;

namespace {

using Reduce = Value (*)(Value, const Ints&);

Array reduce(const char* name, const Operand& x, const AxisList& axis, bool keepdims, auto&& body) {
  return composite1(name, {x.array}, x.loc, [&](Builder&, std::span<const Value> in) {
    Ints axes = detail::normalize_axes(axis.get(), in[0].rank(), name, x.loc);
    Value v = body(in[0], axes);
    return keepdims ? detail::keep_dims(v, axes) : v;
  });
}

bool half(DType d) { return d == DType::float16 || d == DType::bfloat16; }

// The dtype that sums and products of integers accumulate in.
DType accumulation(DType d) {
  if (d == DType::boolean || d == DType::int8 || d == DType::int16) return DType::int32;
  if (d == DType::uint8 || d == DType::uint16) return DType::uint32;
  return d;
}

Value accumulate(Value x, const Ints& axes, std::optional<DType> dtype, Reduce f) {
  DType result = dtype.value_or(accumulation(x.dtype()));
  if (half(result)) return ops::convert(f(ops::convert(x, DType::float32), axes), result);
  return f(ops::convert(x, result, !dtype && x.type().weak), axes);
}

double count_of(const Shape& shape, const Ints& axes) {
  double n = 1;
  for (std::int64_t a : axes) n *= static_cast<double>(shape[static_cast<std::size_t>(a)]);
  return n;
}

Value mean_of(Value x, const Ints& axes, std::optional<DType> dtype) {
  Value v = dtype ? ops::convert(x, *dtype) : to_inexact(x);
  const Type result = v.type();
  if (half(result.dtype)) v = ops::convert(v, DType::float32);
  Value s = ops::reduce_sum(v, axes);
  return ops::convert(ops::div(s, ops::full_like(s, count_of(x.shape(), axes))), result.dtype,
                      result.weak);
}

Value extremum(const char* name, Value x, const Ints& axes, Reduce f) {
  if (count_of(x.shape(), axes) == 0)
    Message(name)
        .problem("an array of shape " + to_string(x.shape()) +
                 " has no elements along the reduced axes")
        .rule("the " + std::string(name) + " of nothing does not exist")
        .from(x.builder->loc)
        .advice("check the size first, or reduce over other axes")
        .raise<ShapeError>();
  return f(x, axes);
}

Value truth(Value x) { return x.dtype() == DType::boolean ? x : ops::ne(x, ops::zeros_like(x)); }

Value var_of(Value x, const Ints& axes, int ddof) {
  Value v = to_inexact(x);
  const Type result = v.type();
  if (half(result.dtype)) v = ops::convert(v, DType::float32);
  double n = count_of(x.shape(), axes);
  Value s = ops::reduce_sum(v, axes);
  Value m = ops::div(s, ops::full_like(s, n));
  Value centred = ops::sub(v, detail::broadcast_to(detail::keep_dims(m, axes), v.shape()));
  Value q = ops::reduce_sum(ops::mul(centred, centred), axes);
  return ops::convert(ops::div(q, ops::full_like(q, n - ddof)), result.dtype, result.weak);
}

using Scan = Value (*)(Value, int, bool);
Array cumulative(const char* name, const Operand& x, std::optional<std::int64_t> axis, Scan f,
                 bool widen) {
  return composite1(name, {x.array}, x.loc, [&](Builder&, std::span<const Value> in) {
    Value v = in[0];
    if (!axis) v = ops::reshape(v, Shape{v.shape().count()});
    if (widen && v.dtype() == DType::boolean) v = ops::convert(v, DType::int32);
    return f(v, normalize_axis(axis.value_or(0), v.rank(), name, x.loc), false);
  });
}

Array arg_extremum(const char* name, const Operand& x, std::optional<std::int64_t> axis,
                   bool keepdims, Value (*f)(Value, int, DType)) {
  return composite1(name, {x.array}, x.loc, [&](Builder&, std::span<const Value> in) {
    Value v = in[0];
    int rank = v.rank();
    if (!axis) v = ops::reshape(v, Shape{v.shape().count()});
    int a = normalize_axis(axis.value_or(0), v.rank(), name, x.loc);
    if (v.shape()[static_cast<std::size_t>(a)] == 0)
      Message(name)
          .problem("an array of shape " + to_string(in[0].shape()) +
                   " has no elements to choose from")
          .rule("the position of an extremum needs at least one element")
          .from(x.loc)
          .advice("check the size first")
          .raise<ShapeError>();
    Value r = f(v, a, DType::int32);
    if (!keepdims) return r;
    Shape shape = in[0].shape();
    for (int d = 0; d < rank; ++d)
      if (!axis || d == a) shape[static_cast<std::size_t>(d)] = 1;
    return ops::reshape(r, shape);
  });
}

}  // namespace

Array sum(Operand x, AxisList axis, bool keepdims) {
  return sum(std::move(x), ReduceOptions{std::move(axis), keepdims, {}});
}
Array sum(Operand x, ReduceOptions o) {
  return reduce("sum", x, o.axis, o.keepdims, [&](Value v, const Ints& axes) {
    return accumulate(v, axes, o.dtype, ops::reduce_sum);
  });
}
Array prod(Operand x, AxisList axis, bool keepdims) {
  return prod(std::move(x), ReduceOptions{std::move(axis), keepdims, {}});
}
Array prod(Operand x, ReduceOptions o) {
  return reduce("prod", x, o.axis, o.keepdims, [&](Value v, const Ints& axes) {
    return accumulate(v, axes, o.dtype, ops::reduce_prod);
  });
}
Array mean(Operand x, AxisList axis, bool keepdims) {
  return mean(std::move(x), ReduceOptions{std::move(axis), keepdims, {}});
}
Array mean(Operand x, ReduceOptions o) {
  return reduce("mean", x, o.axis, o.keepdims,
                [&](Value v, const Ints& axes) { return mean_of(v, axes, o.dtype); });
}
Array var(Operand x, AxisList axis, bool keepdims, int ddof) {
  return reduce("var", x, axis, keepdims,
                [&](Value v, const Ints& axes) { return var_of(v, axes, ddof); });
}
Array std(Operand x, AxisList axis, bool keepdims, int ddof) {
  return reduce("std", x, axis, keepdims,
                [&](Value v, const Ints& axes) { return ops::sqrt(var_of(v, axes, ddof)); });
}
Array max(Operand x, AxisList axis, bool keepdims) {
  return max(std::move(x), ReduceOptions{std::move(axis), keepdims, {}});
}
Array max(Operand x, ReduceOptions o) {
  return reduce("max", x, o.axis, o.keepdims, [&](Value v, const Ints& axes) {
    return extremum("max", o.dtype ? ops::convert(v, *o.dtype) : v, axes, ops::reduce_max);
  });
}
Array min(Operand x, AxisList axis, bool keepdims) {
  return min(std::move(x), ReduceOptions{std::move(axis), keepdims, {}});
}
Array min(Operand x, ReduceOptions o) {
  return reduce("min", x, o.axis, o.keepdims, [&](Value v, const Ints& axes) {
    return extremum("min", o.dtype ? ops::convert(v, *o.dtype) : v, axes, ops::reduce_min);
  });
}
Array any(Operand x, AxisList axis, bool keepdims) {
  return reduce("any", x, axis, keepdims,
                [](Value v, const Ints& axes) { return ops::reduce_or(truth(v), axes); });
}
Array All::operator()(const Operand& x, AxisList axis, bool keepdims) const {
  return reduce("all", x, axis, keepdims,
                [](Value v, const Ints& axes) { return ops::reduce_and(truth(v), axes); });
}
Array count_nonzero(Operand x, AxisList axis, bool keepdims) {
  return reduce("count_nonzero", x, axis, keepdims, [](Value v, const Ints& axes) {
    return ops::reduce_sum(ops::convert(truth(v), DType::int32), axes);
  });
}
Array norm(Operand x, AxisList axis, bool keepdims) {
  return reduce("norm", x, axis, keepdims, [](Value v, const Ints& axes) {
    Value f = to_inexact(v);
    return ops::sqrt(accumulate(ops::mul(f, f), axes, {}, ops::reduce_sum));
  });
}

Array argmax(Operand x, std::optional<std::int64_t> axis, bool keepdims) {
  return arg_extremum("argmax", x, axis, keepdims, ops::argmax);
}
Array argmin(Operand x, std::optional<std::int64_t> axis, bool keepdims) {
  return arg_extremum("argmin", x, axis, keepdims, ops::argmin);
}

Array logsumexp(Operand x, AxisList axis, bool keepdims) {
  return reduce("logsumexp", x, axis, keepdims, [](Value in, const Ints& axes) {
    Value v = to_inexact(in);
    // The shift is a constant to differentiation, and 0 where the maximum is infinite so that no
    // inf - inf arises.
    Value m = ops::stop_gradient(ops::reduce_max(v, axes));
    Value shift = ops::select(ops::is_finite(m), m, ops::zeros_like(m));
    Value e =
        ops::exp(ops::sub(v, detail::broadcast_to(detail::keep_dims(shift, axes), v.shape())));
    return ops::add(ops::log(ops::reduce_sum(e, axes)), shift);
  });
}

Array cumsum(Operand x, std::optional<std::int64_t> axis) {
  return cumulative("cumsum", x, axis, ops::cumsum, true);
}
Array cumprod(Operand x, std::optional<std::int64_t> axis) {
  return cumulative("cumprod", x, axis, ops::cumprod, true);
}
Array cummax(Operand x, std::int64_t axis) {
  return cumulative("cummax", x, axis, ops::cummax, false);
}
Array cummin(Operand x, std::int64_t axis) {
  return cumulative("cummin", x, axis, ops::cummin, false);
}

namespace {
Value close(Value x, Value y, double rtol, double atol, bool equal_nan, const char* name) {
  detail::promote_inexact(x, y);
  detail::promote_and_broadcast(x, y, name);
  Value bound = ops::add(ops::full_like(y, atol), ops::mul(ops::full_like(y, rtol), ops::abs(y)));
  Value near = ops::and_(ops::le(ops::abs(ops::sub(x, y)), bound), ops::is_finite(y));
  near = ops::or_(near, ops::eq(x, y));
  if (equal_nan) near = ops::or_(near, ops::and_(ops::ne(x, x), ops::ne(y, y)));
  return near;
}
Ints every_axis(Value v) { return detail::normalize_axes({}, v.rank(), "", {}); }
}  // namespace

Array isclose(Operand x, Operand y, double rtol, double atol, bool equal_nan) {
  return composite1("isclose", {x.array, y.array}, x.loc, [&](Builder&, std::span<const Value> in) {
    return close(in[0], in[1], rtol, atol, equal_nan, "isclose");
  });
}
namespace {
// Comparisons of wholes take arrays of any devices: y is freed from its own.
Array beside(const Array& x, const Array& y) {
  return x.is_concrete() && y.is_concrete() && !(x.sharding() == y.sharding()) ? device_get(y) : y;
}
}  // namespace

Array allclose(Operand x, Operand y, double rtol, double atol, bool equal_nan) {
  y.array = beside(x.array, y.array);
  return composite1("allclose", {x.array, y.array}, x.loc,
                    [&](Builder&, std::span<const Value> in) {
                      Value near = close(in[0], in[1], rtol, atol, equal_nan, "allclose");
                      return ops::reduce_and(near, every_axis(near));
                    });
}
Array array_equal(Operand x, Operand y) {
  if (detail::need(x.array, "array_equal").type.shape !=
      detail::need(y.array, "array_equal").type.shape)
    return Array(false);
  y.array = beside(x.array, y.array);
  return composite1("array_equal", {x.array, y.array}, x.loc,
                    [](Builder&, std::span<const Value> in) {
                      Value a = in[0], b = in[1];
                      detail::promote_and_broadcast(a, b, "array_equal");
                      Value same = ops::eq(a, b);
                      return ops::reduce_and(same, every_axis(same));
                    });
}

}  // namespace tessera::inline v0
