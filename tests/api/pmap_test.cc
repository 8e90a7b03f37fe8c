// pmap: axes in and out, trees, statics, devices, and the errors before anything runs.
#include <tessera/collectives.h>
#include <tessera/contractions.h>
#include <tessera/control_flow.h>
#include <tessera/creation.h>
#include <tessera/elementwise.h>
#include <tessera/grad.h>
#include <tessera/manipulation.h>
#include <tessera/pmap.h>
#include <tessera/reductions.h>
#include <tessera/shard_map.h>
#include <tessera/sharding.h>
#include <tessera/vmap.h>
#include <tessera/warning.h>

#include "message.h"
#include "only_cpu.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <tuple>

namespace ts = tessera;
using ts::Array;

namespace {

using Floats = std::vector<float>;
Floats f32s(const Array& x) { return x.to_vector<float>(); }
using test::message;
struct Model {
  Array w, b;
};

class Pmap : public ::testing::Test {
 protected:
  void SetUp() override { ts::set_device_count(8); }
  const Array x = Array(Floats{1, 2, 3, 4, 5, 6}, {3, 2});
};

// One line per collective, sorted.
std::string listed(const ts::Lowered& plan) {
  std::vector<std::string> lines;
  for (const ts::CollectiveUse& use : plan.collectives()) lines.push_back(to_string(use) + "\n");
  std::sort(lines.begin(), lines.end());
  std::string text;
  for (const std::string& line : lines) text += line;
  return text;
}

}  // namespace

TEST_F(Pmap, MapsTheFirstAxis) {
  ts::Shape seen;
  auto f = ts::pmap([&](Array a, Array b) {
    seen = a.shape();
    return a + b;
  });
  Array y = f(x, x);
  EXPECT_EQ(seen, (ts::Shape{2}));
  EXPECT_EQ(f32s(y), (Floats{2, 4, 6, 8, 10, 12}));
  EXPECT_EQ(y.shape(), (ts::Shape{3, 2}));
  EXPECT_EQ(y.sharding().devices().size(), 3u);
  f(y, x);
  EXPECT_EQ(f.trace_count(), 1u);
}

TEST_F(Pmap, AxesInAndOut) {
  Array m = Array(Floats{1, 2, 3, 4, 5, 6}, {2, 3});
  // Columns in and columns out, also counted from the end.
  for (int axis : {1, -1}) {
    auto f = ts::pmap([](Array c, Array k) { return std::pair(c * k, ts::sum(c)); },
                      {.in_axes = {axis, ts::replicated}, .out_axes = {axis, 0}});
    auto [y, s] = f(m, 10.0f);
    EXPECT_EQ(y.shape(), (ts::Shape{2, 3}));
    EXPECT_EQ(f32s(y), (Floats{10, 20, 30, 40, 50, 60}));
    EXPECT_EQ(f32s(s), (Floats{5, 7, 9}));
  }
  EXPECT_EQ(ts::pmap([](Array r) { return r; }, {.out_axes = -1})(m).shape(), (ts::Shape{3, 2}));
}

// As for in_axes, braces may surround the entry of a single result, an array or a struct.
TEST_F(Pmap, BracesAroundTheAxisOfASingleResult) {
  Array m = Array(Floats{1, 2, 3, 4}, {2, 2});
  auto columns = ts::pmap([](Array a) { return a + 1; }, {.out_axes = {1}});
  EXPECT_EQ(f32s(columns(m)), (Floats{2, 4, 3, 5}));
  auto same = ts::pmap([](Array a) { return ts::psum(a, "i"); }, {.out_axes = {ts::replicated}});
  EXPECT_EQ(f32s(same(m)), (Floats{4, 6}));
  auto mapped = ts::vmap([](Array a) { return a * 2; }, {.out_axes = {1}});
  EXPECT_EQ(f32s(mapped(m)), (Floats{2, 6, 4, 8}));
}

TEST_F(Pmap, TreesStaticsAndConstants) {
  Array kept = Array(Floats{100, 200});
  auto f = ts::pmap(
      [&](Model m, int power, Array a) {
        Array y = a * m.w + m.b + kept;
        for (int i = 1; i < power; ++i) y = y * 2;
        return std::tuple(y, Array(3.0f), power);
      },
      {.in_axes = {ts::replicated, 0, 0}});
  auto [y, three, power] = f(Model{Array(Floats{1, 2}), Array(1.0f)}, 2, x);
  EXPECT_EQ(f32s(y), (Floats{204, 410, 208, 418, 212, 426}));
  EXPECT_EQ(f32s(three), (Floats{3, 3, 3}));
  EXPECT_EQ(power, 2);
}

