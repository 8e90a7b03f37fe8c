#include "stablehlo/import/narrow.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace tessera::inline v0::stablehlo {

namespace {

using Beyond = Narrow::Beyond;

// The formats of the Open Compute Project, of IEEE P3109 drafts and of LLVM's APFloat.
constexpr Narrow kNarrow[] = {
    {"i2", DType::int8, 2},
    {"i4", DType::int8, 4},
    {"ui2", DType::uint8, 2},
    {"ui4", DType::uint8, 4},
    {"f4E2M1FN", DType::float32, 4, 1, 1, Beyond::nothing, 6},
    {"f6E2M3FN", DType::float32, 6, 3, 1, Beyond::nothing, 7.5},
    {"f6E3M2FN", DType::float32, 6, 2, 3, Beyond::nothing, 28},
    {"f8E3M4", DType::float32, 8, 4, 3, Beyond::infinity, 15.5},
    {"f8E4M3", DType::float32, 8, 3, 7, Beyond::infinity, 240},
    {"f8E4M3FN", DType::float32, 8, 3, 7, Beyond::one_nan, 448},
    {"f8E4M3FNUZ", DType::float32, 8, 3, 8, Beyond::zero_is_nan, 240},
    {"f8E4M3B11FNUZ", DType::float32, 8, 3, 11, Beyond::zero_is_nan, 30},
    {"f8E5M2", DType::float32, 8, 2, 15, Beyond::infinity, 57344},
    {"f8E5M2FNUZ", DType::float32, 8, 2, 16, Beyond::zero_is_nan, 57344},
    {"f8E8M0FNU", DType::float32, 8, 0, 127, Beyond::powers_of_two, 0x1p127},
};

constexpr double kInf = std::numeric_limits<double>::infinity();
constexpr double kNan = std::numeric_limits<double>::quiet_NaN();

bool is_signed(const Narrow& t) { return t.beyond != Beyond::powers_of_two; }
// The result for numbers that are too large; the sign is the number's.
double too_great(const Narrow& t) {
  return t.beyond == Beyond::nothing ? t.greatest : t.beyond == Beyond::infinity ? kInf : kNan;
}

Value narrow_number(Value like, double x) { return ops::full_like(like, x); }
Value bits_of(Value like, std::int64_t n) {
  return ops::broadcast_in_dim(ops::constant(*like.builder, scalar_literal(like.dtype(), n)),
                               like.shape(), {});
}

Value wrapped(Value x, const Narrow& t) {
  if (is_unsigned_integer(t.carrier)) return ops::and_(x, bits_of(x, (1 << t.bits) - 1));
  const Value shift = bits_of(x, 8 - t.bits);
  return ops::shift_right_arithmetic(ops::shift_left(x, shift), shift);
}

// The nearest power of two, computed in the bits of float32: the least one, 2^-127, is subnormal
// there, and arithmetic may flush it to zero.
Value nearest_power_of_two(Value x) {
  constexpr std::int64_t kNormal = 0x00800000, kLeast = 0x00400000, kMiddle = 0x00600000,
                         kExponent = 0x7f800000, kTooGreat = 0x7f400000, kNanBits = 0x7fc00000,
                         kMinusZero = std::numeric_limits<std::int32_t>::min();
  const Value bits = ops::bitcast_convert(x, DType::int32);
  const auto number = [&](std::int64_t n) { return bits_of(bits, n); };
  Value y = ops::and_(ops::add(bits, number(kLeast)), number(kExponent));
  const Value low = ops::select(ops::lt(bits, number(kMiddle)), number(kLeast), number(kNormal));
  y = ops::select(ops::lt(bits, number(kNormal)), low, y);
  y = ops::select(ops::ge(bits, number(kTooGreat)), number(kNanBits), y);
  const Value is_negative = ops::and_(ops::lt(bits, number(0)), ops::ne(bits, number(kMinusZero)));
  y = ops::select(is_negative, number(kNanBits), y);
  return ops::bitcast_convert(y, x.dtype());
}

}  // namespace

