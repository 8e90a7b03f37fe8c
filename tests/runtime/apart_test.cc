// Devices that share memory along some axes of their mesh, and have memories of their own along
// others.
#include "codegen/tape/planner.h"
#include "runtime/programs.h"
#include "transform/simplify.h"

namespace {

using namespace rt;
namespace ops = ts::ops;

const ts::MeshShape kGrid{{"x", "y"}, {2, 3}};

// The total number of times that the steps of a program run.
std::int64_t executions(const ts::ProgramPtr& p, ts::tape::Apart apart) {
  ts::tape::TapeOptions options;
  options.apart = std::move(apart);
  const auto tape = ts::tape::make_tape(*ts::simplify(p), options);
  std::int64_t n = 0;
  for (const ts::tape::Phase& phase : tape->phases)
    for (const ts::tape::Step& step : phase.steps) n += tape->instances(step.mask);
  return n;
}

}  // namespace

TEST(Apart, WhatIsEqualIsComputedOnceInEachMemory) {
  const Sharded s(kGrid, {ts::Type(ts::f32, {64})}, {""}, {""},
                  [](ts::Builder&, const ts::Values& v) { return ts::Values{ops::exp(v[0])}; });
  EXPECT_EQ(executions(s.whole(), {}), 1);
  EXPECT_EQ(executions(s.whole(), {false, {"x"}}), 2);
  EXPECT_EQ(executions(s.whole(), {false, {"y"}}), 3);
  EXPECT_EQ(executions(s.whole(), {false, {"x", "y"}}), 6);
  EXPECT_EQ(executions(s.whole(), {true, {}}), 6);
}

TEST(Apart, CommunicationAndControlFlowGiveTheSameBits) {
  const Sharded s(kGrid, {ts::Type(ts::f32, {12, 4}), ts::Type(ts::f32, {4})}, {"x,y", ""},
                  {"x,y", "", "y", "x"}, [](ts::Builder& b, const ts::Values& v) {
                    const ts::Value w = ops::broadcast_in_dim(v[1], {2, 4}, {1});
                    const ts::Value a = ops::mul(v[0], w);
                    const ts::Value rows = ops::psum(a, {"x"}, 2), all = ops::psum(rows, {"y"}, 3);
                    const ts::Value gathered = ops::all_gather(a, {"y"}, 3, 0, true, {});
                    const ts::ProgramPtr turn =
                        program({ts::Type(ts::f32, {2, 4})}, [](ts::Builder&, const ts::Values& c) {
                          return ts::Values{ops::psum(ops::mul(c[0], c[0]), {"y"}, 3)};
                        });
                    const ts::Values carried = ops::scan(turn, {}, ts::Values{a}, {}, 2, false, b);
                    return ts::Values{ops::add(carried[0], a), all,
                                      ops::add(rows, ops::psum(w, {"x"}, 2)),
                                      ops::reduce_sum(gathered, {1})};
                  });
  s.check();
}
