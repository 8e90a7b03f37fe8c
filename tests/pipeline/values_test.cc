// Pipelines agree with the layers applied one after the other. Data are small integers and losses
// are sums, so the order of additions does not matter, and values are compared bit for bit.
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
/// The loss of the rows of a microbatch.
Array loss(Array y, Array target) { return ts::sum(y * target); }

Array integers(int key, const ts::Shape& shape, int least, int beyond) {
  return ts::random::randint(ts::random::key(key), shape, least, beyond).astype(ts::f32);
}
Layer layers(std::int64_t n) { return {integers(1, {n, 3, 3}, -1, 2), integers(2, {n, 3}, -2, 3)}; }

Array sequential(const Layer& all, Array x) {
  return ts::scan([](Array h, Layer p) { return std::pair(layer(p, h), std::tuple<>()); }, x, all)
      .first;
}

/// A line of stages, or a mesh of stages and a data axis.
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
      options.remat = checkpoint;
      const auto network = ts::pipeline(layer, options);
      EXPECT_TRUE(ts::tree::equal(ts::jit(network)(params, x), sequential(params, x)));
      const auto got = ts::jit(ts::value_and_grad<0, 1>(
          [&](Layer p, Array rows) { return loss(network(p, rows), target); }))(params, x);
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
      EXPECT_TRUE(
          ts::tree::equal(std::get<0>(got.second), ts::tree::map(mean, std::get<0>(gradients))));
      EXPECT_TRUE(ts::tree::equal(std::get<1>(got.second), std::get<1>(gradients) / n));
    }
}

// Both the parts of a batch and parameters may be trees, also with integers.
struct State {
  Array h, position;
};
struct Shift {
  Array by, times;  // times counts: int32
  Array unused;     // empty
  int power = 1;
};
State shift(const Shift& p, const State& s) {
  Array h = s.h;
  for (int i = 0; i < p.power; ++i) h = h * p.times + p.by * s.position;
  return {h, s.position + 1};
}

TEST_F(Pipelines, TreesWithIntegers) {
  const Shift params{ts::array({1.0, -2.0, 3.0, 0.5}), ts::array({1, 2, -1, 3}), Array(), 2};
  const State batch{ts::arange(12.0).reshape(6, 2), ts::arange(6).reshape(6, 1)};
  const Array target = ts::array({1.0, 2.0, -1.0, 0.0, 1.0, 3.0});
  const auto one = [](const Shift& p, int i) {
    return Shift{p.by[i], p.times[i], Array(), p.power};
  };
  const auto whole = [&](const Shift& p, State s) {
    for (int i = 0; i < 4; ++i) s = shift(one(p, i), s);
    return s;
  };
  const auto of_rows = [](const State& s, Array t) {
    return ts::sum(ts::sum(s.h, 1) * t) + 0 * ts::sum(s.position);
  };
  const ts::Mesh mesh({{"stage", 2}});
  const auto network = ts::pipeline(shift, {.mesh = mesh, .microbatches = 3});
  EXPECT_TRUE(ts::tree::equal(network(params, batch), whole(params, batch)));
  for (Schedule schedule : {Schedule::gpipe, Schedule::one_f_one_b}) {
    const auto [value, gradients] = ts::pipeline_value_and_grad<0, 1>(
        shift, of_rows, {.mesh = mesh, .microbatches = 3, .schedule = schedule})(params, batch,
                                                                                 target);
    const auto [sum, want] = ts::value_and_grad<0, 1>([&](const Shift& p, const State& s) {
      return of_rows(whole(p, s), target);
    })(params, batch);
    EXPECT_TRUE(ts::tree::equal(value, sum / 3));
    EXPECT_TRUE(ts::tree::equal(std::get<0>(gradients).by, std::get<0>(want).by / 3));
    EXPECT_TRUE(std::get<0>(gradients).times.is_empty());
    EXPECT_TRUE(std::get<0>(gradients).unused.is_empty());
    EXPECT_TRUE(ts::tree::equal(std::get<1>(gradients).h, std::get<1>(want).h / 3));
    EXPECT_TRUE(std::get<1>(gradients).position.is_empty());
  }
}

