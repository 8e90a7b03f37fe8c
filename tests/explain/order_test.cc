// When the planner schedules communication, observed through the memory of a training step: the
// bytes per device of deep unrolled networks, exactly.
#include "isolated.h"

#include <tessera/tessera.h>

#include <gtest/gtest.h>

#include <stdlib.h>
#include <regex>
#include <sstream>
#include <string>
#include <vector>

namespace ts = tessera;
using ts::Array;
using ts::P;

namespace {

constexpr std::int64_t kDevices = 4, kRows = 256, kWidth = 128;  // rows per device
// The bytes of a layer's two weights, of its activations between layers, and of those within it.
constexpr std::int64_t kWeights = 2 * kWidth * 4 * kWidth * 4, kOuter = kRows * kWidth * 4,
                       kInner = 4 * kOuter;

struct Layer {
  Array up, down;
};
using Model = std::vector<Layer>;

Array apply(const Layer& l, Array x) { return x + ts::dot(ts::tanh(ts::dot(x, l.up)), l.down); }

auto step_of(bool checkpointed, bool mapped = false) {
  return [=](Model m, Array x, Array y) {
    const auto loss = [=](const Model& p, Array in, Array want) {
      for (const Layer& l : p) in = checkpointed ? ts::remat(apply)(l, in) : apply(l, in);
      return ts::mean(ts::square(in - want));
    };
    auto [value, g] = ts::value_and_grad(loss)(m, x, y);
    if (mapped) g = ts::pmean(g, "data");
    return ts::tree::map([](Array p, Array d) { return p - 1e-3f * d; }, m, g);
  };
}

Model abstract_model(std::int64_t layers, std::int64_t width = kWidth) {
  return Model(static_cast<std::size_t>(layers), {ts::abstract(ts::f32, {width, 4 * width}),
                                                  ts::abstract(ts::f32, {4 * width, width})});
}

auto step_on(const ts::Mesh& mesh, const Model& m, const ts::PartitionSpec& weights,
             bool checkpointed) {
  const ts::SpecTree of_model = ts::specs(m, {{"**", weights}});
  return ts::jit(step_of(checkpointed), {.mesh = mesh,
                                         .in_shardings = {of_model, P("data"), P("data")},
                                         .out_shardings = of_model,
                                         .donate = {0}});
}

// The temporaries of one of four devices that share nothing.
std::int64_t temporaries(std::int64_t layers, const ts::PartitionSpec& weights, bool checkpointed) {
  const Model m = abstract_model(layers);
  const Array x = ts::abstract(ts::f32, {kDevices * kRows, kWidth});
  ts::PlanOptions options;
  options.alternatives = 0;
  return step_on(ts::Mesh::abstract({{"data", kDevices}}), m, weights, checkpointed)
      .lower(m, x, x)
      .plan(options)
      .temporary_bytes;
}

// The names of the collectives in each phase of a schedule; empty for phases of work.
std::vector<std::vector<std::string>> phases(const std::string& schedule) {
  std::vector<std::vector<std::string>> all;
  std::istringstream lines(schedule);
  for (std::string line; std::getline(lines, line);) {
    if (line.find(" phase ") != std::string::npos) all.emplace_back();
    if (const auto at = line.find("collective "); at != std::string::npos && !all.empty())
      all.back().push_back(line.substr(at + 11, line.find(' ', at + 11) - at - 11));
  }
  return all;
}

}  // namespace

// An additional layer only needs the memory of its input, from which its backward pass starts: no
// gathered weights, no gradients.
TEST(Order, FullyShardedAndCheckpointedHoldsALayer) {
  const std::int64_t six = temporaries(6, P("data"), true),
                     twelve = temporaries(12, P("data"), true);
  EXPECT_EQ(twelve - six, 6 * kOuter);
  // The gathered weights of the current and of the next layer, and the gradients.
  EXPECT_LE(twelve, 12 * kOuter + 4 * kInner + 4 * kWeights);
}

// The gradients of a layer are summed, and its weights updated, before those of the next layer.
TEST(Order, DataParallelGradientsDieLayerByLayer) {
  const std::int64_t six = temporaries(6, P(), false), twelve = temporaries(12, P(), false);
  EXPECT_EQ(twelve - six, 6 * (kOuter + 2 * kInner));
  EXPECT_LE(twelve, 13 * (kOuter + 2 * kInner) + 2 * kWeights);
}

