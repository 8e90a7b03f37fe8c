// shard_map over some axes of a mesh, through the public functions: along the other axes values are
// global, and the program is partitioned like the one around it.
#include <tessera/collectives.h>
#include <tessera/contractions.h>
#include <tessera/control_flow.h>
#include <tessera/creation.h>
#include <tessera/elementwise.h>
#include <tessera/grad.h>
#include <tessera/manipulation.h>
#include <tessera/operators.h>
#include <tessera/plan.h>
#include <tessera/reductions.h>
#include <tessera/remat.h>
#include <tessera/shard_map.h>
#include <tessera/vmap.h>

#include "api/check.h"

#include <gtest/gtest.h>

#include <algorithm>

namespace ts = tessera;
using api_test::f32s;
using ts::Array;
using ts::P;
using ts::Shape;

namespace {

using Floats = std::vector<float>;

/// Small integers, so that no sum is rounded.
Array integers(Shape shape, int seed) {
  Floats values;
  std::int64_t n = 1;
  for (std::int64_t d : shape) n *= d;
  for (std::int64_t i = 0; i < n; ++i)
    values.push_back(static_cast<float>((i * 7 + seed * 5 + i / 3) % 5 - 2));
  return Array(values, shape);
}

struct Weights {
  Array up, down;
};
struct Step {
  Array loss;
  Weights gradients;
};

Array mlp(const Weights& w, const Array& x) {
  return ts::dot(ts::maximum(ts::dot(x, w.up), 0), w.down);
}
Array loss_of(const Weights& w, const Array& x) { return ts::sum(mlp(w, x)); }

class PartialShardMaps : public testing::Test {
 protected:
  const ts::Mesh grid = [] {
    ts::set_device_count(8);
    return ts::Mesh({{"data", 2}, {"model", 4}});
  }();
  const Weights w{integers({8, 16}, 1), integers({16, 8}, 2)};
  const Array x = integers({4, 8}, 3);
  const Weights placed{ts::device_put(w.up, grid, P(ts::none, "model")),
                       ts::device_put(w.down, grid, P("model"))};
  const Array rows = ts::device_put(x, grid, P("data"));

