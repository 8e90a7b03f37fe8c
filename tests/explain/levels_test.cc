// Predictions for devices in machines and machines in racks, whose links differ in speed.
#include "transformer.h"

#include <gtest/gtest.h>

#include <regex>

namespace ts = tessera;
using transformer::Sizes;
using ts::Array;
using ts::none;
using ts::P;

namespace {

const ts::Mesh levels = ts::Mesh::abstract({{"rack", 2}, {"machine", 4}, {"device", 8}});

// Latencies of 1, 2 and 4 us, and bandwidths of 8, 2 and 0.5 bytes per nanosecond.
ts::PlanOptions speeds() {
  ts::PlanOptions options;
  options.links = {{"rack", {4e-6, 5e8}}, {"machine", {2e-6, 2e9}}, {"device", {1e-6, 8e9}}};
  options.peak_flops = 1e12;
  options.memory_bandwidth = 1e12;
  options.memory = false;
  options.alternatives = 0;
  return options;
}

// A sum over rows that are sharded over `axes`, with a replicated result. With `heeded`, the
// partitioner knows the speeds.
ts::Plan sum_over(const ts::PartitionSpec::Dim& axes, bool heeded = true) {
  ts::JitOptions options{.mesh = levels, .in_shardings = P(axes), .out_shardings = P()};
  if (heeded) options.links = speeds().links;
  return ts::jit([](Array x) { return ts::sum(x, 0); }, options)
      .lower(ts::abstract(ts::f32, {64, 1024}))
      .plan(speeds());
}

void expect_axis(const ts::Plan& p, const std::string& name, std::int64_t bytes, double seconds) {
  for (const ts::PlannedAxis& a : p.axes) {
    if (a.name != name) continue;
    EXPECT_EQ(a.moved_bytes, bytes) << name;
    EXPECT_DOUBLE_EQ(a.seconds, seconds) << name;
  }
}

}  // namespace

// An all_reduce goes through the levels twice, there and back. Each way moves 7/8 of 4096 bytes
// inside the machine, 3/4 of the remaining 512 between machines, and half of the remaining 128
// between racks. A level takes one latency for each doubling of its members.
TEST(Levels, ASumCrossesEachLevelWithWhatTheFasterOneLeaves) {
  const ts::Plan p = sum_over({"rack", "machine", "device"});
  ASSERT_EQ(p.collectives.size(), 1u);
  EXPECT_EQ(p.collectives[0].kind, "all_reduce");
  EXPECT_EQ(p.moved_bytes, 2 * 4096 * 63 / 64);
  const double device = 2 * (3e-6 + 3584 / 8e9), machine = 2 * (2 * 2e-6 + 384 / 2e9),
               rack = 2 * (4e-6 + 64 / 5e8);
  expect_axis(p, "device", 2 * 3584, device);
  expect_axis(p, "machine", 2 * 384, machine);
  expect_axis(p, "rack", 2 * 64, rack);
  EXPECT_DOUBLE_EQ(p.communication_seconds, device + machine + rack);
  EXPECT_NE(to_string(p).find("    along 'machine' 8.38 us: 768 B\n"), std::string::npos)
      << to_string(p);
}

// The order of the mesh axes does not change the time.
TEST(Levels, TheOrderOfAxesCostsNothing) {
  const ts::Plan a = sum_over({"rack", "machine", "device"}),
                 b = sum_over({"device", "rack", "machine"});
  EXPECT_EQ(a.axes, b.axes);
  EXPECT_EQ(a.communication_seconds, b.communication_seconds);
}

// All devices hold the value that is summed over one axis, so other axes could share the sum too.
// That moves fewer bytes, but if the other links are slower the sum stays inside the machine.
TEST(Levels, WhatIsInsideAMachineStaysThere) {
  const ts::Plan p = sum_over("device"), by_bytes = sum_over("device", false);
  EXPECT_DOUBLE_EQ(p.communication_seconds, 2 * (3e-6 + 3584 / 8e9));
  expect_axis(p, "device", 2 * 3584, 2 * (3e-6 + 3584 / 8e9));
  expect_axis(p, "machine", 0, 0);
  expect_axis(p, "rack", 0, 0);
  EXPECT_LT(by_bytes.moved_bytes, p.moved_bytes);
  EXPECT_GT(by_bytes.communication_seconds, 2 * p.communication_seconds);
}

