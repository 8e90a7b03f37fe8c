// Elementary functions whose definition differs slightly from that of our ops.
#include "stablehlo/import/rules.h"

#include <cmath>

namespace tessera::inline v0::stablehlo::rules {

namespace {

const Value& checked_pair(Reading& r) {
  r.need_operands(2);
  return r.in[0];
}

// Complex numbers are ordered by real part, then by imaginary part.
Value ordered(Value x, Value y, Value (*before)(Value, Value)) {
  const Value xr = ops::real(x), yr = ops::real(y);
  const Value first =
      ops::or_(before(xr, yr), ops::and_(ops::eq(xr, yr), before(ops::imag(x), ops::imag(y))));
  return ops::select(first, x, y);
}

Value number(Value like, double x) { return ops::full_like(like, x); }

// Computes f in float32 if the operand is narrower.
template <class F>
Values widened(Reading& r, F&& f) {
  r.need_operands(1);
  const DType d = r.in[0].dtype();
  if (!is_floating(d)) return by_spelling(r);
  return {size_of(d) < 4 ? ops::convert(f(ops::convert(r.in[0], DType::float32)), d) : f(r.in[0])};
}

}  // namespace

Value greatest_of(Value x, Value y) {
  return is_complex(x.dtype()) ? ordered(x, y, ops::gt) : ops::max(x, y);
}
Value least_of(Value x, Value y) {
  return is_complex(x.dtype()) ? ordered(x, y, ops::lt) : ops::min(x, y);
}
Values maximum(Reading& r) {
  if (!is_complex(checked_pair(r).dtype())) return by_spelling(r);
  return {greatest_of(r.in[0], r.in[1])};
}
Values minimum(Reading& r) {
  if (!is_complex(checked_pair(r).dtype())) return by_spelling(r);
  return {least_of(r.in[0], r.in[1])};
}

// -i log((x + iy) / sqrt(x^2 + y^2)), for complex x and y. CHLO's atan becomes this, with x = 1.
Values atan2(Reading& r) {
  const Value y = checked_pair(r), x = r.in[1];
  if (is_floating(y.dtype()) && x.type() == y.type() && r.known_number(x) == 1.0)
    return {ops::atan(y)};
  if (!is_complex(y.dtype()) || x.type() != y.type()) return by_spelling(r);
  const Value one = ops::full_like(ops::real(x), 1), zero = ops::zeros_like(one);
  const Value i = ops::complex(zero, one);
  const Value length = ops::sqrt(ops::add(ops::mul(x, x), ops::mul(y, y)));
  const Value log = ops::log(ops::div(ops::add(x, ops::mul(i, y)), length));
  return {ops::complex(ops::imag(log), ops::neg(ops::real(log)))};
}

// The principal cube root of a complex number.
Values cbrt(Reading& r) {
  r.need_operands(1);
  const Value x = r.in[0];
  if (!is_complex(x.dtype())) return by_spelling(r);
  const Value third = number(ops::real(x), 1.0 / 3);
  return {ops::pow(x, ops::complex(third, ops::zeros_like(third)))};
}

// As CHLO defines it: halved exponentials, by subtracting ln 2 from their arguments, so that the
// largest results do not overflow on the way. Other implementations give the same results.
Values cosh(Reading& r) {
  return widened(r, [](Value x) {
    const Value half = number(x, -std::log(2.0));
    return ops::add(ops::exp(ops::add(x, half)), ops::exp(ops::sub(half, x)));
  });
}
Values sinh(Reading& r) {
  return widened(r, [](Value x) {
    const Value half = number(x, -std::log(2.0)), one = number(x, 1);
    const Value far = ops::sub(ops::exp(ops::add(x, half)), ops::exp(ops::sub(half, x)));
    const Value e = ops::expm1(x);
    const Value near = ops::mul(number(x, 0.5), ops::add(e, ops::div(e, ops::add(e, one))));
    return ops::select(ops::lt(ops::abs(x), one), near, far);
  });
}

}  // namespace tessera::inline v0::stablehlo::rules
