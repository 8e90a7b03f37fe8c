// Maps over devices that a plug-in compiles: inside one another, and over several lists of devices.
#include "message.h"

#include <tessera/tessera.h>

#include <gtest/gtest.h>

#include <cstdint>
#include <cstdlib>
#include <string>
#include <utility>
#include <vector>

namespace ts = tessera;
using ts::Array;
using ts::P;
using Doubles = std::vector<double>;

namespace {

std::vector<ts::Device> load() {
  if (const char* other = std::getenv("TESSERA_TEST_PLUGIN"))  // such as XLA's for CPUs
    return ts::load_platform("maps", other, {{"cpu_device_count", std::int64_t{8}}});
  return ts::load_platform("maps", TESSERA_PJRT_LIBRARY, {{"device_count", std::int64_t{8}}});
}

class Maps : public testing::Test {
 protected:
  const std::vector<ts::Device> there = load();
  const ts::DefaultDevice chosen{"maps"};
  const Array x = ts::reshape(ts::arange(1., 9.).astype(ts::f64), {2, 4});
  std::vector<ts::Device> some(std::initializer_list<int> ids) const {
    std::vector<ts::Device> all;
    for (const int i : ids) all.push_back(there[static_cast<std::size_t>(i)]);
    return all;
  }
};

}  // namespace

// The numbers are those of tests/api/nested_pmap_test.cc.
TEST_F(Maps, InsideOneAnother) {
  const auto numbered = [](Array a) {
    return a * ts::psum(a, "j") + 10 * ts::psum(a, "i") + 100 * ts::psum(a, {"i", "j"}) +
           1000 * ts::axis_index("i") + ts::axis_index("j");
  };
  const auto nested = ts::pmap(ts::pmap(numbered, {.axis_name = "j"}), {.axis_name = "i"});
  const Doubles want{3670, 3701, 3732, 3763, 4790, 4837, 4884, 4931};
  EXPECT_EQ(nested(x).to_vector<double>(), want);
  const Array y = ts::jit(nested)(x);
  EXPECT_EQ(y.to_vector<double>(), want);
  EXPECT_EQ(y.sharding().devices(), some({0, 1}));
}

// Three maps, of which the outermost has devices of its own choice.
TEST_F(Maps, ThreeInsideOneAnother) {
  const auto innermost = [](Array a) {
    return a + 100 * ts::psum(a, {"i", "j", "k"}) + ts::psum(a, "k");
  };
  const auto f = ts::pmap(ts::pmap(ts::pmap(innermost, {.axis_name = "k"}), {.axis_name = "j"}),
                          {.axis_name = "i", .devices = some({5, 2})});
  const Array y = f(ts::reshape(x, {2, 2, 2}));
  EXPECT_EQ(y.to_vector<double>(), (Doubles{3604, 3605, 3610, 3611, 3616, 3617, 3622, 3623}));
  EXPECT_EQ(y.sharding().devices(), some({5, 2}));
}

// Maps inside one map have axes of their own names and sizes. The oracle is vmap on the CPU.
namespace {
struct OverDevices {
  template <class F>
  auto operator()(F f, const std::string& axis) const {
    return ts::pmap(std::move(f), {.axis_name = axis});
  }
};
struct AsBatches {
  template <class F>
  auto operator()(F f, const std::string& axis) const {
    return ts::vmap(std::move(f), {.axis_name = axis});
  }
};
template <class F>
void expect_as_batches(F of, const Array& x) {
  const Doubles got = of(OverDevices())(x).template to_vector<double>();
  const ts::DefaultDevice on_cpu("cpu");
  EXPECT_EQ(got, of(AsBatches())(ts::device_get(x)).template to_vector<double>());
}
}  // namespace
TEST_F(Maps, OfOtherNamesAndSizesInsideOne) {
  const auto of = [](auto map) {
    const auto two = map(
        [](Array a) {
          return a + 10 * ts::psum(a, "pair") + 100 * ts::psum(a, {"i", "pair"}) +
                 1000 * ts::axis_index("pair");
        },
        "pair");
    const auto four = map(
        [](Array a) {
          return a * ts::psum(a, "each") + 10 * ts::psum(a, {"i", "each"}) +
                 100 * ts::axis_index("each") + 1000 * ts::axis_index("i");
        },
        "each");
    const auto others = map([](Array a) { return ts::all_gather(a, "other"); }, "other");
    return map(
        [=](Array row) {
          const Array once = two(row.reshape(2, 2)).reshape(4);
          return ts::stack({once, four(once), ts::sum(others(row), 0)});
        },
        "i");
  };
  expect_as_batches(of, x);
}

