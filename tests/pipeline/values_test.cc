// Pipelines against the layers one after the other. Data are small integers and losses sums, so
// that no order of additions can be told from another: values are compared to the bit.
#include <tessera/tessera.h>

#include "isolated.h"
#include "message.h"

#include <gtest/gtest.h>

namespace ts = tessera;
using ts::Array;
using ts::P;
using ts::Schedule;

namespace {

struct Layer {
  Array w, b;
};

Array layer(const Layer& p, Array x) { return ts::dot(x, p.w) + p.b; }
/// Of the rows of a microbatch.
Array loss(Array y, Array target) { return ts::sum(y * target); }

Array integers(int key, const ts::Shape& shape, int least, int beyond) {
  return ts::random::randint(ts::random::key(key), shape, least, beyond).astype(ts::f32);
}
Layer layers(std::int64_t n) { return {integers(1, {n, 3, 3}, -1, 2), integers(2, {n, 3}, -2, 3)}; }

Array sequential(const Layer& all, Array x) {
  return ts::scan([](Array h, Layer p) { return std::pair(layer(p, h), std::tuple<>()); }, x, all)
      .first;
}

/// A line of stages, or stages beside a data axis.
ts::Mesh mesh_of(std::int64_t stages, std::int64_t replicas) {
  if (replicas == 1) return ts::Mesh({{"stage", stages}});
  return ts::Mesh({{"data", replicas}, {"stage", stages}});
}

class Pipelines : public testing::Test {
 protected:
  void SetUp() override { ts::set_device_count(8); }
};

struct Case {
  std::int64_t stages, replicas, microbatches, per_stage;
  std::int64_t rows() const { return 2 * replicas * microbatches; }
  std::int64_t parts() const { return replicas * microbatches; }
  ts::PipelineOptions options() const {
    return {.mesh = mesh_of(stages, replicas),
            .microbatches = microbatches,
            .batch_axis = replicas == 1 ? "" : "data"};
  }
};
std::vector<Case> cases() {
  std::vector<Case> all;
  for (std::int64_t m = 1; m <= 9; ++m) {
    all.push_back({2, 1, m, 1});
    all.push_back({4, 1, m, 1});
  }
  for (std::int64_t m : {1, 3, 4, 7}) {
    all.push_back({2, 2, m, 2});
    all.push_back({4, 2, m, 1});
  }
  all.push_back({1, 1, 3, 2});
  all.push_back({1, 4, 2, 1});
  all.push_back({3, 2, 5, 3});
  return all;
}
std::string text(const Case& c) {
  return std::to_string(c.stages) + " stages, " + std::to_string(c.replicas) + " replicas, " +
         std::to_string(c.microbatches) + " microbatches, " + std::to_string(c.per_stage) +
         " layers a stage";
}

TEST_F(Pipelines, ValuesAndGradients) {
  for (const Case& c : cases()) {
    SCOPED_TRACE(text(c));
    const Layer params = layers(c.stages * c.per_stage);
    const Array x = integers(3, {c.rows(), 3}, -2, 3), target = integers(4, {c.rows(), 3}, -1, 2);
    for (bool checkpoint : {false, true}) {
      ts::PipelineOptions options = c.options();
      options.checkpoint = checkpoint;
      const auto network = ts::pipeline(layer, options);
      EXPECT_TRUE(ts::tree::equal(ts::jit(network)(params, x), sequential(params, x)));
      const auto got = ts::jit(ts::value_and_grad<0, 1>([&](Layer p, Array rows) {
        return loss(network(p, rows), target);
      }))(params, x);
      const auto want = ts::jit(ts::value_and_grad<0, 1>(
          [&](Layer p, Array rows) { return loss(sequential(p, rows), target); }))(params, x);
      EXPECT_TRUE(ts::tree::equal(got, want));
    }
  }
}

TEST_F(Pipelines, Training) {
  for (const Case& c : cases())
    for (Schedule schedule : {Schedule::gpipe, Schedule::one_f_one_b}) {
      SCOPED_TRACE(text(c) + ", " + to_string(schedule));
      const Layer params = layers(c.stages * c.per_stage);
      const Array x = integers(3, {c.rows(), 3}, -2, 3), target = integers(4, {c.rows(), 3}, -1, 2);
      ts::PipelineOptions options = c.options();
      options.schedule = schedule;
      const auto got =
          ts::jit(ts::pipeline_value_and_grad<0, 1>(layer, loss, options))(params, x, target);
      const auto [sum, gradients] = ts::jit(ts::value_and_grad<0, 1>(
          [&](Layer p, Array rows) { return loss(sequential(p, rows), target); }))(params, x);
      const auto n = static_cast<double>(c.parts());
      EXPECT_TRUE(ts::tree::equal(got.first, sum / n));
      const auto mean = [&](const Array& g) { return g / n; };
      EXPECT_TRUE(ts::tree::equal(std::get<0>(got.second),
                                  ts::tree::map(mean, std::get<0>(gradients))));
      EXPECT_TRUE(ts::tree::equal(std::get<1>(got.second), std::get<1>(gradients) / n));
    }
}

}  // namespace
