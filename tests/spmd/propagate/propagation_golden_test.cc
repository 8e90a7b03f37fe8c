// Worked examples of propagation: small programs over x = 2 and y = 4 with the resulting
// placements.
#include "spmd/propagation_check.h"

using namespace propagation;

TEST(Propagation, GoesAlongAChain) {
  Case c;
  Value a = c.input({8, 16}, "x"), d = c.input({16, 8});
  Value e = ops::exp(a), t = ops::transpose(e, {1, 0}), m = ops::mul(t, d);
  Propagation p = c.run({m});
  EXPECT_EQ(c.text(p, e), "P('x')");
  EXPECT_EQ(c.text(p, t), "P(none, 'x')");
  EXPECT_EQ(c.text(p, m), "P(none, 'x')");
  EXPECT_EQ(c.text(p.input(1)), "P(none, 'x')");
  const Origin origin = p.why(m.var, 1, 0).value();
  EXPECT_EQ(origin.steps.size(), 3u);
  for (const Origin::Step& s : origin.steps) EXPECT_EQ(s.rung, 1);
}

TEST(Propagation, RowsAndColumnsOfAProduct) {
  Case c;
  Value a = c.input({8, 16}, "x"), b = c.input({16, 12}, ";y");
  Value z = matmul(a, b);
  EXPECT_EQ(c.text(c.run({z}), z), "P('x', 'y')");
}

TEST(Propagation, ContractedDimensionsAgreeLate) {
  Case c;
  Value a = c.input({8, 16}, ";x"), b = c.input({16, 12});
  Value z = matmul(a, b);
  Propagation p = c.run({z});
  EXPECT_EQ(c.text(p.input(1)), "P('x')");
  EXPECT_EQ(c.text(p, z), "P()");
  EXPECT_EQ(p.to_string(*p.why(b.var, 0, 0)), "input 0, through dot_general (rung 4)");
}

// Rows and columns of the result request one axis: by agreement neither gets it, and then the
// larger operand does.
TEST(Propagation, TheLargerOperandWins) {
  Case other;
  Value small = other.input({8, 64}, "x"), large = other.input({64, 16}, ";x");
  Value t = ops::tanh(small), r = matmul(t, large);
  Propagation p = other.run({r});
  EXPECT_EQ(other.text(p, t), "P('x')");
  EXPECT_EQ(other.text(p, r), "P(none, 'x')");
  EXPECT_TRUE(p.why(r.var, 1, 0)->steps.back().aggressive);
  Case c;
  Value x0 = c.input({64, 16}, "x"), w = c.input({16, 8}, ";x");
  Value z = matmul(ops::tanh(x0), w);
  EXPECT_EQ(c.text(c.run({z}), z), "P('x')");
}

TEST(Propagation, AClosedResultStaysAsItIs) {
  Case c;
  Value x0 = c.input({64, 16}, "x"), w = c.input({16, 8}, ";x");
  Value y = ops::tanh(x0), z = matmul(y, w);
  c.options.outputs = {c.wanted(2, "")};
  Propagation p = c.run({z});
  EXPECT_EQ(c.text(p, y), "P('x')");
  EXPECT_EQ(c.text(p, z), "P()");
  EXPECT_EQ(c.text(p.output(0)), "P()");
}

TEST(Propagation, AnAxisIsSplitByAReshape) {
  Case c;
  Value a = c.input({8}, "y"), r = ops::reshape(a, {2, 4});
  EXPECT_EQ(c.text(c.run({r}), r), "P('y:(1)2', 'y:(2)2')");

  // In the other direction, blocks would be strided.
  Case back;
  Value b = back.input({8}), s = ops::reshape(b, {2, 4}), t = back.constrain(s, ";y");
  Propagation p = back.run({t});
  EXPECT_EQ(back.text(p, s), "P(none, 'y')");
  EXPECT_EQ(back.text(p, b), "P()");
}

TEST(Propagation, AnAxisThatDoesNotDivideOverflows) {
  Case c;
  Value a = c.input({6}, "y"), r = ops::reshape(a, {2, 3});
  c.options.allow_uneven = true;
  EXPECT_EQ(c.text(c.run({r}), r), "P('y:(1)2')");
  Case other;
  Value b = other.input({6}, "y"), s = ops::reshape(b, {3, 2});
  EXPECT_EQ(other.text(other.run({s}), s), "P()");
}