TEST_F(Pmap, DefaultArguments) {
  struct Step {
    Array operator()(Array p, Array x, Array rate = 0.5f) const { return p - rate * ts::sum(x); }
  };
  auto lambda = [](Array p, Array x, Array rate = 0.5f) { return p - rate * ts::sum(x); };
  const Array p = 1.0f;
  // There is an entry for each parameter, or for each argument.
  for (ts::Axes axes : {ts::Axes{ts::replicated, 0, ts::replicated}, ts::Axes{ts::replicated, 0, 0},
                        ts::Axes{ts::replicated, 0}}) {
    EXPECT_EQ(f32s(ts::pmap(Step{}, {.in_axes = axes})(p, x)), (Floats{-0.5f, -2.5f, -4.5f}));
    EXPECT_EQ(f32s(ts::pmap(lambda, {.in_axes = axes})(p, x)), (Floats{-0.5f, -2.5f, -4.5f}));
    EXPECT_EQ(f32s(ts::vmap(lambda, {.in_axes = axes})(p, x)), (Floats{-0.5f, -2.5f, -4.5f}));
  }
  auto step = ts::pmap(lambda, {.in_axes = {ts::replicated, 0, ts::replicated}});
  EXPECT_EQ(f32s(step(p, x, 1.0f)), (Floats{-2, -6, -10}));
  EXPECT_EQ(f32s(step(p, x, 2.0f)), (Floats{-5, -13, -21}));
  EXPECT_EQ(f32s(step(p, x)), (Floats{-0.5f, -2.5f, -4.5f}));
  EXPECT_EQ(step.trace_count(), 2u);
  EXPECT_EQ(message<ts::TreeError>([&] {
              ts::pmap(lambda, {.in_axes = {0, 0, 0, 0}})(x, x);
            }),
            "pmap: in_axes does not fit args\n"
            "  - in_axes = {0, 0, 0, 0} has 4 entries, but args has 2 children\n"
            "  rule: an entry is an axis or replicated for everything below it, or a list with one "
            "entry a child\n"
            "  try: give one entry for each: {0, ts::replicated}, or a single one for all: 0");
}

TEST_F(Pmap, ReplicatedResults) {
  auto f = ts::pmap([](Array a) { return ts::psum(ts::sum(a), "i"); },
                    {.axis_name = "i", .out_axes = ts::replicated});
  Array total = f(x);
  EXPECT_EQ(total.shape(), ts::Shape{});
  EXPECT_EQ(total.item<float>(), 21);
}

TEST_F(Pmap, TheAxisIsNamedIUnlessSaid) {
  Array total = ts::pmap([](Array a) { return ts::psum(ts::sum(a), "i"); })(x);
  EXPECT_EQ(f32s(total), (Floats{21, 21, 21}));
  EXPECT_EQ(message<ts::CollectiveError>(
                [&] { ts::pmap([](Array a) { return ts::psum(a, "devices"); })(x); }),
            "psum: there is no axis 'devices' here\n  rule: the bound axes are 'i' (pmap, size "
            "3)\n  try: use one of these names, or name the axis: .axis_name = \"devices\"");
  EXPECT_EQ(message<ts::CollectiveError>(
                [&] { ts::pmap([](Array a) { return ts::psum(a, "i"); }, {.axis_name = ""})(x); }),
            "psum: there is no axis 'i' here\n"
            "  rule: no axis is bound: a name is bound inside a function given to pmap, vmap or "
            "shard_map\n"
            "  try: call it inside pmap(f, {.axis_name = \"i\"}), or vmap likewise");
}

