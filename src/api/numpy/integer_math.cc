#include "api/numpy/integer_math.h"

#include "api/trace/composite.h"
#include "api/trace/numbers.h"

#include <tessera/creation.h>

namespace tessera::inline v0::detail {

namespace {

Value one_like(Value x) { return ops::full_like(x, 1); }

// Whether a comparison is true if the left operand is the larger one.
bool holds_above(Comparison kind) {
  return kind == Comparison::not_equal || kind == Comparison::greater ||
         kind == Comparison::greater_equal;
}
bool holds_below(Comparison kind) {
  return kind == Comparison::not_equal || kind == Comparison::less ||
         kind == Comparison::less_equal;
}

}  // namespace

Value floor_divide_floats(Value x, Value y) {
  // Divide x less its remainder: floor(x / y) itself may be off by one after rounding.
  Value r = ops::rem(x, y);
  Value zero = ops::zeros_like(x);
  Value adjust = ops::and_(ops::ne(r, zero), ops::ne(ops::lt(r, zero), ops::lt(y, zero)));
  Value q = ops::div(ops::sub(x, r), y);
  q = ops::round_nearest_even(ops::select(adjust, ops::sub(q, one_like(q)), q));
  // If y is zero, the remainder is NaN; the quotient is then the one of IEEE 754.
  return ops::select(ops::eq(y, zero), ops::stop_gradient(ops::div(x, y)), q);
}

Value floor_divide_integers(Value x, Value y) {
  Value q = ops::div(x, y), zero = ops::zeros_like(x);
  if (!is_unsigned_integer(x.dtype())) {
    // The truncated quotient, less one if it is inexact and the signs differ.
    Value inexact = ops::ne(ops::rem(x, y), zero);
    Value differ = ops::ne(ops::lt(x, zero), ops::lt(y, zero));
    q = ops::select(ops::and_(inexact, differ), ops::sub(q, one_like(q)), q);
  }
  return ops::select(ops::eq(y, zero), zero, q);
}

Value remainder_of(Value x, Value y) {
  Value r = ops::rem(x, y), zero = ops::zeros_like(x);
  if (!is_unsigned_integer(x.dtype())) {
    Value adjust = ops::and_(ops::ne(r, zero), ops::ne(ops::lt(r, zero), ops::lt(y, zero)));
    r = ops::select(adjust, ops::add(r, y), r);
  }
  return is_floating(x.dtype()) ? r : ops::select(ops::eq(y, zero), zero, r);
}

Value power_of_integers(Value x, Value y) {
  const bool has_sign = is_signed_integer(y.dtype());
  const Value zero = ops::zeros_like(x), one = one_like(x);
  const Value negative = ops::lt(y, zero);
  Value rest = has_sign ? ops::select(negative, ops::neg(y), y) : y;
  // Square repeatedly, from the lowest bit of the exponent to the highest, so that the result wraps
  // as the product of that many factors does.
  Value result = one, square = x;
  const int bits = 8 * size_of(y.dtype()) - (has_sign ? 1 : 0);
  for (int i = 0; i < bits; ++i) {
    const Value taken = ops::ne(ops::and_(rest, one), zero);
    result = ops::select(taken, ops::mul(result, square), result);
    if (i + 1 == bits) break;
    square = ops::mul(square, square);
    rest = ops::shift_right_logical(rest, one);
  }
  if (!has_sign) return result;
  // With negative exponents, only powers of 1 and -1 are nonzero after truncation.
  const Value unit = ops::or_(ops::eq(x, one), ops::eq(x, ops::full_like(x, -1)));
  return ops::select(ops::and_(negative, ops::not_(unit)), zero, result);
}

void check_exponent(std::int64_t exponent, const SourceLoc& loc) {
  if (exponent >= 0) return;
  Message("power")
      .problem("an integer array is raised to the power " + std::to_string(exponent))
      .rule("integers to a negative power are no integers")
      .from(loc)
      .advice("convert first: power(x.astype(f32), " + std::to_string(exponent) + ")")
      .raise<DTypeError>();
}

std::optional<Array> compared_with_number(const char* function, const Operand& x, const Operand& y,
                                          Comparison kind) {
  const bool left = is_integer_number(x.array), right = is_integer_number(y.array);
  if (left == right) return std::nullopt;
  const Operand &number = left ? x : y, &other = left ? y : x;
  const Type& type = need(other.array, function, other.loc).type;
  if (!is_integer(type.dtype) || type.weak) return std::nullopt;
  const int side = side_of_range(*number.array.impl(), type.dtype);
  if (side == 0) return std::nullopt;
  const bool above = left == (side > 0);  // whether the left operand is the larger one
  return composite1(function, {other.array}, x.loc, [&](Builder& b, std::span<const Value> in) {
    const bool holds = above ? holds_above(kind) : holds_below(kind);
    return ops::full(b, DType::boolean, in[0].shape(), holds);
  });
}

bool differ_in_sign(const Type& x, const Type& y) {
  return (is_signed_integer(x.dtype) && y.dtype == DType::uint64) ||
         (x.dtype == DType::uint64 && is_signed_integer(y.dtype));
}

bool weak_beside_integer(const Type& x, const Type& y) {
  return x.weak != y.weak && x.dtype != y.dtype && is_integer(x.dtype) && is_integer(y.dtype);
}

Value compare_64_bits(const char* function, Value x, Value y, Value (*f)(Value, Value),
                      Comparison kind) {
  const bool left = is_signed_integer(x.dtype());
  const Shape shape = broadcast_shapes(x.shape(), y.shape(), function, x.builder->loc);
  x = broadcast_to(x, shape);
  y = broadcast_to(y, shape);
  const Value with_sign = left ? x : y;
  const Value negative = ops::lt(with_sign, ops::zeros_like(with_sign));
  const Value compared = f(ops::convert(x, DType::uint64), ops::convert(y, DType::uint64));
  const bool holds = left ? holds_below(kind) : holds_above(kind);
  return ops::select(negative, ops::full(*x.builder, DType::boolean, shape, holds), compared);
}

}  // namespace tessera::inline v0::detail
