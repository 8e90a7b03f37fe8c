#include "api/random/random_bits.h"

#include <tessera/random.h>

#include "api/trace/composite.h"

namespace tessera::inline v0::random {

using detail::composite1;

namespace {

struct Words {
  Value hi, lo;
};

Value word(Value key, std::int64_t i, const Shape& shape) {
  return ops::broadcast_in_dim(ops::reshape(ops::slice(key, {i}, {i + 1}, {1}), Shape{}), shape,
                               {});
}

// Two words per position: the block cipher applied to the position's 64-bit row-major index.
Words words(Value key, const Shape& shape) {
  Builder& b = *key.builder;
  std::int64_t n = shape.count();
  Value hi = ops::zeros(b, Type(DType::uint32, Shape{n})), lo = hi;
  if (n >> 32) {
    Value i = ops::iota(b, DType::uint64, Shape{n}, 0);
    hi = ops::convert(ops::shift_right_logical(i, ops::full_like(i, 32)), DType::uint32);
    lo = ops::convert(i, DType::uint32);
  } else {
    lo = ops::iota(b, DType::uint32, Shape{n}, 0);
  }
  Values w = ops::threefry2x32(word(key, 0, Shape{n}), word(key, 1, Shape{n}), hi, lo);
  return {ops::reshape(w[0], shape), ops::reshape(w[1], shape)};
}

}  // namespace

void check_key(const char* name, const Operand& key) {
  const Type& t = detail::need(key.array, name).type;
  if (t.dtype == DType::uint32 && t.shape == Shape{2}) return;
  Message(name)
      .problem("the key is " + detail::visible_text(t))
      .rule("a key is a uint32 array of shape (2,)")
      .from(key.loc)
      .advice(t.dtype == DType::uint32 && t.shape.rank() == 2
                  ? "pick one of the keys, keys[i], or vmap over them"
                  : "make one with random::key(seed)")
      .raise<ShapeError>();
}

Value bits_value(Value key, const Shape& shape, DType dtype) {
  Words w = words(key, shape);
  if (dtype == DType::uint64) {
    Value hi = ops::convert(w.hi, DType::uint64), lo = ops::convert(w.lo, DType::uint64);
    return ops::or_(ops::shift_left(hi, ops::full_like(hi, 32)), lo);
  }
  return ops::convert(ops::xor_(w.hi, w.lo), dtype);
}

Values split_value(Value key, std::int64_t n) {
  Words w = words(key, Shape{n});
  Values keys;
  for (std::int64_t i = 0; i < n; ++i) {
    Value parts[] = {ops::slice(w.hi, {i}, {i + 1}, {1}), ops::slice(w.lo, {i}, {i + 1}, {1})};
    keys.push_back(ops::concatenate(parts, 0));
  }
  return keys;
}

Value unit(Value key, const Shape& shape, DType dtype) {
  struct Format {
    DType random, bits;
    int shift;
    double one;
  };
  Format f = dtype == DType::float32 ? Format{DType::uint32, DType::uint32, 32 - 23, 0x3f800000}
             : dtype == DType::float64
                 ? Format{DType::uint64, DType::uint64, 64 - 52, 0x3ff0000000000000}
             : dtype == DType::bfloat16 ? Format{DType::uint8, DType::uint16, 8 - 7, 0x3f80}
                                        : Format{DType::uint16, DType::uint16, 16 - 10, 0x3c00};
  Value r = bits_value(key, shape, f.random);
  Value m = ops::convert(ops::shift_right_logical(r, ops::full_like(r, f.shift)), f.bits);
  Value one = ops::full_like(m, f.one);
  Value x = ops::bitcast_convert(ops::or_(m, one), dtype);
  return ops::sub(x, ops::full_like(x, 1));
}

Array key(std::uint64_t seed) {
  std::uint32_t words[2] = {static_cast<std::uint32_t>(seed >> 32),
                            static_cast<std::uint32_t>(seed)};
  return Array::from_bytes(DType::uint32, Shape{2}, words);
}

KeyPair split(Operand key) { return KeyPair(random::split(std::move(key), 2)); }
Array split(Operand key, std::int64_t n) {
  check_key("split", key);
  return composite1("split", {key.array}, key.loc, [&](Builder&, std::span<const Value> in) {
    Words w = words(in[0], Shape{n});
    Value parts[] = {ops::reshape(w.hi, Shape{n, 1}), ops::reshape(w.lo, Shape{n, 1})};
    return ops::concatenate(parts, 1);
  });
}

Array fold_in(Operand key, Operand data) {
  const InFunction called("fold_in", key.loc);
  check_key("fold_in", key);
  const Type& t = detail::need(data.array, "fold_in").type;
  if (!is_integer(t.dtype) || t.shape.rank() != 0)
    Message("fold_in")
        .problem("the data is " + detail::visible_text(t))
        .rule("it is one integer")
        .from(data.loc)
        .advice("fold in a step or a device number")
        .raise<DTypeError>();
  return composite1(
      "fold_in", {key.array, data.array}, key.loc, [&](Builder& b, std::span<const Value> in) {
        Value d = ops::reshape(ops::convert(in[1], DType::uint32), Shape{1});
        Values w = ops::threefry2x32(word(in[0], 0, Shape{1}), word(in[0], 1, Shape{1}),
                                     ops::zeros(b, Type(DType::uint32, Shape{1})), d);
        return ops::concatenate(w, 0);
      });
}

Array bits(Operand key, const Shape& shape, DType dtype) {
  check_key("bits", key);
  if (!is_unsigned_integer(dtype))
    Message("bits")
        .problem("the dtype is " + std::string(name_of(dtype)))
        .rule("bits are uint8, uint16, uint32 or uint64")
        .from(key.loc)
        .advice("use randint for integers in a range")
        .raise<DTypeError>();
  return composite1("bits", {key.array}, key.loc, [&](Builder&, std::span<const Value> in) {
    return bits_value(in[0], shape, dtype);
  });
}

}  // namespace tessera::inline v0::random