// The results of an idle device on zeros would have no finite derivative, so they must not reach
// anything.
TEST_F(Pipelines, IdleDevicesComputeNothing) {
  const auto unit = [](Array scale, Array x) {
    return scale * x / ts::sqrt(ts::sum(ts::square(x), {.axis = 1, .keepdims = true}));
  };
  const Array scales = ts::array({2.0, 0.5, 1.0, 3.0});
  const Array x = ts::array({3.0, 4.0, 0.0, 5.0, -6.0, 8.0}).reshape(3, 2);
  const ts::Mesh mesh({{"stage", 4}});
  const auto mean = [](Array y, Array t) { return ts::mean(y * t); };
  const Array t = ts::array({1.0, 2.0, 3.0, 4.0, 5.0, 6.0}).reshape(3, 2);
  const auto [value, want] = ts::value_and_grad<0, 1>([&](Array s, Array rows) {
    for (int i = 0; i < 4; ++i) rows = unit(s[i], rows);
    return mean(rows, t);
  })(scales, x);
  const ts::PipelineOptions options{.mesh = mesh, .microbatches = 3};
  const auto network = ts::pipeline(unit, options);
  const auto through = ts::value_and_grad<0, 1>(
      [&](Array s, Array rows) { return mean(network(s, rows), t); })(scales, x);
  // The tolerance is a few rounding errors of numbers near one.
  EXPECT_TRUE(ts::tree::allclose(through, std::pair(value, want), 1e-6, 1e-6));
  for (Schedule schedule : {Schedule::gpipe, Schedule::one_f_one_b}) {
    ts::PipelineOptions training = options;
    training.schedule = schedule;
    const auto got = ts::pipeline_value_and_grad<0, 1>(unit, mean, training)(scales, x, t);
    EXPECT_TRUE(ts::tree::allclose(got, std::pair(value, want), 1e-6, 1e-6));
  }
}

// A layer whose features are sharded over another axis, with collectives of its own.
TEST_F(Pipelines, CollectivesOverAnotherAxis) {
  const ts::Mesh mesh({{"stage", 2}, {"model", 2}, {"data", 2}});
  const Array w = integers(5, {4, 3, 4}, -1, 2), v = integers(6, {4, 4, 3}, -1, 2);
  const auto cut = [](const std::pair<Array, Array>& p, Array x) {
    const Array columns = ts::axis_index("model") * 2 + ts::arange(2);
    const Array hidden = ts::nn::relu(ts::dot(x, ts::take(p.first, columns, 1)));
    return ts::psum(ts::dot(hidden, ts::take(p.second, columns, 0)), "model");
  };
  const auto whole = [](const std::pair<Array, Array>& p, Array x) {
    for (int i = 0; i < 4; ++i) x = ts::dot(ts::nn::relu(ts::dot(x, p.first[i])), p.second[i]);
    return x;
  };
  const Array x = integers(7, {12, 3}, -2, 3), target = integers(8, {12, 3}, -1, 2);
  const std::pair params(w, v);
  const auto want = ts::value_and_grad<0, 1>([&](const std::pair<Array, Array>& p, Array rows) {
    return loss(whole(p, rows), target);
  })(params, x);
  ts::PipelineOptions options{.mesh = mesh, .microbatches = 3, .batch_axis = "data"};
  const auto network = ts::pipeline(cut, options);
  EXPECT_TRUE(
      ts::tree::equal(ts::value_and_grad<0, 1>([&](const std::pair<Array, Array>& p, Array rows) {
                        return loss(network(p, rows), target);
                      })(params, x),
                      want));
  for (Schedule schedule : {Schedule::gpipe, Schedule::one_f_one_b}) {
    options.schedule = schedule;
    const auto got = ts::pipeline_value_and_grad<0, 1>(cut, loss, options)(params, x, target);
    EXPECT_TRUE(ts::tree::equal(got.first, want.first / 6));
    const auto mean = [](const Array& g) { return g / 6; };
    EXPECT_TRUE(ts::tree::equal(got.second, ts::tree::map(mean, want.second)));
  }
}

