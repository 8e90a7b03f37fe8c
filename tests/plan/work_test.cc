// What plans predict of a device's work is what the runtime counts, to the number.
#include <tessera/tessera.h>

#include <gtest/gtest.h>

#include <cstdlib>

namespace ts = tessera;
namespace nn = tessera::nn;
using ts::Array;
using ts::none;
using ts::P;

namespace {

// How kernels are made depends on what devices share; plans are of devices that share nothing.
bool isolated() {
  const char* text = std::getenv("TESSERA_ISOLATE");
  return text && std::string(text) == "1";
}

template <class F, class... A>
ts::MeasuredWork measured(const F& f, const A&... args) {
  const ts::WorkCounter counter;
  f(args...);
  return counter.total();
}

template <class F, class... A>
void expect_as_planned(const F& f, const A&... args) {
  const ts::Plan plan = f.explain(args...);
  const ts::MeasuredWork work = measured(f, args...);
  EXPECT_GT(plan.flops, 0);
  EXPECT_EQ(work.flops, plan.flops);
  if (isolated()) EXPECT_EQ(work.memory_traffic, plan.memory_traffic);
}

Array mlp(Array x, Array w1, Array w2) { return ts::dot(ts::maximum(ts::dot(x, w1), 0), w2); }

struct Cnn {
  nn::Conv conv1, conv2;
  nn::Linear dense;
};

struct Devices {
  Devices() { ts::set_device_count(8); }
};
const Devices devices;

}  // namespace

TEST(Work, ByHand) {
  const ts::Mesh mesh({{"data", 2}, {"model", 2}});
  const auto f = ts::jit(mlp, {.mesh = mesh,
                               .in_shardings = {P("data"), P(none, "model"), P("model")},
                               .out_shardings = P("data")});
  // Parts: [4,16] x [16,16], a maximum of [4,16], [4,16] x [16,16].
  const ts::MeasuredWork work =
      measured(f, ts::ones({8, 16}), ts::ones({16, 32}), ts::ones({32, 16}));
  EXPECT_EQ(work.flops, 2 * 4 * 16 * 16 + 4 * 16 + 2 * 4 * 16 * 16);
  EXPECT_EQ(work.memory_traffic, 2 * (256 + 1024 + 256) + 2 * 256);
}

// A kernel reads each operand once, however often it uses it, and what it passes on inside stays
// in registers; of a table it reads the rows that it takes.
TEST(Work, BytesOfAKernelByHand) {
  const auto chain = ts::jit([](Array x, Array y) { return ts::exp(x * y + x) * x; });
  const Array x = ts::ones({64}), table = ts::ones({100, 8});
  EXPECT_EQ(measured(chain, x, x + 1), (ts::MeasuredWork{(1 + 1 + 10 + 1) * 64, 3 * 256}));
  const auto rows = ts::jit([](Array t, Array i) { return ts::take(t, i, 0) * 2; });
  const ts::MeasuredWork work = measured(rows, table, ts::arange(3));
  EXPECT_LT(work.memory_traffic, 100 * 8 * 4);
  const auto window = ts::jit([](Array t) { return t(ts::Range{10, 20, 1}) * 2; });
  EXPECT_EQ(measured(window, table), (ts::MeasuredWork{80, 2 * 320}));
}

