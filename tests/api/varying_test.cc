// Derivatives in a typed shard_map: the cotangent of a shared value is the sum over the devices,
// that of a varying value is each device's own. The tests also say which tangents and cotangents
// fit. The numbers are JAX's (shard_map with check_vma) where it can run the program.
#include <tessera/collectives.h>
#include <tessera/contractions.h>
#include <tessera/control_flow.h>
#include <tessera/creation.h>
#include <tessera/custom.h>
#include <tessera/grad.h>
#include <tessera/manipulation.h>
#include <tessera/operators.h>
#include <tessera/reductions.h>
#include <tessera/shard_map.h>
#include <tessera/stacking.h>
#include <tessera/vmap.h>

#include "api/check.h"

#include <gtest/gtest.h>

namespace ts = tessera;
using api_test::message;
using ts::Array;
using ts::P;

namespace {

using Doubles = std::vector<double>;

class Varying : public testing::Test {
 protected:
  const ts::Mesh mesh = [] {
    ts::set_device_count(8);
    return ts::Mesh({{"x", 2}});
  }();
  const Array x = ts::array({1., 10.}, ts::f64), w = ts::array({3.}, ts::f64);

  template <class F>
  Doubles on_both(F f, const ts::SpecTree& in, const ts::PartitionSpec& out, auto... args) {
    return ts::shard_map(f, {.mesh = mesh, .in_specs = in, .out_specs = out})(args...)
        .template to_vector<double>();
  }
};

// One row of the Jacobian is a gradient, which is the sum over the devices that share the argument.
// Forward mode gives the change of each device's result.
TEST_F(Varying, JacobiansOfASharedParameter) {
  auto product = [](Array b) { return [b](Array a) { return a * b; }; };
  auto reverse = [&](Array a, Array b) { return ts::sum(ts::jacrev(product(b))(a), 1); };
  auto forward = [&](Array a, Array b) { return ts::sum(ts::jacfwd(product(b))(a), 1); };
  EXPECT_EQ(on_both(reverse, {P(), P("x")}, P(), w, x), Doubles{11});
  EXPECT_EQ(on_both(forward, {P(), P("x")}, P("x"), w, x), (Doubles{1, 10}));
  auto gradient = [&](Array a, Array b) {
    return ts::grad([b](Array c) { return ts::sum(c * b); })(a);
  };
  EXPECT_EQ(on_both(gradient, {P(), P("x")}, P(), w, x), Doubles{11});
  auto own = [&](Array a, Array b) { return reverse(ts::pvary(a, "x"), b); };
  EXPECT_EQ(on_both(own, {P(), P("x")}, P("x"), w, x), (Doubles{1, 10}));
  auto hessian = [&](Array a, Array b) {
    return ts::sum(ts::hessian([b](Array c) { return ts::sum(c * c * b); })(a), 1);
  };
  EXPECT_EQ(on_both(hessian, {P(), P("x")}, P(), w, x), Doubles{22});
}

TEST_F(Varying, CotangentsThatVary) {
  auto of = [](auto f, auto cast) {
    return [=](Array a, Array t) {
      auto [y, back] = ts::vjp(f, cast(a));
      return back(t);
    };
  };
  auto square = [](Array p) { return p * p; };
  auto itself = [](Array a) { return a; };
  auto varies = [](Array a) { return ts::pcast(a, "x", {.to = "varying"}); };
  EXPECT_EQ(on_both(of(square, varies), {P(), P("x")}, P("x"), w, x), (Doubles{6, 60}));
  auto square_that_varies = [](Array p) { return ts::pvary(p * p, "x"); };
  EXPECT_EQ(on_both(of(square_that_varies, itself), {P(), P("x")}, P(), w, x), Doubles{66});
  EXPECT_EQ(
      message<ts::CollectiveError>([&] {
        on_both(of(square, itself), {P(), P("x")}, P("x"), w, x);
      }),
      "vjp: the cotangent varies over axes along which what it belongs to is the same\n"
      "  - cotangent varies over 'x'\n"
      "  rule: in a typed shard_map a cotangent varies at most over the axes of the value that "
      "it belongs to\n"
      "  try: for each device's own derivative make the argument vary, vjp(f, ts::pvary(x, "
      "\"x\")); for that of what all share sum the cotangent, ts::psum(ct, \"x\")");
  auto summed = [&](Array a, Array t) { return of(square, itself)(a, ts::psum(t, "x")); };
  EXPECT_EQ(on_both(summed, {P(), P("x")}, P(), w, x), Doubles{66});
  // A tangent that is equal everywhere is each device's tangent.
  auto shared = [&](Array a, Array t) {
    auto [y, back] = ts::vjp([t](Array p) { return p * t; }, a);
    return back(ts::ones({1}, ts::f64));
  };
  EXPECT_EQ(on_both(shared, {P(), P("x")}, P(), w, x), Doubles{11});
}

TEST_F(Varying, OverOneOfTwoAxes) {
  const ts::Mesh grid({{"x", 2}, {"y", 2}});
  const Array t = ts::array({1., 2., 3., 4.}, ts::f64);
  auto run = [&](auto f, const ts::PartitionSpec& out) {
    const std::vector<ts::PartitionSpec::Dim> both{std::vector<std::string>{"x", "y"}};
    const Array y = ts::shard_map(
        f, {.mesh = grid, .in_specs = {P(), P("x"), ts::PartitionSpec(both)}, .out_specs = out})(
        w, x, t);
    return y.to_vector<double>();
  };
  auto inside = [](Array a, Array b, Array ct) {
    return ts::vjp([&](Array p) { return ts::pvary(p * b, "y"); }, a).second(ct);
  };
  EXPECT_EQ(run(inside, P()), Doubles{73});
  auto outside = [](Array a, Array b, Array ct) {
    return ts::vjp([&](Array p) { return p * b; }, ts::pvary(a, "y")).second(ct);
  };
  EXPECT_EQ(run(outside, P("y")), (Doubles{31, 42}));
}

TEST_F(Varying, TangentsThatVary) {
  auto fourth_power = [](Array p) {
    return ts::fori_loop(
        0, 3, [&](Array, Array c) { return c * p; }, p);
  };
  auto pushed = [&](Array a, Array t) { return ts::jvp(fourth_power, a, t).second; };
  EXPECT_EQ(on_both(pushed, {P(), P("x")}, P("x"), w, x), (Doubles{108, 1080}));
  // The primal stays equal on all devices.
  auto primal = [&](Array a, Array t) { return ts::jvp(fourth_power, a, t).first; };
  EXPECT_EQ(on_both(primal, {P(), P("x")}, P(), w, x), Doubles{81});
  auto linear = [&](auto cast) {
    return [=](Array a, Array t) { return ts::linearize(fourth_power, cast(a)).second(t); };
  };
  auto varies = [](Array a) { return ts::pvary(a, "x"); };
  EXPECT_EQ(on_both(linear(varies), {P(), P("x")}, P("x"), w, x), (Doubles{108, 1080}));
  EXPECT_EQ(
      message<ts::CollectiveError>([&] {
        on_both(linear([](Array a) { return a; }), {P(), P("x")}, P("x"), w, x);
      }),
      "linearize: the tangents vary over axes along which what they belong to is the same\n"
      "  - tangents[0] varies over 'x'\n"
      "  rule: in a typed shard_map a tangent varies at most over the axes of the value that it "
      "belongs to\n"
      "  try: make the argument vary, linearize(f, ts::pvary(x, \"x\")), or use jvp");
}

TEST_F(Varying, BackwardPassesOfUsers) {
  auto product = [](auto backward) {
    return ts::custom_vjp([](Array a, Array b) { return a * b; },
                          [](Array a, Array b) { return std::pair(a * b, std::pair(a, b)); },
                          backward);
  };
  auto gradient = [](auto f) {
    return [=](Array a, Array b) { return ts::grad([&](Array c) { return ts::sum(f(c, b)); })(a); };
  };
  auto summed = product([](std::pair<Array, Array> r, Array ct) {
    return std::tuple(ts::psum(ct * r.second, "x"), ct * r.first);
  });
  EXPECT_EQ(on_both(gradient(summed), {P(), P("x")}, P(), w, x), Doubles{11});
  auto forgotten = product(
      [](std::pair<Array, Array> r, Array ct) { return std::tuple(ct * r.second, ct * r.first); });
  EXPECT_EQ(message<ts::CollectiveError>([&] {
              on_both(gradient(forgotten), {P(), P("x")}, P(), w, x);
            }),
            "custom_vjp: the backward pass gives a cotangent that varies over 'x', for an argument "
            "that is the same on all devices along it\n"
            "  rule: in a typed shard_map a cotangent varies at most over the axes of the argument "
            "that it belongs to\n"
            "  try: sum it in the rule, ts::psum(ct, \"x\"), or make the argument vary where the "
            "function is called, ts::pvary(x, \"x\")");
}

// The cotangent of a gathered value is equal everywhere, but each device's part of it varies, which
// the next derivative must know.
TEST_F(Varying, DerivativesOfWhatIsGathered) {
  const Array p = ts::array({3., 5.}, ts::f64);
  auto h = [](auto power) {
    return [=](Array a, Array b) {
      const Array g = ts::grad(
          [&](Array c) { return ts::sum(power(a * ts::all_gather(c, "x", {.tiled = true}))); })(b);
      return ts::sum(a * g);
    };
  };
  auto line = h([](Array y) { return y; });
  auto square = h([](Array y) { return y * y; });
  auto value = [](auto f) { return [=](Array a, Array b) { return ts::expand_dims(f(a, b), 0); }; };
  // With p = (3, 5) and x = (1, 10), both devices have the same loss. g of device d is twice its
  // derivative: 2 p_d for the line, 4 p_d^2 x_d for the square. The value there is 8 g.
  EXPECT_EQ(on_both(value(line), {P(), P("x")}, P("x"), p, x), (Doubles{48, 80}));
  EXPECT_EQ(on_both(value(square), {P(), P("x")}, P("x"), p, x), (Doubles{288, 8000}));
  EXPECT_EQ(
      on_both([&](Array a, Array b) { return ts::grad(line)(a, b); }, {P(), P("x")}, P(), p, x),
      (Doubles{32, 32}));
  EXPECT_EQ(
      on_both([&](Array a, Array b) { return ts::grad(square)(a, b); }, {P(), P("x")}, P(), p, x),
      (Doubles{1228, 4236}));
}

TEST_F(Varying, Casts) {
  struct Pair {
    Array a, b;
  };
  // pvary and pcast also take trees, values that vary already, and axes without types.
  auto f = [](Array a, Array b) {
    const Pair p = ts::pvary(Pair{a, b}, "x");
    const Pair q = ts::pcast(p, "x", {.to = "varying"});
    return q.a + q.b;
  };
  EXPECT_EQ(on_both(f, {P(), P("x")}, P("x"), w, x), (Doubles{4, 13}));
  EXPECT_EQ(ts::vmap([](Array a) { return ts::pvary(a, "i"); }, {.axis_name = "i"})(x)
                .to_vector<double>(),
            (Doubles{1, 10}));
  EXPECT_EQ(message<ts::ShardingError>([&] {
              on_both([](Array a) { return ts::pvary(a, "x"); }, {P()}, P(), w);
            }).find("shard_map: "),
            0u);
  EXPECT_EQ(message<ts::CollectiveError>([&] {
              on_both([](Array a) { return ts::pcast(a, "x", {.to = "invariant"}); }, {P("x")}, P(),
                      x);
            }),
            "pcast: there is no cast to \"invariant\"\n"
            "  rule: what is the same on all devices may be typed as varying; what varies becomes "
            "the same by communication only\n"
            "  try: pcast(x, axes, {.to = \"varying\"}), or psum, pmean, pmax or all_gather with "
            ".invariant, whose results are the same on all devices");
}

class Groups : public testing::Test {
 protected:
  const ts::Mesh mesh = [] {
    ts::set_device_count(8);
    return ts::Mesh({{"x", 4}});
  }();
  const Array x = ts::array({1., 2., 3., 4.}, ts::f64);
  const ts::AxisGroups halves{{0, 1}, {2, 3}};