// Gradients are summed over the data axis once, not at each tick, and nothing else is exchanged
// over it.
TEST_F(Pipelines, GradientsAreAddedOverTheDataAxisOnce) {
  const Case c{4, 2, 6, 2};
  const Layer params = layers(8);
  const Array x = integers(3, {c.rows(), 3}, -2, 3), target = x;
  ts::PipelineOptions options = c.options();
  const auto network = ts::pipeline(layer, options);
  const auto through = ts::jit(ts::value_and_grad(
      [&](const Layer& p, Array rows, Array t) { return loss(network(p, rows), t); }));
  options.schedule = Schedule::one_f_one_b;
  const auto training = ts::jit(ts::pipeline_value_and_grad(layer, loss, options));
  const auto over_data = [](const ts::Lowered& program) {
    std::int64_t bytes = 0;
    for (const ts::CollectiveUse& use : program.collectives())
      if (use.axes == std::vector<std::string>{"data"}) {
        EXPECT_EQ(use.times, 1) << use;
        EXPECT_FALSE(use.in_branch) << use;
        bytes += use.bytes;
      }
    return bytes;
  };
  const std::int64_t gradients = 2 * (3 * 3 + 3) * 4;  // of two layers
  EXPECT_EQ(over_data(through.lower(params, x, target)), gradients);
  EXPECT_EQ(over_data(training.lower(params, x, target)), gradients + 4);  // and the loss
}

// Forward mode, and derivatives of derivatives: the pipeline is a function like any other.
TEST_F(Pipelines, OtherDerivatives) {
  const auto smooth = [](Array w, Array x) { return ts::tanh(ts::dot(x, w)); };
  const Array w = ts::random::normal(ts::random::key(12), {4, 3, 3}) / 2,
              x = ts::random::normal(ts::random::key(13), {6, 3}),
              v = ts::random::normal(ts::random::key(14), {4, 3, 3});
  const auto network =
      ts::pipeline(smooth, {.mesh = ts::Mesh({{"stage", 2}}), .microbatches = 3, .remat = true});
  const auto piped = [&](Array p) { return ts::mean(ts::square(network(p, x))); };
  const auto whole = [&](Array p) {
    Array h = x;
    for (int i = 0; i < 4; ++i) h = smooth(p[i], h);
    return ts::mean(ts::square(h));
  };
  const auto along = [&](auto f) { return ts::jvp(ts::grad(f), w, v).second; };
  // Numbers of order one pass four layers: a few rounding errors.
  EXPECT_TRUE(ts::tree::allclose(ts::jvp(piped, w, v), ts::jvp(whole, w, v), 1e-5, 1e-5));
  EXPECT_TRUE(ts::tree::allclose(along(piped), along(whole), 1e-5, 1e-5));
}

// A network has an embedding before the pipeline, whose gradient is pulled back from that of the
// batch, and a head, which is part of the loss.
TEST_F(Pipelines, EmbeddingAndHead) {
  const ts::Mesh mesh({{"data", 2}, {"stage", 4}});
  const Layer params = layers(4);
  const Array table = integers(9, {5, 3}, -2, 3), tokens = ts::arange(12) % 5;
  const std::pair head(integers(10, {3, 4}, -1, 2), ts::array({1, 2, 3, 4}));  // floats, integers
  const Array target = integers(11, {12, 4}, -1, 2);
  using Head = std::pair<Array, Array>;
  const auto embed = [&](Array t) { return ts::take(t, tokens, 0); };
  const auto with_head = [](Array y, Array t, const Head& h) {
    return ts::sum(ts::dot(y, h.first) * t * h.second);
  };
  const auto [sum, want] = ts::value_and_grad<0, 1, 2>([&](Layer p, Array t, const Head& h) {
    return with_head(sequential(p, embed(t)), target, h);
  })(params, table, head);
  for (Schedule schedule : {Schedule::gpipe, Schedule::one_f_one_b}) {
    const ts::PipelineOptions options{
        .mesh = mesh, .microbatches = 3, .schedule = schedule, .batch_axis = "data"};
    const auto step = ts::jit([&](Layer p, Array t, const Head& h) {
      auto [x, back] = ts::vjp(embed, t);
      auto [value, g] =
          ts::pipeline_value_and_grad<0, 1, 3>(layer, with_head, options)(p, x, target, h);
      return std::tuple(value, std::get<0>(g), back(std::get<1>(g)), std::get<2>(g));
    });
    const auto [value, of_layers, of_table, of_head] = step(params, table, head);
    EXPECT_TRUE(ts::tree::equal(value, sum / 6));
    EXPECT_TRUE(ts::tree::equal(of_layers.w, std::get<0>(want).w / 6));
    EXPECT_TRUE(ts::tree::equal(of_layers.b, std::get<0>(want).b / 6));
    // Up to five rows are added, each of which was divided by 6.
    EXPECT_TRUE(ts::tree::allclose(of_table, std::get<1>(want) / 6, 1e-6, 1e-5));
    EXPECT_TRUE(ts::tree::equal(of_head.first, std::get<2>(want).first / 6));
    EXPECT_TRUE(of_head.second.is_empty());
    // The same without the gradient of the batch.
    const auto [again, only] =
        ts::pipeline_value_and_grad(layer, with_head, options)(params, embed(table), target, head);
    EXPECT_TRUE(ts::tree::equal(again, value));
    EXPECT_TRUE(ts::tree::equal(only, of_layers));
  }
}

