// The cells of examples/10_pjit_and_sharding agree with JAX (pjit_and_sharding.py).
#include "10_pjit_and_sharding/cells.h"

#include "examples/golden.h"

#include <gtest/gtest.h>

#include <cmath>

namespace ts = tessera;
using ts::Array;
using namespace pjit_and_sharding;

namespace {

/// Sums of n products of standard normal numbers, added in another order, have n rounding errors of
/// up to half a unit in the last place of numbers near sqrt(n).
double rounding(int n) { return n * std::sqrt(double(n)) * 0x1p-24; }

/// Up to four entries along each axis, which the script keeps.
Array some(const Array& x) {
  Array y = x;
  for (int axis = 0; axis < x.ndim(); ++axis) {
    const std::int64_t n = x.shape(axis), step = (n + 3) / 4;
    y = ts::take(y, ts::arange(0, n, step), axis);
  }
  return y;
}

class PjitAndSharding : public testing::Test {
 protected:
  void SetUp() override { use(8); }
  void use(int devices) {
    ts::set_device_count(devices);
    meshes = make_meshes();
  }
  ts::Sharding on_line(const ts::PartitionSpec& spec) const { return {meshes.line, spec}; }
  static Array normal(int key, const ts::Shape& shape) {
    return ts::random::normal(ts::random::key(key), shape);
  }

