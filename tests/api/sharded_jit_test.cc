// jit with shardings: whole programs that are partitioned.
#include <tessera/collectives.h>
#include <tessera/contractions.h>
#include <tessera/control_flow.h>
#include <tessera/creation.h>
#include <tessera/custom.h>
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
#include "isolated.h"

#include <gtest/gtest.h>

namespace ts = tessera;
using api_test::f32s;
using ts::Array;
using ts::P;
using ts::Shape;

namespace {

using Floats = std::vector<float>;

class ShardedJit : public testing::Test {
 protected:
  const ts::Mesh line = [] {
    ts::set_device_count(8);
    return ts::Mesh({{"x", 4}});
  }();
  const ts::Mesh grid{{{"data", 2}, {"model", 2}}};
  // Small integers, so that sums are exact in any order.
  static Array whole(const Shape& shape, int seed) {
    return ts::random::randint(ts::random::key(static_cast<std::uint64_t>(seed)), shape, -4, 5)
        .astype(ts::f32);
  }
  template <class F, class... A>
  static std::vector<std::string> collectives(const F& f, const A&... args) {
    std::vector<std::string> all;
    for (const ts::CollectiveUse& use : f.lower(args...).collectives())
      all.push_back(to_string(use));
    return all;
  }
};

TEST_F(ShardedJit, ProductsByRowsByColumnsAndBySums) {
  const Array a = whole({8, 16}, 0), b = whole({16, 4}, 1), want = ts::dot(a, b);
  const auto dot = [](Array x, Array y) { return ts::dot(x, y); };
  auto rows = ts::jit(dot, {.mesh = line, .in_shardings = {P("x"), P()}, .out_shardings = P("x")});
  auto columns = ts::jit(
      dot,
      {.mesh = line, .in_shardings = {P(), P(ts::none, "x")}, .out_shardings = P(ts::none, "x")});
  auto sums = ts::jit(
      dot, {.mesh = line, .in_shardings = {P(ts::none, "x"), P("x")}, .out_shardings = P()});
  auto scattered = ts::jit(
      dot, {.mesh = line, .in_shardings = {P(ts::none, "x"), P("x")}, .out_shardings = P("x")});
  EXPECT_EQ(f32s(rows(a, b)), f32s(want));
  EXPECT_EQ(f32s(columns(a, b)), f32s(want));
  EXPECT_EQ(f32s(sums(a, b)), f32s(want));
  EXPECT_EQ(f32s(scattered(a, b)), f32s(want));
  EXPECT_EQ(rows(a, b).sharding(), ts::Sharding(line, P("x")));
  EXPECT_EQ(columns(a, b).sharding(), ts::Sharding(line, P(ts::none, "x")));
  EXPECT_EQ(sums(a, b).sharding(), ts::Sharding(line, P()));
  EXPECT_EQ(scattered(a, b).sharding(), ts::Sharding(line, P("x")));
  EXPECT_EQ(collectives(rows, a, b), (std::vector<std::string>{}));
  EXPECT_EQ(collectives(columns, a, b), (std::vector<std::string>{}));
  EXPECT_EQ(collectives(sums, a, b).size(), 1u);
  EXPECT_EQ(collectives(scattered, a, b).size(), 1u);
}

TEST_F(ShardedJit, ArgumentsAreMovedToTheirSpecs) {
  auto f = ts::pjit([](Array x) { return x * 2; },
                    {.mesh = line, .in_shardings = P("x"), .out_shardings = P(ts::none, "x")});
  const Array x = whole({8, 4}, 2), want = x * 2;
  EXPECT_EQ(f32s(f(x)), f32s(want));
  EXPECT_EQ(f32s(f(ts::device_put(x, line, P(ts::none, "x")))), f32s(want));
  EXPECT_EQ(f32s(f(ts::device_put(x, ts::devices()[3]))), f32s(want));
  EXPECT_EQ(f.trace_count(), 1u);
}

TEST_F(ShardedJit, MeshOfTheScope) {
  const auto body = [](Array x) { return ts::sum(x, 1); };
  const Array x = whole({8, 4}, 3);
  const auto make = [&] {
    const auto scope = ts::use_mesh(line);
    return ts::jit(body, {.in_shardings = P("x"), .out_shardings = P("x")});
  };
  EXPECT_EQ(make()(x).sharding(), ts::Sharding(line, P("x")));  // its scope's mesh
  auto later = ts::jit(body, {.in_shardings = P("x"), .out_shardings = P("x")});
  const auto scope = ts::use_mesh(line);
  EXPECT_EQ(later(x).sharding(), ts::Sharding(line, P("x")));
  const ts::Mesh two({{"x", 2}});
  const auto inner = ts::use_mesh(two);
  EXPECT_EQ(later(x).sharding(), ts::Sharding(two, P("x")));
}

// In each call, the specs of an inner function refer to the mesh of the outer one.
TEST_F(ShardedJit, FunctionsInsideFollowTheMesh) {
  auto inner = ts::jit([](Array x) { return ts::with_sharding_constraint(x * 2, P("x")); });
  const auto outer = [&](Array x) { return inner(x); };
  const ts::Mesh other({{"y", 2}, {"x", 2}});
  const Array x = whole({8}, 13);
  EXPECT_EQ(ts::jit(outer, {.mesh = line})(x).sharding(), ts::Sharding(line, P("x")));
  EXPECT_EQ(ts::jit(outer, {.mesh = other})(x).sharding(), ts::Sharding(other, P("x")));
  EXPECT_EQ(inner.trace_count(), 2u);
}

TEST_F(ShardedJit, TreesAndTrainingSteps) {
  struct Linear {
    Array w, b;
  };
  const auto step = [](Linear m, Array x, Array y, Array rate) {
    const auto loss = [](const Linear& p, Array in, Array out) {
      return ts::mean(ts::square(ts::dot(in, p.w) + p.b - out));
    };
    auto [l, g] = ts::value_and_grad(loss)(m, x, y);
    m.w = m.w - rate * g.w;
    m.b = m.b - rate * g.b;
    return std::pair(m, l);
  };
  const Linear model{whole({16, 8}, 4), whole({8}, 5)};
  const Array x = whole({4, 16}, 6), y = whole({4, 8}, 7);
  const auto [want, loss] = ts::jit(step)(model, x, y, 0.5f);
  const std::vector<ts::SpecTree> forms{
      {{P("data"), P()}, P(), P(), P()},                                // rows of the weights
      {{P(ts::none, "model"), P("model")}, P("data"), P("data"), P()},  // both
      {P(), P("data"), P("data"), P()},                                 // the batch
      {{P({"data", "model"}), P()}, P({"data", "model"}), P({"data", "model"}), P()},
  };
  for (const ts::SpecTree& form : forms) {
    auto sharded = ts::jit(
        step, {.mesh = grid, .in_shardings = form, .out_shardings = {form.children()[0], P()}});
    const auto [got, l] = sharded(model, x, y, 0.5f);
    EXPECT_TRUE(ts::allclose(got.w, want.w, 1e-5, 1e-5)) << to_string(form);
    EXPECT_TRUE(ts::allclose(got.b, want.b, 1e-5, 1e-5)) << to_string(form);
    EXPECT_TRUE(ts::allclose(l, loss, 1e-5)) << to_string(form);
  }
}

TEST_F(ShardedJit, ConstraintsInside) {
  auto f = ts::jit(
      [](Array x) {
        const Array y = ts::with_sharding_constraint(x * 2, P("x"));
        return y + 1;
      },
      {.mesh = line});
  const Array x = whole({8, 4}, 8);
  EXPECT_EQ(f32s(f(x)), f32s(x * 2 + 1));
  EXPECT_EQ(f(x).sharding(), ts::Sharding(line, P("x")));
  // Outside of traced functions it moves the array.
  const auto scope = ts::use_mesh(line);
  EXPECT_EQ(ts::with_sharding_constraint(x, P("x")).sharding(), ts::Sharding(line, P("x")));
}

TEST_F(ShardedJit, InsideTransformations) {
  auto f = ts::jit(
      [](Array w, Array x) { return ts::tanh(ts::dot(x, w)); },
      {.mesh = line, .in_shardings = {P(ts::none, "x"), P()}, .out_shardings = P(ts::none, "x")});
  const Array w = whole({4, 8}, 9) * 0.1, x = whole({3, 4}, 10) * 0.1;
  const auto loss = [&](Array p) { return ts::sum(ts::square(f(p, x))); };
  const auto plain = [&](Array p) { return ts::sum(ts::square(ts::tanh(ts::dot(x, p)))); };
  EXPECT_TRUE(ts::allclose(ts::grad(loss)(w), ts::grad(plain)(w), 1e-5, 1e-6));
  EXPECT_TRUE(ts::allclose(ts::jit(ts::grad(loss))(w), ts::grad(plain)(w), 1e-5, 1e-6));
  const Array many = ts::stack({w, w * 2});
  EXPECT_TRUE(ts::allclose(ts::vmap(loss)(many), ts::vmap(plain)(many), 1e-5, 1e-6));
}

// Custom derivatives that visibly differ from those of their functions: shardings propagate through
// them, alone and in the iterations of a loop.
TEST_F(ShardedJit, DerivativesOfOnesOwn) {
  const auto by_vjp = ts::custom_vjp(
      [](Array x) { return ts::dot(x, ts::transpose(x)); },
      [](Array x) { return std::pair(ts::dot(x, ts::transpose(x)), std::tuple(x)); },
      [](std::tuple<Array> kept, Array ct) { return ts::dot(ct, std::get<0>(kept)) * 10; });
  const auto by_jvp = ts::custom_jvp([](Array x) { return x * x; },
                                     [](Array x, Array dx) { return std::pair(x * x, 100 * dx); });
  const auto loss = [&](Array x) {
    const Array last = ts::scan([&](Array c, Array row) { return std::pair(c + by_jvp(row), row); },
                                ts::zeros({4}), x)
                           .first;
    return ts::sum(by_vjp(x)) + ts::sum(last);
  };
  const Array x = whole({8, 4}, 14),
              want = 100 + 10 * ts::sum(x, {.axis = 0, .keepdims = true}) + ts::zeros({8, 4});
  EXPECT_EQ(f32s(ts::grad(loss)(x)), f32s(want));
  for (const ts::PartitionSpec& spec :
       {P("data"), P(ts::none, "model"), P("model", "data"), P({"data", "model"}), P()}) {
    auto g = ts::jit(ts::grad(loss), {.mesh = grid, .in_shardings = spec, .out_shardings = spec});
    EXPECT_EQ(f32s(g(x)), f32s(want)) << spec;
    EXPECT_EQ(f32s(ts::grad(loss)(ts::device_put(x, grid, spec))), f32s(want)) << spec;
  }
}

TEST_F(ShardedJit, LoopsAndBranches) {
  const auto body = [](Array x, Array w, Array big) {
    Array c = ts::fori_loop(
        0, 3, [&](Array, Array h) { return ts::dot(h, w) * 0.25; }, x);
    auto [last, all] =
        ts::scan([](Array s, Array row) { return std::pair(s + row, s * row); }, ts::zeros({8}), c);
    return std::pair(ts::cond(
                         big, [](Array a) { return a * 2; }, [](Array a) { return -a; }, last),
                     all);
  };
  const Array x = whole({4, 8}, 11), w = whole({8, 8}, 12);
  const auto [want, rows] = ts::jit(body)(x, w, true);
  auto sharded = ts::jit(body, {.mesh = grid,
                                .in_shardings = {P("data"), P(ts::none, "model"), P()},
                                .out_shardings = {P("model"), ts::unconstrained}});
  const auto [got, got_rows] = sharded(x, w, true);
  EXPECT_TRUE(ts::allclose(got, want, 1e-5, 1e-5));
  EXPECT_TRUE(ts::allclose(got_rows, rows, 1e-5, 1e-5));
}

TEST_F(ShardedJit, RandomNumbersAreThoseOfTheWhole) {
  const auto body = [](Array key) { return ts::random::normal(key, {8, 6}); };
  auto sharded = ts::jit(body, {.mesh = grid, .out_shardings = P("data", "model")});
  EXPECT_EQ(f32s(sharded(ts::random::key(3))), f32s(body(ts::random::key(3))));
}

}  // namespace