// All layers share captured values, whose gradient is taken from outside.
TEST_F(Pipelines, CapturedParameters) {
  const Array scale = 3.0, x = ts::arange(8.0).reshape(4, 2);
  const Array shifts = ts::array({1.0, -2.0});
  const ts::Mesh mesh({{"stage", 2}});
  const Array got = ts::grad([&](Array s) {
    return ts::sum(ts::pipeline([&](Array by, Array h) { return h * s + by; },
                                {.mesh = mesh, .microbatches = 2})(shifts, x));
  })(scale);
  const Array want = ts::grad([&](Array s) { return ts::sum((x * s + 1.0) * s - 2.0); })(scale);
  EXPECT_EQ(got.item<float>(), want.item<float>());
}

// A step with specs has the pipeline inside; the rest of it is partitioned.
TEST_F(Pipelines, InsideAJitWithShardings) {
  const ts::Mesh mesh({{"data", 2}, {"stage", 4}});
  const ts::PipelineOptions options{
      .mesh = mesh, .microbatches = 3, .schedule = Schedule::one_f_one_b, .batch_axis = "data"};
  const Layer params = layers(8);
  const Array x = integers(3, {12, 3}, -2, 3), target = integers(4, {12, 3}, -1, 2);
  const auto train = ts::pipeline_value_and_grad(layer, loss, options);
  const auto step = [&](Layer p, Array rows) {
    const auto [value, g] = train(p, rows, target);
    return std::pair(value, Layer{p.w - g.w, p.b - g.b});
  };
  const auto sharded = ts::jit(
      step,
      {.mesh = mesh, .in_shardings = {P("stage"), P("data")}, .out_shardings = {P(), P("stage")}});
  const auto got = sharded(params, x), want = ts::jit(step)(params, x);
  EXPECT_TRUE(ts::tree::equal(got, want));
  EXPECT_EQ(got.second.w.sharding(), ts::Sharding(mesh, P("stage")));
  const auto placed =
      ts::jit(step)(ts::device_put(params, mesh, P("stage")), ts::device_put(x, mesh, P("data")));
  EXPECT_TRUE(ts::tree::equal(placed, want));
  EXPECT_EQ(placed.second.b.sharding(), ts::Sharding(mesh, P("stage")));
}

TEST_F(Pipelines, MeshesOfScopesAndPlacedArguments) {
  const ts::Mesh mesh({{"data", 2}, {"stage", 4}});
  const auto scope = ts::use_mesh(mesh);
  const Layer params = layers(8);
  const Array x = integers(3, {12, 3}, -2, 3), target = integers(4, {12, 3}, -1, 2);
  const ts::PipelineOptions options{
      .microbatches = 3, .schedule = Schedule::one_f_one_b, .batch_axis = "data"};
  auto step = ts::pipeline_value_and_grad(layer, loss, options);
  const auto want = step(params, x, target);
  const Layer placed = ts::device_put(params, P("stage"));
  const auto got = step(placed, ts::device_put(x, P("data")), ts::device_put(target, P("data")));
  EXPECT_TRUE(ts::tree::equal(got, want));
  // Gradients are sharded like the parameters.
  EXPECT_EQ(got.second.w.sharding(), ts::Sharding(mesh, P("stage")));
  const auto jitted = ts::jit(step)(placed, ts::device_put(x, P("data")), target);
  EXPECT_TRUE(ts::tree::equal(jitted, want));
}

}  // namespace
