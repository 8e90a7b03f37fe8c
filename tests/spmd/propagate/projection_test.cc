// Projections of the axes of dimensions to factors and back, worked out by hand.
#include "spmd/propagate/projection.h"
#include "ops/op_check.h"

using namespace tessera;
using namespace tessera::spmd;

namespace {

const AtomMesh mesh({{"x", "y", "z"}, {2, 4, 6}});
constexpr Atom x0 = 0, y0 = 1, y1 = 2, z0 = 3, z1 = 4;  // z is 2 and 3

CutRule rule_of(const std::string& name, const std::vector<Type>& in, const Attrs& attrs) {
  const Op& op = Registry::get().at(name);
  const std::vector<Type> out = op.infer({op, in, attrs, {}});
  std::vector<Shape> ins, outs;
  for (const Type& t : in) ins.push_back(t.shape);
  for (const Type& t : out) outs.push_back(t.shape);
  return CutRule(op.sharding({in, out, attrs}), ins, outs);
}
CutRule reshape(Shape from, Ints to) {
  return rule_of("reshape", {Type(DType::float32, std::move(from))}, {{"shape", std::move(to)}});
}

struct Projected {
  Projected(const CutRule& rule, std::vector<std::vector<Atoms>> dims) : p(mesh) {
    for (std::vector<Atoms>& d : dims) drafts.push_back({{std::move(d), {}, Combiner::add}, 0, {}});
    for (const Draft& d : drafts) pointers.push_back(&d);
    p.read(rule, pointers);
  }
  std::vector<Draft> drafts;
  std::vector<const Draft*> pointers;
  Projection p;
};

TEST(Projection, OneFactorTakesAllAxes) {
  const CutRule r = rule_of("exp", {Type(DType::float32, {8, 12})}, {});
  Projected s(r, {{{x0, y0}, {z0, z1}}, {{}, {}}});
  EXPECT_EQ(s.p.axes(0, 0), (Atoms{x0, y0}));
  EXPECT_EQ(s.p.axes(0, 1), (Atoms{z0, z1}));
  EXPECT_EQ(s.p.axes(1, 0), Atoms{});
  EXPECT_EQ(s.p.cut(0), AtomSet({x0, y0, z0, z1}));
  EXPECT_FALSE(s.p.overflows(0, 0));
}

TEST(Projection, AxesAreSplitBetweenFactors) {
  const CutRule r = reshape({8}, {2, 4});  // ([ab])->([a,b])
  Projected s(r, {{{y0, y1, x0}}, {{}, {}}});
  EXPECT_EQ(s.p.axes(0, 0), Atoms{y0});
  EXPECT_EQ(s.p.axes(0, 1), (Atoms{y1, x0}));
}

TEST(Projection, TheLastFactorTakesWhatDoesNotDivide) {
  const CutRule r = reshape({6}, {2, 3});
  Projected s(r, {{{y0, y1, x0}}, {{}, {}}});
  EXPECT_EQ(s.p.axes(0, 0), Atoms{y0});
  EXPECT_EQ(s.p.axes(0, 1), (Atoms{y1, x0}));
  EXPECT_FALSE(s.p.overflows(0, 0));
}

TEST(Projection, OtherFactorsDoNot) {
  const CutRule r = reshape({6}, {3, 2});
  Projected s(r, {{{y0, y1}}, {{}, {}}});
  EXPECT_EQ(s.p.axes(0, 0), Atoms{});
  EXPECT_EQ(s.p.axes(0, 1), Atoms{});
  EXPECT_TRUE(s.p.overflows(0, 0));
  // In the axis of 6, the factor of two comes before that of three.
  Projected t(r, {{{z1, y0}}, {{}, {}}});
  EXPECT_EQ(t.p.axes(0, 0), Atoms{z1});
  EXPECT_EQ(t.p.axes(0, 1), Atoms{y0});
  // The projection may stop halfway: the dimension of 4 takes the atom of 2, and the atom of 3
  // overflows.
  const CutRule u = reshape({8}, {4, 2});
  Projected v(u, {{{x0, z1}}, {{}, {}}});
  EXPECT_EQ(v.p.axes(0, 0), Atoms{x0});
  EXPECT_TRUE(v.p.overflows(0, 0));
}

TEST(Projection, BackStopsAtAFactorThatIsNotFull) {
  const CutRule r = reshape({8}, {2, 4});
  Projected s(r, {{{}}, {{}, {y0}}});
  s.p.grow(0, 1, {y0}, false);
  EXPECT_EQ(s.p.back(0, 0), Atoms{});
  Draft d = s.drafts[0];
  EXPECT_FALSE(s.p.write(0, d));
  s.p.grow(0, 0, {x0}, false);
  EXPECT_EQ(s.p.back(0, 0), (Atoms{x0, y0}));
  EXPECT_TRUE(s.p.write(0, d));
  EXPECT_EQ(d.placement.dims[0], (Atoms{x0, y0}));
}

TEST(Projection, WhatOverflowsIsLeftAsItIs) {
  const CutRule r = reshape({6}, {3, 2});
  Projected s(r, {{{y0}}, {{}, {}}});
  s.p.grow(0, 0, {z1}, false);
  Draft d = s.drafts[0];
  EXPECT_FALSE(s.p.write(0, d));
  EXPECT_EQ(d.placement.dims[0], Atoms{y0});
}

TEST(Projection, FactorsOfOneAreSkipped) {
  const CutRule r = reshape({1, 8}, {8, 1});  // ([u,a])->([a,v])
  Projected s(r, {{{}, {y0, y1}}, {{}, {}}});
  const auto f = static_cast<std::size_t>(r.tensors()[0].dims[1].factors[0]);
  EXPECT_EQ(s.p.axes(0, f), (Atoms{y0, y1}));
  EXPECT_EQ(r.place(1, f).dim, 0);
}

TEST(Projection, RoomIsWhatTheDimensionHas) {
  const CutRule r = reshape({6}, {2, 3});
  Projected s(r, {{{}}, {{}, {}}});
  auto room = [&](std::size_t factor, Atoms wanted) { return s.p.room(0, factor, wanted); };
  EXPECT_EQ(room(0, {x0}), 1u);
  EXPECT_EQ(room(0, {x0, y0}), 1u);  // 2 has no 4 parts
  EXPECT_EQ(room(0, {z1}), 0u);      // nor 3
  EXPECT_EQ(room(1, {x0}), 1u);      // the last factor may be cut unevenly
  EXPECT_EQ(room(1, {x0, y0}), 1u);  // but not into more parts than it has elements
  s.drafts[0].closed = 1;
  EXPECT_EQ(room(0, {x0}), 0u);
  s.drafts[0].closed = 0;
  s.drafts[0].barred.insert(x0);
  EXPECT_EQ(room(0, {x0}), 0u);
  s.drafts[0].barred = {};
  s.drafts[0].placement.unreduced.insert(x0);
  EXPECT_EQ(room(0, {x0}), 0u);

  // Axes fit after those that are already there, but not after axes that overflow.
  const CutRule wide = reshape({16}, {8, 2}), odd = reshape({6}, {3, 2});
  Projected t(wide, {{{x0}}, {{}, {}}});
  EXPECT_EQ(t.p.room(0, 0, {x0, y0, y1, z0}), 3u);
  Projected u(odd, {{{x0}}, {{}, {}}});
  EXPECT_EQ(u.p.room(0, 0, {z1}), 0u);
}

TEST(Projection, PlacementsThatDoNotFitAreRefused) {
  const CutRule r = reshape({8}, {2, 4});
  EXPECT_THROW(Projected(r, {{{}}}), InternalError);
  EXPECT_THROW(Projected(r, {{{}}, {{}}}), InternalError);
}

}  // namespace
