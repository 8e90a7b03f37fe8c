// The texts and files of a plan: its table, reasons, advice and differences, JSON and pages.
#include "mlp.h"

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include <filesystem>
#include <fstream>
#include <sstream>

using namespace by_hand;

namespace {

TEST(Plan, TableOfAForwardPass) {
  ts::Plan p = sharded_mlp(grid).lower(x, w1, w2).plan(slow());
  // Line numbers depend on this file, and the bytes of temporaries on the planner.
  for (ts::PlannedCollective& c : p.collectives) c.line = "mlp.cc:1";
  for (ts::PlannedSpan& span : p.timeline.at(0).spans) span.line = "mlp.cc:2";
  p.temporary_bytes = 512;
  EXPECT_EQ(to_string(p), R"(plan of mlp over AbstractMesh('data': 2, 'model': 2), 4 devices, each
  work           4.61 us: 4.16 kflop, 3.58 kB read and written
  communication  2.26 us: 256 B received in 1 collective
  memory         3.07 kB: arguments 2.30 kB, results 256 B, temporaries 512 B

67 % of the predicted time is work, the largest part of it dot_general at mlp.cc:2 (67 %); 33 % is communication, the largest part of it all_reduce over 'model' for sharding_constraint at mlp.cc:1 (33 %).

collectives, costliest first
     time  bytes  times  kind        over     value      from -> to                                  for                  line
  2.26 us  256 B      1  all_reduce  'model'  f32[8,16]  P('data') unreduced {'model'} -> P('data')  sharding_constraint  mlp.cc:1

arguments
    bytes  name     type        spec              part        because
    256 B  args[0]  f32[8,16]   P('data')         f32[4,16]   asked for
  1.02 kB  args[1]  f32[16,32]  P(none, 'model')  f32[16,16]  asked for
  1.02 kB  args[2]  f32[32,16]  P('model')        f32[16,16]  asked for

results
  bytes  name    type       spec       part       because
  256 B  result  f32[8,16]  P('data')  f32[4,16]  asked for
)");
}

TEST(Plan, WhatIsNotAskedForSaysHowItCame) {
  const ts::Plan p =
      ts::jit(mlp, {.mesh = grid, .in_shardings = {P("data"), P(none, "model"), ts::unconstrained}})
          .explain(x, w1, w2);
  EXPECT_FALSE(p.arguments[2].asked);
  EXPECT_EQ(p.arguments[2].spec, "P('model')");
  EXPECT_NE(p.arguments[2].why.find("through"), std::string::npos) << p.arguments[2].why;
  EXPECT_EQ(p.arguments[0].why, "");
}

// The requested sharding of the weights is of no use to the product.
TEST(Plan, AdviceIsAPlanThatWasMade) {
  const auto f = [](Array a, Array w) { return ts::dot(a, w); };
  const Array a = ts::abstract(ts::f32, {64, 16}), w = ts::abstract(ts::f32, {16, 32});
  const auto made = [&](const ts::SpecTree& spec) {
    return ts::jit(f, {.mesh = grid, .in_shardings = {P("data"), spec}, .out_shardings = P("data")})
        .lower(a, w)
        .plan(slow());
  };
  const ts::Plan now = made(P("data"));
  // 16 x 32 floats are gathered, of which a device has half.
  EXPECT_EQ(listed(now), (Texts{"all_gather data 1024"}));
  ASSERT_FALSE(now.advice.empty());
  EXPECT_NE(now.advice.find("args[1]"), std::string::npos) << now.advice;
  EXPECT_NE(now.advice.find("a device receives 0 B instead of 1.02 kB"), std::string::npos)
      << now.advice;
  EXPECT_EQ(made(P()).moved_bytes, 0);
  EXPECT_EQ(made(P()).advice, "");
  ts::PlanOptions quiet = slow();
  quiet.alternatives = 0;
  EXPECT_EQ(ts::jit(f, {.mesh = grid, .in_shardings = {P("data"), P("data")}})
                .lower(a, w)
                .plan(quiet)
                .advice,
            "");
}

// Slices whose extents no axis divides are merged into the concatenation that reads them before the
// program is partitioned; reasons and advice refer to the partitioned program.
TEST(Plan, RollsThatNoAxisDivides) {
  const Array a = ts::abstract(ts::f32, {64, 16}), w = ts::abstract(ts::f32, {16, 32});
  const auto f = [](Array x, Array y) { return ts::dot(ts::roll(x, 5, 0), y); };
  const ts::Plan p =
      ts::jit(f, {.mesh = grid, .in_shardings = {P("data"), P("data")}}).lower(a, w).plan(slow());
  EXPECT_EQ(p.results[0].spec, "P('data')");
  EXPECT_TRUE(p.results[0].why.starts_with("follows args[0] through ")) << p.results[0].why;
  EXPECT_NE(p.results[0].why.find("dot_general"), std::string::npos) << p.results[0].why;
  EXPECT_NE(p.advice.find("args[1]"), std::string::npos) << p.advice;
  const ts::Plan flat =
      ts::jit([](Array x) { return ts::roll(x, 7); }, {.mesh = grid, .in_shardings = P("data")})
          .explain(a);
  EXPECT_EQ(flat.results[0].spec, "P('data')");
  EXPECT_TRUE(flat.results[0].why.starts_with("follows args[0] through ")) << flat.results[0].why;
}

TEST(Plan, DifferencesOfTwo) {
  const auto f = [](Array a, Array w) { return ts::dot(a, w); };
  const Array a = ts::abstract(ts::f32, {64, 16}), w = ts::abstract(ts::f32, {16, 32});
  const auto made = [&](const ts::SpecTree& spec) {
    ts::Plan p =
        ts::jit(f, {.mesh = grid, .in_shardings = {P("data"), spec}, .out_shardings = P("data")})
            .lower(a, w)
            .plan(slow());
    for (ts::PlannedCollective& c : p.collectives) c.line = "f.cc:1";
    p.temporary_bytes = 0;
    return p;
  };
  const ts::Plan parts = made(P("data")), whole = made(P());
  EXPECT_EQ(to_string(diff(parts, parts)), "the plans are alike\n");
  EXPECT_EQ(to_string(diff(parts, whole)),
            "time           34.8 us -> 32.8 us\n"
            "communication  2.02 us -> 0 s\n"
            "received       1.02 kB -> 0 B\n"
            "memory         7.17 kB -> 8.19 kB\n"
            "arguments      3.07 kB -> 4.10 kB\n"
            "~ args[1]: P('data') -> P()\n"
            "- all_gather over 'data' of f32[16,32] for dot_general at f.cc:1: P('data') -> P(), "
            "1.02 kB\n");
}

TEST(Plan, JsonHasAllOfIt) {
  const ts::Plan p = sharded_mlp(grid).explain(x, w1, w2);
  const nlohmann::json j = nlohmann::json::parse(to_json(p));
  EXPECT_EQ(j["format"], "tessera plan 1");
  EXPECT_EQ(j["moved_bytes"], p.moved_bytes);
  EXPECT_EQ(j["flops"], p.flops);
  EXPECT_EQ(j["seconds"], p.seconds());
  EXPECT_EQ(j["peak_bytes"], p.peak_bytes());
  EXPECT_EQ(j["axes"][1]["name"], "model");
  EXPECT_EQ(j["axes"][1]["bandwidth"], 5e10);
  ASSERT_EQ(j["collectives"].size(), 1u);
  EXPECT_EQ(j["collectives"][0]["from"], "P('data') unreduced {'model'}");
  EXPECT_EQ(j["collectives"][0]["axes"], (std::vector<std::string>{"model"}));
  const std::size_t at = j["collectives"][0]["equation"];
  EXPECT_EQ(j["equations"][at]["op"], p.collectives[0].op);
  EXPECT_EQ(j["equations"][at]["collectives"], (std::vector<int>{0}));
  EXPECT_EQ(j["equations"].size(), p.equations.size());
  EXPECT_EQ(j["arguments"][2]["part"], "f32[16,16]");
  EXPECT_EQ(j["timeline"][0]["count"], 4);
}

TEST(Plan, PagesAreWritten) {
  const ts::Plan p = sharded_mlp(grid).explain(x, w1, w2);
  const auto folder = std::filesystem::temp_directory_path() / "tessera_plan_test";
  const auto path = folder / "plan.html";
  ts::save_html(p, path.string());
  std::ifstream file(path);
  std::stringstream text;
  text << file.rdbuf();
  EXPECT_EQ(text.str(), to_html(p));
  std::filesystem::remove_all(folder);
}

TEST(Plan, SpeedsComeFromAFile) {
  const auto path = std::filesystem::temp_directory_path() / "tessera_links_test.json";
  std::ofstream(path) << R"({"links": {"data": {"latency": 2e-6, "bandwidth": 4e9}},
                            "peak_flops": 3e12})";
  const ts::PlanOptions o = ts::load_links(path.string());
  std::filesystem::remove(path);
  EXPECT_EQ(o.links.at("data"), (ts::LinkSpeed{2e-6, 4e9}));
  EXPECT_EQ(o.peak_flops, 3e12);
  EXPECT_EQ(o.memory_bandwidth, ts::PlanOptions().memory_bandwidth);
  EXPECT_EQ(o.links.count("model"), 0u);
  const ts::Plan p = sharded_mlp(grid).lower(x, w1, w2).plan(o);
  EXPECT_EQ(p.axes[0].link, (ts::LinkSpeed{2e-6, 4e9}));
  EXPECT_EQ(p.axes[1].link, ts::LinkSpeed());
}

}  // namespace