TEST(Propagation, ABroadcastAsksBackFirst) {
  Case c;
  Value bias = c.input({16}), act = c.input({8, 16}, "x;y");
  Value wide = ops::broadcast_in_dim(bias, {8, 16}, {1}), sum = ops::add(wide, act);
  Propagation p = c.run({sum});
  EXPECT_EQ(c.text(p.input(0)), "P('y')");
  EXPECT_EQ(c.text(p, sum), "P('x', 'y')");
  EXPECT_EQ(p.why(bias.var, 0, 1)->steps.back().rung, 3);

  Case reverse;
  Value small = reverse.input({16}, "y"), large = reverse.input({8, 16});
  Value w = ops::broadcast_in_dim(small, {8, 16}, {1}), s = ops::add(w, large);
  Propagation q = reverse.run({s});
  EXPECT_EQ(reverse.text(q, s), "P(none, 'y')");
  EXPECT_EQ(reverse.text(q.input(1)), "P(none, 'y')");
  EXPECT_EQ(q.why(w.var, 1, 1)->steps.back().rung, 5);
}

TEST(Propagation, WhatManyReadComesSecond) {
  Case c;
  Value h = c.input({8, 16}, "x");
  Values out{ops::exp(h), ops::sin(h), ops::cos(h), ops::neg(h), ops::tanh(h)};
  Propagation p = c.run(out);
  for (Value v : out) {
    EXPECT_EQ(c.text(p, v), "P('x')");
    EXPECT_EQ(p.why(v.var, 0, 0)->steps.back().rung, 2);
  }
}

TEST(Propagation, PrioritiesGoOneAfterTheOther) {
  Case c;
  Value one = c.input({8}, "x"), two = c.input({8}, "y"), sum = ops::add(one, two);
  c.options.inputs[1]->priority = {1};
  Propagation p = c.run({sum});
  EXPECT_EQ(c.text(p, sum), "P('x')");
  EXPECT_EQ(c.text(p, two), "P('y')");

  // If the ranks are equal, neither is preferred.
  Case equal;
  Value a = equal.input({8}, "x"), b = equal.input({8}, "y"), s = ops::add(a, b);
  EXPECT_EQ(equal.text(equal.run({s}), s), "P()");
}

// An axis that a dimension requests with a later priority is not taken by another dimension of the
// value.
TEST(Propagation, WaitingAxesAreKept) {
  Case c;
  Value a = c.input({8, 8}, "x;y", {true, true}), d = c.input({8, 8}, "y"), s = ops::add(a, d);
  c.options.inputs[0]->placement = c.wanted(2, ";y").placement;
  c.options.inputs[0]->priority = {0, 1};
  Propagation p = c.run({s});
  EXPECT_EQ(c.text(p, a), "P(none, 'y')");
  EXPECT_EQ(c.text(p, s), "P('y')");
}

TEST(Propagation, ACarriedValueHasOneOwner) {
  Case c;
  Value h = c.input({8, 16}, "x"), w = c.input({16, 16}, ";y"),
        n = c.b.input(Type(DType::int32, {}));
  ProgramPtr cond = [] {
    Builder b("cond");
    b.input(f32_of({8, 16}));
    Value k = b.input(Type(DType::int32, {}));
    return b.finish(Values{ops::lt(k, ops::full_like(k, 10))});
  }();
  Builder b("body");
  Value w_in = b.input(f32_of({16, 16})), h_in = b.input(f32_of({8, 16})),
        k = b.input(Type(DType::int32, {}));
  Value dot = matmul(h_in, w_in), next = ops::tanh(dot);
  ProgramPtr body = b.finish(Values{next, ops::add(k, ops::full_like(k, 1))});
  Values out = ops::while_(cond, body, {}, Values{w}, Values{h, n});
  Propagation p = c.run(out);
  EXPECT_EQ(c.text(p, out[0]), "P('x', 'y')");
  EXPECT_EQ(c.text(p, h), "P('x')");
  ASSERT_EQ(p.nested(0, 0).size(), 2u);
  const std::size_t inside = p.nested(0, 0)[1];
  EXPECT_EQ(c.text(p, h_in, inside), "P('x', 'y')");
  EXPECT_EQ(c.text(p, w_in, inside), "P(none, 'y')");
  EXPECT_EQ(c.text(p, dot, inside), "P('x', 'y')");
  EXPECT_EQ(c.text(p.of(cond->inputs[0], p.nested(0, 0)[0])), "P('x', 'y')");
}

