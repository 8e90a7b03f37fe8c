#include <tessera/bits.h>

#include "api/numpy/integer_math.h"
#include "api/trace/composite.h"
#include "api/trace/numbers.h"
#include "ops/random/rng_bit_generator.h"

namespace tessera::inline v0 {

using detail::composite1;

namespace {

Array of_one(const char* name, const Operand& x, Value (*f)(Value)) {
  return composite1(name, {x.array}, x.loc,
                    [&](Builder&, std::span<const Value> in) { return f(in[0]); });
}
Array of_two(const char* name, const Operand& x, const Operand& y, Value (*f)(Value, Value)) {
  detail::check_all_fit(name, {&x, &y});
  return composite1(name, {x.array, y.array}, x.loc, [&](Builder&, std::span<const Value> in) {
    Value a = in[0], b = in[1];
    detail::promote_and_broadcast(a, b, name);
    return f(a, b);
  });
}

}  // namespace

Array population_count(Operand x) { return of_one("population_count", x, ops::population_count); }
Array bitwise_count(Operand x) {
  return of_one("bitwise_count", x, [](Value v) {
    if (v.dtype() == DType::boolean) return ops::convert(v, DType::uint8);
    return ops::convert(ops::population_count(is_signed_integer(v.dtype()) ? ops::abs(v) : v),
                        DType::uint8);
  });
}
Array count_leading_zeros(Operand x) {
  return of_one("count_leading_zeros", x, ops::count_leading_zeros);
}
Array mulhi(Operand x, Operand y) { return of_two("mulhi", x, y, ops::mulhi); }
Array nextafter(Operand x, Operand y) {
  return composite1(
      "nextafter", {x.array, y.array}, x.loc, [&](Builder&, std::span<const Value> in) {
        Value a = in[0], b = in[1];
        detail::promote_inexact(a, b);
        detail::promote_and_broadcast(a, b, "nextafter");
        // A bare number has the neighbours of its visible dtype.
        return ops::nextafter(detail::to_visible_inexact(a), detail::to_visible_inexact(b));
      });
}
Array reduce_precision(Operand x, int exponent_bits, int mantissa_bits) {
  return composite1("reduce_precision", {x.array}, x.loc, [&](Builder&, std::span<const Value> in) {
    return ops::reduce_precision(in[0], exponent_bits, mantissa_bits);
  });
}
Array bitcast_convert_type(Operand x, DType dtype) {
  return composite1("bitcast_convert_type", {x.array}, x.loc,
                    [&](Builder&, std::span<const Value> in) {
                      Value v = in[0];
                      if (is_floating(v.dtype())) v = detail::to_visible_inexact(v);
                      return ops::bitcast_convert(v, dtype);
                    });
}

RandomBits rng_bit_generator(Operand state, Shape shape, BitGenerator algorithm, DType dtype) {
  const std::vector<Array> out = detail::composite(
      "rng_bit_generator", {&state.array, 1}, state.loc, [&](Builder&, std::span<const Value> in) {
        return ops::rng_bit_generator(in[0], shape, dtype,
                                      algorithm == BitGenerator::philox
                                          ? ops::BitGenerator::philox
                                          : ops::BitGenerator::three_fry);
      });
  return {out[0], out[1]};
}

}  // namespace tessera::inline v0