// The gradients of a layer have 32 KiB per device. Gradients share a phase until they have a MiB on
// all devices, which takes eight layers. Others that are ready by then join them. Kernels behind
// products are steps of their own here: joined with them they need so little memory that several
// phases of gradients would save less than a sixteenth, and the planner takes one phase.
TEST(Order, SmallGradientsMeet) {
  if (!test::isolated())
    GTEST_SKIP() << "how many devices' values there are depends on the workers";
  ::setenv("TESSERA_DISABLE_PASSES", "panels", 1);
  ts::set_device_count(kDevices);
  const Model m = abstract_model(24, 32);
  const Array x = ts::abstract(ts::f32, {kDevices, 128, 32});
  const auto step = ts::pmap(
      step_of(false, true),
      {.axis_name = "data", .in_axes = {ts::replicated, 0, 0}, .out_axes = ts::replicated});
  std::vector<std::size_t> sums;
  for (const auto& names : phases(step.lower(m, x, x).schedule()))
    if (!names.empty()) sums.push_back(names.size());
  ::unsetenv("TESSERA_DISABLE_PASSES");
  EXPECT_EQ(sums, (std::vector<std::size_t>{17, 16, 15}));
}

// The planner of the call and the planner of the prediction choose the same order.
TEST(Order, WhatIsPredictedIsLaidOut) {
  if (!test::isolated()) GTEST_SKIP() << "devices share memory";
  ts::set_device_count(kDevices);
  const Model m = abstract_model(5);
  const Array x = ts::abstract(ts::f32, {kDevices * kRows, kWidth});
  for (const auto& [weights, checkpointed] : {std::pair(P("data"), true), {P(), false}}) {
    auto step = step_on(ts::Mesh({{"data", kDevices}}), m, weights, checkpointed);
    const std::int64_t frame = step.lower(m, x, x).memory().temporaries,
                       predicted = kDevices * temporaries(5, weights, checkpointed);
    // A call also has a table of pointers, and local memory for each worker only.
    EXPECT_LE(frame, predicted + 8192);
    const std::string schedule = step.lower(m, x, x).schedule();
    std::smatch found;
    ASSERT_TRUE(std::regex_search(schedule, found, std::regex("arena (\\d+) B, local (\\d+) B")))
        << schedule;
    EXPECT_EQ(predicted, std::stoll(found[1]) + kDevices * std::stoll(found[2]));
  }
}

// Donated arguments hold the results, so the peak memory is the predicted one, exactly.
TEST(Order, ADonatedStepTakesWhatIsPredicted) {
  if (!test::isolated()) GTEST_SKIP() << "devices share memory";
  ts::set_device_count(kDevices);
  const ts::Mesh mesh({{"data", kDevices}});
  ts::PlanOptions options;
  options.alternatives = 0;
  for (const auto& weights : {P("data"), P()}) {
    Model m;
    for (int i = 0; i < 3; ++i)
      m.push_back({ts::device_put(ts::full({kWidth, 4 * kWidth}, 0.01f), mesh, weights),
                   ts::device_put(ts::full({4 * kWidth, kWidth}, 0.01f), mesh, weights)});
    const Array x = ts::device_put(ts::ones({kDevices * kRows, kWidth}), mesh, P("data")),
                y = ts::device_put(ts::zeros({kDevices * kRows, kWidth}), mesh, P("data"));
    auto step = step_on(mesh, m, weights, false);
    // Memory that all devices share, such as the copies of one array, is not overwritten; the
    // results of a step are.
    if (weights == P()) m = step(std::move(m), x, y);
    const ts::Plan p = step.lower(m, x, y).plan(options);
    EXPECT_EQ(p.donated_bytes, p.result_bytes);
    EXPECT_EQ(p.result_bytes, 3 * kWeights / (weights == P() ? 1 : kDevices));
    const std::string schedule = step.lower(m, x, y).schedule();
    std::smatch found;
    ASSERT_TRUE(std::regex_search(schedule, found, std::regex("arena (\\d+) B, local (\\d+) B")))
        << schedule;
    EXPECT_EQ(p.temporary_bytes, std::stoll(found[1]) / kDevices + std::stoll(found[2]));
    for (const ts::Array* a : {&x, &y}) a->block_until_ready();
    for (const Layer& l : m) (void)l.up.block_until_ready(), (void)l.down.block_until_ready();
    std::vector<std::int64_t> before;
    for (const ts::Device& d : mesh.devices()) before.push_back(ts::memory_stats(d).live);
    ts::reset_peak_memory();
    const Model next = step(m, x, y);
    for (const Layer& l : next) (void)l.up.block_until_ready(), (void)l.down.block_until_ready();
    for (std::size_t d = 0; d < before.size(); ++d) {
      const ts::MemoryStats now = ts::memory_stats(mesh.devices()[d]);
      // The arguments of this test are the only arrays.
      EXPECT_EQ(before[d], p.argument_bytes) << d;
      EXPECT_EQ(now.peak, p.argument_bytes + p.result_bytes - p.donated_bytes) << d;
      EXPECT_EQ(now.peak + p.temporary_bytes, p.peak_bytes()) << d;
    }
  }
}
