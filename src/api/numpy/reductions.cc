#include <tessera/detail/square_range.h>
#include <tessera/device.h>
#include <tessera/elementwise.h>
#include <tessera/reductions.h>
#include <tessera/sharding.h>

#include "api/numpy/indexing.h"
#include "api/numpy/integer_math.h"
#include "api/trace/composite.h"
#include "api/trace/numbers.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <optional>

namespace tessera::inline v0 {

using detail::composite1;
using detail::to_inexact;

namespace {

using Reduce = Value (*)(Value, const Ints&);

// The inputs of a reduction: the operand and, if given, a mask of its shape.
struct Input {
  Value x;
  std::optional<Value> where;
  std::optional<Value> initial;
  Ints axes;
};

[[noreturn]] void mask_error(const char* name, const Type& mask, const Shape& shape,
                             const SourceLoc& loc) {
  Message m(name);
  m.problem("`where` is " + to_string(mask) + ", for an array of shape " + to_string(shape))
      .rule(
          "it says for each element whether it counts: a boolean array that broadcasts to the "
          "shape of x")
      .from(loc);
  if (mask.dtype != DType::boolean) m.advice("compare: where = mask != 0").raise<DTypeError>();
  m.advice("insert axes of 1 with expand_dims, so that the axes line up").raise<ShapeError>();
}

Array reduce(const char* name, const Operand& x, const AxisList& axis, bool keepdims,
             const std::optional<Array>& where, const std::optional<Array>& initial, auto&& body) {
  std::vector<Array> operands{x.array};
  if (where) operands.push_back(*where);
  if (initial) operands.push_back(*initial);
  return composite1(name, operands, x.loc, [&](Builder&, std::span<const Value> in) {
    const Shape& shape = in[0].shape();
    Input input{in[0], {}, {}, detail::normalize_axes(axis.get(), shape.rank(), name, x.loc)};
    if (where) {
      const Shape& mask = in[1].shape();
      bool fits = in[1].dtype() == DType::boolean && mask.rank() <= shape.rank();
      for (int i = 1; fits && i <= mask.rank(); ++i)
        fits = mask[static_cast<std::size_t>(mask.rank() - i)] == 1 ||
               mask[static_cast<std::size_t>(mask.rank() - i)] ==
                   shape[static_cast<std::size_t>(shape.rank() - i)];
      if (!fits) mask_error(name, in[1].type(), shape, x.loc);
      input.where = detail::broadcast_to(in[1], shape);
    }
    if (initial) input.initial = in.back();
    Value v = body(input);
    return keepdims ? detail::keep_dims(v, input.axes) : v;
  });
}

// x where the mask holds, `otherwise` elsewhere.
Value counted(const Input& in, Value x, double otherwise) {
  if (!in.where) return x;
  return ops::select(*in.where, x, ops::full_like(x, otherwise));
}

// `initial` as a value like the result; the result's dtype is not widened for it.
Value initial_like(const char* name, const Input& in, Value result) {
  const Type& given = in.initial->type();
  const DType both = promote(result.dtype(), false, given.dtype, given.weak).dtype;
  if (given.shape.rank() != 0 || both != result.dtype()) {
    Message m(name);
    m.problem("`initial` is " + detail::visible_text(given) + ", the result is " +
              std::string(name_of(result.dtype())))
        .rule("it is one more element of each result: a scalar that the result's dtype holds");
    if (given.shape.rank() != 0) m.advice("add an array to the result instead").raise<ShapeError>();
    Type wider = given;
    wider.dtype = both;
    const DType shown = detail::visible_dtype(wider);
    m.advice("{.dtype = ts::" + std::string(short_name_of(shown)) + ", ...}").raise<DTypeError>();
  }
  return detail::broadcast_to(ops::convert(*in.initial, result.dtype()), result.shape());
}

bool half(DType d) { return d == DType::float16 || d == DType::bfloat16; }

// The dtype in which sums and products of integers accumulate.
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

// A bare number as initial value must fit the result's dtype.
void check_initial(const char* name, const Operand& x, const ReduceOptions& o, DType result) {
  if (o.initial) detail::check_fits(name, Operand(*o.initial, x.loc), result);
}

Array accumulated(const char* name, const Operand& x, const ReduceOptions& o, double identity,
                  Reduce f, Value (*combine)(Value, Value)) {
  check_initial(name, x, o,
                o.dtype.value_or(accumulation(detail::need(x.array, name, x.loc).type.dtype)));
  return reduce(name, x, o.axis, o.keepdims, o.where, o.initial, [&](const Input& in) {
    Value v = accumulate(counted(in, in.x, identity), in.axes, o.dtype, f);
    return in.initial ? combine(v, initial_like(name, in, v)) : v;
  });
}

double count_of(const Shape& shape, const Ints& axes) {
  double n = 1;
  for (std::int64_t a : axes) n *= static_cast<double>(shape[static_cast<std::size_t>(a)]);
  return n;
}

// The number of elements that count, as a value like the sum of x over the axes.
Value count_like(const Input& in, Value sum) {
  if (!in.where) return ops::full_like(sum, count_of(in.x.shape(), in.axes));
  return ops::reduce_sum(ops::convert(*in.where, sum.dtype()), in.axes);
}

// Converts to the floating dtype of the computation: half precision is summed in float32.
Value to_sum(Value x, std::optional<DType> dtype, Type& result) {
  Value v = dtype ? ops::convert(x, *dtype) : to_inexact(x);
  result = v.type();
  return half(result.dtype) ? ops::convert(v, DType::float32) : v;
}

Value mean_of(const Input& in, std::optional<DType> dtype) {
  Type result;
  Value s = ops::reduce_sum(counted(in, to_sum(in.x, dtype, result), 0), in.axes);
  return ops::convert(ops::div(s, count_like(in, s)), result.dtype, result.weak);
}

// For each result, a power of two that scales distances from the mean so that their squares are in
// range; it is 1 except for very large or very small elements.
Value spread_factor(const Input& in, Value v) {
  const Value sum = ops::stop_gradient(ops::reduce_sum(counted(in, ops::abs(v), 0), in.axes));
  const Value size = ops::div(sum, count_like(in, sum));
  const detail::SpreadRange range = detail::spread_range(size.dtype());
  const auto like = [&](double value) { return ops::full_like(size, value); };
  return ops::select(ops::gt(size, like(range.large)), like(range.down),
                     ops::select(ops::lt(size, like(range.small)), like(range.up), like(1)));
}

// The variance or its square root, which may be in range where the variance is not.
Value var_of(const Input& in, std::optional<DType> dtype, int ddof, bool root) {
  Type result;
  Value v = counted(in, to_sum(in.x, dtype, result), 0);
  Value s = ops::reduce_sum(v, in.axes);
  Value n = count_like(in, s);
  Value m = ops::div(s, n);
  const auto spread = [&](Value x) {
    return detail::broadcast_to(detail::keep_dims(x, in.axes), v.shape());
  };
  Value centred = ops::sub(v, spread(m));
  std::optional<Value> factor;
  if (root) {
    factor = spread_factor(in, v);
    centred = ops::mul(centred, ops::convert(spread(*factor), v.dtype(), v.type().weak));
  }
  Value squares = ops::mul(centred, centred);
  if (is_complex(v.dtype())) {  // the squared modulus of the distance from the mean
    const Value re = ops::real(centred), im = ops::imag(centred);
    squares = ops::add(ops::mul(re, re), ops::mul(im, im));
    n = ops::real(n);
    result.dtype = real_dtype(result.dtype);
  }
  Value q = ops::reduce_sum(counted(in, squares, 0), in.axes);
  // Without degrees of freedom the variance is NaN, also if their number is negative.
  Value none = ops::full_like(q, NAN);
  auto shown = [&](Value var) {
    if (factor) var = ops::div(ops::sqrt(var), *factor);
    return ops::convert(var, result.dtype, result.weak);
  };
  if (!in.where) {
    const double freedom = count_of(v.shape(), in.axes) - ddof;
    return shown(freedom > 0 ? ops::div(q, ops::full_like(q, freedom)) : none);
  }
  Value freedom = ops::sub(n, ops::full_like(n, ddof));
  Value defined = ops::gt(freedom, ops::zeros_like(freedom));
  Value divisor = ops::select(defined, freedom, ops::full_like(freedom, 1));
  return shown(ops::select(defined, ops::div(q, divisor), none));
}

Array extremum(const char* name, const Operand& x, const ReduceOptions& o, Reduce f,
               Value (*combine)(Value, Value)) {
  check_initial(name, x, o, o.dtype.value_or(detail::need(x.array, name, x.loc).type.dtype));
  return reduce(name, x, o.axis, o.keepdims, o.where, o.initial, [&](const Input& in) {
    const bool nothing = count_of(in.x.shape(), in.axes) == 0;
    if ((nothing || in.where) && !in.initial)
      Message(name)
          .problem(nothing ? "an array of shape " + to_string(in.x.shape()) +
                                 " has no elements along the reduced axes"
                           : "`where` may leave no element")
          .rule("the " + std::string(name) + " of nothing does not exist")
          .from(x.loc)
          .advice(nothing ? "check the size first, or reduce over other axes"
                          : "say what it is then: {.initial = ..., .where = ...}")
          .raise<ShapeError>();
    Value v = o.dtype ? ops::convert(in.x, *o.dtype) : in.x;
    if (!in.initial) return f(v, in.axes);
    Shape reduced;
    for (int d = 0; d < v.rank(); ++d)
      if (std::find(in.axes.begin(), in.axes.end(), d) == in.axes.end())
        reduced.push_back(v.shape()[static_cast<std::size_t>(d)]);
    Value first = initial_like(
        name, in, ops::broadcast_in_dim(ops::scalar(*v.builder, v.dtype(), 0), reduced, {}));
    if (nothing) return first;
    // Replace elements that are masked out by `initial`.
    if (in.where) {
      Value like = initial_like(name, in, v);
      v = ops::select(*in.where, v, like);
    }
    return combine(f(v, in.axes), first);
  });
}

Value truth(Value x) { return x.dtype() == DType::boolean ? x : ops::ne(x, ops::zeros_like(x)); }

using Scan = Value (*)(Value, int, bool);
Array cumulative(const char* name, const Operand& x, std::optional<std::int64_t> axis,
                 std::optional<DType> dtype, Scan f, bool widen) {
  return composite1(name, {x.array}, x.loc, [&](Builder&, std::span<const Value> in) {
    Value v = in[0];
    if (!axis) v = ops::reshape(v, Shape{v.shape().count()});
    if (dtype)
      v = ops::convert(v, *dtype);
    else if (widen && v.dtype() == DType::boolean)
      v = ops::convert(v, DType::int32);
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
    Value r = f(v, a, detail::index_dtype(v.shape()[static_cast<std::size_t>(a)]));
    if (!keepdims) return r;
    Shape shape = in[0].shape();
    for (int d = 0; d < rank; ++d)
      if (!axis || d == a) shape[static_cast<std::size_t>(d)] = 1;
    return ops::reshape(r, shape);
  });
}

}  // namespace

Array sum(Operand x, const ReduceOptions& o) {
  return accumulated("sum", x, o, 0, ops::reduce_sum, ops::add);
}
Array prod(Operand x, const ReduceOptions& o) {
  return accumulated("prod", x, o, 1, ops::reduce_prod, ops::mul);
}
Array mean(Operand x, const MeanOptions& o) {
  return reduce("mean", x, o.axis, o.keepdims, o.where, {},
                [&](const Input& in) { return mean_of(in, o.dtype); });
}
Array var(Operand x, const VarOptions& o) {
  return reduce("var", x, o.axis, o.keepdims, o.where, {},
                [&](const Input& in) { return var_of(in, o.dtype, o.ddof, false); });
}
Array std(Operand x, const VarOptions& o) {
  return reduce("std", x, o.axis, o.keepdims, o.where, {},
                [&](const Input& in) { return var_of(in, o.dtype, o.ddof, true); });
}
Array max(Operand x, const ReduceOptions& o) {
  return extremum("max", x, o, ops::reduce_max, ops::max);
}
Array min(Operand x, const ReduceOptions& o) {
  return extremum("min", x, o, ops::reduce_min, ops::min);
}
Array any(Operand x, const LogicOptions& o) {
  return reduce("any", x, o.axis, o.keepdims, o.where, {}, [](const Input& in) {
    return ops::reduce_or(counted(in, truth(in.x), 0), in.axes);
  });
}
Array All::operator()(const Operand& x) const { return (*this)(x, LogicOptions()); }
Array All::operator()(const Operand& x, const LogicOptions& o) const {
  return reduce("all", x, o.axis, o.keepdims, o.where, {}, [](const Input& in) {
    return ops::reduce_and(counted(in, truth(in.x), 1), in.axes);
  });
}
Array count_nonzero(Operand x, const LogicOptions& o) {
  return reduce("count_nonzero", x, o.axis, o.keepdims, o.where, {}, [](const Input& in) {
    std::int64_t n = 1;
    for (std::int64_t a : in.axes) n *= in.x.shape()[static_cast<std::size_t>(a)];
    const Value counts = ops::convert(counted(in, truth(in.x), 0), detail::index_dtype(n));
    return ops::reduce_sum(counts, in.axes);
  });
}

Array argmax(Operand x, const ArgOptions& o) {
  return arg_extremum("argmax", x, o.axis, o.keepdims, ops::argmax);
}
Array argmin(Operand x, const ArgOptions& o) {
  return arg_extremum("argmin", x, o.axis, o.keepdims, ops::argmin);
}

Array logsumexp(Operand x, const LogicOptions& o) {
  return reduce("logsumexp", x, o.axis, o.keepdims, o.where, {}, [](const Input& in) {
    Value v = counted(in, to_inexact(in.x), -std::numeric_limits<double>::infinity());
    const Ints& axes = in.axes;
    // The shift is constant under differentiation, and 0 where the maximum is infinite, to avoid
    // inf - inf.
    Value m = ops::stop_gradient(ops::reduce_max(v, axes));
    Value shift = ops::select(ops::is_finite(m), m, ops::zeros_like(m));
    Value e =
        ops::exp(ops::sub(v, detail::broadcast_to(detail::keep_dims(shift, axes), v.shape())));
    // Without terms, or if all are exp(-inf), the sum is 0. The logarithm is not differentiable
    // there, so take it of 1 instead and define the derivative as 0.
    Value total = ops::reduce_sum(e, axes), zero = ops::zeros_like(total);
    Value none = ops::eq(total, zero);
    Value log = ops::log(ops::select(none, ops::full_like(total, 1), total));
    return ops::select(none, ops::full_like(total, -std::numeric_limits<double>::infinity()),
                       ops::add(log, shift));
  });
}

Array cumsum(Operand x, const CumulativeOptions& o) {
  return cumulative("cumsum", x, o.axis, o.dtype, ops::cumsum, true);
}
Array cumprod(Operand x, const CumulativeOptions& o) {
  return cumulative("cumprod", x, o.axis, o.dtype, ops::cumprod, true);
}
Array cummax(Operand x, const CumulativeExtremumOptions& o) {
  return cumulative("cummax", x, o.axis, {}, ops::cummax, false);
}
Array cummin(Operand x, const CumulativeExtremumOptions& o) {
  return cumulative("cummin", x, o.axis, {}, ops::cummin, false);
}

namespace {
// |x - y| of integers in float64. 64-bit integers are subtracted exactly if the difference fits 64
// bits, because float64 would lose its last bits.
Value distance(Value x, Value y, const char* name) {
  const Value far =
      ops::abs(ops::sub(ops::convert(x, DType::float64), ops::convert(y, DType::float64)));
  if (size_of(x.dtype()) < 8 && size_of(y.dtype()) < 8) return far;
  const bool beyond = x.dtype() == DType::uint64 || y.dtype() == DType::uint64;
  const DType wide = beyond ? DType::uint64 : DType::int64;
  const Value above =
      detail::differ_in_sign(x.type(), y.type())
          ? detail::compare_64_bits(name, x, y, ops::gt, detail::Comparison::greater)
          : ops::gt(ops::convert(x, wide), ops::convert(y, wide));
  const Value a = ops::convert(x, DType::uint64), b = ops::convert(y, DType::uint64);
  const Value near = ops::select(above, ops::sub(a, b), ops::sub(b, a));
  return ops::select(ops::lt(far, ops::full_like(far, 0x1p62)), ops::convert(near, DType::float64),
                     far);
}
Value close_integers(Value x, Value y, double rtol, double atol, const char* name) {
  const Shape shape = broadcast_shapes(x.shape(), y.shape(), name, x.builder->loc);
  x = detail::broadcast_to(x, shape);
  y = detail::broadcast_to(y, shape);
  const Value size = ops::abs(ops::convert(y, DType::float64));
  const Value bound =
      ops::add(ops::full_like(size, atol), ops::mul(ops::full_like(size, rtol), size));
  return ops::le(distance(x, y, name), bound);
}
Value close(Value x, Value y, double rtol, double atol, bool equal_nan, const char* name) {
  if (!is_inexact(x.dtype()) && !is_inexact(y.dtype()))
    return close_integers(x, y, rtol, atol, name);
  detail::promote_inexact(x, y);
  detail::promote_and_broadcast(x, y, name);
  const Value size = ops::abs(y);
  Value bound = ops::add(ops::full_like(size, atol), ops::mul(ops::full_like(size, rtol), size));
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
// Comparisons of whole arrays accept arrays on different devices: y is moved off its devices.
Array beside(const Array& x, const Array& y) {
  return x.is_concrete() && y.is_concrete() && !(x.sharding() == y.sharding()) ? device_get(y) : y;
}
}  // namespace

Array allclose(Operand x, Operand y, double rtol, double atol, bool equal_nan) {
  const InFunction called("allclose", x.loc);
  y.array = beside(x.array, y.array);
  return composite1("allclose", {x.array, y.array}, x.loc,
                    [&](Builder&, std::span<const Value> in) {
                      Value near = close(in[0], in[1], rtol, atol, equal_nan, "allclose");
                      return ops::reduce_and(near, every_axis(near));
                    });
}
Array array_equal(Operand x, Operand y) {
  const InFunction called("array_equal", x.loc);
  if (detail::need(x.array, "array_equal").type.shape !=
      detail::need(y.array, "array_equal").type.shape)
    return Array(false);
  y.array = beside(x.array, y.array);
  const Type &a = x.array.impl()->type, &b = y.array.impl()->type;
  if (detail::is_integer_number(x.array) || detail::is_integer_number(y.array) ||
      detail::differ_in_sign(a, b) || detail::weak_beside_integer(a, b))
    return all(Operand(equal(x, y), x.loc));
  return composite1("array_equal", {x.array, y.array}, x.loc,
                    [](Builder&, std::span<const Value> in) {
                      Value a = in[0], b = in[1];
                      detail::promote_and_broadcast(a, b, "array_equal");
                      Value same = ops::eq(a, b);
                      return ops::reduce_and(same, every_axis(same));
                    });
}

}  // namespace tessera::inline v0
