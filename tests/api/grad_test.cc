#include <tessera/contractions.h>
#include <tessera/creation.h>
#include <tessera/elementwise.h>
#include <tessera/grad.h>
#include <tessera/jit.h>
#include <tessera/reductions.h>
#include <tessera/vmap.h>

#include <gtest/gtest.h>

#include <cmath>

#include "api/check.h"

namespace ts = tessera;
using namespace api_test;
using Floats = std::vector<float>;

namespace {

struct Layer {
  Array w, b;
  int power = 2;
  Array steps;
};

Array loss(const Layer& l, Array x) { return ts::sum(l.w * x * x + l.b); }

TEST(Grad, OfAScalarFunction) {
  auto cube = [](Array x) { return x * x * x; };
  EXPECT_EQ(ts::grad(cube)(2.0f).item<float>(), 12.f);
  EXPECT_EQ(ts::grad(ts::grad(cube))(2.0f).item<float>(), 12.f);
  EXPECT_EQ(ts::grad(ts::grad(ts::grad(cube)))(2.0f).item<float>(), 6.f);
  EXPECT_EQ(ts::grad([](auto x) { return x * x; })(3.0f).item<float>(), 6.f);
}

TEST(Grad, HasTheTreeOfItsArgument) {
  Layer l{vec({1, 2}), vec({0, 0}), 7, Array(std::vector<int>{3})};
  auto [value, g] = ts::value_and_grad(loss)(l, vec({3, 4}));
  EXPECT_EQ(value.item<float>(), 9.f + 32.f);
  EXPECT_EQ(f32s(g.w), (Floats{9, 16}));
  EXPECT_EQ(f32s(g.b), (Floats{1, 1}));
  EXPECT_EQ(g.power, 7);
  EXPECT_TRUE(g.steps.is_empty());
}

TEST(Grad, OfSeveralArgumentsInTheOrderAsked) {
  auto f = [](Array a, Array b, Array c) { return ts::sum(a * b * b + c); };
  auto [gb, ga] = ts::grad<1, 0>(f)(vec({2}), vec({3}), vec({5}));
  EXPECT_EQ(f32s(gb), (Floats{12}));
  EXPECT_EQ(f32s(ga), (Floats{9}));
  EXPECT_EQ(f32s(ts::grad<2>(f)(vec({2}), vec({3}), vec({5}))), (Floats{1}));
}

TEST(Grad, AuxiliaryResults) {
  auto f = [](Array x, int k) { return std::pair(ts::sum(x * x), std::tuple(x + 1, k)); };
  auto [g, aux] = ts::grad(f)(vec({3}), 4);
  EXPECT_EQ(f32s(g), (Floats{6}));
  EXPECT_EQ(f32s(std::get<0>(aux)), (Floats{4}));
  EXPECT_EQ(std::get<1>(aux), 4);
  auto [both, gradients] = ts::value_and_grad(f)(vec({3}), 4);
  EXPECT_EQ(both.first.item<float>(), 9.f);
  EXPECT_EQ(f32s(gradients), (Floats{6}));
}

TEST(Grad, UnusedAndIndependentArgumentsHaveZeroGradients) {
  EXPECT_EQ(f32s(ts::grad([](Array, Array y) { return ts::sum(y); })(vec({1, 2}), vec({3}))),
            (Floats{0, 0}));
}

TEST(Grad, CapturesAreConstantsInsideAndOperandsOutside) {
  // d/dx of x * d/dy (x + y): perturbations of the two levels must not be confused.
  auto f = [](Array x) { return x * ts::grad([&](Array y) { return x + y; })(1.0f); };
  EXPECT_EQ(ts::grad(f)(1.0f).item<float>(), 1.f);
  // d/dx of d/dy (x^2 y^3) at y = x is 3 x^2 y^2 -> 12 x^3.
  auto g = [](Array x) { return ts::grad([&](Array y) { return x * x * y * y * y; })(x); };
  EXPECT_EQ(g(2.0f).item<float>(), 48.f);
  EXPECT_EQ(ts::grad(g)(2.0f).item<float>(), 96.f);
}

TEST(Grad, ComposesWithJitAndVmap) {
  auto f = ts::jit([](Array x) { return ts::sin(x) * x; });
  const float x = 0.7f;
  // The derivative is cos(x) x + sin(x); each rounding error is half an ulp of a number below 2.
  const float expected = std::cos(x) * x + std::sin(x);
  EXPECT_NEAR(ts::grad(f)(x).item<float>(), expected, 3e-7);
  EXPECT_NEAR(ts::jit(ts::grad(f))(x).item<float>(), expected, 3e-7);
  Array rows = ts::vmap(ts::jit(ts::grad(f)))(vec({x, 2 * x}));
  EXPECT_NEAR(f32s(rows)[0], expected, 3e-7);
  auto total = [&](Array xs) { return ts::sum(ts::vmap(f)(xs)); };
  EXPECT_EQ(f32s(ts::grad(total)(vec({x, 2 * x}))), f32s(rows));
  EXPECT_EQ(f32s(ts::jit(ts::grad(total))(vec({x, 2 * x}))), f32s(rows));
}

TEST(Grad, StopGradientOfATree) {
  auto f = [](Layer l) {
    return ts::sum(l.w * ts::stop_gradient(l).w + ts::stop_gradient(l.b) + ts::stop_gradient(2.0f));
  };
  Layer g = ts::grad(f)(Layer{vec({3}), vec({5}), 2, {}});
  EXPECT_EQ(f32s(g.w), (Floats{3}));
  EXPECT_EQ(f32s(g.b), (Floats{0}));
}

TEST(Jvp, ValueAndDirectionalDerivative) {
  auto f = [](Array x, Array y) { return std::pair(x * y, x + 1); };
  auto [value, tangent] =
      ts::jvp(f, std::tuple(vec({2}), vec({3})), std::tuple(vec({1}), vec({10})));
  EXPECT_EQ(f32s(value.first), (Floats{6}));
  EXPECT_EQ(f32s(tangent.first), (Floats{23}));
  EXPECT_EQ(f32s(tangent.second), (Floats{1}));
  auto [v, t] = ts::jvp([](Array x) { return x * x; }, 3.0f, 1.0f);
  EXPECT_EQ(t.item<float>(), 6.f);
  auto [v2, t2] = ts::jvp([](Array x) { return x * x; }, vec({3}), Array());
  EXPECT_EQ(f32s(t2), (Floats{0}));
}

TEST(Jvp, ListsTangentsThatDoNotFit) {
  auto f = [](Layer l, Array x) { return l.w * x; };
  EXPECT_EQ(message<ts::ShapeError>([&] {
              ts::jvp(f, std::tuple(Layer{vec({1}), {}, 2, {}}, vec({1})),
                      std::tuple(Layer{vec({1, 2}), {}, 2, {}}, vec({1, 2, 3})),
                      std::source_location{});
            }),
            "jvp: primals and tangents do not fit\n  - tangents[0]/w is f32[2], but what it "
            "belongs to is f32[1]\n  - tangents[1] is f32[3], but what it belongs to is f32[1]\n  "
            "rule: tangents have the dtype and shape of what they belong to\n  try: convert with "
            "astype, or make it with ts::ones_like of the primal");
}

TEST(Vjp, PullsCotangentsBack) {
  auto [y, pull] = ts::vjp([](Array x, Array w) { return x * w; }, vec({2, 3}), vec({5, 7}));
  EXPECT_EQ(f32s(y), (Floats{10, 21}));
  auto [dx, dw] = pull(vec({1, 10}));
  EXPECT_EQ(f32s(dx), (Floats{5, 70}));
  EXPECT_EQ(f32s(dw), (Floats{2, 30}));
  auto [y1, pull1] = ts::vjp(
      [](Layer l) {
        return Layer{l.w * l.w, l.b, 3, l.steps};
      },
      Layer{vec({4}), vec({1}), 2, Array(3)});
  Layer back = pull1(Layer{vec({1}), {}, 3, {}});
  EXPECT_EQ(f32s(back.w), (Floats{8}));
  EXPECT_EQ(f32s(back.b), (Floats{0}));
  EXPECT_TRUE(back.steps.is_empty());
  EXPECT_EQ(
      message<ts::ShapeError>([&] {
        pull1(Layer{vec({1, 2}), {}, 3, {}});
      }),
      "vjp: the cotangent does not fit\n  - cotangent/w is f32[2], but what it belongs to is "
      "f32[1]\n  rule: tangents and cotangents have the dtype and shape of what they belong to\n  "
      "try: convert with astype, or make it with ts::zeros_like or ts::ones_like of the value");
  EXPECT_EQ(message<ts::TreeError>([&] {
              pull1(Layer{vec({1}), {}, 4, {}});
            }),
            "vjp: the result and the cotangent differ in structure\n  - at power: the static value "
            "3 and the static value 4\n  rule: both need the same containers, keys and static "
            "values\n  try: build both alike: as many elements, the same keys and static values");
}

TEST(Vjp, JvpOfVjp) {
  // The tangent of x -> pullback(x)(1) = 2x is 2.
  auto f = [](Array x) {
    auto [y, pull] = ts::vjp([](Array z) { return z * z; }, x);
    return pull(Array(1.0f));
  };
  auto [v, t] = ts::jvp(f, 3.0f, 1.0f);
  EXPECT_EQ(v.item<float>(), 6.f);
  EXPECT_EQ(t.item<float>(), 2.f);
}

TEST(Linearize, RunsTheLinearPartAgain) {
  auto [y, linear] = ts::linearize([](Array x) { return x * x; }, vec({3, 4}));
  EXPECT_EQ(f32s(y), (Floats{9, 16}));
  EXPECT_EQ(f32s(linear(vec({1, 1}))), (Floats{6, 8}));
  EXPECT_EQ(f32s(linear(vec({0, 2}))), (Floats{0, 16}));
}

TEST(Jacobian, OfALinearMapIsItsMatrix) {
  Array a = mat({1, 2, 3, 4, 5, 6}, {2, 3});
  auto f = [&](Array x) { return ts::dot(a, x); };
  for (Array j : {ts::jacfwd(f)(vec({1, 1, 1})), ts::jacrev(f)(vec({1, 1, 1}))}) {
    EXPECT_EQ(j.shape(), (ts::Shape{2, 3}));
    EXPECT_EQ(f32s(j), (Floats{1, 2, 3, 4, 5, 6}));
  }
}

TEST(Jacobian, TreesOnEitherSide) {
  Layer l{vec({2, 3}), vec({1}), 2, Array(4)};
  Layer j = ts::jacrev([](Layer p) { return p.w * p.b; })(l);
  EXPECT_EQ(j.w.shape(), (ts::Shape{2, 2}));
  EXPECT_EQ(f32s(j.w), (Floats{1, 0, 0, 1}));
  EXPECT_EQ(f32s(j.b), (Floats{2, 3}));
  EXPECT_TRUE(j.steps.is_empty());
  auto k = ts::jacfwd([](Array x) { return std::tuple(x * x, ts::sum(x)); })(vec({2, 3}));
  EXPECT_EQ(f32s(std::get<0>(k)), (Floats{4, 0, 0, 6}));
  EXPECT_EQ(f32s(std::get<1>(k)), (Floats{1, 1}));
}

TEST(Hessian, OfAQuadraticIsItsMatrix) {
  Array a = mat({2, 1, 0, 1, 3, 5, 0, 5, 7}, {3, 3});  // symmetric: x'Ax / 2 has Hessian A
  auto f = [&](Array x) { return 0.5 * ts::dot(x, ts::dot(a, x)); };
  Array h = ts::hessian(f)(vec({1, -2, 3}));
  EXPECT_EQ(h.shape(), (ts::Shape{3, 3}));
  EXPECT_EQ(f32s(h), f32s(a));
  EXPECT_EQ(f32s(ts::jit(ts::hessian(f))(vec({0, 0, 0}))), f32s(a));
}

// f(w, b) = sum(w w) b has a block for each leaf of the result and each leaf of the argument.
TEST(Hessian, OfATree) {
  using Params = std::pair<Array, Array>;
  auto f = [](Params p) { return ts::sum(p.first * p.first) * p.second; };
  const std::map<std::string, Params> h = ts::hessian(f)(Params{vec({1, 2}), Array(3.0f)});
  ASSERT_EQ(h.size(), 2u);
  EXPECT_EQ(f32s(h.at("0").first), (Floats{6, 0, 0, 6}));
  EXPECT_EQ(f32s(h.at("0").second), (Floats{2, 4}));
  EXPECT_EQ(h.at("0").second.shape(), (ts::Shape{2}));
  EXPECT_EQ(f32s(h.at("1").first), (Floats{2, 4}));
  EXPECT_EQ(f32s(h.at("1").second), (Floats{0}));
}

TEST(Jacobian, FromTreeToTree) {
  using Params = std::map<std::string, Array>;
  auto f = [](Params p) {
    return Params{{"product", p.at("x") * p.at("y")}, {"sum", ts::sum(p.at("x"))}};
  };
  const Params at{{"x", vec({1, 2})}, {"y", Array(3.0f)}};
  for (const auto& j : {ts::jacfwd(f)(at), ts::jacrev(f)(at)}) {
    EXPECT_EQ(f32s(j.at("product").at("x")), (Floats{3, 0, 0, 3}));
    EXPECT_EQ(f32s(j.at("product").at("y")), (Floats{1, 2}));
    EXPECT_EQ(f32s(j.at("sum").at("x")), (Floats{1, 1}));
    EXPECT_EQ(f32s(j.at("sum").at("y")), (Floats{0}));
  }
}

TEST(Vjp, OfManyArguments) {
  auto [y, back] = ts::vjp([](Array a, Array b, Array c, Array d) { return a * b + c * d; },
                           Array(1.0f), Array(2.0f), Array(3.0f), Array(4.0f));
  EXPECT_EQ(y.item<float>(), 14.f);
  auto [a, b, c, d] = back(Array(1.0f));
  EXPECT_EQ((Floats{a.item<float>(), b.item<float>(), c.item<float>(), d.item<float>()}),
            (Floats{2, 1, 4, 3}));
}

TEST(GradErrors, SayWhatToDo) {
  auto square = [](Array x) { return x * x; };
  const std::source_location none{};
  EXPECT_EQ(
      message<ts::ShapeError>([&] {
        ts::grad(square, none)(vec({1, 2, 3}));
      }),
      "grad: the loss has shape (3,), which is 3 values\n  rule: a gradient exists only for a "
      "single floating-point number, of shape ()\n  try: reduce it with ts::sum or ts::mean, or "
      "use "
      "ts::jacrev for all derivatives");
  EXPECT_EQ(message<ts::DTypeError>([&] { ts::grad(square, none)(Array(std::vector<int>{3})); }),
            "grad: an argument cannot be differentiated\n"
            "  - args[0] has no floating leaf: i32[1]\n"
            "  rule: derivatives are taken with respect to floating arrays\n"
            "  try: pass 3.0f instead of 3, or convert with astype(ts::f32)");
  EXPECT_EQ(message<ts::DTypeError>([&] {
              ts::value_and_grad([](Array x) { return ts::sum(x > 0); }, none)(vec({1}));
            }),
            "value_and_grad: the loss has dtype int32\n"
            "  rule: a gradient exists only for a single floating-point number\n"
            "  try: compute the loss from floating values, or convert it with astype(ts::f32)");
}

}  // namespace

// The formula has kinks where its arguments are equal; the function has none.
TEST(Grad, LogaddexpIsSmoothWhereItsArgumentsAreEqual) {
  auto f = [](Array v) { return ts::logaddexp(v[0], v[1]); };
  for (float at : {0.0f, -3.0f, 50.0f, 3e38f}) {
    Array v = ts::full({2}, at);
    EXPECT_EQ(f(v).item<float>(), at + std::log(2.0f));
    EXPECT_EQ(ts::grad(f)(v).to_vector<float>(), (std::vector<float>{0.5f, 0.5f}));
    EXPECT_EQ(ts::hessian(f)(v).to_vector<float>(),
              (std::vector<float>{0.25f, -0.25f, -0.25f, 0.25f}));
  }
  Array far = ts::array({0.0, -INFINITY});
  EXPECT_EQ(ts::grad(f)(far).to_vector<float>(), (std::vector<float>{1, 0}));
}