  /// Gradients are exchanged over "data" explicitly; the weights are sharded over "model".
  auto step() const {
    return ts::shard_map(
        [](const Weights& weights, Array block) {
          auto [loss, g] = ts::value_and_grad(
              [&](const Weights& p) { return ts::psum(loss_of(p, block), "data"); })(weights);
          return Step{loss, g};
        },
        {.mesh = grid, .in_specs = {P(), P("data")}, .out_specs = P(), .axis_names = {"data"}});
  }
  void expect_step(const Step& s) const {
    const auto [loss, g] = ts::value_and_grad([&](const Weights& p) { return loss_of(p, x); })(w);
    EXPECT_EQ(s.loss.item<float>(), loss.item<float>());
    EXPECT_EQ(f32s(s.gradients.up), f32s(g.up));
    EXPECT_EQ(f32s(s.gradients.down), f32s(g.down));
  }
};

using Uses = std::vector<std::string>;

Uses listed(const std::vector<ts::CollectiveUse>& uses) {
  Uses all;
  for (const ts::CollectiveUse& u : uses) all.push_back(to_string(u));
  return all;
}
/// The collectives that partitioning inserted, and those of the program.
Uses listed(const ts::Plan& plan) {
  Uses all;
  for (const ts::PlannedCollective& c : plan.collectives)
    for (const ts::PlannedValue& v : c.values) {
      std::string text = c.kind;
      for (const std::string& axis : c.axes) text += " " + axis;
      all.push_back(text + " for " + v.op);
    }
  std::sort(all.begin(), all.end());
  return all;
}

TEST_F(PartialShardMaps, SeesWholesAlongAutomaticAxes) {
  Shape seen;
  auto f = ts::shard_map(
      [&](Array block) {
        seen = block.shape();
        return block * (1 + ts::axis_index("data"));
      },
      {.mesh = grid, .in_specs = P("data"), .out_specs = P("data"), .axis_names = {"data"}});
  const Array y = f(ts::device_put(ts::ones({4, 8}), grid, P("data", "model")));
  EXPECT_EQ(seen, (Shape{2, 8}));
  Floats want(16, 1.0f);
  want.insert(want.end(), 16, 2.0f);
  EXPECT_EQ(f32s(y), want);
  EXPECT_EQ(y.sharding(), ts::Sharding(grid, P("data", "model")));
  // An array without a placement is sharded as the specs say, and replicated along the other axes.
  EXPECT_EQ(f(ts::ones({4, 8})).sharding(), ts::Sharding(grid, P("data")));
}

TEST_F(PartialShardMaps, TensorParallelStepWithGradientsByHand) {
  expect_step(step()(w, x));
  const Step s = step()(placed, rows);
  expect_step(s);
  EXPECT_EQ(s.gradients.up.sharding(), ts::Sharding(grid, P(ts::none, "model")));
  EXPECT_EQ(s.gradients.down.sharding(), ts::Sharding(grid, P("model")));
  auto jitted = ts::jit(
      step(), {.mesh = grid, .in_shardings = {{P(ts::none, "model"), P("model")}, P("data")}});
  expect_step(jitted(w, x));
  expect_step(ts::jit([&](const Weights& p, Array b) { return step()(p, b); })(placed, rows));
}

// The loss is a partial sum over "model" when it is summed over "data": one collective does both.
TEST_F(PartialShardMaps, CollectivesOfBothKindsAreListed) {
  auto jitted = ts::jit(
      step(), {.mesh = grid, .in_shardings = {{P(ts::none, "model"), P("model")}, P("data")}});
  const auto lowered = jitted.lower(w, x);
  EXPECT_EQ(listed(lowered.collectives()),
            (Uses{"psum over 'data': 128 bytes", "psum over 'data': 128 bytes",
                  "psum over 'data', 'model': 4 bytes"}));
  EXPECT_EQ(listed(lowered.plan()), (Uses{"all_reduce data for psum", "all_reduce data for psum",
                                          "all_reduce data model for psum"}));
  EXPECT_EQ(lowered.plan().moved_bytes, 128 + 128 + 7);
}

TEST_F(PartialShardMaps, ConstraintsInside) {
  auto f = ts::shard_map(
      [](Array block) {
        const Array h = ts::with_sharding_constraint(block * 2, P(ts::none, "model"));
        return ts::psum(h, "data");
      },
      {.mesh = grid, .in_specs = P("data"), .out_specs = P(), .axis_names = {"data"}});
  const Array y = f(x);
  EXPECT_EQ(y.sharding(), ts::Sharding(grid, P(ts::none, "model")));
  EXPECT_EQ(f32s(y), f32s((x[ts::until(2)] + x[ts::from(2)]) * 2));
}

TEST_F(PartialShardMaps, JitsInside) {
  auto inner = ts::jit([](Array a) { return a + 1; });
  auto placing = ts::jit([](Array a) { return a * 3; }, {.out_shardings = P(ts::none, "model")});
  auto f = ts::shard_map(
      [&](Array block) { return placing(inner(block)); },
      {.mesh = grid, .in_specs = P("data"), .out_specs = P("data"), .axis_names = {"data"}});
  EXPECT_EQ(f32s(f(x)), f32s((x + 1) * 3));
  EXPECT_EQ(f(x).sharding(), ts::Sharding(grid, P("data", "model")));
}

TEST_F(PartialShardMaps, Nested) {
  const auto scope = ts::use_mesh(grid);
  Shape outer, inner;
  auto f = ts::shard_map(
      [&](Array block) {
        outer = block.shape();
        auto g = ts::shard_map(
            [&](Array part) {
              inner = part.shape();
              // Collectives over the outer axis work inside too.
              return part * ts::psum(part, {"data", "model"}) + ts::axis_index("model");
            },
            {.in_specs = P(ts::none, "model"), .out_specs = P(ts::none, "model")});
        return g(block);
      },
      {.in_specs = P("data"), .out_specs = P("data"), .axis_names = {"data"}});
  auto flat = ts::shard_map(
      [](Array part) {
        return part * ts::psum(part, {"data", "model"}) + ts::axis_index("model");
      },
      {.in_specs = P("data", "model"), .out_specs = P("data", "model")});
  const Array want = flat(x);
  EXPECT_EQ(f32s(f(x)), f32s(want));
  EXPECT_EQ(outer, (Shape{2, 8}));
  EXPECT_EQ(inner, (Shape{2, 2}));
  EXPECT_EQ(f32s(ts::jit(f)(x)), f32s(want));
  auto sum = [](auto h) { return [h](Array a) { return ts::sum(h(a) * a); }; };
  EXPECT_EQ(f32s(ts::grad(sum(f))(x)), f32s(ts::grad(sum(flat))(x)));
  const Array stack = ts::stack({x, x + 1, x * 2});
  EXPECT_EQ(f32s(ts::vmap(f)(stack)), f32s(ts::vmap(flat)(stack)));
}

// The inner map's captured parameter is shared along both axes: its gradient is summed over both.
TEST_F(PartialShardMaps, GradientsThroughNestedMaps) {
  const Array p = integers({8}, 5);
  auto inner = ts::shard_map([](Array v, Array b) { return ts::psum(ts::sum(b * b * v), "model"); },
                             {.mesh = grid,
                              .in_specs = {P("model"), P(ts::none, "model")},
                              .out_specs = P(),
                              .axis_names = {"model"}});
  auto outer = ts::shard_map(
      [&](Array v, Array b) { return ts::psum(inner(v, b), "data"); },
      {.mesh = grid, .in_specs = {P(), P("data")}, .out_specs = P(), .axis_names = {"data"}});
  auto whole = [](Array v, Array b) { return ts::sum(b * b * v); };
  EXPECT_EQ(outer(p, x).item<float>(), whole(p, x).item<float>());
  const auto [gv, gb] = ts::grad<0, 1>(outer)(p, x);
  const auto [wv, wb] = ts::grad<0, 1>(whole)(p, x);
  EXPECT_EQ(f32s(gv), f32s(wv));
  EXPECT_EQ(f32s(gb), f32s(wb));
}

TEST_F(PartialShardMaps, UnderAndAroundTransformations) {
  const Array starts = integers({8}, 4);
  auto f = ts::shard_map(
      [](Array block, Array weights) {
        auto [carry, ys] = ts::scan(
            [&](Array c, Array k) {
              c = ts::remat([&](Array a, Array s) {
                return ts::where(a > 3, a - 4, a + s) * ts::sign(weights);
              })(c + block, k);
              c = ts::cond(
                  ts::sum(k) > 0, [](Array a) { return a; }, [](Array a) { return -a; }, c);
              return std::pair(c, ts::psum(c, "data"));
            },
            ts::zeros(block.shape()), ts::arange(3.0));
        return carry + ys[2];
      },
      {.mesh = grid, .in_specs = {P("data"), P()}, .out_specs = P("data"), .axis_names = {"data"}});
  auto plain = [](Array a, Array weights) {
    Array c = ts::zeros({4, 8}), last;
    for (float k : {0.0f, 1.0f, 2.0f}) {
      c = c + a;
      c = ts::where(c > 3, c - 4, c + k) * ts::sign(weights);
      if (!(k > 0)) c = -c;
      last = c;
    }
    const Array halves = last[ts::until(2)] + last[ts::from(2)];
    return c + ts::concatenate({halves, halves}, 0);
  };
  const Array there = ts::device_put(x, grid, P("data", "model"));
  EXPECT_EQ(f32s(f(x, starts)), f32s(plain(x, starts)));
  EXPECT_EQ(f32s(ts::jit(f)(there, starts)), f32s(plain(x, starts)));
  auto sum = [&](auto h) { return [h](Array a, Array b) { return ts::sum(h(a, b) * a); }; };
  EXPECT_EQ(f32s(ts::grad(sum(f))(there, starts)), f32s(ts::grad(sum(plain))(x, starts)));
  EXPECT_EQ(f32s(ts::jit(ts::grad(sum(f)))(there, starts)), f32s(ts::grad(sum(plain))(x, starts)));
  const Array stack = ts::stack({x, x + 1, x * 2});
  const Array mapped = ts::vmap(f, {.in_axes = {0, ts::replicated}})(stack, starts);
  for (int i = 0; i < 3; ++i) EXPECT_EQ(f32s(mapped[i]), f32s(plain(stack[i], starts))) << i;
}

// The carry starts equal on all devices. checkpoint and the inner map see it both before and after
// it varies.
TEST_F(PartialShardMaps, CarriesThatComeToVaryInsideOfOthers) {
  auto doubled = ts::shard_map(
      [](Array part) { return part + part; },
      {.mesh = grid, .in_specs = P(ts::none, "model"), .out_specs = P(ts::none, "model")});
  auto f = ts::shard_map(
      [&](Array block) {
        return ts::scan(
                   [&](Array c, Array k) {
                     c = ts::remat([](Array a) { return ts::where(a > 8, a - 8, a); })(c);
                     return std::pair(doubled(c) + block * k, k);
                   },
                   ts::zeros({2, 8}), ts::arange(3.0))
            .first;
      },
      {.mesh = grid, .in_specs = P("data"), .out_specs = P("data"), .axis_names = {"data"}});
  auto plain = [](Array a) {
    Array c = ts::zeros({4, 8});
    for (float k : {0.0f, 1.0f, 2.0f}) c = ts::where(c > 8, c - 8, c) * 2 + a * k;
    return c;
  };
  EXPECT_EQ(f32s(f(x)), f32s(plain(x)));
  auto sum = [&](auto h) { return [h](Array a) { return ts::sum(h(a) * a); }; };
  EXPECT_EQ(f32s(ts::grad(sum(f))(x)), f32s(ts::grad(sum(plain))(x)));
}

TEST_F(PartialShardMaps, AllNamesAreAllAxes) {
  auto body = [](Array b) { return ts::psum(b, {"data", "model"}); };
  auto named = ts::shard_map(body, {.mesh = grid,
                                    .in_specs = P("data", "model"),
                                    .out_specs = P(),
                                    .axis_names = {"model", "data"},
                                    .name = "sum"});
  auto all = ts::shard_map(
      body, {.mesh = grid, .in_specs = P("data", "model"), .out_specs = P(), .name = "sum"});
  EXPECT_EQ(f32s(named(x)), f32s(all(x)));
  EXPECT_EQ(ts::jit(named).lower(x).ir(), ts::jit(all).lower(x).ir());
}

// Two blocks of 7 rows over "data". Each is sharded into 2, 2, 2 and 1 rows over "model", which are
// not eight shards of 14 rows.
TEST_F(PartialShardMaps, BlocksThatOtherAxesCutUnevenlyComeAndGoWhole) {
  const Array x = integers({14, 8}, 3);
  const auto f = [&](Array block) {
    Array y = ts::with_sharding_constraint(block * 2, ts::Sharding(grid, P("model")));
    Array z = ts::with_sharding_constraint(y + 1, ts::Sharding(grid, P("model")));
    return std::pair(z, ts::sum(z, 0, true));
  };
  const auto mapped = ts::shard_map(
      f, {.mesh = grid, .in_specs = P("data"), .out_specs = P("data"), .axis_names = {"data"}});
  const auto [all, sums] = mapped(x);
  EXPECT_EQ(f32s(all), f32s(x * 2 + 1));
  EXPECT_EQ(f32s(sums), f32s(ts::sum((x * 2 + 1).reshape(2, 7, 8), 1)));
  const auto g = ts::grad([&](Array a) { return ts::sum(mapped(a * a).first * a); });
  EXPECT_EQ(f32s(g(x)), f32s(6 * x * x + 1));
  EXPECT_EQ(f32s(ts::jit(g)(ts::device_put(x, grid, P("data")))), f32s(6 * x * x + 1));
}

}  // namespace