TEST_F(Pmap, StateWithARowADevice) {
  Model m{x, Array()}, rows = ts::replicate(m, 4);
  EXPECT_EQ(rows.w.shape(), (ts::Shape{4, 3, 2}));
  EXPECT_TRUE(rows.b.is_empty());
  EXPECT_EQ(f32s(rows.w[3]), f32s(x));
  EXPECT_EQ(ts::replicate(Array(std::vector<int>{7}, {}), 4).shape(), (ts::Shape{4}));
  Model back = ts::unreplicate(ts::pmap([](Model a) { return Model{2 * a.w, a.b}; })(rows));
  EXPECT_EQ(f32s(back.w), (Floats{2, 4, 6, 8, 10, 12}));
  EXPECT_TRUE(back.b.is_empty());
  // Equality compares all bits: a NaN equals itself, and zeros of different sign differ.
  EXPECT_EQ(ts::unreplicate(Array(Floats{NAN, NAN})).shape(), ts::Shape{});
  EXPECT_EQ(message<ts::ShardingError>([&] {
              ts::unreplicate(std::pair(Model{Array(Floats{0, 0, 1}), x}, Array(Floats{0, -0.0f})));
            }),
            "unreplicate: the devices hold different values\n"
            "  - 0/w: row 2 differs from row 0\n"
            "  - 0/b: row 1 differs from row 0\n"
            "  - 1: row 1 differs from row 0\n"
            "  rule: replicas that start equal and apply equal updates stay equal bit for bit\n"
            "  try: pmean the gradients before the update; to take one device's row as it is, "
            "x[0]");
  EXPECT_EQ(message<ts::ShapeError>([&] {
              ts::unreplicate(Model{Array(1.0f), ts::zeros({0, 2})});
            }),
            "unreplicate: there is no row to take\n"
            "  - w has shape ()\n"
            "  - b has shape (0, 2)\n"
            "  rule: the first axis of every leaf has a row a device\n"
            "  try: pass what replicate or a pmap with out_axes = 0 made");
  EXPECT_EQ(message<ts::DeviceError>([&] { ts::replicate(x, 0); }),
            "replicate: a copy for each of 0 devices\n"
            "  rule: there is at least one device\n"
            "  try: device_count()");
}

TEST_F(Pmap, NothingMappedRunsEverywhere) {
  auto f = [](Array a) { return a + ts::axis_index("i"); };
  EXPECT_EQ(f32s(ts::pmap(f, {.axis_name = "i", .in_axes = ts::replicated})(Array(1.0f))),
            (Floats{1, 2, 3, 4, 5, 6, 7, 8}));
  EXPECT_EQ(
      f32s(ts::pmap(f, {.axis_name = "i", .in_axes = ts::replicated, .axis_size = 3})(Array(1.0f))),
      (Floats{1, 2, 3}));
  EXPECT_EQ(f32s(ts::pmap([] { return ts::axis_index("i") * 1.0f; },
                          {.axis_name = "i", .axis_size = 2})()),
            (Floats{0, 1}));
}

TEST_F(Pmap, Devices) {
  auto f = ts::pmap([](Array a) { return a * ts::axis_index("i"); },
                    {.axis_name = "i", .devices = {{5}, {2}, {7}, {1}}});
  Array y = f(x);
  EXPECT_EQ(f32s(y), (Floats{0, 0, 3, 4, 10, 12}));
  std::vector<int> ids;
  const ts::Sharding sharding = y.sharding();
  for (const ts::Device& d : sharding.devices()) ids.push_back(d.id);
  EXPECT_EQ(ids, (std::vector<int>{5, 2, 7}));
}

// A result is the argument of the next call; under jit this is one program.
TEST_F(Pmap, ChainsAndInlines) {
  auto twice = ts::pmap([](Array a) { return 2 * a; });
  EXPECT_EQ(f32s(twice(twice(x))), (Floats{4, 8, 12, 16, 20, 24}));
  auto whole = ts::jit([&](Array a) { return ts::sum(twice(a)); });
  EXPECT_EQ(whole(x).item<float>(), 42);
}