TEST_F(Maps, OfSizesThatDoNotDivideInsideOne) {
  const auto of = [](auto map) {
    const auto two = map([](Array a) { return a + 10 * ts::psum(a, {"i", "j"}); }, "j");
    const auto three =
        map([](Array a) { return a - ts::psum(a, "k") + 100 * ts::axis_index("k"); }, "k");
    return map([=](Array row) { return three(two(row.reshape(2, 3)).reshape(3, 2)).reshape(6); },
               "i");
  };
  expect_as_batches(of, ts::reshape(ts::arange(1., 7.).astype(ts::f64), {1, 6}));
}

TEST_F(Maps, OfOtherSizesInsideTwo) {
  const auto of = [](auto map) {
    const auto innermost = map(
        [](Array a) {
          return a + 10 * ts::psum(a, {"j", "k"}) + 100 * ts::psum(a, {"i", "k"});
        },
        "k");
    const auto inner = map([=](Array a) { return innermost(a) + ts::psum(ts::sum(a), "j"); }, "j");
    const auto four = map([](Array a) { return ts::psum(a, {"i", "m"}) - a; }, "m");
    return map([=](Array row) { return inner(row.reshape(2, 2)).reshape(4) * four(row); }, "i");
  };
  expect_as_batches(of, x);
}

TEST_F(Maps, ThatNeedTooManyDevices) {
  const auto f = ts::pmap(
      [](Array row) {
        const auto two = ts::pmap([](Array a) { return a + ts::psum(a, "j"); }, {.axis_name = "j"});
        const auto three =
            ts::pmap([](Array a) { return a * ts::psum(a, "k"); }, {.axis_name = "k"});
        return three(two(row.reshape(2, 3)).reshape(3, 2));
      },
      {.axis_name = "i", .name = "f"});
  EXPECT_EQ(test::message<ts::DeviceError>([&] {
              f(ts::ones({2, 6}));
            }),
            "f: maps inside a map over 2 devices need 6 for each of these, 12 together, and the "
            "platform has 8\n"
            "  rule: a plug-in compiles the maps of a program over one mesh; maps inside it share "
            "devices if the number of one divides that of the other, and need the product "
            "otherwise\n"
            "  try: use vmap inside");
}

TEST_F(Maps, OverSeveralListsOfDevicesInOneFunction) {
  const auto f = ts::jit([&](Array a) {
    const Array two = ts::pmap([](Array r) { return r + ts::psum(r, "i"); },
                               {.axis_name = "i", .devices = some({0, 1})})(a);
    const Array four =
        ts::pmap([](Array r) { return r * ts::psum(r, "i"); },
                 {.axis_name = "i", .devices = some({2, 3, 6, 7})})(two.reshape({4, 2}));
    return ts::sum(two) + four;
  });
  const Array two = x + ts::sum(x, 0), rows = two.reshape({4, 2}),
              want = ts::sum(two) + rows * ts::sum(rows, 0);
  EXPECT_EQ(f(x).to_vector<double>(), want.to_vector<double>());
}

TEST_F(Maps, ShardMapsOverOtherAxes) {
  const ts::Mesh mesh({{"x", 2}, {"y", 4}});
  const auto inner = ts::shard_map([](Array a) { return a + 10 * ts::psum(a, "y"); },
                                   {.in_specs = P(ts::none, "y"), .out_specs = P(ts::none, "y")});
  const auto outer =
      ts::shard_map([&](Array a) { return inner(a) + 1000 * ts::psum(a, "x"); },
                    {.mesh = mesh, .in_specs = P("x"), .out_specs = P("x"), .axis_names = {"x"}});
  const Array rows = ts::sum(x, 1, true), columns = ts::sum(x, 0, true);
  EXPECT_EQ(ts::jit(outer)(x).to_vector<double>(),
            (x + 10 * rows + 1000 * columns).to_vector<double>());
}

// A vmap with an axis name inside a map is computed by each device by itself.
TEST_F(Maps, BatchesInsideAShardMap) {
  const ts::Mesh mesh({{"x", 2}});
  const auto rows = ts::vmap(
      [](Array a) {
        return a + 10 * ts::psum(a, {"x", "b"}) + ts::pmax(a, "b");
      },
      {.axis_name = "b"});
  const auto f = ts::shard_map(rows, {.mesh = mesh, .in_specs = P("x"), .out_specs = P("x")});
  const Array want = x + 10 * ts::sum(x) + ts::max(x, 1, true);
  EXPECT_EQ(ts::jit(f)(x.reshape(8)).to_vector<double>(), want.to_vector<double>());
}