  const example_test::Golden golden{"pjit_and_sharding"};
  Meshes meshes;
};

TEST_F(PjitAndSharding, Meshes) {
  EXPECT_EQ(meshes.line.size(), 8);
  EXPECT_EQ(meshes.grid, Mesh({{"data", 2}, {"model", 2}}));
  EXPECT_EQ(meshes.grid.devices(), (std::vector<ts::Device>{{0}, {1}, {2}, {3}}));
  use(2);
  EXPECT_EQ(meshes.grid, Mesh({{"data", 2}, {"model", 1}}));
  golden.near(some(product_on_grid(meshes.grid).result), "grid", rounding(256));
}

TEST_F(PjitAndSharding, SimpleProduct) {
  Product p = simple_product(meshes.line);
  golden.near(some(p.result), "simple", rounding(64));
  EXPECT_TRUE(bool(ts::allclose(p.result, ts::dot(p.a, p.b), 0, rounding(64))));
  EXPECT_EQ(p.result.sharding(), on_line(P("x")));
  EXPECT_EQ(p.moves, "nothing");
}

TEST_F(PjitAndSharding, Strategies) {
  const std::vector<Strategy> ways = strategies();
  const std::vector<Product> products = matrix_multiply_variants(meshes.line);
  ASSERT_EQ(products.size(), 3u);
  for (std::size_t i = 0; i < 3; ++i) {
    const Product& p = products[i];
    golden.near(some(p.result), ways[i].name, rounding(64));
    EXPECT_TRUE(bool(ts::allclose(p.result, ts::dot(p.a, p.b), 0, rounding(64))));
    EXPECT_EQ(p.result.sharding(), on_line(ways[i].result)) << ways[i].name;
    EXPECT_EQ(p.moves, "nothing") << ways[i].name;
  }
}

TEST_F(PjitAndSharding, ProductOnTheGrid) {
  Product p = product_on_grid(meshes.grid);
  golden.near(some(p.result), "grid", rounding(256));
  EXPECT_TRUE(bool(ts::allclose(p.result, ts::dot(p.a, p.b), 0, rounding(256))));
  EXPECT_EQ(p.result.sharding(), ts::Sharding(meshes.grid, P("data", none)));
  // Each device has partial sums of 128 x 128 elements.
  EXPECT_EQ(p.moves, "psum over 'model': 65536 bytes");
}

TEST_F(PjitAndSharding, Timings) {
  std::vector<Timing> timings = benchmark_sharding_strategies(meshes.line, 2);
  ASSERT_EQ(timings.size(), 3u);
  for (const Timing& t : timings) EXPECT_GT(t.seconds, 0) << t.strategy;
}

TEST_F(PjitAndSharding, LinearLayer) {
  Linear params = init_linear(ts::random::key(10), 256, 512);
  // Normal numbers of magnitude up to 3.4, computed by another inverse error function.
  golden.near(some(params.w), "linear_w", 0x1p-22);
  Array x = normal(11, {32, 256});
  auto forward = parallel_linear(meshes.line);
  Array output = forward(params, x);
  golden.near(some(output), "linear", 0.1 * rounding(256));
  EXPECT_TRUE(bool(ts::allclose(output, linear_forward(params, x), 0, 0.1 * rounding(256))));
  EXPECT_EQ(output.sharding(), on_line(P(none, "x")));
  EXPECT_EQ(moves(forward.lower(params, x)), "nothing");
}

TEST_F(PjitAndSharding, Mlp) {
  Mlp params = init_mlp(ts::random::key(20), {784, 512, 256, 10});
  Array x = normal(21, {16, 784});
  {
    auto forward = parallel_mlp(meshes.line, params);
    Array output = forward(params, x);
    golden.near(output, "mlp", 1e-4);
    EXPECT_EQ(output.sharding(), on_line(P("x")));
    // The 16 x 256 sums of the second layer; the first and the last layer need no collective.
    EXPECT_EQ(moves(forward.lower(params, x)), "psum_scatter over 'x': 16384 bytes");
  }
  const std::string refusal = refusal_of_mlp_by_columns(meshes.line, params, x);
  EXPECT_NE(refusal.find("args[0]/2/w: an array of shape (256, 10)"), std::string::npos) << refusal;
  use(2);
  EXPECT_EQ(refusal_of_mlp_by_columns(meshes.line, params, x), "nothing: it divides");
}

TEST_F(PjitAndSharding, Training) {
  auto step = sharded_training_step(meshes.line);
  Linear params{normal(40, {256, 64}), ts::zeros({64})};
  Array x = normal(41, {32, 256}), y = normal(42, {32, 64});
  std::vector<float> losses;
  for (int i = 0; i < 5; ++i) {
    auto [next, loss] = step(params, x, y, 0.01f);
    params = next;
    losses.push_back(loss.item<float>());
    EXPECT_EQ(params.w.sharding(), on_line(P("x", none)));
    EXPECT_TRUE(params.b.sharding().is_fully_replicated());
  }
  EXPECT_EQ(step.trace_count(), 1u);  // for the first sharding and for that of the results
  // There are 32 x 64 predictions; each device has the gradient of its weights.
  EXPECT_EQ(moves(step.lower(params, x, y, 0.01f)), "psum over 'x': 8192 bytes");
  golden.near(Array(losses), "losses", 1e-6 * 268);
  golden.near(some(params.w), "trained_w", 1e-6);
  golden.near(params.b, "trained_b", 1e-7);
}

TEST_F(PjitAndSharding, Resharding) {
  Resharding r = demonstrate_resharding(meshes.line);
  golden.near(r.row_sums, "row_sums", rounding(64));
  for (const Array& sums : {r.column_sums, r.constrained_sums, r.added_sums})
    golden.near(sums, "column_sums", rounding(64));
  EXPECT_EQ(r.x.sharding(), on_line(P("x")));
  for (const Array& sums : {r.row_sums, r.column_sums, r.constrained_sums, r.added_sums})
    EXPECT_EQ(sums.sharding(), on_line(P("x")));
  for (const Array& x : {r.by_columns, r.put_by_columns}) {
    EXPECT_EQ(x.sharding(), on_line(P(none, "x")));
    EXPECT_TRUE(bool(ts::array_equal(x, r.x)));
  }
  EXPECT_EQ(r.row_moves, "nothing");
  // There are 8 rows of 64 numbers per device: either all of them move, or their sums.
  EXPECT_EQ(r.constrained_moves, "all_to_all over 'x': 2048 bytes");
  EXPECT_EQ(r.identity_moves, "all_to_all over 'x': 2048 bytes");
  EXPECT_EQ(r.added_moves, "psum_scatter over 'x': 256 bytes");
}

TEST_F(PjitAndSharding, LargeLayer) {
  auto layer = efficient_layer(meshes.line);
  Array w = normal(70, {1024, 2048}), x = normal(71, {64, 1024});
  Array output = layer(w, x);
  golden.near(some(output), "large", rounding(1024));
  EXPECT_TRUE(bool(ts::allclose(output, ts::dot(x, w), 0, rounding(1024))));
  EXPECT_EQ(output.sharding(), on_line(P(none, "x")));
  EXPECT_EQ(moves(layer.lower(w, x)), "psum_scatter over 'x': 524288 bytes");
  Array grads = ts::grad([&](Array w, Array x) { return ts::sum(layer(w, x)); })(w, x);
  golden.near(some(grads), "large_grads", rounding(64));
  // Each row is a sum over the 64 examples, the same for all outputs.
  EXPECT_TRUE(bool(ts::array_equal(grads(ts::all, 0), grads(ts::all, 2047))));
  Memory m = memory_of_gradient(meshes.line);
  EXPECT_LT(m.checkpointed, m.kept);
}

TEST_F(PjitAndSharding, Adaptive) {
  AdaptiveSum sum(meshes.line);
  Array small = normal(80, {100}), large = normal(81, {10000}), odd = normal(82, {1001});
  EXPECT_FALSE(sum.cuts(small));
  EXPECT_TRUE(sum.cuts(large));
  EXPECT_FALSE(sum.cuts(odd));
  golden.near(sum(small), "adaptive_small", 1e-4);
  golden.near(sum(large), "adaptive_large", 1e-2);
  EXPECT_TRUE(bool(ts::allclose(sum(odd), ts::sum(ts::square(odd)))));
  const std::string refusal = refusal_of_a_small_array(meshes.line);
  EXPECT_NE(refusal.find("args[0]: an array of shape (100,)"), std::string::npos) << refusal;
}

TEST_F(PjitAndSharding, StagesAndPipeline) {
  golden.near(pipeline_stages(meshes.line, normal(90, {128, 64})), "stages", 1e-6);
  Pipeline p = pipeline(meshes.line, normal(91, {8, 32, 32}) / 4, normal(92, {16, 8, 32}));
  EXPECT_EQ(p.rounds, 23);
  golden.near(some(p.result), "pipeline", 1e-5);
}

// Only sums over devices depend on their number, because they are added in another order.
TEST_F(PjitAndSharding, AnyNumberOfDevices) {
  Linear params{normal(40, {256, 64}), ts::zeros({64})};
  Array x = normal(41, {32, 256}), y = normal(42, {32, 64});
  Mlp mlp = init_mlp(ts::random::key(20), {784, 512, 256, 10});
  Array images = normal(21, {16, 784});
  for (int devices : {1, 2, 4, 16}) {
    use(devices);
    Array loss = sharded_training_step(meshes.line)(params, x, y, 0.01f).second;
    EXPECT_NEAR(loss.item<double>(), golden["losses"][0].item<double>(), 1e-6 * 268) << devices;
    golden.near(parallel_mlp(meshes.line, mlp)(mlp, images), "mlp", 1e-4);
    for (const Product& p : matrix_multiply_variants(meshes.line))
      golden.near(some(p.result), "replicated", rounding(64));
    golden.near(some(product_on_grid(meshes.grid).result), "grid", rounding(256));
  }
}

}  // namespace
