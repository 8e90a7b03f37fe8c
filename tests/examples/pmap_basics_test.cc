// The cells of examples/00_pmap_basics agree with JAX (pmap_basics.py).
#include "00_pmap_basics/cells.h"

#include "examples/golden.h"

#include <gtest/gtest.h>

namespace ts = tessera;
using ts::Array;
using namespace pmap_basics;

namespace {

class PmapBasics : public testing::Test {
 protected:
  void SetUp() override { ts::set_device_count(4); }
  // Both libraries round every operation to float32 and add in different orders. An absolute
  // tolerance is 2^-24 times the sum of the magnitudes of the terms, times the depth of the sum's
  // tree.
  const example_test::Golden golden{"pmap_basics"};
  const Params params = init_mlp_params(ts::random::key(0), {784, 256, 128, 10});
};

TEST_F(PmapBasics, Addition) {
  Addition add = add_on_each_device();
  EXPECT_EQ(add.result.dtype(), ts::f32);  // int32 + float32
  EXPECT_TRUE(ts::tree::equal(add.result, ts::arange(1.0, 17.0).reshape(4, 4)));
  EXPECT_EQ(add.result.sharding().devices(), ts::devices());
}

TEST_F(PmapBasics, MatrixProducts) {
  Products p = matrix_products();
  EXPECT_EQ(p.parallel.shape(), (ts::Shape{4, 64, 16}));
  // The same kernels run on four devices and on one, and give the same bits.
  EXPECT_TRUE(bool(ts::array_equal(p.parallel, p.sequential)));
  golden.near(p.parallel(ts::all, ts::range({}, {}, 16), ts::range({}, {}, 4)), "matmul", 1e-5);
}

TEST_F(PmapBasics, ForwardPass) {
  Forward f = forward_pass(params);
  golden.near(f.outputs, "forward", 1e-5);
  EXPECT_TRUE(bool(ts::allclose(f.outputs, mlp_forward(params, f.inputs), 1e-5, 1e-5)));
}

TEST_F(PmapBasics, Placement) {
  Placement p = place_and_compute();
  golden.near(p.result, "placement", 2e-4);  // 2048 products per row
  auto first = p.replicated_params.shards()[0].data, last = p.replicated_params.shards()[3].data;
  EXPECT_EQ(first.host<float>().data(), last.host<float>().data()) << "replicas are stored once";
  EXPECT_EQ(p.sharded_data.shape(), (ts::Shape{4, 8, 64}));
  EXPECT_EQ(p.sharded_data.host<float>().data(), p.data.host<float>().data()) << "a view";
}

TEST_F(PmapBasics, Reductions) {
  Array data = ts::random::normal(ts::random::key(20), {4, 1000});
  Reductions r = sums_and_means(data);
  golden.near(r.local_sum, "local_sum", 1e-4);
  golden.near(r.global_sum, "global_sum", 1e-4);
  golden.near(r.global_mean, "global_mean", 1e-7);
  EXPECT_TRUE(bool(ts::allclose(r.global_sum[0], ts::sum(data))));
  // The count is a number known while the function is traced.
  std::int64_t count = 0;
  ts::pmap([&](Array x) {
    count = ts::psum(x.size(), "i").item<std::int64_t>();
    return x;
  })(data);
  EXPECT_EQ(count, 4000);
}

TEST_F(PmapBasics, TrainingStep) {
  for (bool synchronised : {true, false}) {
    Training t = train_once(params, synchronised);
    golden.near(t.losses, "losses", 1e-5);
    for (std::size_t i = 0; i < 3; ++i) {
      const std::string name = synchronised ? "synchronised_" : "local_";
      auto eight = ts::until(8), four = ts::until(4);
      golden.near(t.new_params[i].b(ts::all, eight), name + "b" + std::to_string(i), 1e-6);
      golden.near(t.new_params[i].w(ts::all, four, four), name + "w" + std::to_string(i), 1e-6);
    }
    EXPECT_EQ(t.warnings.size(), synchronised ? 0u : 1u);
    Array w = t.new_params[0].w;
    EXPECT_EQ(bool(ts::array_equal(w[0], w[3])), synchronised);
    Params averaged = average_params_across_devices(t.new_params);
    EXPECT_EQ(averaged[0].w.shape(), (ts::Shape{1, 784, 256}));
    if (synchronised) continue;
    golden.near(averaged[1].b, "averaged_b1", 1e-6);
    golden.near(averaged[2].w(ts::all, ts::range({}, {}, 16)), "averaged_w2", 1e-6);
  }
}

// A lambda keeps its default arguments like the functor does; a rate that is passed is traced, not
// a constant.
TEST_F(PmapBasics, DefaultRate) {
  auto rated = [](Array x, Array lr = 0.01) { return x * lr; };
  Array x = ts::array({100.0, 200.0, 300.0, 400.0});
  auto shared = ts::pmap(rated, {.in_axes = {0, replicated}});
  EXPECT_TRUE(ts::tree::equal(shared(x), ts::array({1.0, 2.0, 3.0, 4.0})));
  EXPECT_TRUE(ts::tree::equal(shared(x, 0.5), ts::array({50.0, 100.0, 150.0, 200.0})));
  EXPECT_TRUE(ts::tree::equal(shared(x, 2.0), ts::array({200.0, 400.0, 600.0, 800.0})));
  EXPECT_EQ(shared.trace_count(), 2u);
}

TEST_F(PmapBasics, Timing) {
  for (std::int64_t size : {1000, 10000, 100000}) {
    Array data = ts::random::normal(ts::random::key(40), {4, size});
    Timing t = benchmark_computation(data, 1);
    EXPECT_TRUE(bool(ts::allclose(t.parallel, t.sequential, 1e-5)));
    const double magnitude = 2.0 * double(size);
    golden.near(t.parallel, "energy_" + std::to_string(size), 1e-6 * magnitude);
  }
}

TEST_F(PmapBasics, Patterns) {
  Array ones = ts::ones({4, 10});
  golden.equal(device_specific(ones), "device_specific");
  golden.equal(lead_device_differs(ones), "conditional");
  golden.equal(lead_device_differs(ts::ones({4, 10}, ts::i32)), "conditional");
  Statistics s =
      local_and_global_statistics(ts::random::normal(ts::random::key(50), {4, 1000, 64}));
  golden.near(s.local_mean, "local_mean", 1e-6);
  golden.near(s.global_mean, "global_mean_of_columns", 1e-6);
  golden.near(s.local_std, "local_std", 1e-5);
}

}  // namespace
