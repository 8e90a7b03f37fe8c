// If a step runs once although its operands differ between devices, every device gets the first
// one's values. The verifier refuses such a tape before it runs.
#include "codegen/tape/tape_verify.h"
#include "../specs.h"
#include "programs.h"

#include "codegen/tape/planner.h"

namespace ts = tessera;
namespace ops = tessera::ops;
namespace tape = tessera::tape;
using namespace rt;

namespace {

// A shard_map, the square of its whole result, and a second shard_map.
tape::Tape planned() {
  const ts::Type whole(ts::f32, {3, 4}), block(ts::f32, {1, 4});
  auto map = [&](ts::Value x, const Body& f) {
    return ops::shard_map(*x.builder, program({block}, f), ts::Values{x},
                          first_devices({{"i"}, {3}}), specs({"i"}), specs({"i"}), false)[0];
  };
  ts::Builder b("two_maps");
  ts::Value x = map(b.input(whole), [](ts::Builder&, ts::Values v) {
    return ts::Values{ops::sub(v[0], ops::psum(v[0], {"i"}, 3))};
  });
  x = map(ops::mul(x, x), [](ts::Builder&, ts::Values v) { return ts::Values{ops::exp(v[0])}; });
  return *tape::make_tape(*b.finish(ts::Values{x}), {});
}

std::string complaint(const tape::Tape& tape) {
  try {
    tape::verify(tape);
  } catch (const ts::InternalError& e) {
    const std::string s = e.what(), from = "tape 'two_maps', ";
    const std::size_t begin = s.find(from);
    return s.substr(begin + from.size(), s.rfind(" (") - begin - from.size());
  }
  return "none";
}

tape::Step& first_collective(tape::Tape& tape) {
  for (tape::Phase& phase : tape.phases)
    for (tape::Step& step : phase.steps)
      if (step.is_collective()) return step;
  throw std::logic_error("no such step");
}

}  // namespace

TEST(TapeVerify, SoundTapesPass) { EXPECT_EQ(complaint(planned()), "none"); }

TEST(TapeVerify, EachPromise) {
  tape::Tape tape = planned();
  tape::Step& exp = tape.phases.back().steps.back();
  ASSERT_EQ(exp.name, "exp");
  exp.mask = 0;
  EXPECT_EQ(complaint(tape),
            "step 'exp': an operand differs along 'i', over which it does not run");
  tape = planned();
  tape::Step& last = tape.phases.back().steps.back();
  tape.slots[static_cast<std::size_t>(last.outputs[0].slot)].mask = 0;
  EXPECT_EQ(complaint(tape), "step 'exp' runs along 'i' and writes one place there");
  // A value that is equal on all devices may be read from the first one.
  tape = planned();
  tape::Step& sum = first_collective(tape);
  tape::Slot& operand = tape.slots[static_cast<std::size_t>(sum.inputs[0].slot)];
  auto c = std::make_shared<tape::Collective>(sum.collective());
  c->axes.clear();
  sum.kind = tape::CollectiveStep{c};
  EXPECT_EQ(complaint(tape),
            "step 'psum': an operand differs along 'i', over which it does not run");
  operand.same = operand.mask;
  EXPECT_EQ(complaint(tape), "none");
}
