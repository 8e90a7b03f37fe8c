// The properties of ops that passes and planning rely on hold for their evaluators on the examples.
#include "ir/nested.h"
#include "ops/registry_values.h"
#include "ops/registry_walk.h"

#include <algorithm>
#include <cstring>

namespace ts = tessera;

class RegistryProperties : public testing::TestWithParam<std::string> {
 protected:
  const ts::Op& op = ts::Registry::get().at(GetParam());

  struct Drawn {
    ts::OpExample example;
    walk::Arrays inputs, outputs;
  };
  // The examples with the evaluator's results; if asked, all elements of operand 0 are equal.
  std::vector<Drawn> drawn(bool same = false) const {
    walk::Random random(11);
    std::vector<Drawn> all;
    for (const ts::OpExample& e : op.examples()) {
      Drawn d{e, {}, {}};
      for (std::size_t i = 0; i < e.inputs.size(); ++i)
        d.inputs.push_back(walk::draw_operand(e, i, e.inputs[i], random));
      for (std::int64_t i = 1; same && i < d.inputs[0].count(); ++i) {
        const std::int64_t n = ts::size_of(d.inputs[0].dtype);
        std::memcpy(d.inputs[0].bytes + i * n, d.inputs[0].bytes, static_cast<std::size_t>(n));
      }
      d.outputs = walk::run(*walk::program_of(op, e), d.inputs);
      all.push_back(std::move(d));
    }
    return all;
  }
};

namespace {
void expect_same(const ts::HostArray& a, const ts::HostArray& b) {
  ASSERT_EQ(a.dtype, b.dtype);
  ASSERT_EQ(a.count(), b.count());
  EXPECT_TRUE(a.count() == 0 ||
              !std::memcmp(a.bytes, b.bytes, static_cast<std::size_t>(a.size_bytes())));
}
}  // namespace

TEST_P(RegistryProperties, FlowIsReadAndWritten) {
  EXPECT_FALSE(op.with_flow && !op.flow);
  EXPECT_FALSE(op.lowering == ts::Lowering::expanded && !op.flow && !op.backward_only);
  if (!op.flow) return;
  for (const ts::OpExample& e : op.examples()) {
    const ts::Flow f = op.flow(e.attrs);
    ts::Programs kept;
    ts::for_each_nested(e.attrs, [&](const ts::ProgramPtr& p) { kept.push_back(p); });
    for (const ts::ProgramPtr& p : f.programs) EXPECT_TRUE(std::count(kept.begin(), kept.end(), p));
    if (f.repeats()) {
      EXPECT_LE(f.carry_operand(f.carry), e.inputs.size());
      EXPECT_EQ(f.body()->inputs.size(), e.inputs.size() - f.cond_consts);
    }
    if (!op.with_flow) continue;
    EXPECT_TRUE(op.with_flow(e.attrs, f) == e.attrs);
    ts::Flow other = f;
    if (f.repeats()) other.consts += 1;
    other.programs.assign(f.programs.size(), std::make_shared<ts::Program>(*f.body()));
    const ts::Attrs changed = op.with_flow(e.attrs, other);
    for (const auto& [name, value] : e.attrs) EXPECT_TRUE(changed.has(name)) << name;
    ts::for_each_nested(changed, [&](const ts::ProgramPtr& p) { EXPECT_EQ(p, other.programs[0]); });
  }
}

TEST_P(RegistryProperties, WhatForwardsGivesItsOperands) {
  if (!op.forwards || !op.evaluate) return;
  for (const Drawn& d : drawn())
    for (std::size_t k = 0; k < d.outputs.size(); ++k) expect_same(d.inputs[k], d.outputs[k]);
}

TEST_P(RegistryProperties, WhatRearrangesMakesNoElements) {
  if (!op.rearranges) return;
  for (const Drawn& d : drawn(true))
    for (std::int64_t i = 0; i < d.outputs[0].count(); ++i)
      EXPECT_EQ(d.outputs[0].number(i), d.inputs[0].number(0));
}

TEST_P(RegistryProperties, ALiteralIsTheValue) {
  if (!op.literal) return;
  EXPECT_EQ(op.inputs, 0);
  for (const Drawn& d : drawn())
    expect_same(ts::HostArray::from(*op.literal(d.example.attrs)), d.outputs[0]);
}

TEST_P(RegistryProperties, AStridedBoxIsOfItsOperand) {
  if (!op.strided_box) return;
  for (const Drawn& d : drawn()) {
    const ts::StridedBox at = op.strided_box(d.example.attrs);
    const ts::Shape from = d.inputs[0].shape.strides(), to = d.outputs[0].shape.strides();
    ts::for_each_index(d.outputs[0].shape, [&](const ts::Shape& index) {
      ts::Shape source = index;
      for (std::size_t k = 0; k < index.size(); ++k)
        source[k] = at.start[k] + index[k] * at.strides[k];
      EXPECT_EQ(d.outputs[0].number(ts::flat_index(index, to)),
                d.inputs[0].number(ts::flat_index(source, from)));
    });
    for (std::size_t k = 0; k < at.limit.size(); ++k)
      EXPECT_GE(at.limit[k] + at.strides[k] - 1,
                at.start[k] + d.outputs[0].shape[k] * at.strides[k]);
  }
}

TEST_P(RegistryProperties, WhatJoinsGrowsAlongItsDimension) {
  if (!op.joins) return;
  for (const Drawn& d : drawn()) {
    const auto along = static_cast<std::size_t>(op.joins(d.example.attrs));
    ts::Shape sum = d.inputs[0].shape;
    for (std::size_t k = 1; k < d.inputs.size(); ++k) sum[along] += d.inputs[k].shape[along];
    EXPECT_EQ(d.outputs[0].shape, sum);
  }
}

// The equations that replace it give the same bits.
TEST_P(RegistryProperties, PartsGiveTheSame) {
  if (!op.decompose) return;
  for (const Drawn& d : drawn()) {
    ts::Builder b("parts");
    ts::Values in;
    for (const ts::Type& t : d.example.inputs) in.push_back(b.input(t));
    const std::optional<ts::Values> out = op.decompose({b, op, d.example.attrs, in});
    if (!out) continue;
    const walk::Arrays got = walk::run(*b.finish(*out), d.inputs);
    for (std::size_t k = 0; k < got.size(); ++k) expect_same(got[k], d.outputs[k]);
  }
}

TEST_P(RegistryProperties, WhatItSaysGoesTogether) {
  EXPECT_FALSE(op.position && op.inputs != 0);
  EXPECT_EQ(op.lowering == ts::Lowering::collective,
            op.exchange != ts::Exchange::none || op.position);
  EXPECT_FALSE(op.linear && !op.transpose);
  EXPECT_FALSE(op.exact && !op.evaluate);
  EXPECT_FALSE(op.backward_only && !op.transpose);
}

INSTANTIATE_TEST_SUITE_P(Ops, RegistryProperties, testing::ValuesIn(walk::op_names()),
                         walk::test_name);
