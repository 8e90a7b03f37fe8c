// Propagation through loops, branches, calls and regions.
#include "spmd/propagation_check.h"

using namespace propagation;

namespace {

std::size_t only(const Propagation& p, std::size_t scope, std::size_t equation) {
  const auto nested = p.nested(scope, equation);
  EXPECT_EQ(nested.size(), 1u);
  return nested.empty() ? 0 : nested[0];
}

TEST(PropagationFlow, RowsOfAScanAreTheirArraysWithoutTheTurns) {
  Case c;
  Value xs = c.input({8, 16, 32}, "x;y"), start = c.input({16, 32});
  ProgramPtr body = body_of({{16, 32}, {16, 32}}, [](Builder&, const Values& in) {
    Value next = ops::add(in[0], in[1]);
    return Values{next, ops::exp(next)};
  });
  Values out = ops::scan(body, {}, Values{start}, Values{xs}, 8, false, c.b);
  Propagation p = c.run(out);
  const std::size_t inside = only(p, 0, 0);
  EXPECT_EQ(c.text(p.of(body->inputs[1], inside)), "P('y')");
  EXPECT_EQ(c.text(p.of(body->inputs[0], inside)), "P('y')");
  EXPECT_EQ(c.text(p, out[0]), "P('y')");
  EXPECT_EQ(c.text(p, out[1]), "P(none, 'y')");
  EXPECT_EQ(c.text(p, start), "P('y')");
  EXPECT_EQ(c.text(p, xs), "P('x', 'y')");
  EXPECT_EQ(c.text(p.output(1)), "P(none, 'y')");
}

TEST(PropagationFlow, StackedRowsAskBack) {
  Case c;
  Value start = c.input({16});
  ProgramPtr body = body_of({{16}}, [](Builder&, const Values& in) {
    return Values{ops::sin(in[0]), ops::exp(in[0])};
  });
  Values out = ops::scan(body, {}, Values{start}, {}, 8, false, c.b);
  c.options.outputs = {std::nullopt, c.wanted(2, "x;y")};
  Propagation p = c.run(out);
  EXPECT_EQ(c.text(p.of(body->inputs[0], only(p, 0, 0))), "P('y')");
  EXPECT_EQ(c.text(p.input(0)), "P('y')");
  EXPECT_EQ(c.text(p.output(1)), "P('x', 'y')");
}

// A value that every iteration sees whole is one value inside and outside.
TEST(PropagationFlow, ConstantsOfALoopAreThemselves) {
  Case c;
  Value w = c.input({16, 16}), x = c.input({8, 16}, ";y");
  ProgramPtr body = body_of({{16, 16}, {8, 16}}, [](Builder&, const Values& in) {
    return Values{ops::tanh(matmul(in[1], in[0]))};
  });
  Values out = ops::scan(body, Values{w}, Values{x}, {}, 3, false, c.b);
  Propagation p = c.run(out);
  EXPECT_EQ(p.number(w.var), p.number(body->inputs[0], only(p, 0, 0)));
  // The result of an iteration has the sharding of its operand, which requests the columns before
  // rows are requested.
  EXPECT_EQ(c.text(p, w), "P(none, 'y')");
}

TEST(PropagationFlow, ANestOfLoopsIsOnePass) {
  Case c;
  Value x = c.input({16, 16}, "x;y");
  ProgramPtr body =
      body_of({{16, 16}}, [](Builder&, const Values& in) { return Values{ops::exp(in[0])}; });
  std::vector<ProgramPtr> all{body};
  for (int depth = 0; depth < 3; ++depth) {
    body = body_of({{16, 16}}, [&](Builder& b, const Values& in) {
      Value t = ops::transpose(in[0], {1, 0});
      Values r = ops::scan(all.back(), {}, Values{t}, {}, 2, false, b);
      return Values{ops::transpose(r[0], {1, 0})};
    });
    all.push_back(body);
  }
  Values out = ops::scan(body, {}, Values{x}, {}, 2, false, c.b);
  Propagation p = c.run(out);
  EXPECT_EQ(p.scopes(), 5u);
  EXPECT_EQ(c.text(p, out[0]), "P('x', 'y')");
  std::size_t scope = only(p, 0, 0);
  for (int depth = 3; depth >= 0; --depth) {
    EXPECT_EQ(c.text(p.of(all[static_cast<std::size_t>(depth)]->inputs[0], scope)),
              depth % 2 ? "P('x', 'y')" : "P('y', 'x')");
    if (depth > 0) scope = only(p, scope, 1);
  }
}

TEST(PropagationFlow, ACarryThatIsExchangedEachTurn) {
  Case c;
  Value a = c.input({16, 8}, "x", {true, true}), b = c.input({16, 8});
  ProgramPtr body = body_of({{16, 8}, {16, 8}}, [](Builder&, const Values& in) {
    return Values{in[1], in[0]};
  });
  Values out = ops::scan(body, {}, Values{a, b}, {}, 3, false, c.b);
  Propagation p = c.run(out);
  EXPECT_EQ(c.text(p, out[0]), "P('x')");
  EXPECT_EQ(c.text(p, out[1]), "P('x')");
  EXPECT_EQ(c.text(p, b), "P('x')");
}

TEST(PropagationFlow, BranchesAgree) {
  Case c;
  Value i = c.b.input(Type(DType::int32, {})), x = c.input({8, 16}, "x"), y = c.input({8, 16});
  c.options.inputs = {std::nullopt, c.options.inputs[0], std::nullopt};
  ProgramPtr one = body_of({{8, 16}, {8, 16}},
                           [](Builder&, const Values& in) { return Values{ops::exp(in[0])}; });
  ProgramPtr two = body_of({{8, 16}, {8, 16}},
                           [](Builder&, const Values& in) { return Values{ops::sin(in[1])}; });
  Values out = ops::cond(i, {one, two}, Values{x, y});
  Propagation p = c.run(out);
  ASSERT_EQ(p.nested(0, 0).size(), 2u);
  EXPECT_EQ(c.text(p, out[0]), "P('x')");
  EXPECT_EQ(c.text(p.of(two->outputs[0], p.nested(0, 0)[1])), "P('x')");
  EXPECT_EQ(c.text(p, y), "P('x')");
  EXPECT_EQ(p.number(x.var), p.number(one->inputs[0], p.nested(0, 0)[0]));
}

// Each call of a program has its own placements.
TEST(PropagationFlow, CallsStandForTheirPrograms) {
  Case c;
  Value x = c.input({8, 16}, "x"), y = c.input({8, 16}, ";y");
  ProgramPtr body = body_of({{8, 16}}, [](Builder&, const Values& in) {
    return Values{ops::transpose(ops::exp(in[0]), {1, 0}), in[0]};
  });
  Values one = ops::remat(c.b, body, Values{x}), two = ops::remat(c.b, body, Values{y});
  Propagation p = c.run({one[0], two[0], two[1]});
  EXPECT_EQ(c.text(p, one[0]), "P(none, 'x')");
  EXPECT_EQ(c.text(p, two[0]), "P('y')");
  EXPECT_EQ(p.number(two[1].var), p.number(y.var));
  EXPECT_EQ(c.text(p.of(body->equations[0].outputs[0], only(p, 0, 0))), "P('x')");
  EXPECT_EQ(c.text(p.of(body->equations[0].outputs[0], only(p, 0, 1))), "P(none, 'y')");
  EXPECT_EQ(&p.program(only(p, 0, 1)), body.get());
}

// A region requests the shardings of its specs and shards over them itself; inside, only the
// remainder propagates.
TEST(PropagationFlow, ARegionHidesItsAxes) {
  Case c;
  Value x = c.input({8, 16}, ";y");
  Value before = ops::exp(x);
  ProgramPtr body = body_of({{4, 16}}, [](Builder&, const Values& in) {
    return Values{ops::transpose(ops::sin(in[0]), {1, 0})};
  });
  Values out = ops::shard_map(c.b, body, Values{before}, first_devices({{"x"}, {2}}), specs({"x"}),
                              specs({";x"}), false);
  Value after = ops::exp(out[0]);
  Propagation p = c.run({after});
  const std::size_t inside = only(p, 0, 1);
  EXPECT_EQ(c.text(p, before), "P('x', 'y')");
  EXPECT_EQ(c.text(p.of(body->inputs[0], inside)), "P(none, 'y')");
  EXPECT_EQ(c.text(p.of(body->outputs[0], inside)), "P('y')");
  EXPECT_EQ(c.text(p, out[0]), "P('y', 'x')");
  EXPECT_EQ(c.text(p, after), "P('y', 'x')");
}

TEST(PropagationFlow, ARegionOverAllAxesLeavesNothing) {
  Case c;
  Value x = c.input({8, 16});
  ProgramPtr body =
      body_of({{4, 16}}, [](Builder&, const Values& in) { return Values{ops::sin(in[0])}; });
  Values out =
      ops::shard_map(c.b, body, Values{x}, c.mesh_ref(), specs({"x"}), specs({"x"}), false);
  Value wide = c.constrain(ops::exp(out[0]), ";y");
  Propagation p = c.run({wide});
  EXPECT_EQ(c.text(p, x), "P('x')");
  EXPECT_EQ(c.text(p.of(body->inputs[0], only(p, 0, 0))), "P()");
  EXPECT_EQ(c.text(p, out[0]), "P('x')");
  EXPECT_EQ(c.text(p, wide), "P(none, 'y')");
}

TEST(PropagationFlow, ARegionOverAnAxisThatIsNotThereIsRefused) {
  Case c;
  Value x = c.input({8, 16});
  ProgramPtr body = body_of({{8, 16}}, [](Builder&, const Values& in) { return Values{in[0]}; });
  Values out = ops::shard_map(c.b, body, Values{x}, first_devices({{"z"}, {2}}), specs({""}),
                              specs({""}), false);
  EXPECT_THROW(c.run(out), InternalError);
}

}  // namespace
