// Small collectives that are combined into one: their rows in plans, their cost, and exported
// modules.
#include "isolated.h"
#include "quick.h"

#include <tessera/tessera.h>

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <set>
#include <sstream>
#include <string>
#include <vector>

namespace ts = tessera;
using quick::Layer;
using ts::Array;
using ts::P;
using Texts = std::vector<std::string>;

namespace {

auto gradients() {
  return [](std::vector<Layer> m, Array x) {
    return ts::grad([](const std::vector<Layer>& p, Array in) {
      for (const Layer& l : p) in = ts::tanh(ts::dot(in, l.w) + l.b);
      return ts::sum(in);
    })(m, x);
  };
}

ts::Plan plan_of(const ts::Mesh& mesh, std::map<std::string, ts::LinkSpeed> links) {
  const std::vector<Layer> m(3, {ts::abstract(ts::f32, {8, 8}), ts::abstract(ts::f32, {8})});
  return ts::jit(gradients(), {.mesh = mesh,
                               .in_shardings = {P(), P("data")},
                               .out_shardings = P(),
                               .links = std::move(links)})
      .lower(m, ts::abstract(ts::f32, {16, 8}))
      .plan(quick::options());
}

// The number of values in each collective.
std::vector<std::size_t> carried(const ts::Plan& plan) {
  std::vector<std::size_t> all;
  for (const ts::PlannedCollective& c : plan.collectives) all.push_back(c.values.size());
  return all;
}

}  // namespace

// Three layers have 64 + 8 gradients each. An all_reduce over four devices receives 3/4 of their
// bytes twice, in two steps each time: first half of them, then a quarter, and back.
TEST(OneMessage, GradientsPayTheLatencyOnce) {
  const ts::Plan p = plan_of(ts::Mesh::abstract({{"data", 4}}), {});
  ASSERT_EQ(carried(p), (std::vector<std::size_t>{6}));
  const ts::PlannedCollective& c = p.collectives[0];
  const std::int64_t bytes = 3 * (64 + 8) * 4 * 2 * 3 / 4;
  EXPECT_EQ(c.kind, "all_reduce");
  EXPECT_EQ(c.axes, Texts{"data"});
  EXPECT_EQ(c.type, "6 values, f32");
  EXPECT_EQ(c.from, "P() unreduced {'data'}");  // in this mesh all values agree
  EXPECT_EQ(c.to, "P()");
  EXPECT_EQ(c.bytes, bytes);
  EXPECT_EQ(p.moved_bytes, bytes);
  EXPECT_DOUBLE_EQ(p.communication_seconds, 2 * 2 * 1e-6 + static_cast<double>(bytes) / 5e10);
  std::multiset<std::string> types;
  for (const ts::PlannedValue& v : c.values) {
    types.insert(v.type + " " + v.from + " -> " + v.to);
    ASSERT_NE(v.equation, ts::PlannedCollective::none);
    EXPECT_EQ(p.equations[v.equation].collectives, (std::vector<std::size_t>{0}));
  }
  EXPECT_EQ(types,
            (std::multiset<std::string>{
                "f32[8,8] P() unreduced {'data'} -> P()", "f32[8,8] P() unreduced {'data'} -> P()",
                "f32[8,8] P() unreduced {'data'} -> P()", "f32[8] P() unreduced {'data'} -> P()",
                "f32[8] P() unreduced {'data'} -> P()", "f32[8] P() unreduced {'data'} -> P()"}));
}

// Collectives are combined up to the bytes that a link moves in its latency. The links given to the
// jit count, not the speeds that price the plan.
TEST(OneMessage, TheLinksSayHowMuch) {
  const ts::Mesh mesh = ts::Mesh::abstract({{"data", 4}});
  EXPECT_EQ(carried(plan_of(mesh, {{"data", {1e-6, 5e10}}})), (std::vector<std::size_t>{6}));
  EXPECT_EQ(carried(plan_of(mesh, {{"data", {0, 5e10}}})), std::vector<std::size_t>(6, 1));
  // 600 bytes hold two of the matrices of 256 bytes with the vectors of 32; the third matrix
  // travels alone.
  std::vector<std::size_t> some = carried(plan_of(mesh, {{"data", {1e-6, 6e8}}}));
  std::sort(some.begin(), some.end());
  EXPECT_EQ(some, (std::vector<std::size_t>{2, 4}));
}