  template <class F>
  Doubles run(F f) {
    return ts::shard_map(f, {.mesh = mesh, .in_specs = {P("x")}, .out_specs = P("x")})(x)
        .template to_vector<double>();
  }
  /// The gradient of the sum of all devices' results, each multiplied by its number counted from 1.
  template <class F>
  Doubles gradient(F f) {
    return run([&](Array a) {
      return ts::grad([&](Array b) { return ts::sum(f(b) * (ts::axis_index("x") + 1.)); })(a);
    });
  }
};

TEST_F(Groups, InATypedRegion) {
  auto psum = [&](Array a) { return ts::psum(a, "x", halves); };
  auto pmean = [&](Array a) { return ts::pmean(a, "x", halves); };
  auto two = [](Array a) { return ts::concatenate({a, 2 * a}); };
  auto gather = [&](Array a) { return ts::all_gather(a, "x", {.tiled = true, .groups = halves}); };
  auto scatter = [&](Array a) {
    return ts::psum_scatter(two(a), "x", {.tiled = true, .groups = halves});
  };
  auto exchange = [&](Array a) {
    return ts::all_to_all(two(a), "x", 0, 0, {.tiled = true, .groups = halves});
  };
  EXPECT_EQ(run(psum), (Doubles{3, 3, 7, 7}));
  EXPECT_EQ(run(pmean), (Doubles{1.5, 1.5, 3.5, 3.5}));
  EXPECT_EQ(run([&](Array a) { return ts::pmax(a, "x", halves); }), (Doubles{2, 2, 4, 4}));
  EXPECT_EQ(run([&](Array a) { return ts::pmin(a, "x", halves); }), (Doubles{1, 1, 3, 3}));
  EXPECT_EQ(run(gather), (Doubles{1, 2, 1, 2, 3, 4, 3, 4}));
  EXPECT_EQ(run(scatter), (Doubles{3, 6, 7, 14}));
  EXPECT_EQ(run(exchange), (Doubles{1, 2, 2, 4, 3, 4, 6, 8}));
  EXPECT_EQ(gradient(psum), (Doubles{3, 3, 7, 7}));
  EXPECT_EQ(gradient(pmean), (Doubles{1.5, 1.5, 3.5, 3.5}));
  EXPECT_EQ(gradient(gather), (Doubles{3, 3, 7, 7}));
  EXPECT_EQ(gradient(scatter), (Doubles{5, 5, 11, 11}));
  EXPECT_EQ(gradient(exchange), (Doubles{5, 5, 11, 11}));
}

// The sums 3, 3, 7, 7, each multiplied by its device's number counted from 1.
TEST_F(Groups, OfASharedParameter) {
  auto f = [&](Array w, Array a) {
    return ts::grad([&](Array b) {
      return ts::sum(ts::psum(b * a, "x", halves) * (ts::axis_index("x") + 1.));
    })(w);
  };
  EXPECT_EQ(ts::shard_map(f, {.mesh = mesh, .in_specs = {P(), P("x")}, .out_specs = P()})(
                ts::array({2.}, ts::f64), x)
                .to_vector<double>(),
            Doubles{58});
  // Groups of unequal size give unequal parts of a cotangent that is equal everywhere.
  auto unequal = [&](Array a) {
    return ts::grad([&](Array b) { return ts::sum(ts::psum(b, "x", {{0, 1, 2}, {3}})); })(a);
  };
  EXPECT_EQ(run(unequal), (Doubles{3, 3, 3, 1}));
}

// Groups along "data" are explicit; along "model" the partial products are summed automatically.
TEST_F(Groups, BesideAutomaticAxes) {
  const ts::Mesh grid({{"data", 4}, {"model", 2}});
  const Array rows = ts::reshape(ts::arange(16.), {4, 4}).astype(ts::f64);
  const Array weights = ts::array({1., 2., 3., 4.}, ts::f64);
  auto f = [&](Array w, Array block) { return ts::psum(ts::dot(block, w), "data", halves); };
  auto g = ts::jit(ts::shard_map(f, {.mesh = grid,
                                     .in_specs = {P(), P("data")},
                                     .out_specs = P("data"),
                                     .axis_names = {"data"}}),
                   {.mesh = grid, .in_shardings = {P("model"), P("data", "model")}});
  EXPECT_EQ(g(weights, rows).to_vector<double>(), (Doubles{80, 80, 240, 240}));
}

TEST_F(Groups, VaryOverTheAxis) {
  EXPECT_EQ(message<ts::ShardingError>([&] {
              ts::shard_map([&](Array a) { return ts::psum(a, "x", halves); },
                            {.mesh = mesh, .in_specs = {P("x")}, .out_specs = P()})(x);
            }).find("shard_map: "),
            0u);
  EXPECT_EQ(
      message<ts::CollectiveError>([&] {
        run([&](Array a) { return ts::all_gather(a, "x", {.groups = halves, .invariant = true}); });
      }),
      "all_gather: the result is to be invariant, and groups are given\n"
      "  rule: each group gathers blocks of its own, so that the result differs from group to "
      "group\n"
      "  try: leave out .invariant, or gather over the whole axis");
}

}  // namespace
