// The cells of the documents that the library started from, as users write them here.
#include "only_cpu.h"

#include <tessera/tessera.h>

#include <gtest/gtest.h>

#include <map>
#include <optional>
#include <sstream>

namespace ts = tessera;
namespace nn = tessera::nn;
namespace optim = tessera::optim;
using ts::Array;
using ts::replicated;

namespace {

class Seeds : public testing::Test {
 protected:
  void SetUp() override { ts::set_device_count(4); }
};

std::string text(const Array& x) {
  std::ostringstream out;
  out << x;
  return out.str();
}

struct Layer {
  Array w, b;
};
using Params = std::vector<Layer>;

Params init_mlp(Array key, const std::vector<std::int64_t>& sizes) {
  Array keys = ts::random::split(key, static_cast<std::int64_t>(sizes.size()));
  Params params;
  for (std::size_t i = 0; i + 1 < sizes.size(); ++i) {
    auto [w_key, b_key] = ts::random::split<2>(keys[i]);
    params.push_back(
        {ts::random::normal(w_key, {sizes[i], sizes[i + 1]}) * 0.1, ts::zeros({sizes[i + 1]})});
  }
  return params;
}
Array mlp(const Params& params, Array x) {
  for (std::size_t i = 0; i + 1 < params.size(); ++i)
    x = ts::tanh(ts::dot(x, params[i].w) + params[i].b);
  return ts::dot(x, params.back().w) + params.back().b;
}
Array mse(const Params& params, Array x, Array y) {
  return ts::mean(ts::square(mlp(params, x) - y));
}

TEST_F(Seeds, DevicesPrint) {
  NEEDS_CPU(devices);
  std::ostringstream out;
  out << ts::devices();
  EXPECT_EQ(out.str(), "[CpuDevice(id=0), CpuDevice(id=1), CpuDevice(id=2), CpuDevice(id=3)]");
  EXPECT_EQ(ts::device_count(), 4);
  EXPECT_EQ(ts::default_backend(), "cpu");
}

TEST_F(Seeds, BasicAddAndScale) {
  Array x = ts::arange(16).reshape(4, 4), y = ts::ones({4, 4});
  EXPECT_EQ(text(ts::pmap([](Array a, Array b) { return a + b; })(x, y)),
            "[[ 1.  2.  3.  4.]\n [ 5.  6.  7.  8.]\n [ 9. 10. 11. 12.]\n [13. 14. 15. 16.]]");
  auto scale = ts::pmap([](Array shard, Array factor) { return shard * factor; },
                        {.axis_name = "i", .in_axes = {0, 0}});
  Array result = scale(ts::arange(16, ts::f32).reshape(4, 4), ts::array({10.0, 20.0, 30.0, 40.0}));
  EXPECT_EQ(text(result),
            "[[  0.  10.  20.  30.]\n [ 80. 100. 120. 140.]\n [240. 270. 300. 330.]\n [480. 520. "
            "560. 600.]]");
}

TEST_F(Seeds, MatrixProductsMatchTheSequentialOnes) {
  Array a = ts::random::normal(ts::random::key(42), {4, 64, 32}),
        b = ts::random::normal(ts::random::key(43), {4, 32, 16});
  Array parallel = ts::pmap([](Array x, Array y) { return ts::dot(x, y); })(a, b);
  std::vector<Array> rows;
  for (int i = 0; i < 4; ++i) rows.push_back(ts::dot(a[i], b[i]));
  EXPECT_TRUE(bool(ts::allclose(parallel, ts::stack(rows))));
}

TEST_F(Seeds, ReplicatedParametersAndForwardPass) {
  Params params = init_mlp(ts::random::key(0), {784, 256, 128, 10});
  Array inputs = ts::random::normal(ts::random::key(1), {4, 784});
  Array out = ts::pmap(mlp, {.in_axes = {replicated, 0}})(params, inputs);
  EXPECT_EQ(out.shape(), (ts::Shape{4, 10}));
  EXPECT_TRUE(bool(ts::allclose(out, mlp(params, inputs), 1e-4, 1e-5)));
}

TEST_F(Seeds, BroadcastParametersAreStoredOnce) {
  NEEDS_CPU(in_place);
  Array param = ts::random::normal(ts::random::key(10), {64, 32}),
        data = ts::random::normal(ts::random::key(11), {32, 64});
  Array many = ts::broadcast_to(param, {4, 64, 32});
  EXPECT_EQ(many.shards()[0].data.host<float>().data(), many.shards()[3].data.host<float>().data());
  Array result = ts::pmap([](Array p, Array d) { return ts::sum(ts::matmul(d, p), 1); })(
      many, data.reshape(4, 8, 64));
  EXPECT_TRUE(
      bool(ts::allclose(result, ts::sum(ts::matmul(data, param), 1).reshape(4, 8), 1e-4, 1e-4)));
}

TEST_F(Seeds, SumsAndStaticSizes) {
  NEEDS_CPU(same_bits);
  auto reduce = ts::pmap(
      [](Array x) {
        Array local = ts::sum(x), global = ts::psum(local, "devices");
        auto count = ts::psum(x.size(), "devices");
        return std::map<std::string, Array>{
            {"local_sum", local}, {"global_sum", global}, {"global_mean", global / count}};
      },
      {.axis_name = "devices"});
  auto r = reduce(ts::arange(4000, ts::f32).reshape(4, 1000));
  EXPECT_EQ(r["global_sum"][0].item<double>(), 7998000);
  EXPECT_EQ(r["global_mean"][3].item<double>(), 1999.5);
  EXPECT_EQ(r["local_sum"][0].item<double>(), 499500);
}

TEST_F(Seeds, TrainingStepWithADefaultRate) {
  struct Step {
    std::pair<Params, Array> operator()(Params params, Array x, Array y, Array lr = 0.01) const {
      auto [loss, grads] = ts::value_and_grad(mse)(params, x, y);
      grads = ts::pmean(grads, "devices");
      return {ts::tree::map([&](Array p, Array g) { return p - lr * g; }, params, grads),
              ts::pmean(loss, "devices")};
    }
  };
  Params params = init_mlp(ts::random::key(0), {8, 6, 3});
  Array x = ts::random::normal(ts::random::key(30), {4, 8}),
        y = ts::random::normal(ts::random::key(31), {4, 3});
  auto step = ts::pmap(Step{}, {.axis_name = "devices",
                                .in_axes = {replicated, 0, 0},
                                .out_axes = {replicated, replicated}});
  auto [next, loss] = step(params, x, y);
  auto [value, grads] = ts::value_and_grad(mse)(params, x, y);
  EXPECT_NEAR(loss.item<double>(), value.item<double>(), 1e-6);
  EXPECT_TRUE(ts::tree::allclose(
      next, ts::tree::map([](Array p, Array g) { return p - 0.01 * g; }, params, grads), 1e-5,
      1e-6));
}

TEST_F(Seeds, DeviceSpecificWorkAndConditions) {
  Array ids = ts::arange(4), data = ts::ones({4, 10});
  Array by_id = ts::pmap([](Array x, Array id) { return x * (id + 1); })(data, ids);
  EXPECT_EQ(by_id(3, 0).item<float>(), 4);
  auto lead = ts::pmap([](Array x, Array is_lead) {
    return ts::cond(
        is_lead, [&] { return ts::sum(x) * 2; }, [&] { return ts::mean(x); });
  });
  EXPECT_EQ(text(lead(data, ids == 0)), "[20.  1.  1.  1.]");
}

TEST_F(Seeds, LocalAndGlobalStatistics) {
  Array data = ts::random::normal(ts::random::key(50), {4, 100, 8});
  auto r = ts::pmap(
      [](Array x) {
        Array m = ts::mean(x, 0);
        return std::tuple(m, ts::pmean(m, "devices"), ts::std(x, 0));
      },
      {.axis_name = "devices"})(data);
  EXPECT_TRUE(bool(ts::allclose(std::get<1>(r)[2], ts::mean(ts::mean(data, 1), 0), 1e-5, 1e-6)));
  EXPECT_EQ(std::get<2>(r).shape(), (ts::Shape{4, 8}));
}

TEST_F(Seeds, OutAxesAndAbsentArguments) {
  auto fixed = ts::pmap([](Array, std::optional<Array>) { return ts::array({42.0})[0]; },
                        {.in_axes = {0, replicated}, .out_axes = replicated});
  Array r = fixed(ts::zeros({4, 1}), std::optional<Array>());
  EXPECT_EQ(text(r), "42.0");
  EXPECT_EQ(r.shape(), ts::Shape{});
}

TEST_F(Seeds, StaticArgumentsRetraceOncePerValue) {
  std::vector<int> traced;
  auto f = ts::pmap(
      [&](Array x, int value, Array other) {
        traced.push_back(value);
        return value > 5 ? x * 100 + other : x * value + other;
      },
      {.in_axes = {0, replicated, replicated}});
  Array x = ts::ones({4, 2}), half = 0.5;
  EXPECT_EQ(f(x, 7, half)(0, 0).item<float>(), 100.5f);
  EXPECT_EQ(f(x, 3, half)(0, 0).item<float>(), 3.5f);
  EXPECT_EQ(f(x, 7, half)(3, 1).item<float>(), 100.5f);
  EXPECT_EQ(traced, (std::vector<int>{7, 3}));
}

TEST_F(Seeds, SubsetsOfDevices) {
  std::vector<ts::Device> half(2);
  half[1].id = 1;
  Array r = ts::pmap([](Array x) { return x * 2; }, {.devices = half})(ts::ones({2, 3}));
  EXPECT_EQ(r.sharding().devices(), half);
}

TEST_F(Seeds, CollectivesGather) {
  Array data = ts::arange(24, ts::f32).reshape(4, 2, 3), weights = ts::ones({3, 2});
  auto [sum, mean, rows] = ts::pmap(
      [](Array x, Array w) {
        Array y = ts::dot(x, w);
        return std::tuple(ts::psum(y, "mesh"), ts::pmean(y(0, 0), "mesh"),
                          ts::all_gather(y[0], "mesh"));
      },
      {.axis_name = "mesh", .in_axes = {0, replicated}})(data, weights);
  EXPECT_EQ(sum.shape(), (ts::Shape{4, 2, 2}));
  EXPECT_EQ(rows.shape(), (ts::Shape{4, 4, 2}));
  EXPECT_EQ(text(mean), "[30. 30. 30. 30.]");
  EXPECT_TRUE(bool(ts::array_equal(rows[0], rows[3])));
  EXPECT_EQ(rows(2, 1, 0).item<float>(), 21);
}

// A whole state, including counters, is replicated by stacking and trained as in the third
// document.
struct State {
  nn::Linear model;
  optim::State optimizer;
};

TEST_F(Seeds, StackedStateTrainsAndDevicesAgree) {
  auto opt = optim::adam(1e-2);
  State state{nn::linear(ts::random::key(0), 6, 3), {}};
  state.optimizer = opt.init(state.model);
  state = ts::replicate(state, 4);
  auto step = ts::pmap(
      [&](State s, Array x, Array labels) {
        auto loss = [&](const nn::Linear& m) {
          Array logits = m(x);
          return std::pair(ts::mean(nn::softmax_cross_entropy(logits, ts::one_hot(labels, 3))),
                           nn::accuracy(logits, labels));
        };
        auto [value, grads] = ts::value_and_grad(loss)(s.model);
        grads = ts::pmean(grads, "devices");
        auto [updates, next] = opt.update(grads, s.optimizer, s.model);
        return std::tuple(State{optim::apply_updates(s.model, updates), next},
                          ts::pmean(value.first, "devices"), ts::pmean(value.second, "devices"));
      },
      {.axis_name = "devices"});
  Array x = ts::random::normal(ts::random::key(1), {4, 8, 6}),
        labels = ts::random::randint(ts::random::key(2), {4, 8}, 0, 3);
  float first = 0, last = 0;
  for (int i = 0; i < 30; ++i) {
    auto [next, loss, accuracy] = step(state, x, labels);
    state = next;
    last = loss[0].item<float>();
    if (i == 0) first = last;
  }
  EXPECT_LT(last, first);
  EXPECT_EQ(text(state.optimizer.stages[0].count), "[30 30 30 30]");
  EXPECT_EQ(ts::unreplicate(state).model.weight.shape(), (ts::Shape{6, 3}));
}

TEST_F(Seeds, WhatHappensDuringPmean) {
  ts::set_device_count(4);
  Array grads = ts::array({{1.0, 2.0, 3.0}, {1.5, 2.5, 3.5}, {0.5, 1.5, 2.5}});
  EXPECT_EQ(text(ts::pmap([](Array g) { return ts::pmean(g, "devices"); },
                          {.axis_name = "devices"})(grads)),
            "[[1. 2. 3.]\n [1. 2. 3.]\n [1. 2. 3.]]");
}

TEST_F(Seeds, AccumulationOverBatchesAndMasks) {
  nn::Linear model = nn::linear(ts::random::key(0), 4, 2);
  auto loss = [](const nn::Linear& m, Array x, Array mask) {
    return nn::masked_mean(ts::sum(ts::square(m(x)), -1), mask);
  };
  auto step = ts::pmap(
      [&](nn::Linear m, std::vector<Array> batches, Array mask) {
        auto grads = ts::grad(loss)(m, batches[0], mask);
        for (std::size_t i = 1; i < batches.size(); ++i)
          grads = ts::tree::map([](Array a, Array g) { return a + g; }, grads,
                                ts::grad(loss)(m, batches[i], mask));
        grads = ts::tree::map([&](Array g) { return g / batches.size(); }, grads);
        return ts::pmean(grads, "devices");
      },
      {.axis_name = "devices", .in_axes = {replicated, 0, 0}, .out_axes = replicated});
  std::vector<Array> batches{ts::random::normal(ts::random::key(1), {4, 8, 4}),
                             ts::random::normal(ts::random::key(2), {4, 8, 4})};
  Array mask = ts::ones({4, 8});
  auto got = step(model, batches, mask);
  auto all = ts::concatenate({batches[0].reshape(32, 4), batches[1].reshape(32, 4)});
  auto want = ts::grad(loss)(model, all, ts::ones({64}));
  EXPECT_TRUE(ts::tree::allclose(got, want, 1e-5, 1e-6));
}

}  // namespace
