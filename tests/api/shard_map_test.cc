// Per-device functions over meshes: blocks by specs, varying types, and derivatives without
// explicit psums.
#include <tessera/collectives.h>
#include <tessera/combine.h>
#include <tessera/contractions.h>
#include <tessera/control_flow.h>
#include <tessera/creation.h>
#include <tessera/elementwise.h>
#include <tessera/grad.h>
#include <tessera/manipulation.h>
#include <tessera/operators.h>
#include <tessera/random.h>
#include <tessera/reductions.h>
#include <tessera/remat.h>
#include <tessera/shard_map.h>
#include <tessera/vmap.h>

#include "api/check.h"
#include "isolated.h"
#include "only_cpu.h"

#include <gtest/gtest.h>

#include <functional>

namespace ts = tessera;
using api_test::f32s;
using api_test::message;
using ts::Array;
using ts::P;
using ts::Shape;

namespace {

using Floats = std::vector<float>;

class ShardMaps : public testing::Test {
 protected:
  const ts::Mesh line = [] {
    ts::set_device_count(8);
    return ts::Mesh({{"i", 4}});
  }();
  const ts::Mesh grid{{{"x", 4}, {"y", 2}}};
  const Array v = ts::arange(8.0);
};

TEST_F(ShardMaps, BlocksKeepTheirDimensions) {
  Shape seen;
  auto f = ts::shard_map(
      [&](Array block) {
        seen = block.shape();
        return block * (1 + ts::axis_index("y"));
      },
      {.mesh = grid, .in_specs = {P("x", "y")}, .out_specs = P("x", "y")});
  const Array x = ts::ones({8, 4});
  const Array y = f(x);
  EXPECT_EQ(seen, (Shape{2, 2}));
  EXPECT_EQ(y.shape(), (Shape{8, 4}));
  EXPECT_EQ(f32s(y[0]), (Floats{1, 1, 2, 2}));
  EXPECT_EQ(y.sharding(), ts::Sharding(grid, P("x", "y")));
}

TEST_F(ShardMaps, ResultsThatCollectivesMakeTheSame) {
  auto total = ts::shard_map([](Array block) { return ts::psum(ts::sum(block), "i"); },
                             {.mesh = line, .in_specs = P("i"), .out_specs = P()});
  const Array s = total(v);
  EXPECT_EQ(s.item<float>(), 28);
  EXPECT_TRUE(s.sharding().is_fully_replicated());
  auto greatest = ts::shard_map([](Array block) { return ts::pmax(ts::max(block), "i"); },
                                {.mesh = line, .in_specs = P("i"), .out_specs = P()});
  EXPECT_EQ(greatest(v).item<float>(), 7);
}

TEST_F(ShardMaps, TreesStaticsAndCaptures) {
  struct Model {
    Array w, b;
  };
  const Array scale = Array(3.0f);
  auto f = ts::shard_map(
      [&](const Model& m, Array x, int power) {
        for (int i = 0; i < power; ++i) x = x * m.w;
        return std::pair(Model{x + m.b, m.b}, ts::psum(ts::sum(x), "x") * scale);
      },
      {.mesh = grid, .in_specs = {{P("x"), P()}, P("x"), P()}, .out_specs = {{P("x"), P()}, P()}});
  const auto [model, sum] = f(Model{ts::arange(4.0), Array(1.0f)}, ts::ones({4}), 2);
  EXPECT_EQ(f32s(model.w), (Floats{1, 2, 5, 10}));
  EXPECT_EQ(model.b.item<float>(), 1);
  EXPECT_EQ(sum.item<float>(), 42);
}

// The gradient of a value that all devices share is the sum of their gradients, added once on any
// mesh.
TEST_F(ShardMaps, GradientsOfSharedParameters) {
  const Array w = ts::array({1.0, -2.0, 0.5});
  const Array x = ts::random::normal(ts::random::key(0), {8, 3});
  auto loss = ts::shard_map(
      [](Array weights, Array rows) {
        return ts::pmean(ts::mean(ts::square(ts::tanh(ts::dot(rows, weights)))), "i");
      },
      {.mesh = line, .in_specs = {P(), P("i")}, .out_specs = P()});
  auto whole = [](Array weights, Array rows) {
    return ts::mean(ts::square(ts::tanh(ts::dot(rows, weights))));
  };
  const Array g = ts::grad(loss)(w, x), want = ts::grad(whole)(w, x);
  EXPECT_TRUE(ts::allclose(g, want, 1e-6));
  EXPECT_TRUE(ts::allclose(ts::jit(ts::grad(loss))(w, x), want, 1e-6));
  // Inside, the value is already equal on all devices, and its pmean changes nothing.
  auto inside = ts::shard_map(
      [](Array weights, Array rows) {
        return ts::grad([&](Array p) {
          return ts::pmean(ts::mean(ts::square(ts::tanh(ts::dot(rows, p)))), "i");
        })(weights);
      },
      {.mesh = line, .in_specs = {P(), P("i")}, .out_specs = P()});
  EXPECT_TRUE(ts::allclose(inside(w, x), want, 1e-6));
}

// P('i') in, psum, P() out: the transpose moves nothing. P() in, P('i') out: one psum.
TEST_F(ShardMaps, TransposesAreMinimal) {
  NEEDS_CPU(schedules);
  const auto sums = [](const std::string& schedule) {
    int n = 0;
    for (auto at = schedule.find("psum"); at != std::string::npos;
         at = schedule.find("psum", at + 1))
      ++n;
    return n;
  };
  auto fan_in = ts::shard_map([](Array b) { return ts::psum(ts::sum(b), "i"); },
                              {.mesh = line, .in_specs = P("i"), .out_specs = P()});
  auto spread = ts::jit([&](Array x) { return ts::grad(fan_in)(x); });
  EXPECT_EQ(sums(spread.lower(v).schedule()), 0) << spread.lower(v).schedule();
  EXPECT_EQ(f32s(spread(v)), (Floats{1, 1, 1, 1, 1, 1, 1, 1}));
  auto fan_out = ts::shard_map([](Array b) { return b * 2; },
                               {.mesh = line, .in_specs = P(), .out_specs = P("i")});
  auto gradient =
      ts::jit([&](Array x) { return ts::grad([&](Array a) { return ts::sum(fan_out(a)); })(x); });
  const Array two = ts::ones({2});
  EXPECT_EQ(sums(gradient.lower(two).schedule()), 1) << gradient.lower(two).schedule();
  EXPECT_EQ(f32s(gradient(two)), (Floats{8, 8}));
}

TEST_F(ShardMaps, UnderAndAroundTransformations) {
  auto f = ts::shard_map(
      [](Array b) {
        // A carry that starts equal everywhere and varies from the first iteration on.
        auto [carry, ys] = ts::scan(
            [&](Array c, Array k) {
              c = ts::remat([](Array a, Array s) { return ts::sin(a) + s; })(c + b, k);
              return std::pair(c, ts::psum(c, "i"));
            },
            ts::zeros(b.shape()), ts::arange(3.0));
        return carry + ys[2];
      },
      {.mesh = line, .in_specs = P("i"), .out_specs = P("i")});
  auto plain = [](Array x) {  // the same on the global array
    Array c = ts::zeros({8}), last;
    for (int k = 0; k < 3; ++k) {
      c = ts::sin(c + x) + static_cast<float>(k);
      last = ts::sum(c.reshape(4, 2), 0);
    }
    return c + ts::tile(last, {4});
  };
  EXPECT_TRUE(ts::allclose(f(v), plain(v), 1e-6, 1e-6));
  EXPECT_TRUE(ts::allclose(ts::jit(f)(v), plain(v), 1e-6, 1e-6));
  const auto loss = [](auto g) { return [g](Array x) { return ts::sum(ts::square(g(x))); }; };
  EXPECT_TRUE(ts::allclose(ts::grad(loss(f))(v), ts::grad(loss(plain))(v), 1e-5, 1e-5));
  const Array many = ts::arange(24.0).reshape(3, 8) * 0.1;
  EXPECT_TRUE(ts::allclose(ts::vmap(f)(many), ts::vmap(plain)(many), 1e-6, 1e-6));
  EXPECT_TRUE(ts::allclose(ts::vmap(ts::grad(loss(f)))(many), ts::vmap(ts::grad(loss(plain)))(many),
                           1e-5, 1e-5));
}

TEST_F(ShardMaps, BranchesAndLoopsInside) {
  auto f = ts::shard_map(
      [](Array b) {
        const Array mine = ts::cond(
            ts::axis_index("i") > 1, [](Array a) { return a * 10; }, [](Array a) { return a; }, b);
        return ts::fori_loop(
            0, 2,
            [](Array, Array c) {
              return ts::ppermute(c, "i", {{0, 1}, {1, 2}, {2, 3}, {3, 0}});
            },
            mine);
      },
      {.mesh = line, .in_specs = P("i"), .out_specs = P("i")});
  EXPECT_EQ(f32s(f(v)), (Floats{40, 50, 60, 70, 0, 1, 2, 3}));
}

// One of two arrays varies, so both totals of one reduction do, although the body keeps them
// separate. For its derivative, and if the body has a loop, the reduction is split into separate
// ones.
TEST_F(ShardMaps, TotalsThatABodyKeepsApartVaryTogether) {
  using Sum = std::function<Array(Array, Array)>;
  const Array w = Array(Floats{3, 4});
  for (const Sum& add : {Sum([](Array a, Array x) { return a + x; }), Sum([](Array a, Array x) {
                           return ts::fori_loop(
                               0, 1, [&](Array, Array sum) { return sum + x; }, a);
                         })}) {
    auto f = ts::shard_map(
        [&](Array p, Array b) {
          const std::vector<Array> totals =
              ts::reduce({p, b}, {0.0, 0.0},
                         [&](std::vector<Array> acc, std::vector<Array> x) {
                           return std::vector<Array>{add(acc[0], x[0]), acc[1] + x[1]};
                         },
                         {0});
          return std::pair(ts::psum(totals[0], "i"), ts::psum(totals[1], "i"));
        },
        {.mesh = line, .in_specs = {P(), P("i")}, .out_specs = P()});
    const auto [of_w, of_v] = f(w, v);
    EXPECT_EQ(of_w.item<float>(), 4 * 7);
    EXPECT_EQ(of_v.item<float>(), 28);
    auto loss = [&](Array p, Array q) {
      const auto [a, b] = f(p, q);
      return a + 3 * b;
    };
    EXPECT_EQ(f32s(ts::grad(loss)(w, v)), (Floats{4, 4}));
    EXPECT_EQ(f32s(ts::grad<1>(loss)(w, v)), Floats(8, 3));
    EXPECT_EQ(f32s(ts::jit(ts::grad(loss))(w, v)), (Floats{4, 4}));
  }
}

TEST_F(ShardMaps, MeshOfTheScope) {
  const auto body = [](Array b) { return ts::psum(b, "i"); };
  const auto scope = ts::use_mesh(line);
  auto made_here = ts::shard_map(body, {.in_specs = P("i"), .out_specs = P()});
  EXPECT_EQ(f32s(made_here(v)), (Floats{12, 16}));
  const ts::Mesh two({{"i", 2}});
  const auto inner = ts::use_mesh(two);
  EXPECT_EQ(f32s(made_here(v)), (Floats{12, 16}));
}

TEST_F(ShardMaps, UntypedIsAsPmap) {
  auto f =
      ts::shard_map([](Array b) { return ts::psum(b, "i"); },
                    {.mesh = line, .in_specs = P("i"), .out_specs = P("i"), .check_vma = false});
  EXPECT_EQ(f32s(f(ts::ones({4}))), (Floats{4, 4, 4, 4}));
  // psum's transpose is psum there.
  auto inside = ts::shard_map(
      [](Array w, Array b) {
        return ts::grad([&](Array p) { return ts::sum(ts::psum(p * b, "i")); })(w);
      },
      {.mesh = line, .in_specs = {P(), P("i")}, .out_specs = P("i"), .check_vma = false});
  EXPECT_EQ(f32s(inside(ts::ones({1}), ts::arange(4.0))), (Floats{0, 4, 8, 12}));
}

TEST_F(ShardMaps, TracedOnceAKind) {
  auto f = ts::shard_map([](Array b) { return b + 1; },
                         {.mesh = line, .in_specs = P("i"), .out_specs = P("i")});
  f(v);
  f(v + 1);
  EXPECT_EQ(f.trace_count(), 1u);
  f(ts::ones({4}));
  EXPECT_EQ(f.trace_count(), 2u);
}

}  // namespace