// A plan without options uses the speeds given to its jit.
TEST(Levels, PlansHaveTheSpeedsOfTheJit) {
  const auto f = [](Array x) { return ts::sum(x, 0); };
  const ts::JitOptions options{
      .mesh = levels, .in_shardings = P("machine"), .out_shardings = P(), .links = speeds().links};
  const Array x = ts::abstract(ts::f32, {64, 1024});
  EXPECT_EQ(ts::jit(f, options).explain(x).axes[1].link, (ts::LinkSpeed{2e-6, 2e9}));
  ts::PlanOptions other;
  other.links = {{"machine", {3e-6, 3e9}}};
  const ts::Plan p = ts::jit(f, options).lower(x).plan(other);
  EXPECT_EQ(p.axes[1].link, (ts::LinkSpeed{3e-6, 3e9}));
  EXPECT_EQ(p.axes[2].link, (ts::LinkSpeed{1e-6, 8e9}));
}

TEST(Levels, SpeedsAreChecked) {
  const auto f =
      ts::jit([](Array x) { return x; },
              {.mesh = levels, .in_shardings = P("rack"), .links = {{"rack", {-1, 1e9}}}});
  try {
    (void)f.explain(ts::abstract(ts::f32, {64}));
    FAIL();
  } catch (const ts::ShardingError& e) {
    EXPECT_NE(std::string(e.what()).find("the link along 'rack' has a latency of -1 s"),
              std::string::npos)
        << e.what();
  }
}

// Four rows are sharded over one of two axes of four devices: the one whose links make the sum
// cheaper. The sum has two latencies and moves three quarters of a float each way.
TEST(Levels, AutoshardPrefersTheFasterLinks) {
  const auto f = [](Array x) { return ts::sum(ts::square(x)); };
  const Array x = ts::abstract(ts::f32, {4, 999983});
  const ts::LinkSpeed fast{1e-6, 8e9}, slow{2e-6, 2e9};
  for (const bool inside : {true, false}) {
    ts::AutoshardOptions options;
    options.mesh = ts::Mesh::abstract({{"machine", 4}, {"device", 4}});
    options.plan = speeds();
    options.plan.peak_flops = 1e9;
    options.plan.links = {{"machine", inside ? slow : fast}, {"device", inside ? fast : slow}};
    const ts::AutoShardings found = ts::autoshard(f, options)(x);
    EXPECT_TRUE(found.exhaustive);
    ASSERT_EQ(found.groups.size(), 1u);
    EXPECT_EQ(found.groups[0].spec, inside ? "P('device')" : "P('machine')");
    const ts::Plan p = ts::jit(f, found.options()).lower(x).plan(options.plan);
    EXPECT_DOUBLE_EQ(p.seconds(), found.seconds);
    EXPECT_DOUBLE_EQ(p.communication_seconds, 2 * (2 * 1e-6 + 3 / 8e9));
  }
}

// The programs for different numbers of devices differ only in constants: the partition of a fully
// sharded network over 32 devices is that over 4096.
TEST(Levels, ProgramsDoNotGrowWithDevices) {
  struct Layer {
    Array up, down;
  };
  using Layers = std::vector<Layer>;
  const auto step = [](Layers m, Array x, Array y) {
    const auto loss = [&](const Layers& p) {
      Array h = x;
      for (const Layer& l : p) h = h + ts::dot(ts::tanh(ts::dot(h, l.up)), l.down);
      return ts::mean(ts::square(h - y));
    };
    auto [l, g] = ts::value_and_grad(loss)(m);
    return std::pair(ts::tree::map([](Array p, Array d) { return p - 0.1f * d; }, m, g), l);
  };
  const Layers m(6, {ts::abstract(ts::f32, {8192, 8192}), ts::abstract(ts::f32, {8192, 8192})});
  const auto cut = [&](std::int64_t racks, std::int64_t machines, std::string& program) {
    const ts::Mesh mesh =
        ts::Mesh::abstract({{"rack", racks}, {"machine", machines}, {"device", 8}});
    const Array rows = ts::abstract(ts::f32, {16384 * mesh.size(), 8192});
    const ts::PartitionSpec all = P({"rack", "machine", "device"});
    const auto lowered =
        ts::jit(step, {.mesh = mesh, .in_shardings = {all, all, all}, .out_shardings = {all, P()}})
            .lower(m, rows, rows);
    program = std::regex_replace(lowered.partitioned(),
                                 std::regex("[0-9]+(\\.[0-9]+)?(e[+-][0-9]+)?"), "#");
    return lowered.plan(speeds());
  };
  std::string few, many;
  const ts::Plan a = cut(2, 2, few), b = cut(8, 64, many);
  EXPECT_EQ(a.devices, 32);
  EXPECT_EQ(b.devices, 4096);
  EXPECT_EQ(few, many);
  EXPECT_EQ(a.equations.size(), b.equations.size());
  EXPECT_EQ(a.collectives.size(), b.collectives.size());
  EXPECT_EQ(b.argument_bytes, a.argument_bytes - 12 * 8192 * 8192 * 4LL * 127 / 4096);
}
