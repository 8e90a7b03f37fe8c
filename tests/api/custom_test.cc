#include <tessera/control_flow.h>
#include <tessera/creation.h>
#include <tessera/custom.h>
#include <tessera/elementwise.h>
#include <tessera/grad.h>
#include <tessera/jit.h>
#include <tessera/reductions.h>
#include <tessera/vmap.h>

#include <gtest/gtest.h>

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

// A rule that is visibly not the derivative: it returns 100 times the tangent.
auto marked() {
  return ts::custom_jvp([](Array x) { return x * x; },
                        [](Array x, Array dx) { return std::pair(x * x, 100 * dx); });
}

TEST(CustomJvp, RuleReplacesTheDerivative) {
  auto f = marked();
  EXPECT_EQ(f(3.0f).item<float>(), 9.f);
  EXPECT_EQ(ts::jvp(f, 3.0f, 2.0f).second.item<float>(), 200.f);
  EXPECT_EQ(ts::grad(f)(3.0f).item<float>(), 100.f);
  EXPECT_EQ(ts::grad([&](Array x) { return f(x) * x; })(3.0f).item<float>(), 309.f);
  EXPECT_EQ(ts::grad(ts::grad(f))(3.0f).item<float>(), 0.f);
}

TEST(CustomJvp, UnderJitAndVmap) {
  auto f = marked();
  EXPECT_EQ(ts::jit(ts::grad(f))(3.0f).item<float>(), 100.f);
  EXPECT_EQ(ts::grad(ts::jit(f))(3.0f).item<float>(), 100.f);
  EXPECT_EQ(f32s(ts::vmap(ts::grad(f))(vec({1, 2}))), (Floats{100, 100}));
  EXPECT_EQ(f32s(ts::grad([&](Array x) { return ts::sum(ts::vmap(f)(x)); })(vec({1, 2}))),
            (Floats{100, 100}));
}

TEST(CustomJvp, CompiledInsideABranch) {
  auto f = marked();
  auto either = [&](Array flag, Array x) {
    return ts::cond(
        flag, [&](Array v) { return f(v); }, [](Array v) { return v + 1; }, x);
  };
  auto g = ts::jit(either);
  EXPECT_EQ(g(true, 3.0f).item<float>(), 9.f);
  EXPECT_EQ(g(false, 3.0f).item<float>(), 4.f);
  auto dx = ts::jit(ts::grad<1>(either));
  EXPECT_EQ(dx(true, 3.0f).item<float>(), 100.f);
  EXPECT_EQ(dx(false, 3.0f).item<float>(), 1.f);
}

TEST(CustomJvp, SeveralArgumentsTreesAndStatics) {
  auto f = ts::custom_jvp([](Layer l, Array x, int k) { return std::pair(l.w * x, k); },
                          [](Layer l, Array x, int k, Layer dl, Array dx, int) {
                            EXPECT_TRUE(dl.steps.is_empty());
                            EXPECT_TRUE(dl.b.is_empty());
                            return std::pair(std::pair(l.w * x, k), std::pair(7 * dl.w + dx, k));
                          });
  Layer l{vec({2}), {}, 3, Array(std::vector<int>{5})};
  EXPECT_EQ(f(l, vec({4}), 6).second, 6);
  auto [g, dx] =
      ts::grad<0, 1>([&](Layer p, Array x) { return ts::sum(f(p, x, 6).first); })(l, vec({4}));
  EXPECT_EQ(f32s(g.w), (Floats{7}));
  EXPECT_TRUE(g.b.is_empty());
  EXPECT_EQ(f32s(dx), (Floats{1}));
}

TEST(CustomJvp, RulesCaptureConcreteArrays) {
  Array k = vec({5});
  auto f = ts::custom_jvp([](Array x) { return x; },
                          [k](Array x, Array dx) { return std::pair(x, k * dx); });
  EXPECT_EQ(f32s(ts::vjp(f, vec({1})).second(vec({1}))), (Floats{5}));
}

TEST(CustomJvp, TracedCapturesOfARuleAreRefused) {
  const std::source_location none{};
  auto outer = [&](Array k) {
    auto f = ts::custom_jvp([](Array x) { return x; },
                            [k](Array x, Array dx) { return std::pair(x, k * dx); }, none);
    return ts::grad(f)(Array(1.0f));
  };
  const std::string what = message<ts::TraceError>([&] { ts::jit(outer)(2.0f); });
  EXPECT_EQ(what.substr(0, what.find('\n')).find("custom_jvp: the rule uses a traced array f32[]"),
            0u)
      << what;
  auto capturing = [&](Array k) {
    auto f = ts::custom_jvp([k](Array x) { return x * k; },
                            [](Array x, Array dx) { return std::pair(x, dx); }, none);
    return f(Array(vec({3}))[0]);
  };
  EXPECT_EQ(message<ts::TraceError>([&] { ts::grad(capturing)(2.0f); }),
            "custom_jvp: the function captures an array that is being differentiated\n"
            "  rule: a derivative rule says nothing about captured arrays\n"
            "  try: make it an argument of the function");
}

auto clipped() {
  return ts::custom_vjp(
      [](Array x, Array limit) { return x * 2 + 0 * limit; },
      [](Array x, Array limit) { return std::pair(x * 2 + 0 * limit, std::tuple(limit)); },
      [](std::tuple<Array> r, Array ct) {
        Array limit = std::get<0>(r);
        return std::tuple(ts::minimum(ct, limit), Array());
      });
}

TEST(CustomVjp, BackwardRuleIsUsed) {
  auto f = clipped();
  EXPECT_EQ(f32s(f(vec({1, 2}), vec({1, 1}))), (Floats{2, 4}));
  auto loss = [&](Array x) { return ts::sum(f(x, vec({1, 100})) * vec({5, 7})); };
  EXPECT_EQ(f32s(ts::grad(loss)(vec({1, 2}))), (Floats{1, 7}));
  EXPECT_EQ(f32s(ts::jit(ts::grad(loss))(vec({1, 2}))), (Floats{1, 7}));
  auto both = [&](Array x, Array l) { return ts::sum(f(x, l) * vec({5, 7})); };
  EXPECT_EQ(f32s(ts::grad<1>(both)(vec({1, 2}), vec({1, 100}))), (Floats{0, 0}));
  Array rows = ts::vmap(ts::grad(both), {.in_axes = {0, ts::replicated}})(mat({1, 2, 3, 4}, {2, 2}),
                                                                          vec({1, 100}));
  EXPECT_EQ(f32s(rows), (Floats{1, 7, 1, 7}));
}

TEST(CustomVjp, OneTreeArgument) {
  auto f = ts::custom_vjp([](Layer l) { return ts::sum(l.w); },
                          [](Layer l) { return std::pair(ts::sum(l.w), l); },
                          [](Layer l, Array ct) {
                            return Layer{l.w * ct * 10, {}, l.power, {}};
                          });
  Layer g = ts::grad([&](Layer l) { return f(l) * 2; })(Layer{vec({1, 2}), vec({3}), 4, Array(7)});
  EXPECT_EQ(f32s(g.w), (Floats{20, 40}));
  EXPECT_EQ(f32s(g.b), (Floats{0}));
  EXPECT_TRUE(g.steps.is_empty());
  EXPECT_EQ(g.power, 4);
}

TEST(CustomVjp, HasNoForwardMode) {
  auto f = clipped();
  EXPECT_NE(message<ts::TraceError>([&] {
              ts::jvp([&](Array x) { return f(x, vec({1})); }, vec({1}), vec({1}));
            }).find("custom_jvp"),
            std::string::npos);
}

}  // namespace
