// The origin of axes, step by step.
#include "spmd/propagation_check.h"

using namespace propagation;

namespace {

TEST(PropagationOrigin, IsFollowedToAnInput) {
  Case c;
  Value a = c.input({8, 16}, ";x"), w = c.input({16, 32}, ";y");
  Value h = ops::tanh(matmul(a, w)), t = ops::transpose(h, {1, 0});
  Propagation p = c.run({t});
  EXPECT_EQ(c.text(p, t), "P('y')");
  EXPECT_EQ(p.to_string(*p.why(t.var, 0, 1)),
            "input 1, through dot_general (rung 3), tanh (rung 3), transpose (rung 3)");
  EXPECT_FALSE(p.why(t.var, 0, 0));
  EXPECT_FALSE(p.why(t.var, 1, 1));
  EXPECT_EQ(p.to_string(*p.why(a.var, 1, 0)), "input 0");
}

TEST(PropagationOrigin, IsFollowedToAnOutput) {
  Case c;
  Value a = c.input({8, 16}), e = ops::exp(a), t = ops::transpose(e, {1, 0});
  c.options.outputs = {c.wanted(2, "x", {true, true})};
  Propagation p = c.run({t});
  const Origin o = p.why(a.var, 1, 0).value();
  EXPECT_EQ(o.kind, Origin::Kind::output);
  EXPECT_EQ(p.to_string(o), "output 0, through result (rung 1), transpose (rung 1), exp (rung 1)");
}

// If a reshape splits an axis, its parts are in different dimensions and have the same origin.
TEST(PropagationOrigin, IsThatOfEachPart) {
  Case c;
  Value a = c.input({8}, "y"), r = ops::reshape(a, {2, 4});
  Propagation p = c.run({r});
  EXPECT_EQ(p.to_string(*p.why(r.var, 0, 1)), "input 0, through reshape (rung 1)");
  EXPECT_EQ(p.to_string(*p.why(r.var, 1, 2)), "input 0, through reshape (rung 1)");
}

TEST(PropagationOrigin, ALongWayIsToldByItsEnds) {
  Case c;
  Value a = c.input({8}, "x"), e = ops::exp(a);
  for (int i = 0; i < 6; ++i) e = ops::sin(e);
  const Value eight = e = ops::tanh(e);
  for (int i = 0; i < 40; ++i) e = ops::cos(e);
  Propagation p = c.run({e});
  EXPECT_EQ(
      p.to_string(*p.why(eight.var, 0, 0)),
      "input 0, through exp (rung 1), sin (rung 1), sin (rung 1), sin (rung 1), sin (rung 1), "
      "sin (rung 1), sin (rung 1), tanh (rung 1)");
  EXPECT_EQ(p.to_string(*p.why(e.var, 0, 0)),
            "input 0, through exp (rung 1), sin (rung 1), sin (rung 1), 42 more, cos (rung 1), "
            "cos (rung 1), cos (rung 1)");
}

TEST(PropagationOrigin, GoesThroughLoops) {
  Case c;
  Value x = c.input({8, 16}, "x");
  ProgramPtr body =
      body_of({{8, 16}}, [](Builder&, const Values& in) { return Values{ops::exp(in[0])}; });
  Values out = ops::scan(body, {}, Values{x}, {}, 3, false, c.b);
  Value last = ops::sin(out[0]);
  Propagation p = c.run({last});
  EXPECT_EQ(p.to_string(*p.why(last.var, 0, 0)), "input 0, through scan (rung 1), sin (rung 2)");
  const std::size_t inside = p.nested(0, 0)[0];
  EXPECT_EQ(p.to_string(*p.why(body->inputs[0], 0, 0, inside)), "input 0, through scan (rung 1)");
  EXPECT_EQ(p.to_string(*p.why(body->outputs[0], 0, 0, inside)), "input 0, through scan (rung 1)");
}

TEST(PropagationOrigin, SaysWhatWasPreferred) {
  Case c;
  Value x = c.input({64, 16}, "x"), w = c.input({16, 8}, ";x"), z = matmul(x, w);
  Propagation p = c.run({z});
  EXPECT_EQ(p.to_string(*p.why(z.var, 0, 0)), "input 0, through dot_general (rung 3, aggressive)");
}

TEST(PropagationOrigin, OfWhatWaitedIsItsInput) {
  Case c;
  Value a = c.input({8, 16}, "x"), e = ops::exp(a);
  c.options.inputs[0]->priority = {2, 0};
  Propagation p = c.run({e});
  EXPECT_EQ(p.to_string(*p.why(e.var, 0, 0)), "input 0, through exp (rung 1)");
}

}  // namespace
