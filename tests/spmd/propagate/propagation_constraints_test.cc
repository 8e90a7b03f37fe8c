// The effect of constraints on values before and after them, and constants that each reader has
// separately.
#include "spmd/propagation_check.h"

using namespace propagation;

namespace {

TEST(PropagationConstraints, OneIsAskedForWhereTheValueIsMade) {
  Case c;
  Value x = c.input({8, 16}), e = ops::exp(x), y = c.constrain(e, "x");
  Propagation p = c.run({y});
  EXPECT_EQ(c.text(p, e), "P('x')");
  EXPECT_EQ(c.text(p, x), "P('x')");
  EXPECT_EQ(p.to_string(*p.why(x.var, 0, 0)),
            "sharding_constraint in equation 1, through exp (rung 1)");
}

// A value with several different constraints is not closed by any of them.
TEST(PropagationConstraints, ThatDifferAreTheirReaders) {
  Case c;
  Value x = c.input({8, 16}), e = ops::exp(x);
  Value rows = c.constrain(e, "x"), columns = c.constrain(e, ";y");
  Propagation p = c.run({rows, columns});
  EXPECT_EQ(c.text(p, rows), "P('x')");
  EXPECT_EQ(c.text(p, columns), "P(none, 'y')");
  EXPECT_EQ(c.text(p, e), "P('x', 'y')");
}

TEST(PropagationConstraints, InAChainTheFirstIsTheMakers) {
  Case c;
  Value x = c.input({8, 16}), e = ops::exp(x);
  Value one = c.constrain(e, "x"), two = c.constrain(one, "y");
  Value last = ops::sin(two);
  Propagation p = c.run({last});
  EXPECT_EQ(c.text(p, e), "P('x')");
  EXPECT_EQ(c.text(p, one), "P('x')");
  EXPECT_EQ(c.text(p, two), "P('y')");
  EXPECT_EQ(c.text(p, last), "P('y')");
}

TEST(PropagationConstraints, ReplicationIsOneToo) {
  Case c;
  Value x = c.input({8, 16}, "x"), e = ops::exp(x), r = c.constrain(e, ""), s = ops::sin(r);
  Propagation p = c.run({s});
  EXPECT_EQ(c.text(p, e), "P()");
  EXPECT_EQ(c.text(p, s), "P()");
}

TEST(PropagationConstraints, OpenDimensionsAreFoundByPropagation) {
  Case c;
  Value x = c.input({8, 16}, "x;y"), e = ops::exp(x), r = c.constrain(e, "", {1});
  Propagation p = c.run({r});
  EXPECT_EQ(c.text(p, r), "P(none, 'y')");
  EXPECT_EQ(c.text(p, e), "P('x', 'y')");

  // Further axes are minor to the requested ones.
  Case more;
  Value y = more.input({16, 8}, "x,y"), q = more.constrain(ops::exp(y), "x", {0});
  EXPECT_EQ(more.text(more.run({q}), q), "P(('x', 'y'))");
}

TEST(PropagationConstraints, AnInputThatIsAskedForStays) {
  Case c;
  Value x = c.input({8, 16}, "x"), y = c.constrain(x, ";y"), z = ops::exp(y);
  Propagation p = c.run({z});
  EXPECT_EQ(c.text(p, x), "P('x')");
  EXPECT_EQ(c.text(p, z), "P(none, 'y')");
}

TEST(PropagationConstraints, MeshesAreTheProgramsOwn) {
  Case c;
  Value x = c.input({8, 16});
  Value y = ops::sharding_constraint(x, first_devices({{"x"}, {3}}), spec("x"), {});
  EXPECT_THROW(c.run({y}), InternalError);
}

TEST(PropagationConstraints, EachReaderHasAConstantOfItsOwn) {
  Case c;
  Value a = c.input({8, 16}, "x"), b = c.input({8, 16}, ";y");
  Value ones = ops::full(c.b, DType::float32, {8, 16}, 1);
  Value n = ops::iota(c.b, DType::float32, {8, 16}, 0);
  Value one = ops::add(ops::add(a, ones), n), two = ops::add(ops::add(b, ones), n);
  Propagation p = c.run({one, two});
  EXPECT_EQ(c.text(p, one), "P('x')");
  EXPECT_EQ(c.text(p, two), "P(none, 'y')");
  EXPECT_EQ(c.read(p, 3, 1), "P('x')");
  EXPECT_EQ(c.read(p, 4, 1), "P('x')");
  EXPECT_EQ(c.read(p, 5, 1), "P(none, 'y')");
  EXPECT_EQ(c.read(p, 6, 1), "P(none, 'y')");
}

// Readers have constants of their own through a call as well.
TEST(PropagationConstraints, ReadersOfAConstantInCalls) {
  Case c;
  Value a = c.input({8, 16}, "x"), b = c.input({8, 16}, ";y");
  Value ones = ops::full(c.b, DType::float32, {8, 16}, 1);
  ProgramPtr body = body_of({{8, 16}, {8, 16}}, [](Builder&, const Values& in) {
    return Values{ops::add(in[0], in[1])};
  });
  Values one = ops::remat(c.b, body, Values{a, ones}), two = ops::remat(c.b, body, Values{b, ones});
  Propagation p = c.run({one[0], two[0], ones});
  EXPECT_EQ(c.text(p, one[0]), "P('x')");
  EXPECT_EQ(c.text(p, two[0]), "P(none, 'y')");
  EXPECT_EQ(c.text(p.output(2)), "P()");
}

TEST(PropagationConstraints, AnInputThatIsAnOutputTwice) {
  Case c;
  Value a = c.input({8, 16}, "x"), e = ops::exp(a);
  c.options.outputs = {c.wanted(2, ";y"), c.wanted(2, "y"), c.wanted(2, ""), std::nullopt};
  Propagation p = c.run({a, e, e, e});
  EXPECT_EQ(c.text(p.input(0)), "P('x')");
  EXPECT_EQ(c.text(p.output(0)), "P(none, 'y')");
  EXPECT_EQ(c.text(p.output(1)), "P('y')");
  EXPECT_EQ(c.text(p.output(2)), "P()");
}

TEST(PropagationConstraints, WhatIsAskedHasToFit) {
  Case c;
  Value a = c.input({8, 16}, "x");
  c.options.inputs[0]->replicated = AtomSet(c.mesh.atoms_of(0));
  EXPECT_THROW(c.run({a}), InternalError);
  Case d;
  Value b = d.input({8, 16}, "x");
  d.options.inputs[0]->open = {true};
  EXPECT_THROW(d.run({b}), InternalError);
}

}  // namespace
