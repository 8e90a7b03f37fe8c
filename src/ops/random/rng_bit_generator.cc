// rng_bit_generator: blocks of Threefry or Philox over a counter. The arrangement of the words in
// the result is XLA's.
#include "ops/random/rng_bit_generator.h"

#include "base/message.h"

namespace tessera::inline v0::ops {

namespace {

Value low_word(Value x) { return convert(x, DType::uint32); }
Value high_word(Value x) {
  return convert(shift_right_logical(x, full_like(x, 32)), DType::uint32);
}
Value element(Value state, std::int64_t i) {
  return reshape(slice(state, {i}, {i + 1}, {1}), Shape{});
}
Value number(Builder& b, std::int64_t n) { return constant(b, scalar_literal(DType::uint64, n)); }
Value repeated(Value x, const Shape& shape) { return broadcast_in_dim(x, shape, {}); }

// `n` consecutive counters, starting at `first`.
Value counters(Value first, std::int64_t n) {
  return add(repeated(first, Shape{n}), iota(*first.builder, DType::uint64, Shape{n}, 0));
}

// The two words of each of `n` blocks.
Values three_fry_words(Value key, Value first, std::int64_t n) {
  const Shape shape{n};
  const Value at = counters(first, n);
  return threefry2x32(repeated(low_word(key), shape), repeated(high_word(key), shape), low_word(at),
                      high_word(at));
}

// The dimension along which 32-bit results are split in two: the first even one, or else the
// longest.
int halved_dim(const Shape& shape) {
  int longest = 0;
  for (int d = 0; d < shape.rank(); ++d) {
    if (shape[d] % 2 == 0) return d;
    if (shape[d] > shape[longest]) longest = d;
  }
  return longest;
}

// A block generates two neighbours along that dimension.
Value three_fry_32(Value key, Value counter, const Shape& shape, std::int64_t& blocks) {
  if (shape.rank() == 0) {
    blocks = 1;
    return reshape(three_fry_words(key, counter, 1)[0], shape);
  }
  const int d = halved_dim(shape);
  Shape half = shape, even = shape;
  half[d] = (shape[d] + 1) / 2;
  even[d] = 2 * half[d];
  blocks = half.count();
  half.insert(half.begin() + d + 1, 1);
  Values words = three_fry_words(key, counter, blocks);
  for (Value& w : words) w = reshape(w, half);
  const Value whole = reshape(concatenate(words, d + 1), even);
  return slice(whole, Ints(shape.size(), 0), shape.to_vector(), Ints(shape.size(), 1));
}

struct Bits {
  Value next_state, words;
};

Bits three_fry(Value state, const Shape& shape, bool wide) {
  Builder& b = *state.builder;
  const Value key = element(state, 0), counter = element(state, 1);
  std::int64_t blocks = shape.count();
  Value bits;
  if (wide) {
    const Values words = three_fry_words(key, counter, blocks);
    const Value high = convert(words[1], DType::uint64);
    bits = reshape(or_(convert(words[0], DType::uint64), shift_left(high, full_like(high, 32))),
                   shape);
  } else {
    bits = three_fry_32(key, counter, shape, blocks);
  }
  const Value next = add(counter, number(b, blocks));
  return {concatenate(Values{reshape(key, Shape{1}), reshape(next, Shape{1})}, 0), bits};
}

// A counter of 128 bits; if the state has no upper half, the key takes its place.
Bits philox(Value state, const Shape& shape, bool wide) {
  Builder& b = *state.builder;
  const std::int64_t words = shape.count() * (wide ? 2 : 1), blocks = (words + 3) / 4;
  const bool has_high = state.shape()[0] == 3;
  const Value key = element(state, 0), low = element(state, 1),
              high = has_high ? element(state, 2) : key;
  auto carried = [](Value sum, Value part, Value upper) {
    return add(upper, convert(lt(sum, part), DType::uint64));
  };
  const Shape each{blocks};
  const Value at = counters(low, blocks),
              above = carried(at, repeated(low, each), repeated(high, each));
  Values out = philox4x32(Values{repeated(low_word(key), each), repeated(high_word(key), each),
                                 low_word(at), high_word(at), low_word(above), high_word(above)});
  for (Value& w : out) w = reshape(w, Shape{blocks, 1});
  Value bits = slice(reshape(concatenate(out, 1), Shape{4 * blocks}), {0}, {words}, {1});
  if (wide) bits = bitcast_convert(reshape(bits, Shape{shape.count(), 2}), DType::uint64);
  const Value next = add(low, number(b, blocks));
  Values parts{reshape(key, Shape{1}), reshape(next, Shape{1})};
  if (has_high) parts.push_back(reshape(carried(next, low, high), Shape{1}));
  return {concatenate(parts, 0), reshape(bits, shape)};
}

void check_generator(Value state, DType dtype, BitGenerator algorithm) {
  const Type& t = state.type();
  const bool three = algorithm == BitGenerator::three_fry;
  if (dtype == DType::boolean)
    Message("rng_bit_generator")
        .problem("bits of dtype bool")
        .rule("integers or floats, whose every bit is drawn")
        .from(state.builder->loc)
        .advice("draw uint8 and compare, or use random::bernoulli")
        .raise<DTypeError>();
  const bool fits = t.shape.rank() == 1 && (t.shape[0] == 2 || (t.shape[0] == 3 && !three));
  if (t.dtype == DType::uint64 && fits) return;
  Message m("rng_bit_generator");
  m.problem("the state is " + to_string(Type(t.dtype, t.shape)))
      .rule(std::string("uint64, a key and a counter: of shape (2,)") +
            (three ? "" : ", or (3,) with a counter of 128 bits"))
      .from(state.builder->loc)
      .advice("make it of 64-bit numbers: bitcast four uint32, or take two of three");
  if (t.dtype != DType::uint64) m.raise<DTypeError>();
  m.raise<ShapeError>();
}

}  // namespace

Values rng_bit_generator(Value state, const Shape& shape, DType dtype, BitGenerator algorithm) {
  check_generator(state, dtype, algorithm);
  const bool wide = size_of(dtype) == 8;
  const Bits out = algorithm == BitGenerator::three_fry ? three_fry(state, shape, wide)
                                                        : philox(state, shape, wide);
  const DType bits = size_of(dtype) == 1   ? DType::uint8
                     : size_of(dtype) == 2 ? DType::uint16
                                           : out.words.dtype();
  return {out.next_state, bitcast_convert(convert(out.words, bits), dtype)};
}

}  // namespace tessera::inline v0::ops
