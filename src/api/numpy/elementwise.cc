#include <tessera/elementwise.h>

#include "api/numpy/integer_math.h"
#include "api/trace/composite.h"
#include "api/trace/numbers.h"

#include <cmath>
#include <limits>

namespace tessera::inline v0 {

using detail::composite1;
using detail::to_inexact;

namespace {

using Unary = Value (*)(Value);
using Binary = Value (*)(Value, Value);
using detail::Comparison;

// Distinguishes how the functions below wrap `f`.
enum Conversion : int {
  kUnary,
  kInFloats,
  kBinary,
  kBinaryInFloats,
  kCompareNumber,
  kCompare,
  kLogical
};

template <class F, class Body>
Array once(const char* name, std::initializer_list<Array> inputs, const SourceLoc& loc,
           Conversion kind, F* f, Body&& body) {
  return detail::composite_once(
      {name, reinterpret_cast<void (*)()>(f), kind},
      std::span<const Array>(inputs.begin(), inputs.size()), loc,
      [&](Builder&, std::span<const Value> in) { return Values{body(in)}; });
}

Array unary(const char* name, const Operand& x, Unary f) {
  return once(name, {x.array}, x.loc, kUnary, f,
              [&](std::span<const Value> in) { return f(in[0]); });
}
Array in_floats(const char* name, const Operand& x, Unary f) {
  return once(name, {x.array}, x.loc, kInFloats, f,
              [&](std::span<const Value> in) { return f(to_inexact(in[0])); });
}
Array binary(const char* name, const Operand& x, const Operand& y, Binary f) {
  detail::check_all_fit(name, {&x, &y});
  return once(name, {x.array, y.array}, x.loc, kBinary, f, [&](std::span<const Value> in) {
    Value a = in[0], b = in[1];
    detail::promote_and_broadcast(a, b, name);
    return f(a, b);
  });
}
Array binary_in_floats(const char* name, const Operand& x, const Operand& y, Binary f) {
  return once(name, {x.array, y.array}, x.loc, kBinaryInFloats, f, [&](std::span<const Value> in) {
    Value a = in[0], b = in[1];
    detail::promote_inexact(a, b);
    detail::promote_and_broadcast(a, b, name);
    return f(a, b);
  });
}
// A bare integer out of the other operand's range is above or below all of its values.
Array compared(const char* name, const Operand& x, const Operand& y, Binary f, Comparison kind) {
  if (std::optional<Array> known = detail::compared_with_number(name, x, y, kind)) return *known;
  const bool number = detail::is_integer_number(x.array) || detail::is_integer_number(y.array);
  const Conversion with = number ? kCompareNumber : kCompare;
  return once(name, {x.array, y.array}, x.loc, with, f, [&](std::span<const Value> in) {
    Value a = in[0], b = in[1];
    if (!number && detail::differ_in_sign(a.type(), b.type()))
      return detail::compare_64_bits(name, a, b, f, kind);
    if (!number && detail::weak_beside_integer(a.type(), b.type())) {
      const bool beyond = a.dtype() == DType::uint64 || b.dtype() == DType::uint64;
      a = ops::convert(a, beyond ? DType::uint64 : DType::int64);
      b = ops::convert(b, beyond ? DType::uint64 : DType::int64);
    }
    detail::promote_and_broadcast(a, b, name);
    return f(a, b);
  });
}

bool is_bool(Value x) { return x.dtype() == DType::boolean; }
Value to_bool(Value x) { return is_bool(x) ? x : ops::ne(x, ops::zeros_like(x)); }

[[noreturn]] void refuse_dtype(const char* name, Value x, const char* rule, const char* advice) {
  Message(name)
      .problem("the operand has dtype " + std::string(name_of(x.dtype())))
      .rule(rule)
      .from(x.builder->loc)
      .advice(advice)
      .raise<DTypeError>();
}

// Booleans are added with a logical or and multiplied with a logical and, as in NumPy.
Value add_values(Value x, Value y) { return is_bool(x) ? ops::or_(x, y) : ops::add(x, y); }
Value mul_values(Value x, Value y) { return is_bool(x) ? ops::and_(x, y) : ops::mul(x, y); }
Value sub_values(Value x, Value y) {
  if (is_bool(x))
    refuse_dtype("subtract", x, "booleans have no difference",
                 "use x ^ y, or convert with astype(i32)");
  return ops::sub(x, y);
}
Value max_values(Value x, Value y) { return is_bool(x) ? ops::or_(x, y) : ops::max(x, y); }
Value min_values(Value x, Value y) { return is_bool(x) ? ops::and_(x, y) : ops::min(x, y); }
Value neg_value(Value x) {
  if (is_bool(x))
    refuse_dtype("negative", x, "booleans have no negative", "use !x for logical not");
  return ops::neg(x);
}

const char* whole_numbers(Value x) {
  return is_complex(x.dtype()) ? "take real(x) or imag(x), and convert that with astype(i32)"
                               : "convert with astype(i32)";
}
template <Binary f>
Value bitwise(const char* name, Value x, Value y) {
  if (is_inexact(x.dtype()))
    refuse_dtype(name, x, "bits of floats are not combined", whole_numbers(x));
  return f(x, y);
}
Value and_values(Value x, Value y) { return bitwise<ops::and_>("operator&", x, y); }
Value or_values(Value x, Value y) { return bitwise<ops::or_>("operator|", x, y); }
Value xor_values(Value x, Value y) { return bitwise<ops::xor_>("operator^", x, y); }
// Booleans are divided and shifted as the integers 0 and 1.
template <Binary f>
Value as_integers(Value x, Value y) {
  if (!is_bool(x)) return f(x, y);
  return f(ops::convert(x, DType::int32), ops::convert(y, DType::int32));
}
Value shift_left_values(Value x, Value y) {
  return bitwise<as_integers<ops::shift_left>>("operator<<", x, y);
}
Value shift_right_values(Value x, Value y) {
  if (is_bool(x)) return as_integers<ops::shift_right_arithmetic>(x, y);
  if (is_unsigned_integer(x.dtype())) return bitwise<ops::shift_right_logical>("operator>>", x, y);
  return bitwise<ops::shift_right_arithmetic>("operator>>", x, y);
}
Value not_value(Value x) {
  if (is_inexact(x.dtype()))
    refuse_dtype("operator~", x, "bits of floats are not combined", "use !x for logical not");
  return ops::not_(x);
}

Value floor_div_values(Value x, Value y) {
  return is_inexact(x.dtype()) ? detail::floor_divide_floats(x, y)
                               : as_integers<detail::floor_divide_integers>(x, y);
}
Value remainder_values(Value x, Value y) { return as_integers<detail::remainder_of>(x, y); }

Value trunc_value(Value x) {
  return ops::select(ops::lt(x, ops::zeros_like(x)), ops::ceil(x), ops::floor(x));
}
Value isnan_value(Value x) {
  return ops::ne(x, x);  // integers always equal themselves
}
Value isinf_value(Value x) {
  if (is_complex(x.dtype())) return ops::or_(isinf_value(ops::real(x)), isinf_value(ops::imag(x)));
  if (!is_floating(x.dtype())) return ops::ne(x, x);
  return ops::and_(ops::eq(x, x), ops::not_(ops::is_finite(x)));
}
Value isfinite_value(Value x) { return is_inexact(x.dtype()) ? ops::is_finite(x) : ops::eq(x, x); }
// Rounding leaves integers and booleans unchanged.
Value floor_value(Value x) { return is_inexact(x.dtype()) ? ops::floor(x) : x; }
Value ceil_value(Value x) { return is_inexact(x.dtype()) ? ops::ceil(x) : x; }
Value round_value(Value x) { return is_inexact(x.dtype()) ? ops::round_nearest_even(x) : x; }
Value trunc_or_same(Value x) { return is_inexact(x.dtype()) ? trunc_value(x) : x; }
Value square_value(Value x) { return mul_values(x, x); }
Value logical_not_value(Value x) { return ops::not_(to_bool(x)); }

// log(x) / by; 16-bit floats are computed in float32 and rounded once.
Value log_over(Value x, double by) {
  Value wide = size_of(x.dtype()) == 2 ? ops::convert(x, DType::float32) : x;
  Value r = ops::div(ops::log(wide), ops::full_like(wide, by));
  return size_of(x.dtype()) == 2 ? ops::convert(r, x.dtype()) : r;
}

// Logical functions convert their operands to booleans before broadcasting.
Array logical(const char* name, const Operand& x, const Operand& y, Binary f) {
  return once(name, {x.array, y.array}, x.loc, kLogical, f, [&](std::span<const Value> in) {
    Value a = to_bool(in[0]), b = to_bool(in[1]);
    detail::promote_and_broadcast(a, b, name);
    return f(a, b);
  });
}

}  // namespace

#define TESSERA_IN_FLOATS(name, op)                                 \
  Array name(Operand x) {                                           \
    return in_floats(#name, x, [](Value v) { return ops::op(v); }); \
  }
TESSERA_IN_FLOATS(exp, exp)
TESSERA_IN_FLOATS(exp2, exp2)
TESSERA_IN_FLOATS(expm1, expm1)
TESSERA_IN_FLOATS(log, log)
TESSERA_IN_FLOATS(log1p, log1p)
TESSERA_IN_FLOATS(sqrt, sqrt)
TESSERA_IN_FLOATS(rsqrt, rsqrt)
TESSERA_IN_FLOATS(cbrt, cbrt)
TESSERA_IN_FLOATS(sin, sin)
TESSERA_IN_FLOATS(cos, cos)
TESSERA_IN_FLOATS(tan, tan)
TESSERA_IN_FLOATS(arcsin, asin)
TESSERA_IN_FLOATS(arccos, acos)
TESSERA_IN_FLOATS(arctan, atan)
TESSERA_IN_FLOATS(sinh, sinh)
TESSERA_IN_FLOATS(cosh, cosh)
TESSERA_IN_FLOATS(tanh, tanh)
TESSERA_IN_FLOATS(arcsinh, asinh)
TESSERA_IN_FLOATS(arccosh, acosh)
TESSERA_IN_FLOATS(arctanh, atanh)
TESSERA_IN_FLOATS(erf, erf)
TESSERA_IN_FLOATS(erfc, erfc)
TESSERA_IN_FLOATS(erf_inv, erf_inv)
TESSERA_IN_FLOATS(sigmoid, logistic)
#undef TESSERA_IN_FLOATS

Array log2(Operand x) {
  return in_floats("log2", x, [](Value v) { return log_over(v, std::log(2.0)); });
}
Array log10(Operand x) {
  return in_floats("log10", x, [](Value v) { return log_over(v, std::log(10.0)); });
}
Array reciprocal(Operand x) {
  return in_floats("reciprocal", x, [](Value v) { return ops::div(ops::full_like(v, 1), v); });
}
Array floor(Operand x) { return unary("floor", x, floor_value); }
Array ceil(Operand x) { return unary("ceil", x, ceil_value); }
Array round(Operand x) { return unary("round", x, round_value); }
Array trunc(Operand x) { return unary("trunc", x, trunc_or_same); }

Array negative(Operand x) { return unary("negative", x, neg_value); }
Array abs(Operand x) {
  return unary("abs", x, [](Value v) {
    return is_bool(v) || is_unsigned_integer(v.dtype()) ? v : ops::abs(v);
  });
}
Array sign(Operand x) {
  return unary("sign", x, [](Value v) { return ops::sign(v); });
}
Array square(Operand x) { return unary("square", x, square_value); }
Array logical_not(Operand x) { return unary("logical_not", x, logical_not_value); }
Array bitwise_not(Operand x) { return unary("bitwise_not", x, not_value); }
Array isnan(Operand x) { return unary("isnan", x, isnan_value); }
Array isinf(Operand x) { return unary("isinf", x, isinf_value); }
Array isfinite(Operand x) { return unary("isfinite", x, isfinite_value); }

Array add(Operand x, Operand y) { return binary("add", x, y, add_values); }
Array subtract(Operand x, Operand y) { return binary("subtract", x, y, sub_values); }
Array multiply(Operand x, Operand y) { return binary("multiply", x, y, mul_values); }
Array divide(Operand x, Operand y) { return binary_in_floats("divide", x, y, ops::div); }
Array floor_divide(Operand x, Operand y) { return binary("floor_divide", x, y, floor_div_values); }
Array remainder(Operand x, Operand y) { return binary("remainder", x, y, remainder_values); }
Array arctan2(Operand y, Operand x) { return binary_in_floats("arctan2", y, x, ops::atan2); }
Array maximum(Operand x, Operand y) { return binary("maximum", x, y, max_values); }
Array minimum(Operand x, Operand y) { return binary("minimum", x, y, min_values); }
Array logaddexp(Operand x, Operand y) {
  return binary_in_floats("logaddexp", x, y, ops::logaddexp);
}
Array hypot(Operand x, Operand y) { return binary_in_floats("hypot", x, y, ops::hypot); }
Array equal(Operand x, Operand y) { return compared("equal", x, y, ops::eq, Comparison::equal); }
Array not_equal(Operand x, Operand y) {
  return compared("not_equal", x, y, ops::ne, Comparison::not_equal);
}
Array less(Operand x, Operand y) { return compared("less", x, y, ops::lt, Comparison::less); }
Array less_equal(Operand x, Operand y) {
  return compared("less_equal", x, y, ops::le, Comparison::less_equal);
}
Array greater(Operand x, Operand y) {
  return compared("greater", x, y, ops::gt, Comparison::greater);
}
Array greater_equal(Operand x, Operand y) {
  return compared("greater_equal", x, y, ops::ge, Comparison::greater_equal);
}
Array logical_and(Operand x, Operand y) { return logical("logical_and", x, y, ops::and_); }
Array logical_or(Operand x, Operand y) { return logical("logical_or", x, y, ops::or_); }
Array logical_xor(Operand x, Operand y) { return logical("logical_xor", x, y, ops::xor_); }

Array power(Operand x, Operand y) {
  const auto exact = [](const Operand& o) {
    return o.array.impl() && !is_inexact(o.array.impl()->type.dtype);
  };
  const bool integers = exact(x) && exact(y);
  // A bare integer exponent is static: repeated multiplication is exact for integers and
  // differentiable everywhere.
  if (detail::is_integer_number(y.array) && detail::side_of_range(*y.array.impl(), i64) == 0) {
    const std::int64_t n = y.array.impl()->integer;
    if (integers) detail::check_exponent(n, x.loc);
    if (integers) detail::check_all_fit("power", {&x, &y});
    return composite1("power", {x.array}, x.loc, [&](Builder&, std::span<const Value> in) {
      // With a bare number, a boolean is as weak as the number.
      Value v = is_bool(in[0]) ? ops::convert(in[0], y.array.impl()->type.dtype, true) : in[0];
      return ops::integer_pow(v, n);
    });
  }
  // int64 and uint64 promote to a float, as everywhere.
  const bool common =
      integers &&
      !is_inexact(detail::promote_types(x.array.impl()->type, y.array.impl()->type).dtype);
  if (common)
    return binary("power", x, y,
                  [](Value a, Value b) { return as_integers<detail::power_of_integers>(a, b); });
  return binary_in_floats("power", x, y, ops::pow);
}
Array pow(Operand x, Operand y) { return power(std::move(x), std::move(y)); }

Array where(Operand condition, Operand x, Operand y) {
  detail::check_all_fit("where", {&x, &y});
  return composite1("where", {condition.array, x.array, y.array}, condition.loc,
                    [&](Builder&, std::span<const Value> in) {
                      Value c = to_bool(in[0]), a = in[1], b = in[2];
                      detail::promote_and_broadcast(a, b, "where");
                      Shape shape = broadcast_shapes(c.shape(), a.shape(), "where", condition.loc);
                      return ops::select(detail::broadcast_to(c, shape),
                                         detail::broadcast_to(a, shape),
                                         detail::broadcast_to(b, shape));
                    });
}

Array clip(Operand x, Operand lo, Operand hi) {
  const InFunction called("clip", x.loc);
  detail::check_all_fit("clip", {&x, &lo, &hi});
  return minimum(maximum(x, std::move(lo)), std::move(hi));
}

namespace {
Value nan_to_num_value(Value v) {
  if (is_complex(v.dtype()))
    return ops::complex(nan_to_num_value(ops::real(v)), nan_to_num_value(ops::imag(v)));
  if (!is_floating(v.dtype())) return v;
  double biggest = v.dtype() == DType::float64    ? std::numeric_limits<double>::max()
                   : v.dtype() == DType::float32  ? std::numeric_limits<float>::max()
                   : v.dtype() == DType::bfloat16 ? 3.3895313892515355e38
                                                  : 65504.0;
  Value r = ops::select(ops::ne(v, v), ops::zeros_like(v), v);
  r = ops::select(ops::eq(v, ops::full_like(v, INFINITY)), ops::full_like(v, biggest), r);
  return ops::select(ops::eq(v, ops::full_like(v, -INFINITY)), ops::full_like(v, -biggest), r);
}
Value real_value(Value x) { return is_complex(x.dtype()) ? ops::real(x) : x; }
Value imag_value(Value x) {
  return is_complex(x.dtype()) ? ops::imag(x) : ops::zeros_like(is_bool(x) ? to_inexact(x) : x);
}
Value conj_value(Value x) { return is_complex(x.dtype()) ? ops::conj(x) : x; }
Value angle_value(Value x) { return ops::atan2(imag_value(x), real_value(x)); }
// The common dtype of the parts is float32 or float64.
Value complex_value(Value re, Value im) {
  if (size_of(re.dtype()) == 2) {
    re = ops::convert(re, DType::float32);
    im = ops::convert(im, DType::float32);
  }
  return ops::complex(re, im);
}
Value isreal_value(Value x) { return ops::eq(imag_value(x), ops::zeros_like(imag_value(x))); }
Value iscomplex_value(Value x) { return ops::ne(imag_value(x), ops::zeros_like(imag_value(x))); }
}  // namespace

Array nan_to_num(Operand x) { return unary("nan_to_num", x, nan_to_num_value); }
Array complex(Operand re, Operand im) { return binary_in_floats("complex", re, im, complex_value); }
Array real(Operand x) { return unary("real", x, real_value); }
Array imag(Operand x) { return unary("imag", x, imag_value); }
Array conj(Operand x) { return unary("conj", x, conj_value); }
Array conjugate(Operand x) { return unary("conj", x, conj_value); }
Array angle(Operand x) { return in_floats("angle", x, angle_value); }
Array isreal(Operand x) { return unary("isreal", x, isreal_value); }
Array iscomplex(Operand x) { return unary("iscomplex", x, iscomplex_value); }
bool iscomplexobj(const Array& x, std::source_location loc) { return is_complex(x.dtype(loc)); }
bool isrealobj(const Array& x, std::source_location loc) { return !is_complex(x.dtype(loc)); }

Array astype(Operand x, DType dtype) {
  return composite1("astype", {x.array}, x.loc, [&](Builder&, std::span<const Value> in) {
    return ops::convert(in[0], dtype);
  });
}
Array stop_gradient(Operand x) { return unary("stop_gradient", x, ops::stop_gradient); }

Array Array::astype(DType dtype, std::source_location loc) const {
  return v0::astype(Operand(*this, loc), dtype);
}

Array operator+(Operand x, Operand y) { return add(std::move(x), std::move(y)); }
Array operator-(Operand x, Operand y) { return subtract(std::move(x), std::move(y)); }
Array operator*(Operand x, Operand y) { return multiply(std::move(x), std::move(y)); }
Array operator/(Operand x, Operand y) { return divide(std::move(x), std::move(y)); }
Array operator%(Operand x, Operand y) { return remainder(std::move(x), std::move(y)); }
Array operator-(Operand x) { return negative(std::move(x)); }
Array operator+(Operand x) { return detail::same_values(x.array, "positive", x.loc); }
Array operator==(Operand x, Operand y) { return equal(std::move(x), std::move(y)); }
Array operator!=(Operand x, Operand y) { return not_equal(std::move(x), std::move(y)); }
Array operator<(Operand x, Operand y) { return less(std::move(x), std::move(y)); }
Array operator<=(Operand x, Operand y) { return less_equal(std::move(x), std::move(y)); }
Array operator>(Operand x, Operand y) { return greater(std::move(x), std::move(y)); }
Array operator>=(Operand x, Operand y) { return greater_equal(std::move(x), std::move(y)); }
Array operator&(Operand x, Operand y) { return binary("operator&", x, y, and_values); }
Array operator|(Operand x, Operand y) { return binary("operator|", x, y, or_values); }
Array operator^(Operand x, Operand y) { return binary("operator^", x, y, xor_values); }
Array operator~(Operand x) { return bitwise_not(std::move(x)); }
Array operator<<(Operand x, Operand y) { return binary("operator<<", x, y, shift_left_values); }
Array operator>>(Operand x, Operand y) { return binary("operator>>", x, y, shift_right_values); }
Array operator&&(const Array& x, Operand y) { return logical_and({x, y.loc}, y); }
Array operator||(const Array& x, Operand y) { return logical_or({x, y.loc}, y); }
Array operator!(const Array& x) { return logical_not({x, std::source_location{}}); }

}  // namespace tessera::inline v0
