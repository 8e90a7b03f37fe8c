// The verifier names the first invariant that a pass has broken.
#include "ir/op.h"
#include "ops/build.h"

#include <gtest/gtest.h>

namespace ts = tessera;
namespace ops = tessera::ops;

namespace {

// (a, b) -> c = add a b; d = reduce_sum c
ts::Program sound() {
  ts::Builder b("f");
  ts::Value x = b.input(ts::Type(ts::f32, {2})), y = b.input(ts::Type(ts::f32, {2}));
  return *b.finish(ts::Values{ops::reduce_sum(ops::add(x, y), {0})});
}

std::string complaint(const ts::Program& p) {
  try {
    ts::verify(p, "the pass");
  } catch (const ts::InternalError& e) {
    std::string s = e.what();
    std::size_t from = s.find("the pass"), to = s.rfind(" (verify.cc");
    return s.substr(from, to - from);
  }
  return "none";
}

}  // namespace

TEST(Verify, SoundProgramsPass) { EXPECT_EQ(complaint(sound()), "none"); }

TEST(Verify, EachPromise) {
  const std::string who = "the pass made program 'f' that does not hold: ";
  auto broken = [&](auto damage) {
    ts::Program p = sound();
    damage(p);
    std::string s = complaint(p);
    return s.starts_with(who) ? s.substr(who.size()) : s;
  };
  using P = ts::Program;
  EXPECT_EQ(broken([](P& p) { p.equations[0].inputs[1] = 3; }),
            "equation 0 (add): variable 3 is used before it is defined");
  EXPECT_EQ(broken([](P& p) { p.equations[1].outputs[0] = 2; }),
            "equation 1 (reduce_sum): variable 2 is defined twice");
  EXPECT_EQ(broken([](P& p) { p.equations[1].outputs[0] = 9; }),
            "equation 1 (reduce_sum): variable 9 has no type");
  EXPECT_EQ(broken([](P& p) { p.inputs[1] = 0; }), "input 1: variable 0 is defined twice");
  EXPECT_EQ(broken([](P& p) { p.outputs[0] = 9; }),
            "the outputs: variable 9 is used before it is defined");
  EXPECT_EQ(broken([](P& p) { p.equations[0].inputs.pop_back(); }),
            "equation 0 (add): it has 1 operand, the op takes 2");
  EXPECT_EQ(broken([](P& p) { p.types[3].shape = {1}; }),
            "equation 1 (reduce_sum): result 0 is typed f32[1], the op gives f32[]");
  EXPECT_EQ(broken([](P& p) { p.types[3].weak = true; }),
            "equation 1 (reduce_sum): result 0 is typed f32[]*, the op gives f32[]");
  EXPECT_EQ(broken([](P& p) { p.equations[1].attrs.set("axis", std::int64_t{0}); }),
            "equation 1 (reduce_sum): the op has no attribute 'axis'");
  EXPECT_EQ(broken([](P& p) { p.equations[1].attrs.set("axes", std::int64_t{0}); }),
            "equation 1 (reduce_sum): attribute 'axes' is of another kind");
  EXPECT_EQ(broken([](P& p) { p.types[1].shape = {3}; }).substr(0, 90),
            "equation 0 (add): its operands do not fit: add: operands have shapes (2,) and (3,)\n"
            "  rule:");
  EXPECT_EQ(broken([](P& p) { p.equations[0].op = nullptr; }), "equation 0: it has no op");
}

// Sets of axes in types decide where derivatives sum over devices.
TEST(Verify, VaryingAxes) {
  ts::Builder b("f");
  ts::Type own(ts::f32, {2});
  own.varying = {"i"};
  ts::Value x = b.input(own), y = b.input(ts::Type(ts::f32, {2}));
  const ts::Program p =
      *b.finish(ts::Values{ops::psum_invariant(ops::add(x, y), {"i"}), ops::neg(y)});
  EXPECT_EQ(complaint(p), "none");
  auto broken = [&](auto damage) {
    ts::Program q = p;
    damage(q);
    const std::string s = complaint(q), who = "the pass made program 'f' that does not hold: ";
    return s.starts_with(who) ? s.substr(who.size()) : s;
  };
  using P = ts::Program;
  ASSERT_EQ(p.equations[0].op->name, "pvary");
  EXPECT_EQ(broken([](P& q) { q.types[q.equations[1].outputs[0]].varying = {}; }),
            "equation 1 (add): result 0 is typed f32[2], and the op makes it vary over 'i'");
  EXPECT_EQ(
      broken([](P& q) { q.types[q.equations[2].outputs[0]].varying = {"i"}; }),
      "equation 2 (psum_invariant): result 0 is typed f32[2]{varying: i}, and the op makes it "
      "vary over none");
  EXPECT_EQ(broken([](P& q) { q.types[q.equations[3].outputs[0]].varying = {"i"}; }),
            "equation 3 (neg): result 0 is typed f32[2]{varying: i}, and the op makes it vary over "
            "none");
  // A pass has removed a cast.
  EXPECT_EQ(broken([](P& q) { q.equations[1].inputs[1] = q.inputs[1]; }),
            "equation 1 (add): its operands vary over different axes, 'i' and none: one of them "
            "needs a pvary");
}
