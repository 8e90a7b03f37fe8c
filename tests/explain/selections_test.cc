// The bytes that a device receives if a few elements of a long sharded row are selected.
#include <tessera/tessera.h>

#include <gtest/gtest.h>

#include <functional>
#include <string>
#include <vector>

namespace ts = tessera;
using ts::Array;
using ts::P;

namespace {

// The bytes received by a function of 8192 numbers that are sharded over 16 devices.
template <class F>
std::int64_t received(F f) {
  ts::PlanOptions options;
  options.alternatives = 0;
  options.memory = false;
  return ts::jit(f, {.mesh = ts::Mesh::abstract({{"x", 16}}),
                     .in_shardings = P("x"),
                     .out_shardings = P()})
      .lower(ts::abstract(ts::f32, {8192}))
      .plan(options)
      .moved_bytes;
}

constexpr std::int64_t kOffers = 15 * 5 * 4;  // five elements from each of the other devices

const ts::LoadedFunction& loaded(const char* text) {
  return *new ts::LoadedFunction(ts::load_stablehlo_text(text));
}

}  // namespace

// The whole array would be 30720 B.
TEST(Selections, SendWhatTheyChooseFrom) {
  EXPECT_EQ(received([](Array x) { return ts::top_k(x, 5).values; }), kOffers);
  EXPECT_EQ(received([](Array x) { return ts::top_k(x, 5).indices; }), 2 * kOffers);
  EXPECT_EQ(received([](Array x) { return ts::approx_max_k(x, 5).values; }), kOffers);
  EXPECT_EQ(received([](Array x) { return ts::sort(x)[ts::range(0, 5)]; }), kOffers);
  EXPECT_EQ(received([](Array x) { return ts::sort(x)[ts::range(8187, 8192)]; }), kOffers);
  EXPECT_EQ(received([](Array x) { return ts::argsort(x)[ts::range(0, 5)]; }), 2 * kOffers);
  EXPECT_EQ(received([](Array x) { return ts::argsort(x)[ts::range(8187, 8192)]; }), 2 * kOffers);
  EXPECT_EQ(received([](Array x) { return ts::partition(x, 5)[ts::range(0, 5)]; }), kOffers);
  EXPECT_EQ(received([](Array x) { return ts::argpartition(x, 5)[ts::range(0, 5)]; }), 2 * kOffers);
}

// The selections in the forms that modules have: a sort by a comparator and slices of it, and a
// composite with the number of selected elements.
TEST(Selections, OfLoadedModules) {
  const char* const comparator = R"(({
  ^bb0(%p: tensor<f32>, %q: tensor<f32>, %k: tensor<i32>, %l: tensor<i32>):
    %c = stablehlo.compare GT, %p, %q, TOTALORDER : (tensor<f32>, tensor<f32>) -> tensor<i1>
    stablehlo.return %c : tensor<i1>
  }))";
  const std::string sorts =
      R"(
  %i = stablehlo.iota dim = 0 : tensor<8192xi32>
  %s:2 = "stablehlo.sort"(%a, %i) <{dimension = 0 : i64, is_stable = true}> )" +
      std::string(comparator) +
      R"( : (tensor<8192xf32>, tensor<8192xi32>) -> (tensor<8192xf32>, tensor<8192xi32>)
  %v = stablehlo.slice %s#0 [0:5] : (tensor<8192xf32>) -> tensor<5xf32>
  %w = stablehlo.slice %s#1 [0:5] : (tensor<8192xi32>) -> tensor<5xi32>
  return %v, %w : tensor<5xf32>, tensor<5xi32> })";
  const std::string chosen = " (%a: tensor<8192xf32>) -> (tensor<5xf32>, tensor<5xi32>) {";
  const std::string plain = "module { func.func @main" + chosen + sorts + "}";
  const std::string composite = "module { func.func @main" + chosen + R"(
  %0:2 = stablehlo.composite "chlo.top_k" %a {composite_attributes = {k = 5 : i64}, decomposition = @top_k, version = 1 : i32} : (tensor<8192xf32>) -> (tensor<5xf32>, tensor<5xi32>)
  return %0#0, %0#1 : tensor<5xf32>, tensor<5xi32> }
  func.func private @top_k)" + chosen +
                                sorts + "}";
  for (const std::string& text : {plain, composite}) {
    const ts::LoadedFunction& f = loaded(text.c_str());
    // The composite becomes our op, which looks its values up (38 B). Of the sort, shards offer the
    // keys as well.
    EXPECT_LE(received([&](Array x) { return f(x); }), (text == plain ? 4 : 3) * kOffers) << text;
    ts::set_device_count(2);
    const Array x = ts::random::normal(ts::random::key(1), {8192});
    const std::vector<Array> want = f(x);
    const std::vector<Array> got =
        ts::jit([&](Array y) { return f(y); },
                {.mesh = ts::Mesh({{"x", 2}}), .in_shardings = P("x"), .out_shardings = P()})(x);
    EXPECT_EQ(got[0].to_vector<float>(), want[0].to_vector<float>());
    EXPECT_EQ(got[1].to_vector<std::int32_t>(), want[1].to_vector<std::int32_t>());
    const ts::TopK best = ts::top_k(x, 5);
    EXPECT_EQ(want[0].to_vector<float>(), best.values.to_vector<float>());
    EXPECT_EQ(want[1].to_vector<std::int32_t>(), best.indices.to_vector<std::int32_t>());
  }
}
