// Control flow in typed per-device programs: values that are equal on all devices meet values that
// vary.
#include "transform/helpers.h"

namespace tessera::testing {
namespace {

Type over(Type type, std::initializer_list<std::string> axes) {
  type.varying = AxisSet(axes);
  return type;
}
const Type kVaries = over(kScalar, {"i"});

std::size_t top_level(const Program& p, const std::string& op) {
  std::size_t n = 0;
  for (const Equation& e : p.equations) n += e.op->name == op ? 1 : 0;
  return n;
}

TEST(Varying, ACarryIsCastBeforeTheLoop) {
  ProgramPtr body = trace({kScalar, kScalar, kVaries}, [](Builder&, const Values& in) {
    return Values{ops::add(ops::mul(in[1], in[0]), in[2]), in[1]};
  });
  ProgramPtr p = trace({kScalar, kScalar, over(vec(3), {"i"})}, [&](Builder& b, const Values& in) {
    std::span<const Value> all(in);
    return ops::scan(body, all.subspan(0, 1), all.subspan(1, 1), all.subspan(2, 1), 3, false, b);
  });
  EXPECT_EQ(top_level(*p, "pvary"), 1u);
  EXPECT_EQ(p->types[p->outputs[0]].varying, AxisSet({"i"}));
  // The cotangent of the shared start is summed over the devices once, after the loop. That of the
  // shared factor is too, or in each step if the factor meets the carry.
  ProgramPtr v = vjp_program(*p, {true, true, true});
  verify(*v, "test");
  EXPECT_EQ(top_level(*v, "psum_invariant"), 1u);
  EXPECT_GE(count_ops(*v, "psum_invariant"), 2u);
  EXPECT_TRUE(v->types[v->outputs[2]].varying.empty());
  EXPECT_TRUE(v->types[v->outputs[3]].varying.empty());
  EXPECT_EQ(v->types[v->outputs[4]].varying, AxisSet({"i"}));
}

TEST(Varying, BranchesGiveTheSameTypes) {
  ProgramPtr shared =
      trace({kScalar, kVaries}, [](Builder&, const Values& in) { return Values{in[0]}; });
  ProgramPtr own = trace({kScalar, kVaries},
                         [](Builder&, const Values& in) { return Values{ops::mul(in[0], in[1])}; });
  for (const Type& index : {Type(i32, {}), over(Type(i32, {}), {"i"})}) {
    ProgramPtr p = trace({index, kScalar, kVaries}, [&](Builder&, const Values& in) {
      return ops::cond(in[0], {shared, own}, std::span<const Value>(in).subspan(1));
    });
    EXPECT_EQ(p->types[p->outputs[0]].varying, AxisSet({"i"}));
    ProgramPtr v = vjp_program(*p, {false, true, true});
    verify(*v, "test");
    EXPECT_TRUE(v->types[v->outputs[1]].varying.empty());
    EXPECT_EQ(v->types[v->outputs[2]].varying, AxisSet({"i"}));
    EXPECT_GE(count_ops(*v, "psum_invariant"), 1u);
  }
}

TEST(Varying, AVaryingPredicateMakesTheCarryVary) {
  ProgramPtr go = trace({kVaries, kScalar},
                        [](Builder&, const Values& in) { return Values{ops::lt(in[1], in[0])}; });
  ProgramPtr step =
      trace({kScalar}, [](Builder&, const Values& in) { return Values{ops::add(in[0], in[0])}; });
  ProgramPtr p = trace({kVaries, kScalar}, [&](Builder&, const Values& in) {
    std::span<const Value> all(in);
    return ops::while_(go, step, all.subspan(0, 1), {}, all.subspan(1, 1));
  });
  EXPECT_EQ(top_level(*p, "pvary"), 1u);
  EXPECT_EQ(p->types[p->outputs[0]].varying, AxisSet({"i"}));
}

TEST(Varying, NothingIsCastElsewhere) {
  ProgramPtr body = trace({kScalar, kScalar}, [](Builder&, const Values& in) {
    return Values{ops::add(in[0], in[1])};
  });
  ProgramPtr p = trace({kScalar, vec(3)}, [&](Builder& b, const Values& in) {
    std::span<const Value> all(in);
    return ops::scan(body, {}, all.subspan(0, 1), all.subspan(1, 1), 3, false, b);
  });
  EXPECT_EQ(p->equations.size(), 1u);
  EXPECT_EQ(p->equations[0].attrs.program("body"), body);
}

}  // namespace
}  // namespace tessera::testing
