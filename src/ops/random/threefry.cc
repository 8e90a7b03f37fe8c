// threefry2x32.
#include "ops/elementwise/elementwise.h"
#include "ops/random/block.h"

#include <array>

namespace tessera::inline v0::ops {

Values threefry2x32(Value k0, Value k1, Value x0, Value x1) {
  return k0.builder->emit("threefry2x32", Values{k0, k1, x0, x1});
}

namespace {

// J. K. Salmon et al., "Parallel random numbers: as easy as 1, 2, 3", SC 2011: 20 rounds in five
// groups of four, with a key word added to each half after every group. W is a 32-bit word: a
// number, or a lane of the emitter.
template <class W, class Arithmetic>
std::array<W, 2> threefry_block(W k0, W k1, W x0, W x1, const Arithmetic& m) {
  constexpr int kRotations[2][4] = {{13, 15, 26, 6}, {17, 29, 16, 24}};
  std::array<W, 3> key = {k0, k1, m.exclusive_or(m.exclusive_or(k0, k1), m.word(0x1BD11BDA))};
  x0 = m.add(x0, key[0]);
  x1 = m.add(x1, key[1]);
  for (unsigned group = 0; group < 5; ++group) {
    for (int rotation : kRotations[group % 2]) {
      x0 = m.add(x0, x1);
      x1 = m.exclusive_or(m.rotate(x1, rotation), x0);
    }
    x0 = m.add(x0, key[(group + 1) % 3]);
    x1 = m.add(x1, m.add(key[(group + 2) % 3], m.word(group + 1)));
  }
  return {x0, x1};
}

}  // namespace

void register_threefry(Registry& r) {
  Op op = block_op("threefry2x32",
                   "The Threefry-2x32 block function with 20 rounds, element by element. "
                   "Operands: the key's two words, the "
                   "counter's two words, all uint32; results: two words.",
                   4, 2, "make keys with random::key");
  op.cost = pointwise_cost(20 * 5);
  op.evaluate = [](const EvalArgs& a) {
    for (std::int64_t i = 0; i < a.outputs[0].count(); ++i) {
      auto in = [&](std::size_t k) { return a.inputs[k].data<std::uint32_t>()[i]; };
      auto y = threefry_block(in(0), in(1), in(2), in(3), WordNumbers{});
      a.outputs[0].data<std::uint32_t>()[i] = y[0];
      a.outputs[1].data<std::uint32_t>()[i] = y[1];
    }
  };
  op.emit = [](Emitter& e, const Equation&, int result, std::span<const Index> at) {
    return threefry_block(e.operand(0, at), e.operand(1, at), e.operand(2, at), e.operand(3, at),
                          WordLanes{e})[static_cast<std::size_t>(result)];
  };
  r.add(std::move(op));
}

}  // namespace tessera::inline v0::ops
