// Imports bitcast_convert, including complex numbers, booleans (single bits in StableHLO) and
// one-byte floats.
#include "ops/movement/movement.h"
#include "stablehlo/import/narrow.h"
#include "stablehlo/import/rules.h"

namespace tessera::inline v0::stablehlo::rules {

namespace {

constexpr int kBits = 8;

bool has_parts(DType d) { return is_complex(d) || d == DType::boolean; }

Shape with_last(Shape shape, std::int64_t n) {
  shape.push_back(n);
  return shape;
}

// 0 to 7 along a last dimension of extent 8.
Value byte_positions(Builder& b, const Shape& shape) {
  return ops::iota(b, DType::uint8, shape, shape.rank() - 1);
}

// The bytes of each element, lowest first, along a new last dimension.
Value bytes_of(Reading& r, Value x) {
  if (x.dtype() == DType::boolean) {
    // Eight booleans along the last dimension form a byte.
    Shape shape = x.shape();
    if (shape.rank() == 0 || shape.back() % kBits)
      r.refuse("booleans are bits, and these are not a multiple of 8 along the last dimension");
    shape.back() /= kBits;
    const Value bits = ops::convert(ops::reshape(x, with_last(shape, kBits)), DType::uint8);
    return ops::reduce_sum(ops::shift_left(bits, byte_positions(r.b, bits.shape())),
                           {shape.rank()});
  }
  const Shape shape = x.shape();
  if (is_complex(x.dtype())) {
    const Shape part = with_last(shape, 1);
    x = ops::concatenate(Values{ops::reshape(ops::real(x), part), ops::reshape(ops::imag(x), part)},
                         shape.rank());
  }
  if (size_of(x.dtype()) > 1)
    x = ops::bitcast_convert(x, DType::uint8);
  else
    x = ops::reshape(x, with_last(x.shape(), 1));
  return ops::reshape(
      x, with_last(shape, x.shape().count() / std::max<std::int64_t>(shape.count(), 1)));
}

// The elements that the bytes of a whole array represent; `shape` and the number of bytes agree.
Value from_bytes(Value bytes, const Type& t) {
  if (t.dtype == DType::boolean) {
    const Value each =
        ops::broadcast_in_dim(bytes, with_last(bytes.shape(), kBits), ops::iota_ints(bytes.rank()));
    const Value bits = ops::shift_right_logical(each, byte_positions(*bytes.builder, each.shape()));
    return ops::reshape(ops::ne(ops::and_(bits, ops::full_like(bits, 1)), ops::zeros_like(bits)),
                        t.shape);
  }
  const bool pair = is_complex(t.dtype);
  const DType part = pair ? real_dtype(t.dtype) : t.dtype;
  Shape shape = pair ? with_last(t.shape, 2) : t.shape;
  Value x = ops::reshape(bytes, size_of(part) > 1 ? with_last(shape, size_of(part)) : shape);
  if (part != DType::uint8) x = ops::bitcast_convert(x, part);
  if (!pair) return x;
  const int last = shape.rank() - 1;
  const auto half = [&](std::int64_t i) {
    Ints start(static_cast<std::size_t>(shape.rank()), 0), limit = shape.to_vector(),
                                                           strides(start.size(), 1);
    start[static_cast<std::size_t>(last)] = i;
    limit[static_cast<std::size_t>(last)] = i + 1;
    return ops::reshape(ops::slice(x, start, limit, strides), t.shape);
  };
  return ops::complex(half(0), half(1));
}

Value through_bytes(Reading& r, Value x, const Type& t) {
  const Value bytes = bytes_of(r, x);
  const std::int64_t bits = t.dtype == DType::boolean ? 1 : kBits * size_of(t.dtype);
  std::int64_t wanted = bits;
  for (std::int64_t n : t.shape)
    if (__builtin_mul_overflow(wanted, n, &wanted)) wanted = -1;
  if (wanted != kBits * bytes.shape().count())
    r.refuse(to_string(x.type()) + " has " + std::to_string(kBits * bytes.shape().count()) +
             " bits, and " + to_string(t) + " does not have as many");
  return from_bytes(bytes, t);
}

// The type if it is a one-byte float, which is stored in a wider dtype; else null.
const Narrow* narrow_float(const TypeSyntax* type) {
  if (!type || (*type)->kind != TypeData::tensor) return nullptr;
  const Narrow* narrow = narrow_of((*type)->element);
  return narrow && is_floating(narrow->carrier) && narrow->bits == kBits ? narrow : nullptr;
}

}  // namespace

Values bitcast_convert(Reading& r) {
  r.need_operands(1);
  const DType declared = r.result_dtype();
  const Narrow *from = narrow_float(r.operands[0].type), *to = narrow_float(&r.op.result_types[0]);
  if (from && from == to) return r.in;
  const Value x = from ? bits_of_numbers(r.in[0], *from) : r.in[0];
  const DType d = to ? DType::uint8 : declared;
  const bool whole = x.dtype() == d || (!has_parts(x.dtype()) && !has_parts(d));
  const Value y =
      whole ? ops::bitcast_convert(x, d) : through_bytes(r, x, Type(d, r.result().shape));
  return {to ? numbers_of_bits(y, *to) : y};
}

}  // namespace tessera::inline v0::stablehlo::rules
