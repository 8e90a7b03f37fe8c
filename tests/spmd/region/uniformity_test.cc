// The proof of uniformity, and the errors that come from it.
#include "spmd/region/uniformity.h"
#include "specs.h"
#include "spmd/region/checks.h"
#include "spmd/spmd_check.h"

#include <source_location>

using namespace tessera;
using namespace tessera::testing;
using spmd::MapInfo;

namespace {

const AxisSet kNone, kX{"x"}, kY{"y"}, kBoth{"x", "y"};

AxisSet of(const AxisSet& input, const std::function<Value(Value)>& f, Type t = Type(f32, {6})) {
  ProgramPtr p = program_of({t}, [&](Builder&, const Values& in) { return Values{f(in[0])}; });
  return spmd::output_uniformity(*p, {input})[0];
}

/// Sets the source line of the following equations.
void line(Builder& b, int n) {
  b.loc.file = "train.cc";
  b.loc.line = n;
}

}  // namespace

TEST(Uniformity, Collectives) {
  Strings x{"x"}, both{"x", "y"};
  EXPECT_EQ(of(kBoth, [&](Value v) { return ops::psum(v, x, 2); }), kY);
  EXPECT_EQ(of(kBoth, [&](Value v) { return ops::psum(v, both, 6); }), kNone);
  EXPECT_EQ(of(kBoth, [&](Value v) { return ops::pmax(v, x, 2); }), kY);
  EXPECT_EQ(of(kX, [&](Value v) { return ops::all_gather(v, x, 2, 0, true); }), kNone);
  EXPECT_EQ(of(kX, [&](Value v) { return ops::pbroadcast(v, x, 2, 1); }), kNone);
  EXPECT_EQ(of(kNone, [&](Value v) { return ops::psum_scatter(v, x, 2, 0, true); }), kX);
  EXPECT_EQ(of(kY, [&](Value v) { return ops::all_to_all(v, x, 2, 0, 0, true); }), kBoth);
  EXPECT_EQ(of(kNone, [&](Value v) { return ops::pvary(v, x); }), kNone);
  // Every device receives the same value, unless some receive zeros.
  EXPECT_EQ(of(kNone, [&](Value v) { return ops::ppermute(v, x, 2, {{0, 1}, {1, 0}}); }), kNone);
  EXPECT_EQ(of(kNone, [&](Value v) { return ops::ppermute(v, x, 2, {{0, 1}}); }), kX);
  EXPECT_EQ(of(kX, [&](Value v) { return ops::ppermute(v, x, 2, {{0, 1}, {1, 0}}); }), kX);
  // Groups that sum different blocks, and groups of unequal size, give different results.
  EXPECT_EQ(of(kX, [&](Value v) { return ops::psum(v, x, 4, {{0, 1}, {2, 3}}); }), kX);
  EXPECT_EQ(of(kNone, [&](Value v) { return ops::psum(v, x, 4, {{0, 1}, {2, 3}}); }), kNone);
  EXPECT_EQ(of(kNone, [&](Value v) { return ops::psum(v, x, 4, {{0, 1, 2}, {3}}); }), kX);
  EXPECT_EQ(of(kNone, [&](Value v) { return ops::pmax(v, x, 4, {{0, 1, 2}, {3}}); }), kNone);
  EXPECT_EQ(of(kNone, [&](Value v) { return ops::axis_index(*v.builder, both, 6); }), kBoth);
  EXPECT_EQ(of(kX, [&](Value v) { return ops::full_like(v, 1); }), kNone);
}

namespace {

// A training step with its pmean, or without.
ProgramPtr step(bool forgotten) {
  Builder b("step");
  Value w = b.input(Type(f32, {2})), x = b.input(Type(f32, {2}));
  line(b, 10);
  Value grad = ops::mul(w, x);
  line(b, 11);
  if (!forgotten) grad = ops::psum(grad, {"devices"}, 4);
  line(b, 12);
  Value next = ops::sub(w, grad), loss = ops::reduce_sum(grad, {0});
  Values out{next, loss, grad};
  return b.finish(out);
}

MapInfo info(const Program& p, Strings out) {
  MapInfo m{"pmap",
            p,
            {{"devices"}, {4}},
            {spec(""), spec("devices")},
            {},
            {"args[0]", "args[1]"},
            {"result[0].w", "result[1]", "result[2]"},
            {}};
  for (const auto& s : out) m.out_specs.push_back(spec(s));
  m.loc.file = "main.cc";
  m.loc.line = 30;
  return m;
}

}  // namespace

TEST(Checks, ReplicatedOutputs) {
  ProgramPtr good = step(false), bad = step(true);
  EXPECT_NO_THROW(spmd::check_replicated_outputs(info(*good, {"", "", ""})));
  EXPECT_NO_THROW(spmd::check_replicated_outputs(info(*bad, {"devices", "devices", "devices"})));
  EXPECT_EQ(
      error_of<ShardingError>([&] {
        spmd::check_replicated_outputs(info(*bad, {"", "", "devices"}));
      }),
      "pmap: a result is declared the same on all devices, but differs\n"
      "  - result[0].w differs from device to device along 'devices' since train.cc:10, which uses "
      "args[1]\n"
      "  - result[1] differs from device to device along 'devices' since train.cc:10, which uses "
      "args[1]\n"
      "  rule: a replicated result comes from replicated values and from collectives that give all "
      "devices the same\n"
      "  from: main.cc:30\n"
      "  try: pmean or psum over 'devices' before returning it, or declare the result as mapped: "
      "0 in out_axes");

  Builder b;
  b.input(Type(f32, {2}));
  Value x = b.input(Type(f32, {2}));
  line(b, 7);
  Values out{x, ops::axis_index(b, {"devices"}, 4), ops::psum(x, {"devices"}, 4)};
  ProgramPtr p = b.finish(out);
  EXPECT_EQ(
      error_of<ShardingError>([&] {
        spmd::check_replicated_outputs(info(*p, {"", "", ""}));
      }),
      "pmap: a result is declared the same on all devices, but differs\n"
      "  - result[0].w is args[1], which differs from device to device along 'devices'\n"
      "  - result[1] differs from device to device along 'devices' since axis_index in train.cc:7\n"
      "  rule: a replicated result comes from replicated values and from collectives that give all "
      "devices the same\n"
      "  from: main.cc:30\n"
      "  try: pmean or psum over 'devices' before returning it, or declare the result as mapped: "
      "0 in out_axes");
}

TEST(Checks, DriftingState) {
  ProgramPtr good = step(false), bad = step(true);
  std::vector<spmd::StatePair> states{{{0}, {0}, "args[0]", "result[0]"}};
  EXPECT_FALSE(spmd::divergence_warning(info(*good, {"devices", "devices", "devices"}), states));
  EXPECT_EQ(
      spmd::divergence_warning(info(*bad, {"devices", "devices", "devices"}), states).value().str(),
      "pmap: the devices' copies of a state drift apart\n"
      "  - args[0] enters the same on all devices; result[0].w differs from device to device along "
      "'devices' since "
      "train.cc:10, which uses args[1]\n"
      "  rule: devices that start alike stay alike as long as each applies the same update\n"
      "  from: main.cc:30\n"
      "  try: average the gradients before the update: grads = ts::pmean(grads, \"devices\")");
  // State that differs on entry may differ on exit.
  EXPECT_FALSE(spmd::divergence_warning(info(*bad, {"devices", "devices", "devices"}),
                                        {{{1}, {0}, "args[1]", "result[0]"}}));
}
