// philox4x32.
#include "ops/elementwise/elementwise.h"
#include "ops/random/block.h"
#include "ops/random/rng_bit_generator.h"

#include <array>

namespace tessera::inline v0::ops {

Values philox4x32(std::span<const Value> key_and_counter) {
  return key_and_counter[0].builder->emit("philox4x32", key_and_counter);
}

namespace {

// J. K. Salmon et al., "Parallel random numbers: as easy as 1, 2, 3", SC 2011: ten rounds. After
// each round the key words advance by constants from the golden ratio and from sqrt(3) - 1. W is a
// 32-bit word: a number, or a lane of the emitter.
template <class W, class Arithmetic>
std::array<W, 4> philox_block(std::array<W, 2> key, std::array<W, 4> x, const Arithmetic& m) {
  for (int round = 0; round < 10; ++round) {
    auto [high0, low0] = m.product(x[0], 0xD2511F53);
    auto [high1, low1] = m.product(x[2], 0xCD9E8D57);
    x = {m.exclusive_or(m.exclusive_or(high1, x[1]), key[0]), low1,
         m.exclusive_or(m.exclusive_or(high0, x[3]), key[1]), low0};
    key = {m.add(key[0], m.word(0x9E3779B9)), m.add(key[1], m.word(0xBB67AE85))};
  }
  return x;
}

}  // namespace

void register_philox(Registry& r) {
  Op op = block_op("philox4x32",
                   "The Philox-4x32 block function with 10 rounds, element by element. "
                   "Operands: the key's two words, the counter's four words, all uint32; "
                   "results: four words.",
                   6, 4, "convert them with astype(u32)");
  op.cost = pointwise_cost(10 * 8);
  op.evaluate = [](const EvalArgs& a) {
    for (std::int64_t i = 0; i < a.outputs[0].count(); ++i) {
      auto in = [&](std::size_t k) { return a.inputs[k].data<std::uint32_t>()[i]; };
      const auto y =
          philox_block<std::uint32_t>({in(0), in(1)}, {in(2), in(3), in(4), in(5)}, WordNumbers{});
      for (std::size_t k = 0; k < 4; ++k) a.outputs[k].data<std::uint32_t>()[i] = y[k];
    }
  };
  op.emit = [](Emitter& e, const Equation&, int result, std::span<const Index> at) {
    auto in = [&](int k) { return e.operand(k, at); };
    return philox_block<Lane>({in(0), in(1)}, {in(2), in(3), in(4), in(5)},
                              WordLanes{e})[static_cast<std::size_t>(result)];
  };
  r.add(std::move(op));
}

}  // namespace tessera::inline v0::ops