TEST_F(Pmap, SizesAreCheckedTogether) {
  NEEDS_CPU(devices);
  auto f =
      ts::pmap([](Model, Array a, Array b) { return a + b; }, {.in_axes = {ts::replicated, 0, 0}});
  Model m{x, x};
  EXPECT_EQ(message<ts::ShapeError>([&] {
              ts::pmap([](Model, Array a, Array b) { return a + b; })(m, ts::zeros({3, 2}),
                                                                      ts::zeros({5, 2}));
            }),
            "pmap: the mapped axes of the arguments differ in size\n  - args[2]: f32[5,2], axis 0 "
            "has 5 elements\n  - args[0]/w: f32[3,2], axis 0 has 3 elements, as most\n  rule: each "
            "device gets one entry of every mapped axis, so all have one size\n  try: cut a batch "
            "with ts::data::shard_batch(x, 3), give a state a row a device with ts::replicate(x, "
            "3), or mark what all devices share ts::replicated in in_axes");
  EXPECT_EQ(message<ts::DeviceError>([&] {
              f(m, ts::zeros({9, 2}), ts::zeros({9, 2}));
            }),
            "pmap: 9 entries are to be mapped over 8 devices\n  - args[1]: f32[9,2], axis 0\n  - "
            "args[2]: f32[9,2], axis 0\n  rule: each device runs one entry of the mapped axis: 9 > "
            "8\n  try: pass a multiple of 8 rows through ts::data::shard_batch(x, 8); or call "
            "set_device_count(9)");
  EXPECT_EQ(message<ts::ShapeError>([&] { ts::pmap([](Array a, Array) { return a; })(x, 0.5f); }),
            "pmap: in_axes maps axes that the arguments do not have\n  - args[1]: f32[] has no "
            "axis 0\n  rule: a mapped argument has the axis that is cut over the devices\n  try: "
            "mark what all devices share as replicated: .in_axes = {0, ts::replicated}; a state "
            "gets a row a device from ts::replicate(x, devices)");
  EXPECT_EQ(
      message<ts::ShapeError>([&] { ts::pmap([](Array a) { return a; }, {.axis_size = 4})(x); }),
      "pmap: mapped axes do not have the axis_size of 4\n  - args[0]: f32[3,2], axis 0 has 3 "
      "elements\n  rule: each device gets one entry of every mapped axis, so all have one size\n  "
      "try: cut a batch with ts::data::shard_batch(x, 4), give a state a row a device with "
      "ts::replicate(x, 4), or mark what all devices share ts::replicated in in_axes");
  EXPECT_EQ(
      message<ts::ShapeError>(
          [&] { ts::pmap([](Array a) { return std::pair(a, ts::sum(a)); }, {.out_axes = 1})(x); }),
      "pmap: out_axes stacks results along axes that they do not have\n  - result[1] is stacked "
      "along axis 1, and has 1 dimension then\n  rule: stacking adds one dimension; an axis is one "
      "of those, or counts from the end\n  try: 0 puts the devices first, -1 last");
  EXPECT_EQ(message<ts::DeviceError>([&] {
              ts::pmap([](Array a) { return a; }, {.devices = {{0}, {0}, {9}}})(x);
            }),
            "pmap: device 0 of the list appears twice\n"
            "  rule: there are 8 devices, each used once\n"
            "  try: take them from devices()");
}

TEST_F(Pmap, ProvesReplication) {
  EXPECT_EQ(
      message<ts::ShardingError>([&] {
        ts::pmap([](Array a) { return ts::psum(a, "i"); },
                 {.axis_name = "i", .out_axes = ts::replicated})(x);
        ts::pmap([](Array a) { return a; }, {.axis_name = "i", .out_axes = ts::replicated})(x);
      }),
      "pmap: a result is declared the same on all devices, but differs\n  - result is args[0], "
      "which differs from device to device along 'i'\n  rule: a replicated result comes from "
      "replicated values and from collectives that give all devices the same\n  try: pmean or psum "
      "over 'i' before returning it, or declare the result as mapped: 0 in out_axes");
}

TEST_F(Pmap, ListsItsCollectives) {
  auto f = ts::pmap(
      [](Model m, Array a) {
        m = ts::pmean(Model{m.w * ts::sum(a), m.b}, "i");
        auto [last, all] = ts::scan(
            [](Array c, Array r) {
              c = c + ts::psum(r, "i");
              return std::pair(c, ts::all_gather(c, "i"));
            },
            Array(0.0f), a);
        return std::tuple(m, last, all, ts::axis_index("i"));
      },
      {.in_axes = {ts::replicated, 0}});
  Model m{ts::zeros({5, 2}), ts::zeros({3})};
  auto plan = f.lower(ts::abstract_like(m), ts::abstract_like(x));
  EXPECT_EQ(listed(plan),
            "all_gather over 'i', 2 times: 8 bytes\n"
            "psum over 'i', 2 times: 8 bytes\n"
            "psum over 'i': 12 bytes\n"
            "psum over 'i': 40 bytes\n");
  EXPECT_TRUE(ts::jit([](Array a) { return 2 * a; }).lower(x).collectives().empty());
}

