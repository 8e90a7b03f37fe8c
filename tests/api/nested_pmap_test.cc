// pmap inside pmap: each device of the outer map runs the inner map on devices of its own. The
// numbers are JAX's, for vmap inside vmap.
#include <tessera/collectives.h>
#include <tessera/control_flow.h>
#include <tessera/creation.h>
#include <tessera/grad.h>
#include <tessera/manipulation.h>
#include <tessera/operators.h>
#include <tessera/pmap.h>
#include <tessera/reductions.h>
#include <tessera/vmap.h>

#include "api/check.h"
#include "only_cpu.h"

#include <gtest/gtest.h>

namespace ts = tessera;
using api_test::message;
using ts::Array;

namespace {

using Doubles = std::vector<double>;

class NestedPmap : public testing::Test {
 protected:
  const Array x = [] {
    ts::set_device_count(8);
    return ts::reshape(ts::arange(1., 9.).astype(ts::f64), {2, 4});
  }();

  template <class F>
  static auto nested(F f) {
    return ts::pmap(ts::pmap(f, {.axis_name = "j"}), {.axis_name = "i"});
  }
  static Array numbered(Array a) {
    return a * ts::psum(a, "j") + 10 * ts::psum(a, "i") + 100 * ts::psum(a, {"i", "j"}) +
           1000 * ts::axis_index("i") + ts::axis_index("j");
  }
  static Array cube(Array a) { return a * a * ts::psum(a, {"i", "j"}); }
};

TEST_F(NestedPmap, CollectivesOverBothAxes) {
  const Doubles want{3670, 3701, 3732, 3763, 4790, 4837, 4884, 4931};
  EXPECT_EQ(nested(numbered)(x).to_vector<double>(), want);
  EXPECT_EQ(ts::jit(nested(numbered))(x).to_vector<double>(), want);
}

TEST_F(NestedPmap, Derivatives) {
  const Array weights = ts::reshape(ts::arange(8.).astype(ts::f64), {2, 4});
  EXPECT_EQ(
      ts::grad([&](Array a) { return ts::sum(nested(cube)(a) * weights); })(x).to_vector<double>(),
      (Doubles{1092, 1236, 1524, 1956, 2532, 3252, 4116, 5124}));
  auto between = ts::pmap(
      [](Array row) {
        return ts::grad([](Array r) {
          return ts::sum(ts::pmap(cube, {.axis_name = "j"})(r) * ts::arange(4.));
        })(row);
      },
      {.axis_name = "i"});
  EXPECT_EQ(between(x).to_vector<double>(), (Doubles{396, 540, 828, 1260, 396, 828, 1404, 2124}));
  EXPECT_EQ(nested([](Array a) { return ts::grad(cube)(a); })(x).to_vector<double>(),
            (Doubles{276, 348, 420, 492, 564, 636, 708, 780}));
}

// The names are equal or absent; a collective refers to the innermost axis.
TEST_F(NestedPmap, AxesOfOneName) {
  auto both = ts::pmap(ts::pmap([](Array a) { return ts::psum(a, "i"); }));
  EXPECT_EQ(both(x).to_vector<double>(), (Doubles{10, 10, 10, 10, 26, 26, 26, 26}));
  auto captured = ts::pmap([](Array row) {
    const Array sum = ts::psum(ts::sum(row), "i"), own = ts::sum(row);
    return ts::pmap([&](Array a) { return a * own + sum * ts::psum(a, "i"); })(row);
  });
  EXPECT_EQ(captured(x).to_vector<double>(), (Doubles{370, 380, 390, 400, 1066, 1092, 1118, 1144}));
  auto unnamed = ts::pmap(
      [](Array row) {
        const Array own = ts::sum(row);
        return ts::pmap([&](Array a) { return a * own; }, {.axis_name = ""})(row);
      },
      {.axis_name = ""});
  EXPECT_EQ(unnamed(x).to_vector<double>(), (Doubles{10, 20, 30, 40, 130, 156, 182, 208}));
}

TEST_F(NestedPmap, GroupsAndReplicatedResults) {
  auto f = ts::pmap(
      [](Array row) {
        const Array total = ts::pmap([](Array a) { return ts::psum(a, "j"); },
                                     {.axis_name = "j", .out_axes = ts::replicated})(row);
        const Array pairs = ts::pmap(
            [](Array a) {
              return ts::psum(a, "j", {{0, 3}, {1, 2}});
            },
            {.axis_name = "j"})(row);
        return pairs + 100 * ts::psum(total, "i");
      },
      {.axis_name = "i"});
  EXPECT_EQ(f(x).to_vector<double>(), (Doubles{3605, 3605, 3605, 3605, 3613, 3613, 3613, 3613}));
}

// Each device sends to the next of all eight, from row to row, except for the last one.
TEST_F(NestedPmap, PermutationsOverBothAxes) {
  ts::Permutation next;
  for (std::int64_t i = 0; i < 7; ++i) next.emplace_back(i, i + 1);
  auto send = [&](Array a) { return ts::ppermute(a, {"i", "j"}, next); };
  const Doubles want{0, 1, 2, 3, 4, 5, 6, 7};
  EXPECT_EQ(nested(send)(x).to_vector<double>(), want);
  auto rows = ts::pmap(ts::vmap(send, {.axis_name = "j"}), {.axis_name = "i"});
  EXPECT_EQ(rows(x).to_vector<double>(), want);
  auto columns = ts::vmap(ts::pmap(send, {.axis_name = "j"}), {.axis_name = "i"});
  EXPECT_EQ(columns(x).to_vector<double>(), want);
  auto back = ts::grad([&](Array a) {
    return ts::sum(rows(a) * ts::reshape(ts::arange(8.), {2, 4}));
  })(x);
  EXPECT_EQ(back.to_vector<double>(), (Doubles{1, 2, 3, 4, 5, 6, 7, 0}));
}

TEST_F(NestedPmap, NeedsDevicesForBoth) {
  NEEDS_CPU(devices);
  EXPECT_EQ(
      message<ts::DeviceError>([&] {
        nested([](Array a) { return a; })(ts::ones({4, 4}));
      }),
      "pmap: a pmap of 4 entries inside pmaps over 4 devices\n"
      "  rule: each device around runs the pmap inside on devices of its own: 4 * 4 = 16 > 8\n"
      "  try: use vmap inside, or call set_device_count(16)");
  EXPECT_EQ(message<ts::DeviceError>([&] {
              ts::pmap([](Array row) {
                return ts::pmap([](Array a) { return a; }, {.devices = ts::devices()})(row);
              })(x);
            }),
            "pmap: devices are listed for a pmap inside a pmap\n"
            "  rule: the devices of a pmap inside are those that the one around it leaves\n"
            "  try: leave the list out");
}

}  // namespace
