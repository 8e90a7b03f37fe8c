// Constants, conversions, comparisons, and elementwise operations.
#include "ir/op.h"
#include "ops/elementwise/special.h"
#include "ops/random/rng_bit_generator.h"
#include "stablehlo/import/narrow.h"
#include "stablehlo/import/rules.h"
#include "stablehlo/import/total_order.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <limits>

namespace tessera::inline v0::stablehlo::rules {

namespace {

constexpr int kMostOrder = 1000;  // for polygamma

Value to_shape(Value x, const Shape& shape) {
  return x.rank() == 0 && shape.rank() > 0 ? ops::broadcast_in_dim(x, shape, {}) : x;
}

Value infinite(Value x, bool negative) {
  const double inf = std::numeric_limits<double>::infinity();
  return ops::eq(x, ops::full_like(x, negative ? -inf : inf));
}

}  // namespace

// Inverts the bits of negative numbers except the sign.
Value total_order(Value x) {
  const int width = size_of(x.dtype());
  const DType bits = width == 2 ? DType::int16 : width == 4 ? DType::int32 : DType::int64;
  const Value i = ops::bitcast_convert(x, bits);
  const std::int64_t greatest = width == 2   ? std::numeric_limits<std::int16_t>::max()
                                : width == 4 ? std::numeric_limits<std::int32_t>::max()
                                             : std::numeric_limits<std::int64_t>::max();
  const Value mask = ops::broadcast_in_dim(
      ops::constant(*x.builder, scalar_literal(bits, greatest)), x.shape(), {});
  return ops::select(ops::lt(i, ops::zeros_like(i)), ops::xor_(i, mask), i);
}

Values by_spelling(Reading& r) {
  const Import* import = import_of(r.op.name);
  const Op* op = import ? import->ours : nullptr;
  if (!op) r.refuse("it is not supported for " + to_string(r.in[0].type()));
  if (op->inputs >= 0) r.need_operands(static_cast<std::size_t>(op->inputs));
  return r.b.emit(*op, r.in);
}

Values constant(Reading& r) {
  r.need_operands(0);
  return {r.importer.constant(r.scope, r.need("value"))};
}

Values iota(Reading& r) {
  const Shape shape = r.result_shape(0);
  const std::int64_t d = r.integer("iota_dimension");
  r.check_dims({d}, shape.rank(), "iota_dimension");
  return {ops::iota(r.b, r.result_dtype(), shape, static_cast<int>(d))};
}

Values convert(Reading& r) {
  r.need_operands(1);
  const DType to = r.result_dtype();
  // For a complex number, the real part is converted, also to booleans.
  Value x = is_complex(r.in[0].dtype()) && !is_complex(to) ? ops::real(r.in[0]) : r.in[0];
  // A float out of the range of an integer type saturates; narrow types are clamped here.
  const TypeSyntax& type = r.op.result_types[0];
  const Narrow* narrow = type->kind == TypeData::tensor ? narrow_of(type->element) : nullptr;
  if (narrow && is_integer(narrow->carrier) && is_floating(x.dtype())) {
    const bool is_signed = is_signed_integer(narrow->carrier);
    const int range = 1 << narrow->bits;
    x = ops::clamp(ops::full_like(x, is_signed ? -range / 2 : 0), x,
                   ops::full_like(x, is_signed ? range / 2 - 1 : range - 1));
  }
  return {ops::convert(x, to)};
}

// "e8m10": exponent and mantissa bits; or two attributes.
Values reduce_precision(Reading& r) {
  r.need_operands(1);
  long long exponent = 0, mantissa = 0;
  const std::string format = r.word_or("format", "");
  if (format.empty()) {
    exponent = r.integer("exponent_bits");
    mantissa = r.integer("mantissa_bits");
  } else if (std::sscanf(format.c_str(), "e%lldm%lld", &exponent, &mantissa) != 2) {
    r.refuse(shown(format) + " is no format", "a format is written as e8m10");
  }
  // The op checks the numbers of bits.
  const auto number = [](long long n) { return static_cast<int>(std::clamp(n, -1LL, 1LL << 20)); };
  const Value x = r.in[0], reduced = ops::reduce_precision(x, number(exponent), number(mantissa));
  if (mantissa != 0) return {reduced};
  // Without mantissa bits there is no NaN, so NaN becomes infinity. XLA and our op keep NaN.
  const Value infinity = ops::full_like(x, std::numeric_limits<double>::infinity());
  return {ops::select(ops::ne(x, x), infinity, reduced)};
}

namespace {

// Computes in float64 and rounds once.
template <class F>
Values of_doubles(Reading& r, std::size_t operands, F&& f) {
  r.need_operands(operands);
  const DType d = r.in[0].dtype();
  std::vector<Value> in;
  for (const Value& x : r.in) {
    if (!is_floating(x.dtype()) || x.type() != r.in[0].type())
      r.refuse("an operand is " + to_string(x.type()),
               "operands are floats of one dtype and one shape");
    in.push_back(ops::convert(x, DType::float64));
  }
  return {ops::convert(f(in), d)};
}

}  // namespace

namespace {

// (-1)^(n + 1) n! zeta(n + 1, x), and digamma for n = 0; NaN if n is not an integer or is negative.
// F. W. J. Olver et al., NIST Handbook of Mathematical Functions, 2010, equation 25.11.12.
Value polygamma_of_any_order(Value n, Value x) {
  const Value zero = ops::zeros_like(n), one = ops::full_like(n, 1), two = ops::full_like(n, 2);
  const Value next = ops::add(n, one);
  const Value size =
      ops::mul(ops::exp(ops::lgamma(next)), ops::zeta(next, ops::select(ops::eq(n, zero), one, x)));
  const Value half = ops::div(n, two), even = ops::eq(ops::floor(half), half);
  const Value higher = ops::select(even, ops::neg(size), size);
  const Value value = ops::select(ops::eq(n, zero), ops::digamma(x), higher);
  const Value whole = ops::and_(ops::eq(ops::floor(n), n), ops::ge(n, zero));
  return ops::select(whole, value, ops::full_like(n, std::numeric_limits<double>::quiet_NaN()));
}

}  // namespace

Values polygamma(Reading& r) {
  r.need_operands(2);
  const std::optional<double> order = r.known_number(r.in[0]);
  if (order && *order >= 0 && *order == std::floor(*order) && *order <= kMostOrder)
    return {ops::polygamma(r.in[1], static_cast<std::int64_t>(*order))};
  return of_doubles(r, 2, [](const auto& in) { return polygamma_of_any_order(in[0], in[1]); });
}

Values zeta(Reading& r) {
  return of_doubles(r, 2, [](const auto& in) { return ops::zeta(in[0], in[1]); });
}
Values bessel_i1e(Reading& r) {
  return of_doubles(r, 1, [](const auto& in) { return ops::bessel_i_scaled(in[0], 1); });
}

namespace {

Values bits(Reading& r, const std::string& algorithm, const Type& drawn) {
  const bool three = algorithm == "THREE_FRY";
  if (!three && algorithm != "PHILOX" && algorithm != "DEFAULT")
    r.refuse(shown(algorithm) + " is no algorithm", "there are DEFAULT, THREE_FRY and PHILOX");
  return ops::rng_bit_generator(r.in[0], drawn.shape, drawn.dtype,
                                three ? ops::BitGenerator::three_fry : ops::BitGenerator::philox);
}

}  // namespace

Values rng_bit_generator(Reading& r) {
  r.need_operands(1);
  return bits(r, r.word_or("rng_algorithm", "DEFAULT"), r.result(1));
}
Values dynamic_rng_bit_generator(Reading& r) {
  r.need_operands(2);
  const Ints dims = r.settled(1);
  return bits(r, r.word_or("rng_algorithm", "DEFAULT"),
              Type(r.result_dtype(1), Shape(dims.begin(), dims.end())));
}

// Integers by squaring, one bit of the exponent per step; negative exponents give 0 except for the
// bases 1 and -1.
Values power(Reading& r) {
  r.need_operands(2);
  const Value x = r.in[0], y = r.in[1];
  if (!is_integer(x.dtype()) || x.type() != y.type()) return {ops::pow(x, y)};
  Builder step;
  const auto input = [&](Value v) { return step.input(Type(v.dtype(), v.shape())); };
  const Value result = input(x), base = input(x), exponent = input(y),
              one = ops::full_like(base, 1);
  const Value odd = ops::ne(ops::and_(exponent, one), ops::zeros_like(base));
  const ProgramPtr body =
      step.finish(Values{ops::select(odd, ops::mul(result, base), result), ops::mul(base, base),
                         ops::shift_right_logical(exponent, one)});
  const std::int64_t bits = std::int64_t{8} * size_of(x.dtype());
  const Value unit = ops::full_like(x, 1), zero = ops::zeros_like(x);
  const Value all = ops::scan(body, {}, Values{unit, x, y}, {}, bits, false, r.b)[0];
  if (is_unsigned_integer(x.dtype())) return {all};
  const Value kept = ops::or_(ops::eq(x, unit), ops::eq(x, ops::neg(unit)));
  return {ops::select(ops::and_(ops::lt(y, zero), ops::not_(kept)), zero, all)};
}

Values real_part(Reading& r) {
  r.need_operands(1);
  return is_floating(r.in[0].dtype()) ? r.in : by_spelling(r);
}
Values imaginary_part(Reading& r) {
  r.need_operands(1);
  return is_floating(r.in[0].dtype()) ? Values{ops::zeros_like(r.in[0])} : by_spelling(r);
}

Values compare(Reading& r) {
  r.need_operands(2);
  Value x = r.in[0], y = r.in[1];
  if (r.word_or("compare_type", "") == "TOTALORDER" && is_floating(x.dtype()) &&
      x.dtype() == y.dtype()) {
    x = total_order(x);
    y = total_order(y);
  }
  struct Row {
    const char* name;
    Value (*build)(Value, Value);
  };
  static constexpr Row kRows[] = {{"EQ", ops::eq}, {"NE", ops::ne}, {"LT", ops::lt},
                                  {"LE", ops::le}, {"GT", ops::gt}, {"GE", ops::ge}};
  const std::string direction = r.word_or("comparison_direction", "");
  for (const Row& row : kRows)
    if (direction == row.name) return {row.build(x, y)};
  r.refuse(shown(direction) + " is no direction of a comparison",
           "it is one of EQ, NE, LT, LE, GT, GE");
}

Values select(Reading& r) {
  r.need_operands(3);
  return {ops::select(to_shape(r.in[0], r.in[1].shape()), r.in[1], r.in[2])};
}

Values clamp(Reading& r) {
  r.need_operands(3);
  const Shape& shape = r.in[1].shape();
  const Value low = to_shape(r.in[0], shape), x = r.in[1], high = to_shape(r.in[2], shape);
  if (x.dtype() != DType::boolean && !is_complex(x.dtype())) return {ops::clamp(low, x, high)};
  return {least_of(greatest_of(x, low), high)};
}

Values pass(Reading& r) { return r.in; }
Values barrier(Reading& r) {
  Values out;
  for (const Value& v : r.in) out.push_back(ops::optimization_barrier(v));
  return out;
}
Values nothing(Reading&) { return {}; }

Values tangent(Reading& r) {
  r.need_operands(1);
  return {ops::tan(r.in[0])};
}
Values square(Reading& r) {
  r.need_operands(1);
  return {ops::mul(r.in[0], r.in[0])};
}
Values is_pos_inf(Reading& r) {
  r.need_operands(1);
  return {infinite(r.in[0], false)};
}
Values is_neg_inf(Reading& r) {
  r.need_operands(1);
  return {infinite(r.in[0], true)};
}
Values is_inf(Reading& r) {
  r.need_operands(1);
  return {ops::or_(infinite(r.in[0], false), infinite(r.in[0], true))};
}
Values constant_like(Reading& r) {
  r.need_operands(1);
  const AttributeSyntax& a = r.need("value");
  const double value = a.kind == AttributeSyntax::integer ? static_cast<double>(a.integer_value)
                                                          : r.real_or("value", 0);
  return {ops::full_like(r.in[0], value)};
}

namespace {

// The elements of the last dimension at the positions in `index`.
Value at_places(Value x, Value index) {
  ops::GatherDims d;
  for (std::int64_t k = 0; k + 1 < x.rank(); ++k) d.operand_batching_dims.push_back(k);
  d.start_indices_batching_dims = d.operand_batching_dims;
  d.collapsed_slice_dims = d.start_index_map = {x.rank() - 1};
  d.index_vector_dim = index.rank();
  return ops::gather(x, index, d, Ints(static_cast<std::size_t>(x.rank()), 1));
}

// Uses the total order of floats: -0 is below 0, and a NaN is beyond the infinity of its sign.
Values greatest_elements(Value x, std::int64_t k) {
  if (!is_floating(x.dtype()) || x.rank() == 0 || k < 0 || k > x.shape().back())
    return ops::top_k(x, k);
  const Value index = ops::top_k(total_order(x), k)[1];
  return {at_places(x, index), index};
}

}  // namespace

Values top_k(Reading& r) {
  r.need_operands(1);
  return greatest_elements(r.in[0], r.integer("k"));
}
Values dynamic_top_k(Reading& r) {
  r.need_operands(2);
  const Ints k = r.settled(1);
  if (k.size() != 1) r.refuse("its second operand is no single number");
  return greatest_elements(r.in[0], k[0]);
}

}  // namespace tessera::inline v0::stablehlo::rules
