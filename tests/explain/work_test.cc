// The work that plans predict for a device is the work that the runtime counts, exactly.
#include <tessera/tessera.h>

#include <gtest/gtest.h>

#include <cmath>
#include <cstdlib>
#include <map>
#include <memory>
#include <string>

namespace ts = tessera;
namespace nn = tessera::nn;
using ts::Array;
using ts::none;
using ts::P;

namespace {

// Kernels depend on the memory that devices share, and plans are for devices that share nothing.
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

// The bytes by axis, as in plans.
std::map<std::string, double> moved_along(const ts::Plan& plan) {
  std::map<std::string, double> all;
  for (const ts::PlannedAxis& axis : plan.axes)
    if (axis.moved_bytes > 0) all[axis.name] = static_cast<double>(axis.moved_bytes);
  return all;
}
std::map<std::string, double> whole_numbers(std::map<std::string, double> all) {
  for (auto& [axis, bytes] : all) bytes = static_cast<double>(std::llround(bytes));
  return all;
}

template <class F, class... A>
void expect_as_planned(const F& f, const A&... args) {
  const ts::Plan plan = f.explain(args...);
  const ts::MeasuredWork work = measured(f, args...);
  EXPECT_GT(plan.flops, 0);
  EXPECT_EQ(work.flops, plan.flops);
  EXPECT_EQ(work.moved_bytes, static_cast<double>(plan.moved_bytes));
  EXPECT_EQ(whole_numbers(work.moved_along), moved_along(plan));
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
  // The shards are [4,16] x [16,16], a maximum of [4,16], and [4,16] x [16,16].
  const ts::MeasuredWork work =
      measured(f, ts::ones({8, 16}), ts::ones({16, 32}), ts::ones({32, 16}));
  EXPECT_EQ(work.flops, 2 * 4 * 16 * 16 + 4 * 16 + 2 * 4 * 16 * 16);
  EXPECT_EQ(work.memory_traffic, 2 * (256 + 1024 + 256) + 2 * 256);
  EXPECT_EQ(work.moved_bytes, 2 * 256 * 1 / 2);  // a sum of [4,16] over 2
}

// A kernel reads each operand once, however often it uses it, and keeps intermediate values in
// registers. From a table it reads only the rows that it takes.
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
  // An iteration also increments and compares the counter, and so does the end of the loop.
  const double three_turns = measured(turns, three, h).flops,
               five_turns = measured(turns, five, h).flops;
  EXPECT_EQ(five_turns - three_turns, 2 * (each + 2));
  const auto branch = ts::jit([&](Array b, Array x) { return ts::cond(b, product, nothing, x); });
  EXPECT_EQ(
      measured(branch, ts::array(true), h).flops - measured(branch, ts::array(false), h).flops,
      each);
  // If devices take different branches, the count is the mean over the devices.
  const auto ways =
      ts::pmap([&](Array x) { return ts::cond(ts::axis_index("i") == 0, product, nothing, x); },
               {.axis_name = "i"});
  const auto same =
      ts::pmap([&](Array x) { return ts::cond(ts::axis_index("i") < 0, product, nothing, x); },
               {.axis_name = "i"});
  const Array all = ts::ones({4, 16, 16});
  EXPECT_EQ(measured(ways, all).flops - measured(same, all).flops, each / 4);
}