TEST(Work, ALoopCountsItsTurnsAndABranchThatWhichRuns) {
  const ts::Mesh mesh({{"i", 4}});
  const auto product = [](Array h) { return ts::dot(h, h); };
  const auto nothing = [](Array h) { return h; };
  const Array h = ts::ones({16, 16}), three = ts::array(3), five = ts::array(5);
  constexpr double each = 2.0 * 16 * 16 * 16;
  const auto scan = ts::jit([&](Array x) {
    return ts::scan([&](Array c, Array) { return std::pair(product(c), Array()); }, x,
                    ts::zeros({7}))
        .first;
  });
  EXPECT_EQ(measured(scan, h).flops, 7 * each);
  const auto turns = ts::jit([&](Array n, Array x) {
    return ts::fori_loop(
        0, n, [&](Array, Array c) { return product(c); }, x);
  });
  // A turn also counts up and compares, and so does the end.
  const double three_turns = measured(turns, three, h).flops,
               five_turns = measured(turns, five, h).flops;
  EXPECT_EQ(five_turns - three_turns, 2 * (each + 2));
  const auto branch = ts::jit([&](Array b, Array x) { return ts::cond(b, product, nothing, x); });
  EXPECT_EQ(
      measured(branch, ts::array(true), h).flops - measured(branch, ts::array(false), h).flops,
      each);
  // Devices that go different ways: a device's mean.
  const auto ways =
      ts::pmap([&](Array x) { return ts::cond(ts::axis_index("i") == 0, product, nothing, x); },
               {.axis_name = "i"});
  const auto same =
      ts::pmap([&](Array x) { return ts::cond(ts::axis_index("i") < 0, product, nothing, x); },
               {.axis_name = "i"});
  const Array all = ts::ones({4, 16, 16});
  EXPECT_EQ(measured(ways, all).flops - measured(same, all).flops, each / 4);
}

TEST(Work, WhatDevicesShareCountsForEach) {
  const ts::Mesh mesh({{"i", 3}});
  // Replicated parameters are multiplied once for all devices.
  const auto f = ts::shard_map([](Array x, Array w) { return x + ts::psum(ts::dot(w, w), "i"); },
                               {.mesh = mesh, .in_specs = {P("i"), P()}, .out_specs = P("i")});
  const ts::MeasuredWork work = measured(f, ts::ones({3, 16}), ts::ones({16, 16}));
  EXPECT_EQ(work.flops, f.explain(ts::ones({3, 16}), ts::ones({16, 16})).flops);
}

// Rows of the batch on all devices; gradients are products over the rows of all of them.
TEST(Work, ACnn) {
  const ts::Mesh mesh({{"data", 4}});
  auto [k1, k2, k3] = ts::random::split<3>(ts::random::key(1));
  const Cnn model{nn::conv(k1, 1, 8, {3, 3}), nn::conv(k2, 8, 16, {3, 3}),
                  nn::linear(k3, 4 * 4 * 16, 10)};
  const auto step = [](Cnn m, Array x, Array labels) {
    const auto loss = [](Cnn net, Array images, Array want) {
      Array y = nn::relu(net.conv1(images));
      y = ts::max_pool(y, {2, 2});
      y = nn::relu(net.conv2(y));
      y = ts::max_pool(y, {2, 2});
      return ts::mean(nn::softmax_cross_entropy_with_integer_labels(
          net.dense(y.reshape(y.shape(0), -1)), want));
    };
    auto [l, g] = ts::value_and_grad(loss)(m, x, labels);
    return std::pair(ts::tree::map([](Array p, Array d) { return p - 0.1f * d; }, m, g), l);
  };
  const Array images = ts::random::uniform(ts::random::key(2), {16, 16, 16, 1}),
              labels = ts::arange(16) % 10;
  expect_as_planned(ts::jit(step), model, images, labels);
  expect_as_planned(
      ts::jit(step,
              {.mesh = mesh, .in_shardings = {P(), P("data"), P("data")}, .out_shardings = P()}),
      model, images, labels);
}

TEST(Work, NothingCountsWithoutACounterAndEachHasItsOwn) {
  const auto f = ts::jit([](Array x) { return x + 1; });
  const Array x = ts::ones({64});
  f(x);
  const ts::WorkCounter outer;
  f(x);
  {
    const ts::WorkCounter inner;
    f(x);
    EXPECT_EQ(inner.total(), (ts::MeasuredWork{64, 512}));
    EXPECT_EQ(outer.total(), (ts::MeasuredWork{128, 1024}));
  }
  f(x);
  EXPECT_EQ(outer.total(), (ts::MeasuredWork{192, 1536}));
  // Eager operations are programs too; an exponential is ten operations.
  ts::exp(x).block_until_ready();
  EXPECT_EQ(outer.total(), (ts::MeasuredWork{832, 2048}));
}
