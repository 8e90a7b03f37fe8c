// Checks Op::updates, which names the operands that a result is an update of. Ops that move an
// operand's elements, select among them or add to them are found by their derivatives; each of them
// must name such an operand, or say why there is none.
#include "ops/registry_values.h"
#include "ops/registry_walk.h"

#include <algorithm>
#include <cmath>
#include <map>

namespace ts = tessera;

namespace {

// The derivatives of all results with respect to each element of operand k, by forward differences,
// one element at a time, since the examples are small. Empty if the operand is not a float.
std::vector<double> derivatives(const ts::Program& p, const walk::Arrays& inputs, std::size_t k) {
  std::vector<double> all;
  if (inputs[k].dtype != ts::DType::float64) return all;
  const walk::Arrays before = walk::run(p, inputs);
  constexpr double kStep = 1e-6;
  for (std::int64_t i = 0; i < inputs[k].count(); ++i) {
    walk::Arrays moved = inputs;
    moved[k] = ts::HostArray(inputs[k].dtype, inputs[k].shape);
    for (std::int64_t j = 0; j < inputs[k].count(); ++j)
      moved[k].data<double>()[j] = inputs[k].data<double>()[j] + (i == j ? kStep : 0);
    const walk::Arrays after = walk::run(p, moved);
    for (std::size_t o = 0; o < after.size(); ++o)
      if (after[o].dtype == ts::DType::float64)
        for (std::int64_t j = 0; j < after[o].count(); ++j)
          all.push_back((after[o].data<double>()[j] - before[o].data<double>()[j]) / kStep);
  }
  return all;
}
bool is(double x, double value) { return std::abs(x - value) < 1e-4; }

}  // namespace

class RegistryUpdates : public testing::TestWithParam<std::string> {
 protected:
  const ts::Op& op = ts::Registry::get().at(GetParam());
  bool has_reason() const { return op.waived.count("updates") && !op.waived.at("updates").empty(); }

  // The op's examples in double precision.
  struct Drawn {
    ts::Attrs attrs;
    ts::ProgramPtr program;
    walk::Arrays inputs;
  };
  std::vector<Drawn> drawn() const {
    walk::Random random(7);
    std::vector<Drawn> all;
    for (ts::OpExample e : op.examples()) {
      Drawn d;
      for (std::size_t i = 0; i < e.inputs.size(); ++i) {
        e.inputs[i] = walk::widened(e.inputs[i]);
        d.inputs.push_back(walk::draw_operand(e, i, e.inputs[i], random));
      }
      d.attrs = e.attrs = walk::widened(e.attrs);
      d.program = walk::program_of(op, e);
      all.push_back(std::move(d));
    }
    return all;
  }
};

TEST_P(RegistryUpdates, WhatKeepsElementsSaysSo) {
  EXPECT_FALSE(op.updates && has_reason()) << "has 'updates' and waives it";
  if (!op.evaluate || op.updates || has_reason()) return;
  struct Seen {
    bool only = true, some = false;  // all derivatives are 0 or 1; some are 1
  };
  std::map<std::size_t, Seen> by_operand;
  for (const Drawn& d : drawn())
    for (std::size_t k = 0; k < d.inputs.size(); ++k)
      for (double x : derivatives(*d.program, d.inputs, k)) {
        Seen& s = by_operand[k];
        s.only = s.only && (is(x, 0) || is(x, 1));
        s.some = s.some || is(x, 1);
      }
  for (const auto& [operand, seen] : by_operand)
    EXPECT_FALSE(seen.only && seen.some) << "moves, chooses or adds elements of operand " << operand
                                         << ", and neither has 'updates' nor says why not";
}

// A named operand exists, and the result depends on it. The operands named when operands differ
// between devices are among those named when they do not.
TEST_P(RegistryUpdates, NamesOperandsOfTheResult) {
  if (!op.updates) return;
  std::map<std::size_t, bool> depends;
  for (const Drawn& d : drawn()) {
    const ts::InlineVector<bool, 8> same(d.inputs.size(), true), differ(d.inputs.size(), false);
    for (std::size_t o = 0; o < d.program->outputs.size(); ++o) {
      const auto named = op.updates({d.attrs, {same.data(), same.size()}, o});
      for (std::size_t i : op.updates({d.attrs, {differ.data(), differ.size()}, o}))
        EXPECT_TRUE(std::count(named.begin(), named.end(), i)) << i;
      for (std::size_t i : named) {
        ASSERT_LT(i, d.inputs.size());
        for (double x : derivatives(*d.program, d.inputs, i)) depends[i] |= !is(x, 0);
      }
    }
  }
  EXPECT_FALSE(depends.empty());
  for (const auto& [operand, does] : depends) EXPECT_TRUE(does) << "operand " << operand;
}

// Control flow says how it runs its nested programs.
TEST_P(RegistryUpdates, ControlFlowSaysHowItRuns) {
  EXPECT_TRUE(op.lowering != ts::Lowering::control || op.flow);
}

INSTANTIATE_TEST_SUITE_P(Ops, RegistryUpdates, testing::ValuesIn(walk::op_names()),
                         walk::test_name);