// The operands are blocks of 32 B on four devices.
TEST(Work, BytesReceivedByHand) {
  const Array x = ts::ones({4, 8});
  const auto moved = [&](auto body) {
    const auto f = ts::pmap(body, {.axis_name = "i"});
    const double counted = measured(f, x).moved_bytes;
    EXPECT_EQ(counted, static_cast<double>(f.explain(x).moved_bytes));
    return counted;
  };
  EXPECT_EQ(moved([](Array b) { return b + 1; }), 0);
  EXPECT_EQ(moved([](Array b) { return ts::psum(b, "i"); }), 2 * 32 * 3 / 4);
  EXPECT_EQ(moved([](Array b) { return ts::pmax(b * b, "i"); }), 2 * 32 * 3 / 4);
  EXPECT_EQ(moved([](Array b) { return ts::psum_scatter(b, "i", {.tiled = true}); }), 24);
  EXPECT_EQ(moved([](Array b) { return ts::all_to_all(b, "i", 0, 0, {.tiled = true}); }), 24);
  // Devices that share memory read each other's blocks of an argument or of a temporary in place.
  EXPECT_EQ(moved([](Array b) { return ts::all_gather(b, "i"); }), 96);
  EXPECT_EQ(moved([](Array b) { return ts::sum(ts::all_gather(b * b, "i"), 0); }), 96);
  EXPECT_EQ(moved([](Array b) { return ts::pbroadcast(b, "i", 1); }), 32);
  EXPECT_EQ(moved([](Array b) { return ts::pbroadcast(b * b, "i", 1); }), 32);
  EXPECT_EQ(moved([](Array b) {
              return ts::ppermute(b, "i", {{0, 1}, {1, 2}, {2, 3}, {3, 0}}) * 2;
            }),
            32);
  // A device that receives nothing gets zeros.
  EXPECT_EQ(moved([](Array b) { return ts::ppermute(b, "i", {{0, 1}}); }), 32);
  EXPECT_EQ(moved([](Array b) { return ts::ppermute(b * b, "i", {{3, 1}, {0, 2}}); }), 32);
  // A value that is equal on all devices is summed once, and each device receives the blocks of the
  // others.
  EXPECT_EQ(moved([](Array b) { return b + ts::psum(ts::ones({8}), "i"); }), 48);
  // 2 x 3 x 3/4, rounded up.
  EXPECT_EQ(moved([](Array b) { return ts::pmax(b(ts::Range{0, 3, 1}).astype(ts::i8), "i"); }), 5);
}

TEST(Work, BytesReceivedInGroups) {
  const Array x = ts::ones({4, 8});
  const auto moved = [&](auto body) {
    const auto f = ts::pmap(body, {.axis_name = "i"});
    const ts::Plan plan = f.explain(x);
    const double counted = measured(f, x).moved_bytes;
    EXPECT_EQ(counted, static_cast<double>(plan.moved_bytes));
    EXPECT_EQ(counted, static_cast<double>(plan.axes.at(0).moved_bytes));
    EXPECT_EQ(whole_numbers(measured(f, x).moved_along), moved_along(plan));
    return counted;
  };
  const ts::AxisGroups pairs{{0, 2}, {3, 1}};
  EXPECT_EQ(moved([&](Array b) { return ts::psum(b, "i", pairs); }), 2 * 32 / 2);
  EXPECT_EQ(moved([&](Array b) { return ts::all_gather(b, "i", {.groups = pairs}); }), 32);
  EXPECT_EQ(
      moved([&](Array b) { return ts::psum_scatter(b, "i", {.tiled = true, .groups = pairs}); }),
      16);
  EXPECT_EQ(moved([&](Array b) {
              return ts::all_to_all(b, "i", 0, 0, {.tiled = true, .groups = pairs});
            }),
            16);
  EXPECT_EQ(moved([&](Array b) { return ts::psum(b, "i", {{0}, {1, 2, 3}}); }), 43);
  EXPECT_EQ(moved([&](Array b) { return ts::psum(b, "i", {{0}, {1}, {2}, {3}}); }), 0);
}

