// Distributions that transform a few uniform or normal numbers.
#include <tessera/distributions.h>

#include "api/random/draws.h"
#include "api/random/parameters.h"
#include "base/float_format.h"

#include <cmath>

namespace tessera::inline v0::random {

using detail::composite1;

namespace {

Value times(Value x, double factor) { return ops::mul(x, ops::full_like(x, factor)); }
Value plus(Value x, double term) { return ops::add(x, ops::full_like(x, term)); }

// A parameterless draw from one key.
template <class F>
Array drawn(const char* name, const Operand& key, DType dtype, F&& draw) {
  const InFunction called(name, key.loc);
  check_key(name, key);
  check_float(name, dtype, key);
  return composite1(name, {key.array}, key.loc,
                    [&](Builder&, std::span<const Value> in) { return draw(in[0]); });
}

// A draw with parameters, which `draw` receives in the dtype and shape of the result.
template <class F>
Array drawn_with(const char* name, const Operand& key, std::initializer_list<Parameter> parameters,
                 const std::optional<Shape>& wanted, DType dtype, F&& draw) {
  const InFunction called(name, key.loc);
  check_key(name, key);
  check_float(name, dtype, key);
  const Shape shape = shape_of_draw(name, key, parameters, wanted);
  std::vector<Array> operands{key.array};
  for (const Parameter& p : parameters) operands.push_back(p.value.array);
  return composite1(name, operands, key.loc, [&](Builder&, std::span<const Value> in) {
    Values p;
    for (Value v : in.subspan(1)) p.push_back(detail::broadcast_to(ops::convert(v, dtype), shape));
    return draw(in[0], shape, p);
  });
}

Value sign_value(Value key, const Shape& shape, DType dtype) {
  Value u = unit(key, shape, dtype == DType::float64 ? dtype : DType::float32);
  Value one = ops::full(*key.builder, dtype, shape, 1);
  return ops::select(ops::lt(u, ops::full_like(u, 0.5)), one, ops::neg(one));
}

Value maxwell_value(Value key, Shape shape, DType dtype) {
  const int last = shape.rank();
  shape.push_back(3);
  Value n = normal_value(key, shape, dtype);
  return ops::sqrt(ops::reduce_sum(ops::mul(n, n), {last}));
}

}  // namespace

Array cauchy(Operand key, const Shape& shape, DType dtype) {
  return drawn("cauchy", key, dtype, [&](Value k) {
    const double epsilon = std::ldexp(1.0, 1 - float_format(dtype).significand_bits);
    Value u = uniform_between(k, shape, dtype, epsilon, 1);
    return ops::tan(times(plus(u, -0.5), M_PI));
  });
}

Array laplace(Operand key, const Shape& shape, DType dtype) {
  return drawn("laplace", key, dtype, [&](Value k) {
    const double epsilon = std::ldexp(1.0, -float_format(dtype).significand_bits);
    Value u = uniform_between(k, shape, dtype, -1 + epsilon, 1);
    return ops::mul(ops::sign(u), ops::log1p(ops::neg(ops::abs(u))));
  });
}

Array logistic(Operand key, const Shape& shape, DType dtype) {
  return drawn("logistic", key, dtype, [&](Value k) {
    Value u = uniform_between(k, shape, dtype, tiny(dtype), 1);
    return ops::sub(ops::log(u), ops::log1p(ops::neg(u)));
  });
}

Array maxwell(Operand key, const Shape& shape, DType dtype) {
  return drawn("maxwell", key, dtype, [&](Value k) { return maxwell_value(k, shape, dtype); });
}

Array rademacher(Operand key, const Shape& shape, DType dtype) {
  const InFunction called("rademacher", key.loc);
  check_key("rademacher", key);
  if (dtype == DType::boolean || is_unsigned_integer(dtype))
    Message("rademacher")
        .problem("the dtype is " + std::string(name_of(dtype)))
        .rule("it holds -1 and 1")
        .from(key.loc)
        .advice("ts::i32 or ts::f32")
        .raise<DTypeError>();
  return composite1("rademacher", {key.array}, key.loc, [&](Builder&, std::span<const Value> in) {
    return sign_value(in[0], shape, dtype);
  });
}

Array double_sided_maxwell(Operand key, Operand loc, Operand scale, const Shape& shape,
                           DType dtype) {
  const char* name = "double_sided_maxwell";
  const InFunction called(name, key.loc);
  const Shape parameters = shape_of_draw(name, key, {{"loc", loc}, {"scale", scale}}, {});
  Shape whole = shape.rank() == 0 ? parameters : shape;
  for (std::int64_t n : parameters) whole.push_back(n);
  return drawn_with(name, key, {{"loc", loc}, {"scale", scale}}, whole, dtype,
                    [&](Value k, const Shape& s, const Values& p) {
                      Values keys = split_value(k, 2);
                      Value m = maxwell_value(keys[0], s, dtype);
                      Value x = ops::mul(sign_value(keys[1], s, dtype), m);
                      return ops::add(ops::mul(x, p[1]), p[0]);
                    });
}

Array lognormal(Operand key, Operand sigma, std::optional<Shape> shape, DType dtype) {
  return drawn_with("lognormal", key, {{"sigma", sigma}}, shape, dtype,
                    [&](Value k, const Shape& s, const Values& p) {
                      return ops::exp(ops::mul(normal_value(k, s, dtype), p[0]));
                    });
}

Array pareto(Operand key, Operand b, std::optional<Shape> shape, DType dtype) {
  return drawn_with("pareto", key, {{"b", b}}, shape, dtype,
                    [&](Value k, const Shape& s, const Values& p) {
                      return ops::exp(ops::div(exponential_value(k, s, dtype), p[0]));
                    });
}

Array rayleigh(Operand key, Operand scale, std::optional<Shape> shape, DType dtype) {
  return drawn_with("rayleigh", key, {{"scale", scale}}, shape, dtype,
                    [&](Value k, const Shape& s, const Values& p) {
                      Value u = unit(k, s, dtype);
                      return ops::mul(p[0], ops::sqrt(times(ops::log(u), -2)));
                    });
}

Array weibull_min(Operand key, Operand scale, Operand concentration, std::optional<Shape> shape,
                  DType dtype) {
  return drawn_with("weibull_min", key, {{"scale", scale}, {"concentration", concentration}}, shape,
                    dtype, [&](Value k, const Shape& s, const Values& p) {
                      Value e = exponential_value(k, s, dtype);
                      Value power = ops::div(ops::full_like(e, 1), p[1]);
                      return ops::mul(ops::pow(e, power), p[0]);
                    });
}

Array wald(Operand key, Operand mean, std::optional<Shape> shape, DType dtype) {
  return drawn_with(
      "wald", key, {{"mean", mean}}, shape, dtype, [&](Value k, const Shape& s, const Values& p) {
        Values keys = split_value(k, 2);
        Value m = p[0], v = normal_value(keys[0], s, dtype), z = unit(keys[1], s, dtype);
        Value y = ops::mul(v, v), t = times(ops::mul(m, y), 0.5), one = ops::full_like(t, 1);
        // The roots of a quadratic equation are m / q and m q. Computing the smaller one as a
        // difference would lose it, and even its sign, if the mean is large.
        Value root = ops::mul(ops::sqrt(t), ops::sqrt(plus(t, 2)));
        Value q = ops::add(plus(t, 1), root), x = ops::div(m, q);
        // Beyond `far`, q equals m y after rounding and would overflow: for an infinite mean the
        // draw is 1 / y.
        const double far = std::ldexp(1.0, float_format(dtype).significand_bits + 4);
        x = ops::select(ops::gt(t, ops::full_like(t, far)), ops::div(one, y), x);
        Value first = ops::div(one, ops::add(one, ops::div(one, q)));
        return ops::select(ops::le(z, first), x, ops::mul(m, q));
      });
}

Array triangular(Operand key, Operand left, Operand mode, Operand right, std::optional<Shape> shape,
                 DType dtype) {
  return drawn_with("triangular", key, {{"left", left}, {"mode", mode}, {"right", right}}, shape,
                    dtype, [&](Value k, const Shape& s, const Values& p) {
                      Value lo = p[0], peak = p[1], hi = p[2], u = unit(k, s, dtype);
                      Value width = ops::sub(hi, lo), rise = ops::sub(peak, lo);
                      Value rest = ops::sub(ops::full_like(u, 1), u), fall = ops::sub(hi, peak);
                      // Take the roots of the factors, since their product may underflow or
                      // overflow.
                      Value up = ops::mul(ops::sqrt(ops::mul(u, width)), ops::sqrt(rise));
                      Value down = ops::mul(ops::sqrt(ops::mul(rest, width)), ops::sqrt(fall));
                      return ops::select(ops::lt(u, ops::div(rise, width)), ops::add(lo, up),
                                         ops::sub(hi, down));
                    });
}

Array geometric(Operand key, Operand p, std::optional<Shape> shape, DType dtype) {
  const InFunction called("geometric", key.loc);
  check_key("geometric", key);
  check_count_dtype("geometric", dtype, key);
  const Shape s = shape_of_draw("geometric", key, {{"p", p}}, shape);
  return composite1("geometric", {key.array, p.array}, key.loc,
                    [&](Builder&, std::span<const Value> in) {
                      Value prob = detail::broadcast_to(detail::to_visible_inexact(in[1]), s);
                      Value u = unit(in[0], s, prob.dtype());
                      u = ops::select(ops::eq(u, ops::zeros_like(u)), ops::full_like(u, 1), u);
                      Value trials = ops::div(ops::log(u), ops::log1p(ops::neg(prob)));
                      return ops::convert(plus(ops::floor(ops::stop_gradient(trials)), 1), dtype);
                    });
}

}  // namespace tessera::inline v0::random