const Narrow* narrow_of(std::string_view element) {
  for (const Narrow& t : kNarrow)
    if (t.name == element) return &t;
  return nullptr;
}

int least_exponent(const Narrow& t) {
  return t.beyond == Beyond::powers_of_two ? -t.bias : 1 - t.bias;
}

double number_of_bits(std::uint8_t bits, const Narrow& t) {
  const int fields = t.bits - (is_signed(t) ? 1 : 0), fraction = bits & ((1 << t.mantissa) - 1);
  const int exponent = (bits & ((1 << fields) - 1)) >> t.mantissa;
  const int most = (1 << (fields - t.mantissa)) - 1, all = (1 << t.mantissa) - 1;
  const double sign = is_signed(t) && (bits >> fields & 1) ? -1 : 1;
  if (t.beyond == Beyond::powers_of_two)
    return exponent == most ? kNan : std::ldexp(1.0, exponent - t.bias);
  if (t.beyond == Beyond::zero_is_nan && sign < 0 && exponent == 0 && fraction == 0) return kNan;
  if (t.beyond == Beyond::one_nan && exponent == most && fraction == all) return kNan;
  if (t.beyond == Beyond::infinity && exponent == most) return fraction ? kNan : sign * kInf;
  return sign * std::ldexp((exponent ? 1 << t.mantissa : 0) + fraction,
                           std::max(exponent, 1) - t.bias - t.mantissa);
}

double narrowed(double x, const Narrow& t) {
  if (std::isnan(x)) return t.beyond == Beyond::nothing ? -0.0 : x;
  if (t.beyond == Beyond::powers_of_two && x <= 0)
    return x < 0 ? kNan : std::ldexp(1.0, least_exponent(t));
  if (x == 0) return t.beyond == Beyond::zero_is_nan ? 0 : x;
  if (std::isinf(x)) return std::copysign(too_great(t), x);
  const double step = std::ldexp(1.0, std::max(std::ilogb(x), least_exponent(t)) - t.mantissa);
  const double rounded = std::nearbyint(x / step) * step;
  if (std::abs(rounded) > t.greatest) return std::copysign(too_great(t), x);
  return rounded == 0 && t.beyond == Beyond::zero_is_nan ? 0 : rounded;
}

Value narrowed(Value x, const Narrow& t) {
  if (is_integer(t.carrier)) return wrapped(x, t);
  if (t.beyond == Beyond::powers_of_two) return nearest_power_of_two(x);
  constexpr int kDigits = 23, kBias = 127;  // of float32
  const Value bits = ops::bitcast_convert(x, DType::int32);
  const Value exponent = ops::and_(ops::shift_right_logical(bits, bits_of(bits, kDigits)),
                                   bits_of(bits, 2 * kBias + 1));
  const int least_scale = std::max(least_exponent(t) + kBias, 1);
  const Value scale =
      ops::sub(ops::max(exponent, bits_of(bits, least_scale)), bits_of(bits, t.mantissa));
  const Value step =
      ops::bitcast_convert(ops::shift_left(scale, bits_of(bits, kDigits)), x.dtype());
  Value y = ops::mul(ops::round_nearest_even(ops::div(x, step)), step);
  const Value zero = narrow_number(x, 0);
  const Value limit = narrow_number(x, too_great(t));
  const Value instead = ops::select(ops::lt(x, zero), ops::neg(limit), limit);
  y = ops::select(ops::gt(ops::abs(y), narrow_number(x, t.greatest)), instead, y);
  if (t.beyond == Beyond::zero_is_nan) y = ops::select(ops::eq(y, zero), zero, y);
  return ops::select(ops::ne(x, x), t.beyond == Beyond::nothing ? narrow_number(x, -0.0) : x, y);
}

}  // namespace tessera::inline v0::stablehlo
