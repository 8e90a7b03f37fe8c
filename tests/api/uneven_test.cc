// jit with shardings for intermediate values whose extents the devices do not divide.
#include <tessera/contractions.h>
#include <tessera/control_flow.h>
#include <tessera/creation.h>
#include <tessera/elementwise.h>
#include <tessera/grad.h>
#include <tessera/jit.h>
#include <tessera/manipulation.h>
#include <tessera/operators.h>
#include <tessera/random.h>
#include <tessera/reductions.h>
#include <tessera/sharding.h>
#include <tessera/vmap.h>

#include "api/check.h"

#include <gtest/gtest.h>

namespace ts = tessera;
using api_test::f32s;
using ts::Array;
using ts::P;
using ts::Shape;

namespace {

class Uneven : public testing::Test {
 protected:
  const ts::Mesh line = [] {
    ts::set_device_count(8);
    return ts::Mesh({{"x", 4}});
  }();
  // Small integers, so that sums are exact in any order.
  static Array whole(const Shape& shape, int seed) {
    return ts::random::randint(ts::random::key(static_cast<std::uint64_t>(seed)), shape, -3, 4)
        .astype(ts::f32);
  }
  // A vocabulary of 13 over 4 devices, and differences of neighbours: 7 of 8 steps.
  static Array loss(Array w, Array x) {
    const Array scores = ts::with_sharding_constraint(ts::dot(x, w), P(ts::none, "x"));
    const Array best = ts::max(scores, 1, true);
    const Array changes =
        ts::with_sharding_constraint(x(ts::range(1, 8)) - x(ts::range(0, 7)), P("x"));
    return ts::sum(ts::square(scores - best)) + ts::sum(ts::square(changes));
  }
};

TEST_F(Uneven, ValuesAndGradientsAreThoseOfTheWhole) {
  const Array w = whole({5, 13}, 0), x = whole({8, 5}, 1);
  const auto plain = [](Array w, Array x) {
    const Array scores = ts::dot(x, w), changes = x(ts::range(1, 8)) - x(ts::range(0, 7));
    return ts::sum(ts::square(scores - ts::max(scores, 1, true))) + ts::sum(ts::square(changes));
  };
  const ts::JitOptions over{.mesh = line, .in_shardings = {P(), P("x")}};
  auto f = ts::jit(loss, over);
  EXPECT_EQ(f32s(f(w, x)), f32s(plain(w, x)));
  auto g = ts::jit([](Array w, Array x) { return ts::grad(loss)(w, x); }, over);
  EXPECT_EQ(f32s(g(w, x)), f32s(ts::grad(plain)(w, x)));
  const Array many = ts::stack({w, w * 2, -w});
  EXPECT_EQ(f32s(ts::vmap([&](Array w) { return f(w, x); })(many)),
            f32s(ts::vmap([&](Array w) { return plain(w, x); })(many)));
}

TEST_F(Uneven, LoopsCarryPartsOfSevenOverFour) {
  const auto body = [](Array x, Array rows) {
    const Array start = ts::with_sharding_constraint(x(ts::range(0, 7)), P("x"));
    auto [last, sums] = ts::scan(
        [](Array c, Array row) { return std::pair(ts::flip(c, 0) + row, ts::sum(c * row)); }, start,
        rows);
    return std::pair(last, sums);
  };
  const auto plain = [](Array x, Array rows) {
    return ts::scan(
        [](Array c, Array row) { return std::pair(ts::flip(c, 0) + row, ts::sum(c * row)); },
        x(ts::range(0, 7)), rows);
  };
  const Array x = whole({8}, 2), rows = whole({3, 7}, 3);
  auto f = ts::jit(body, {.mesh = line, .in_shardings = {P("x"), P()}});
  const auto [last, sums] = f(x, rows);
  const auto [want, want_sums] = plain(x, rows);
  EXPECT_EQ(f32s(last), f32s(want));
  EXPECT_EQ(f32s(sums), f32s(want_sums));
  auto g = ts::jit(
      [&](Array x, Array rows) {
        return ts::grad([&](Array x) { return ts::sum(body(x, rows).second); })(x);
      },
      {.mesh = line, .in_shardings = {P("x"), P()}});
  EXPECT_EQ(f32s(g(x, rows)),
            f32s(ts::grad([&](Array x) { return ts::sum(plain(x, rows).second); })(x)));
}

TEST_F(Uneven, TheProgramOfADeviceHasPartsOfTheLength) {
  auto f = ts::jit(
      [](Array x) {
        return ts::sum(ts::square(ts::with_sharding_constraint(x(ts::range(0, 15)), P("x"))));
      },
      {.mesh = line, .in_shardings = P("x")});
  const Array x = whole({16}, 4);
  EXPECT_EQ(f32s(f(x)), f32s(ts::sum(ts::square(x(ts::range(0, 15))))));
  const auto used = f.lower(x).collectives();
  ASSERT_EQ(used.size(), 1u);
  const std::string text = f.lower(x).partitioned();
  EXPECT_NE(text.find("f32[4]"), std::string::npos) << text;
  EXPECT_EQ(text.find("f32[15]"), std::string::npos) << text;
}

TEST_F(Uneven, ArgumentsAndResultsStillDivide) {
  const auto same = [](Array x) { return ts::with_sharding_constraint(x, P("x")); };
  const Array x = whole({7}, 5);
  EXPECT_EQ(f32s(ts::jit(same, {.mesh = line})(x)), f32s(x));
  EXPECT_THROW(ts::jit(same, {.mesh = line, .in_shardings = P("x")})(x), ts::ShardingError);
  EXPECT_THROW(ts::jit(same, {.mesh = line, .out_shardings = P("x")})(x), ts::ShardingError);
}

}  // namespace
