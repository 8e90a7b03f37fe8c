// Operations on bits of elements narrower than any dtype.
#include "stablehlo/import/narrow.h"
#include "stablehlo/import/rules.h"

#include <cmath>
#include <cstring>
#include <limits>

namespace tessera::inline v0::stablehlo {

namespace {

constexpr int kByte = 8;

Value whole(Value like, DType dtype, std::int64_t n) {
  return ops::broadcast_in_dim(ops::constant(*like.builder, scalar_literal(dtype, n)), like.shape(),
                               {});
}

}  // namespace

Value bits_alone(Value x, const Narrow& t) {
  return ops::and_(x, whole(x, x.dtype(), (1 << t.bits) - 1));
}

// The significand is an integer with its leading one, so adding it increments the exponent field:
// subnormal numbers, which lack the leading one, thus get field 0.
Value bits_of_numbers(Value x, const Narrow& t) {
  using Beyond = Narrow::Beyond;
  constexpr int kDigits = 23, kBias = 127, kField = 255;  // of float32
  const auto number = [&](std::int64_t n) { return whole(x, DType::int32, n); };
  const Value bits = ops::bitcast_convert(x, DType::int32);
  const Value field = ops::and_(ops::shift_right_logical(bits, number(kDigits)), number(kField));
  if (t.beyond == Beyond::powers_of_two) return ops::convert(field, DType::uint8);
  const Value exponent = ops::max(field, number(least_exponent(t) + kBias));
  const Value scale = ops::bitcast_convert(
      ops::shift_left(ops::sub(number(2 * kBias + t.mantissa), exponent), number(kDigits)),
      x.dtype());
  const Value zero = ops::full_like(x, 0), size = ops::abs(x);
  const Value finite = ops::is_finite(x);
  const Value significand =
      ops::convert(ops::mul(ops::select(finite, size, zero), scale), DType::int32);
  Value code = ops::add(
      ops::shift_left(ops::sub(exponent, number(least_exponent(t) + kBias)), number(t.mantissa)),
      significand);
  const std::int64_t fields = t.bits - 1, all = (1 << fields) - 1,
                     infinite = all - ((1 << t.mantissa) - 1);
  if (t.beyond == Beyond::infinity) {
    const Value instead =
        ops::select(ops::ne(x, x), number(infinite + (1 << (t.mantissa - 1))), number(infinite));
    code = ops::select(finite, code, instead);
  } else if (t.beyond == Beyond::one_nan) {
    code = ops::select(finite, code, number(all));
  }
  const Value sign =
      ops::shift_left(ops::shift_right_logical(bits, number(kDigits + kByte)), number(fields));
  code = ops::or_(code, sign);
  if (t.beyond == Beyond::zero_is_nan)
    code = ops::select(finite, code, number(std::int64_t{1} << fields));
  return ops::convert(code, DType::uint8);
}

Value numbers_of_bits(Value bits, const Narrow& t) {
  const std::int64_t count = std::int64_t{1} << t.bits;
  auto bytes =
      std::make_shared<std::vector<std::byte>>(static_cast<std::size_t>(count) * sizeof(float));
  for (std::int64_t i = 0; i < count; ++i) {
    const auto x = static_cast<float>(number_of_bits(static_cast<std::uint8_t>(i), t));
    std::memcpy(bytes->data() + static_cast<std::size_t>(i) * sizeof x, &x, sizeof x);
  }
  const Value table =
      ops::constant(*bits.builder, {DType::float32, Shape{count}, std::move(bytes)});
  ops::GatherDims d;
  d.collapsed_slice_dims = d.start_index_map = {0};
  d.index_vector_dim = bits.rank();
  return ops::gather(table, ops::convert(bits, DType::int32), d, {1});
}

namespace rules {

namespace {

// The type of an operand if its elements are integers narrower than any dtype; else null.
const Narrow* narrow_integer(const Reading& r, std::size_t operand) {
  const TypeSyntax* type = operand < r.operands.size() ? r.operands[operand].type : nullptr;
  if (!type || (*type)->kind != TypeData::tensor) return nullptr;
  const Narrow* narrow = narrow_of((*type)->element);
  return narrow && is_integer(narrow->carrier) ? narrow : nullptr;
}

}  // namespace

Values population_count(Reading& r) {
  r.need_operands(1);
  if (const Narrow* t = narrow_integer(r, 0)) r.in[0] = bits_alone(r.in[0], *t);
  return by_spelling(r);
}

Values count_leading_zeros(Reading& r) {
  r.need_operands(1);
  const Narrow* t = narrow_integer(r, 0);
  if (!t) return by_spelling(r);
  r.in[0] = bits_alone(r.in[0], *t);
  const Value zeros = by_spelling(r)[0];
  return {ops::sub(zeros, whole(zeros, zeros.dtype(), kByte - t->bits))};
}

Values shift_right_logical(Reading& r) {
  r.need_operands(2);
  if (const Narrow* t = narrow_integer(r, 0)) r.in[0] = bits_alone(r.in[0], *t);
  return by_spelling(r);
}

// Moves the highest bit of an unsigned number to the sign position.
Values shift_right_arithmetic(Reading& r) {
  r.need_operands(2);
  const Narrow* t = narrow_integer(r, 0);
  if (!t || !is_unsigned_integer(t->carrier)) return by_spelling(r);
  const Value above = whole(r.in[0], r.in[0].dtype(), kByte - t->bits);
  r.in[0] = ops::shift_left(r.in[0], above);
  return {ops::shift_right_logical(by_spelling(r)[0], above)};
}

}  // namespace rules

}  // namespace tessera::inline v0::stablehlo