TEST_F(Pmap, ListsHowOftenACollectiveRuns) {
  auto f = ts::pmap(
      [](Array a, Array rounds) {
        auto sums = [](Array b) {
          return ts::fori_loop(
              2, 5, [](Array, Array c) { return ts::psum(c, "i"); }, b);
        };
        Array nested = ts::fori_loop(
            0, 4, [&](Array, Array c) { return sums(c); }, a);
        auto looped = ts::while_loop([](std::pair<Array, Array> c) { return c.first > 0; },
                                     [&](std::pair<Array, Array> c) {
                                       return std::pair(c.first - 1, ts::pmax(sums(c.second), "i"));
                                     },
                                     std::pair(rounds, nested));
        return ts::cond(
            rounds > 1, [&] { return ts::pmin(looped.second, "i"); }, [&] { return a; });
      },
      {.in_axes = {0, ts::replicated}});
  auto plan = f.lower(x, Array(3));
  EXPECT_EQ(listed(plan),
            "pmax over 'i', in a loop: 8 bytes a round\n"
            "pmin over 'i', in a branch: 8 bytes\n"
            "psum over 'i', 12 times: 96 bytes\n"
            "psum over 'i', in a loop, 3 times a round: 24 bytes a round\n");
  for (const ts::CollectiveUse& use : plan.collectives())
    if (use.op == "pmax") {
      EXPECT_EQ(use, (ts::CollectiveUse{.op = "pmax",
                                        .axes = {"i"},
                                        .times = 1,
                                        .bytes = 8,
                                        .in_loop = true,
                                        .in_branch = false}));
    }
}

TEST_F(Pmap, RejectsAPmapInsideAShardMap) {
  auto inner = ts::pmap([](Array a) { return a; });
  EXPECT_EQ(message<ts::CollectiveError>([&] {
              ts::shard_map([&](Array a) { return inner(a); },
                            {.mesh = ts::Mesh({{"x", 2}}),
                             .in_specs = {ts::P("x")},
                             .out_specs = ts::P("x")})(ts::ones({2, 2}));
            }),
            "pmap: it is called inside a function that shard_map already runs on devices\n"
            "  rule: a device does not split up further\n"
            "  try: use vmap inside");
}

TEST_F(Pmap, WarnsOfDriftingState) {
  std::vector<std::string> heard;
  ts::WarningHandler before =
      ts::set_warning_handler([&](const std::string& text) { heard.push_back(text); });
  auto step = [&](bool synchronised, const Array& rows) {
    auto f = ts::pmap(
        [=](Model m, Array a) {
          Array g = ts::sum(a);
          if (synchronised) g = ts::pmean(g, "i");
          return Model{m.w - g, m.b};
        },
        {.axis_name = "i", .in_axes = {ts::replicated, 0}});
    f(Model{Array(1.0f), Array(2.0f)}, rows);
  };
  step(true, x);
  step(false, ts::ones({1, 2}));  // a single device cannot drift apart
  EXPECT_TRUE(heard.empty());
  step(false, x);
  ts::set_warning_handler(before);
  ASSERT_EQ(heard.size(), 1u);
  EXPECT_EQ(heard[0].substr(0, heard[0].find(" since ")),
            "pmap: the devices' copies of a state drift apart\n"
            "  - args[0] enters the same on all devices; result/w differs from device to device "
            "along 'i'");
}

TEST_F(Pmap, GradientsOfEachDeviceAreNoDriftingState) {
  NEEDS_CPU(in_place);
  std::vector<std::string> heard;
  auto before = ts::set_warning_handler([&](const std::string& text) { heard.push_back(text); });
  auto loss = [](Model m, Array a) { return ts::mean(ts::square(ts::dot(a, m.w) + m.b)); };
  const Model m{ts::ones({2, 3}), ts::zeros({3})};
  const ts::PmapOptions options{.in_axes = {ts::replicated, 0}};
  const Array a = ts::ones({3, 4, 2});
  // Gradients alone, and together with the updated model.
  ts::pmap([=](Model p, Array b) { return ts::grad(loss)(p, b); }, options)(m, a);
  auto update = [](Array p, Array g) { return p - 0.1 * g; };
  ts::pmap(
      [=](Model p, Array b) {
        Model g = ts::grad(loss)(p, b);
        return std::pair(g, ts::tree::map(update, p, ts::pmean(g, "i")));
      },
      options)(m, a);
  EXPECT_TRUE(heard.empty());
  // Devices drift apart if they make several steps without averaging, also in a loop.
  ts::pmap(
      [=](Model p, Array b) {
        return ts::fori_loop(
            0, 3, [=](Array, Model q) { return ts::tree::map(update, q, ts::grad(loss)(q, b)); },
            p);
      },
      options)(m, a);
  EXPECT_EQ(heard.size(), 1u);
  // So does a state that is passed as one equal row for each device.
  ts::pmap([=](Model p, Array b) { return ts::tree::map(update, p, ts::grad(loss)(p, b)); })(
      ts::replicate(m, 3), a);
  EXPECT_EQ(heard.size(), 2u);
  ts::set_warning_handler(before);
}