TEST(Propagation, AConstraintOnACarryIsForItsUsers) {
  Case c;
  Value h = c.input({8, 16}, "x");
  Builder b("body");
  Value in = b.input(f32_of({8, 16})), next = ops::exp(in);
  Value asked = ops::sharding_constraint(in, c.mesh_ref(), spec(";y"), {});
  Value user = ops::sin(in);
  ProgramPtr body = b.finish(Values{next, user});
  Values out = ops::scan(body, {}, Values{h}, {}, 3, false, c.b);
  Propagation p = c.run(out);
  const std::size_t inside = p.nested(0, 0)[0];
  EXPECT_EQ(c.text(p, in, inside), "P('x')");
  EXPECT_EQ(c.text(p, out[0]), "P('x')");
  EXPECT_EQ(c.text(p, asked, inside), "P(none, 'y')");
  EXPECT_EQ(c.text(p, user, inside), "P(none, 'y')");
  EXPECT_EQ(c.read(p, 2, 0, inside), "P(none, 'y')");
}

TEST(Propagation, AGroupLiesAlike) {
  Case c;
  Value a = c.input({8, 16}, "x", {true, true}), b = c.input({8, 16}, ";y", {true, true});
  c.options.alike = {{a.var, b.var}};
  Propagation p = c.run({a, b});
  EXPECT_EQ(c.text(p, a), "P('x', 'y')");
  EXPECT_EQ(c.text(p, b), "P('x', 'y')");
}

TEST(Propagation, ScalarsAreLeftAlone) {
  Case c;
  Value x = c.input({8, 16}, "x"), lo = c.b.input(f32_of({})),
        i = c.b.input(Type(DType::int32, {}));
  Value wide = ops::broadcast_in_dim(lo, {8, 16}, {});
  Value row = ops::dynamic_slice(ops::add(x, wide), Values{i, i}, {8, 4});
  Propagation p = c.run({row});
  EXPECT_EQ(c.text(p, row), "P('x')");
  EXPECT_EQ(c.text(p, lo), "P()");
}

TEST(Propagation, InputsAreTrimmedToWhatDivides) {
  Case c;
  Value a = c.input({7}), y = c.constrain(ops::exp(a), "x");
  Propagation p = c.run({y});
  EXPECT_EQ(c.text(p.input(0)), "P()");
  EXPECT_EQ(c.text(p, y), "P('x')");
  EXPECT_EQ(c.text(p.output(0)), "P()");

  Case uneven;
  Value b = uneven.input({7});
  uneven.options.allow_uneven = true;
  EXPECT_EQ(uneven.text(uneven.run({uneven.constrain(ops::exp(b), "x")}).input(0)), "P('x')");

  // Parts of axes propagate as well.
  Case parts;
  Value d = parts.input({8}, "y"), r = ops::reshape(d, {2, 4});
  Propagation q = parts.run({r});
  EXPECT_EQ(parts.text(q, r), "P('y:(1)2', 'y:(2)2')");
  EXPECT_EQ(parts.text(q.output(0)), "P()");
}

TEST(Propagation, AReplicatedValueIsPassedBy) {
  Case c;
  Value a = c.input({8, 16}, "x"), v = c.input({8, 16}, "", {true, true});
  c.options.inputs[1]->replicated = AtomSet(c.mesh.atoms_of(0));
  Value s = ops::add(a, v), t = ops::exp(s);
  Propagation p = c.run({t});
  EXPECT_EQ(c.text(p, v), "P()");
  EXPECT_EQ(c.text(p, t), "P('x')");
}

TEST(Propagation, UnreducedAxesAreOccupied) {
  Case c;
  Value a = c.input({8, 16}, "x;y"), v = c.input({8, 16}, "", {true, true});
  c.options.inputs[1]->placement.unreduced.insert(0);
  Value s = ops::add(a, v);
  Propagation p = c.run({s});
  EXPECT_EQ(c.text(p, v), "P(none, 'y') unreduced {'x'}");
  EXPECT_EQ(c.text(p, s), "P('x', 'y')");
}

TEST(Propagation, NothingComesOfNothing) {
  Case c;
  Value a = c.input({8, 16}), b = c.input({16, 4}), z = matmul(a, b);
  Propagation p = c.run({z});
  EXPECT_EQ(c.text(p, z), "P()");
  EXPECT_EQ(p.effort().changes, 0u);
  EXPECT_FALSE(p.why(z.var, 0, 0));
}