// The operands are blocks of 32 B on 2 x 4 devices. Each axis has its share of a collective over
// both.
TEST(Work, BytesReceivedAlongAxesByHand) {
  ts::set_device_count(8);
  const ts::Mesh mesh({{"data", 2}, {"model", 4}});
  using Along = std::map<std::string, double>;
  const auto along = [&](auto body) {
    const auto f = ts::shard_map(
        body, {.mesh = mesh, .in_specs = P({"data", "model"}), .out_specs = P({"data", "model"})});
    const Array x = ts::ones({8, 8});
    const ts::MeasuredWork work = measured(f, x);
    EXPECT_EQ(whole_numbers(work.moved_along), moved_along(f.explain(x)));
    return work.moved_along;
  };
  EXPECT_EQ(along([](Array b) { return b * 2; }), (Along{}));
  EXPECT_EQ(along([](Array b) { return b + ts::psum(b, "model"); }),
            (Along{{"model", 2 * 32 * 3 / 4}}));
  EXPECT_EQ(along([](Array b) { return b + ts::psum(b, "data") * ts::pmax(b, "model"); }),
            (Along{{"data", 2 * 32 / 2}, {"model", 2 * 32 * 3 / 4}}));
  // The result has 256 B: half of it arrives along "data", and three quarters of the other half
  // along "model".
  EXPECT_EQ(along([](Array b) {
              return b + ts::sum(ts::all_gather(b, {"data", "model"}), 0);
            }),
            (Along{{"data", 128}, {"model", 96}}));
  // The bytes of every iteration of a loop.
  EXPECT_EQ(along([](Array b) {
              return ts::fori_loop(
                  0, 3,
                  [](Array, Array c) {
                    return ts::ppermute(c, "data", {{0, 1}, {1, 0}});
                  },
                  b);
            }),
            (Along{{"data", 3 * 32}}));
}

// A sum that is computed as one product over all rows counts as the sum.
TEST(Work, BytesReceivedAlongTheAxisOfASumThatIsAProduct) {
  const ts::Mesh mesh({{"data", 4}});
  const auto f = ts::shard_map([](Array x) { return ts::psum(ts::dot(x.transpose(), x), "data"); },
                               {.mesh = mesh, .in_specs = P("data"), .out_specs = P()});
  EXPECT_EQ(measured(f, ts::ones({8, 16})).moved_along,
            (std::map<std::string, double>{{"data", 2 * 1024 * 3 / 4}}));
}

TEST(Work, BytesReceivedInLoopsAndBranches) {
  constexpr double mean = 2 * 32 * 3 / 4;
  const Array x = ts::ones({4, 8});
  const auto turn = [](Array c) { return ts::pmean(c, "i"); };
  const auto scan = ts::pmap(
      [&](Array b) {
        return ts::scan([&](Array c, Array) { return std::pair(turn(c), Array()); }, b,
                        ts::zeros({5}))
            .first;
      },
      {.axis_name = "i"});
  EXPECT_EQ(measured(scan, x).moved_bytes, 5 * mean);
  EXPECT_EQ(static_cast<double>(scan.explain(x).moved_bytes), 5 * mean);
  const auto turns = ts::pmap(
      [&](Array b, Array n) {
        return ts::fori_loop(
            0, n, [&](Array, Array c) { return turn(c); }, b);
      },
      {.axis_name = "i", .in_axes = {0, ts::replicated}});
  for (const int n : {0, 1, 4}) EXPECT_EQ(measured(turns, x, ts::array(n)).moved_bytes, n * mean);
  // One branch gathers, the other only adds.
  const auto branch = ts::pmap(
      [&](Array b, Array which) {
        return ts::cond(
            which, [](Array c) { return ts::sum(ts::all_gather(c, "i"), 0); },
            [](Array c) { return c + 1; }, b);
      },
      {.axis_name = "i", .in_axes = {0, ts::replicated}});
  EXPECT_EQ(measured(branch, x, ts::array(true)).moved_bytes, 96);
  EXPECT_EQ(measured(branch, x, ts::array(false)).moved_bytes, 0);
}

// Rows of devices run one iteration and three. In each, the devices of a row add up 32 B: two
// iterations on average.
TEST(Work, BytesReceivedByRowsThatGoWaysOfTheirOwn) {
  const ts::Mesh mesh({{"x", 2}, {"y", 2}});
  const auto f = ts::shard_map(
      [](Array b) {
        return ts::fori_loop(
            0, 2 * ts::axis_index("x") + 1, [](Array, Array c) { return ts::pmean(c, "y"); }, b);
      },
      {.mesh = mesh, .in_specs = P("x", "y"), .out_specs = P("x", "y")});
  EXPECT_EQ(measured(f, ts::ones({4, 8})).moved_bytes, (1 + 3) / 2 * 32);
}