// The runtime combines at least as much.
TEST(OneMessage, PhasesAreNoMoreThanMessages) {
  ts::set_device_count(4);
  const ts::Mesh mesh({{"data", 4}});
  const std::vector<Layer> m(3, {ts::ones({8, 8}), ts::ones({8})});
  const auto lowered =
      ts::jit(gradients(), {.mesh = mesh, .in_shardings = {P(), P("data")}, .out_shardings = P()})
          .lower(m, ts::ones({16, 8}));
  std::size_t phases = 0;
  bool fresh = true;
  std::istringstream lines(lowered.schedule());
  for (std::string line; std::getline(lines, line);) {
    if (line.find(" phase ") != std::string::npos) fresh = true;
    if (line.find("collective ") == std::string::npos) continue;
    phases += fresh ? 1 : 0;
    fresh = false;
  }
  EXPECT_LE(phases, lowered.plan(quick::options()).collectives.size());
}

// A module has one operation with several operands, and gives the same bits when it is read back.
TEST(OneMessage, AModuleHasOneSumOfSeveralOperands) {
  ts::set_device_count(4);
  const ts::Mesh mesh({{"i", 4}});
  const auto f = ts::shard_map(
      [](Array x, Array y) {
        const Array a = ts::psum(x * 0.1f, "i");
        return std::tuple(a * 2, ts::psum(y / 3, "i"), ts::pmax(y, "i"));
      },
      {.mesh = mesh, .in_specs = P("i"), .out_specs = P()});
  const Array x = ts::random::normal(ts::random::key(1), {8, 3}),
              y = ts::random::normal(ts::random::key(2), {4, 5});
  const std::string text = ts::stablehlo_text(f, x, y);
  std::size_t sums = 0;
  for (std::size_t at = 0; (at = text.find("stablehlo.all_reduce", at)) != std::string::npos; ++at)
    ++sums;
  EXPECT_EQ(sums, 2u) << text;
  EXPECT_NE(text.find(": (tensor<2x3xf32>, tensor<1x5xf32>) -> (tensor<2x3xf32>, tensor<1x5xf32>)"),
            std::string::npos)
      << text;
  const auto [a, b, c] = f(x, y);
  const std::vector<Array> got = ts::load_stablehlo_text(text)(x, y);
  ASSERT_EQ(got.size(), 3u);
  EXPECT_EQ(got[0].to_vector<float>(), a.to_vector<float>());
  EXPECT_EQ(got[1].to_vector<float>(), b.to_vector<float>());
  EXPECT_EQ(got[2].to_vector<float>(), c.to_vector<float>());
}

TEST(OneMessage, TheHeadlineSaysWhereTheTimeGoes) {
  ts::Plan p;
  EXPECT_EQ(ts::headline(p), "");
  p.compute_seconds = 1e-6;
  p.timeline = {
      {0, 1, {{"compute", "add", "f.cc:1", 0, 4e-7}, {"compute", "mul", "f.cc:2", 4e-7, 6e-7}}}};
  EXPECT_EQ(ts::headline(p),
            "100 % of the predicted time is work, the largest part of it mul at f.cc:2 (60 %).");
  p.communication_seconds = 3e-6;
  p.collectives = {{.kind = "all_gather",
                    .axes = {"x"},
                    .op = "dot",
                    .line = "f.cc:3",
                    .times = 2,
                    .seconds = 1e-6},
                   {.kind = "all_reduce", .axes = {"x", "y"}, .op = "output", .seconds = 1e-6}};
  EXPECT_EQ(
      ts::headline(p),
      "75 % of the predicted time is communication, the largest part of it all_gather over 'x' for "
      "dot at f.cc:3 (50 %); 25 % is work, the largest part of it mul at f.cc:2 (15 %).");
  p.compute_seconds = 1e-12;
  p.timeline.clear();
  EXPECT_EQ(
      ts::headline(p),
      "More than 99 % of the predicted time is communication, the largest part of it all_gather "
      "over 'x' for dot at f.cc:3 (67 %); less than 1 % is work.");
}
