// What users do with a platform that a plug-in drives: results are those of the CPU.
#include "message.h"
#include "other_plugin.h"

#include <tessera/tessera.h>

#include <gtest/gtest.h>

#include <atomic>
#include <cstdint>
#include <cstdlib>
#include <limits>
#include <stdexcept>
#include <thread>
#include <vector>

namespace ts = tessera;
using test::message;
using ts::Array;

namespace {

class Loaded : public testing::Test {
 protected:
  static std::vector<ts::Device> load() {
    if (const char* other = std::getenv("TESSERA_TEST_PLUGIN"))  // such as XLA's for CPUs
      return ts::load_platform("theirs", other, test::two_devices());
    return ts::load_platform("mine", TESSERA_PJRT_LIBRARY, {{"device_count", std::int64_t{2}}});
  }
  const std::vector<ts::Device> there = load();
  Array put(const Array& x) const { return ts::device_put(x, there.back()); }
  /// Whether f gives the same bits there and on the CPU.
  template <class F>
  bool agrees(F f, const Array& x) const {
    const Array got = ts::device_get(ts::jit(f)(put(x))), expected = ts::jit(f)(x);
    if (got.dtype() != expected.dtype() || got.shape() != expected.shape()) return false;
    // NaN is NaN here.
    return ts::all((got == expected) | ((got != got) & (expected != expected))).item<bool>();
  }
};

}  // namespace

TEST_F(Loaded, EveryKindOfNumber) {
  const auto f = [](Array x) { return x * 3 + x; };
  EXPECT_TRUE(agrees(f, ts::linspace(-1.0, 1.0, 7, true, ts::f64)));
  EXPECT_TRUE(agrees([](Array x) { return x * 2 + 1; }, ts::ones({3}, ts::f64)));
  EXPECT_TRUE(agrees(f, Array(std::vector<std::int8_t>{-128, 127, 0, 1})));
  EXPECT_TRUE(agrees(f, Array(std::vector<std::uint8_t>{255, 0, 128})));
  EXPECT_TRUE(
      agrees(f, Array(std::vector<std::int64_t>{std::numeric_limits<std::int64_t>::min(),
                                                std::numeric_limits<std::int64_t>::max()})));
  EXPECT_TRUE(agrees(f, Array(std::vector<std::uint64_t>{0, ~std::uint64_t{0}})));
  // No subnormal numbers: plug-ins take them for zeros.
  const float inf = std::numeric_limits<float>::infinity();
  EXPECT_TRUE(agrees(f, Array(std::vector<float>{inf, -inf, inf - inf, -0.f, 1e-37f})));
}

TEST_F(Loaded, EveryExtent) {
  const auto f = [](Array x) { return ts::sum(x, -1) + 1; };
  for (const ts::Shape& shape : {ts::Shape{0}, ts::Shape{1}, ts::Shape{3, 0}, ts::Shape{0, 3},
                                 ts::Shape{1, 1, 1}, ts::Shape{17, 33}})
    EXPECT_TRUE(agrees(f, ts::ones(shape))) << ts::to_string(shape);
}

TEST_F(Loaded, ManyArguments) {
  const auto f = ts::jit([](std::vector<Array> all) {
    Array sum = all[0];
    for (std::size_t i = 1; i < all.size(); ++i) sum = sum + all[i];
    return sum;
  });
  const std::vector<Array> all(2000, put(ts::ones({2})));
  EXPECT_EQ(f(all).to_vector<float>(), (std::vector<float>{2000, 2000}));
}

TEST_F(Loaded, ThreadsReadOneResult) {
  const Array y = ts::jit([](Array x) { return ts::dot(x, x); })(put(ts::ones({200, 200})));
  std::atomic<int> right{0};
  std::vector<std::thread> readers;
  for (int t = 0; t < 4; ++t)
    readers.emplace_back([&] { right += ts::sum(y).item<float>() == 8e6f; });
  for (std::thread& t : readers) t.join();
  EXPECT_EQ(right, 4);
}

TEST_F(Loaded, ADonatedArgumentThatIsReadElsewhereStays) {
  const auto f = ts::jit([](Array x) { return x + 1; }, {.donate = {0}});
  const Array x = put(ts::zeros({1000})), same = x.copy(), view = ts::reshape(x, {10, 100});
  EXPECT_EQ(ts::sum(f(x)).item<float>(), 1000);
  EXPECT_EQ(ts::sum(same).item<float>() + ts::sum(view).item<float>(), 0);
  EXPECT_TRUE(message<ts::TraceError>([&] {
                ts::sum(x);
              }).starts_with("sum: the array f32[1000] was donated"));
}

TEST_F(Loaded, AFunctionThatThrowsMayBeCalledAgain) {
  bool fails = true;
  const auto f = ts::jit([&](Array x) {
    if (fails) throw std::runtime_error("not yet");
    return x * 2;
  });
  const Array x = put(ts::ones({2}));
  EXPECT_THROW(f(x), std::runtime_error);
  fails = false;
  EXPECT_EQ(ts::sum(f(x)).item<float>(), 4);
}

// The factorisation and the check run on the host in the middle of the program.
TEST_F(Loaded, PartsOnTheHost) {
  ts::set_factorisations(ts::Factorisations::on_host);
  const Array a = ts::eye(6) * 4 + ts::ones({6, 6});
  EXPECT_TRUE(agrees(
      [](Array x) {
        const auto [q, r] = ts::linalg::qr(x * 2);
        ts::debug::check(r);
        return ts::abs(r) + 1;
      },
      a));
  const auto gradient = ts::grad([](Array x) { return ts::linalg::slogdet(x).logabsdet; });
  EXPECT_TRUE(ts::allclose(ts::device_get(ts::jit(gradient)(put(a))), gradient(a), 1e-5, 1e-6)
                  .item<bool>());
  ts::set_factorisations(ts::Factorisations::on_platform);
}

// Parts that run on the host read arrays that are divided over the platform's devices.
TEST_F(Loaded, HostPartsOfDividedArrays) {
  const ts::Mesh mesh({{"x", 2}}, there);
  const Array x = ts::arange(16.0f).reshape(4, 4),
              divided = ts::device_put(x, ts::Sharding(mesh, ts::P("x")));
  const auto same = [&](const Array& got, const Array& expected) {
    return ts::all(ts::device_get(got) == expected).item<bool>();
  };
  const auto checked = [](Array a) {
    a = a * 3;
    ts::debug::check(a);
    return a * 2;
  };
  EXPECT_TRUE(same(ts::jit(checked)(divided), x * 6));
  EXPECT_TRUE(
      same(ts::shard_map(
               checked, {.mesh = mesh, .in_specs = {ts::P("x")}, .out_specs = ts::P("x")})(divided),
           x * 6));
  EXPECT_TRUE(same(ts::linalg::eigvals(divided), ts::linalg::eigvals(x)));
  EXPECT_TRUE(same(divided, x));
}