TEST(Work, BytesReceivedInsideOfEachOther) {
  ts::set_device_count(8);
  const ts::Mesh mesh({{"data", 2}, {"model", 4}});
  // Blocks of [2,2] are summed along "model", then along "data".
  const auto outer = ts::shard_map(
      [](Array block) {
        const auto inner = ts::shard_map(
            [](Array b) { return ts::psum(b, "model"); },
            {.in_specs = P(none, "model"), .out_specs = P(), .axis_names = {"model"}});
        return ts::psum(inner(block * block), "data");
      },
      {.mesh = mesh, .in_specs = P("data"), .out_specs = P(), .axis_names = {"data"}});
  const Array x = ts::ones({4, 8});
  EXPECT_EQ(measured(outer, x).moved_bytes, 2 * 16 * 3 / 4 + 2 * 16 / 2);
  EXPECT_EQ(outer.explain(x).moved_bytes, 40);
  // The inner function also sums over the outer axis.
  const auto both = ts::shard_map(
      [](Array block) {
        return ts::shard_map(
            [](Array b) {
              return ts::psum(b * b, {"data", "model"});
            },
            {.in_specs = P(none, "model"), .out_specs = P(), .axis_names = {"model"}})(block);
      },
      {.mesh = mesh, .in_specs = P("data"), .out_specs = P(), .axis_names = {"data"}});
  EXPECT_EQ(measured(both, x).moved_bytes, 2 * 16 * 7 / 8);
  EXPECT_EQ(both.explain(x).moved_bytes, 28);
}

// A gradient is one product over the rows of all devices here, instead of one product each and
// their sum.
TEST(Work, BytesReceivedOfASumThatIsAProduct) {
  const ts::Mesh mesh({{"data", 4}});
  const auto f = ts::shard_map([](Array x) { return ts::psum(ts::dot(x.transpose(), x), "data"); },
                               {.mesh = mesh, .in_specs = P("data"), .out_specs = P()});
  const ts::MeasuredWork work = measured(f, ts::ones({8, 16}));
  EXPECT_EQ(work.flops, 2 * 16 * 16 * 2);
  EXPECT_EQ(work.moved_bytes, 2 * 1024 * 3 / 4);
}

TEST(Work, WhatDevicesShareCountsForEach) {
  const ts::Mesh mesh({{"i", 3}});
  // Replicated parameters are multiplied once for all devices.
  const auto f = ts::shard_map([](Array x, Array w) { return x + ts::psum(ts::dot(w, w), "i"); },
                               {.mesh = mesh, .in_specs = {P("i"), P()}, .out_specs = P("i")});
  const ts::MeasuredWork work = measured(f, ts::ones({3, 16}), ts::ones({16, 16}));
  EXPECT_EQ(work.flops, f.explain(ts::ones({3, 16}), ts::ones({16, 16})).flops);
}

// The rows of the batch are sharded over all devices, and gradients are products over the rows of
// all of them.
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

TEST(Work, SeveralProgramsAndCountersThatOverlap) {
  const auto sum = ts::pmap([](Array b) { return ts::psum(b, "i"); }, {.axis_name = "i"});
  const auto gather = ts::pmap([](Array b) { return ts::all_gather(b, "i"); }, {.axis_name = "i"});
  const Array two = ts::ones({2, 8}), four = ts::ones({4, 8});
  sum(four);
  auto first = std::make_unique<ts::WorkCounter>();
  sum(two);
  gather(four);
  EXPECT_EQ(first->total().moved_bytes, 32 + 96);
  const auto second = std::make_unique<ts::WorkCounter>();
  sum(four);
  EXPECT_EQ(first->total().moved_bytes, 32 + 96 + 48);
  first.reset();
  gather(two);
  // The counter keeps what it has counted when another counter ends.
  EXPECT_EQ(second->total().moved_bytes, 48 + 32);
  EXPECT_EQ(second->total(), second->total());
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
  // Eager operations are programs too; an exponential counts as ten operations.
  ts::exp(x).block_until_ready();
  EXPECT_EQ(outer.total(), (ts::MeasuredWork{832, 2048}));
}
