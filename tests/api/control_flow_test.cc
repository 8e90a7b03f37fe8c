#include <tessera/control_flow.h>
#include <tessera/creation.h>
#include <tessera/elementwise.h>
#include <tessera/grad.h>
#include <tessera/jit.h>
#include <tessera/manipulation.h>
#include <tessera/reductions.h>
#include <tessera/vmap.h>

#include <gtest/gtest.h>

#include "api/check.h"

namespace ts = tessera;
using namespace api_test;
using Floats = std::vector<float>;

namespace {

struct State {
  Array x, n;
  int order = 1;
};

TEST(Cond, RunsOneBranchWithCapturesOrOperands) {
  Array x = vec({1, 2});
  auto pick = [&](Array flag) {
    return ts::cond(
        flag, [&] { return 2 * ts::sum(x); }, [&] { return ts::mean(x); });
  };
  EXPECT_EQ(pick(true).item<float>(), 6.f);
  EXPECT_EQ(pick(false).item<float>(), 1.5f);
  EXPECT_EQ(pick(3).item<float>(), 6.f);
  auto f = ts::jit([](Array flag, Array a, Array b) {
    return ts::cond(
        flag > 0, [](Array p, Array q) { return p + q; }, [](Array p, Array q) { return p * q; }, a,
        b);
  });
  EXPECT_EQ(f32s(f(1.f, vec({2}), vec({3}))), (Floats{5}));
  EXPECT_EQ(f32s(f(-1.f, vec({2}), vec({3}))), (Floats{6}));
  EXPECT_EQ(f.trace_count(), 1u);
}

TEST(Cond, TreesAndWeakResults) {
  auto f = [](Array flag, Array x) {
    return ts::cond(
        flag,
        [&] {
          return State{x, Array(1.0f), 4};
        },
        [&] {
          return State{x + 1, ts::sum(x), 4};
        });
  };
  State s = f(true, vec({5}));
  EXPECT_EQ(f32s(s.x), (Floats{5}));
  EXPECT_EQ(s.n.item<float>(), 1.f);
  EXPECT_FALSE(s.n.weak_type());
  EXPECT_EQ(s.order, 4);
  EXPECT_EQ(f(false, vec({5})).n.item<float>(), 5.f);
}

TEST(Cond, DifferentiatesAndMapsThroughCaptures) {
  auto f = [](Array x) {
    return ts::cond(
        x > 2, [&] { return x * x; }, [&] { return 3 * x; });
  };
  EXPECT_EQ(ts::grad(f)(3.0f).item<float>(), 6.f);
  EXPECT_EQ(ts::grad(f)(1.0f).item<float>(), 3.f);
  EXPECT_EQ(ts::jvp(f, 3.0f, 1.0f).second.item<float>(), 6.f);
  EXPECT_EQ(f32s(ts::vmap(f)(vec({1, 3}))), (Floats{3, 9}));
  EXPECT_EQ(f32s(ts::vmap(ts::grad(f))(vec({1, 3}))), (Floats{3, 6}));
}

TEST(Cond, ListsWhatDiffers) {
  Array x = vec({1, 2});
  EXPECT_EQ(message<ts::TreeError>([&] {
              ts::cond(
                  ts::Operand(true, {}), [&] { return std::pair(x, x + 1); },
                  [&] {
                    return std::pair(x[0], Array(std::vector<int>{1, 2}));
                  });
            }),
            "cond: the branches' results differ in type\n"
            "  - result[0]: f32[2] if true, f32[] if false\n"
            "  - result[1]: f32[2] if true, i32[2] if false\n"
            "  rule: all branches give the same dtypes and shapes\n"
            "  try: use astype, reshape or broadcast_to in one of them");
  EXPECT_EQ(
      message<ts::TreeError>([&] {
        ts::cond(
            true,
            [&] {
              return State{x, {}, 1};
            },
            [&] {
              return State{x, {}, 2};
            });
      }),
      "cond: the result if false and that if true differ in structure\n  - at order: the static "
      "value 2 and the static value 1\n  rule: both need the same containers, keys and static "
      "values\n  try: build both alike: as many elements, the same keys and static values");
  EXPECT_EQ(
      message<ts::ShapeError>([&] {
        ts::cond(
            ts::Operand(x > 0, {}), [&] { return x; }, [&] { return x; });
      }),
      "cond: the predicate is bool[2]\n"
      "  rule: one scalar decides which branch runs\n"
      "  try: use ts::where to choose element by element, or ts::any and ts::all for one answer");
}

TEST(Switch, ClampsItsIndex) {
  auto f = ts::jit([](Array i, Array x) {
    return ts::switch_(i,
                       std::tuple([](Array y) { return y; }, [](Array y) { return y * 10; },
                                  [](Array y) { return y * 100; }),
                       x);
  });
  Floats got;
  for (int i : {-5, 0, 1, 2, 9}) got.push_back(f(i, 1.5f).item<float>());
  EXPECT_EQ(got, (Floats{1.5f, 1.5f, 15, 150, 150}));
  EXPECT_EQ(f32s(ts::vmap(f, {.in_axes = {0, ts::replicated}})(Array(std::vector<int>{2, 0}), 1.f)),
            (Floats{100, 1}));
  EXPECT_EQ(f(Array(std::vector<std::int64_t>{5'000'000'000})[0], 1.f).item<float>(), 100.f);
}

TEST(WhileLoop, CountsAndPromotesWeakStarts) {
  Array r = ts::while_loop([](Array x) { return x < 100; }, [](Array x) { return x * 2; }, 3);
  EXPECT_EQ(r.item<int>(), 192);
  Array step = vec({0.5f})[0];
  Array s = ts::while_loop([](Array x) { return x < 3; }, [&](Array x) { return x + step; }, 0);
  EXPECT_EQ(s.item<float>(), 3.f);
  auto [a, b] =
      ts::while_loop([](std::pair<Array, Array> c) { return c.first < 5; },
                     [](std::pair<Array, Array> c) { return std::pair(c.first + 1, c.second * 2); },
                     std::pair(Array(0), Array(1)));
  EXPECT_EQ(b.item<int>(), 32);
}

TEST(WhileLoop, ForwardModeOnly) {
  auto f = [](Array x) {
    return ts::while_loop([](Array y) { return y < 100; }, [](Array y) { return y * y; }, x);
  };
  auto [v, t] = ts::jvp(f, 3.0f, 1.0f);  // ((3^2)^2)^2 = 3^8 = 6561 stops above 100
  EXPECT_EQ(v.item<float>(), 6561.f);
  EXPECT_EQ(t.item<float>(), 8 * 2187.f);
  EXPECT_EQ(f32s(ts::vmap(f)(vec({3, 11}))), (Floats{6561, 121}));
  EXPECT_NE(message<ts::TraceError>([&] { ts::grad(f)(3.0f); }).find("scan"), std::string::npos);
}

TEST(WhileLoop, ListsCarriesThatChange) {
  EXPECT_EQ(message<ts::ShapeError>([] {
              ts::while_loop([](State s) { return ts::sum(s.x) < 3; },
                             [](State s) {
                               return State{ts::concatenate({s.x, s.x}), s.n, 1};
                             },
                             State{vec({1, 2}), vec({1})[0]}, std::source_location{});
            }),
            "while_loop: the body changes the type of its carry\n"
            "  - carry/x: f32[2] goes in, f32[4] comes out\n"
            "  rule: what a loop carries keeps its dtypes and shapes from step to step\n"
            "  try: reshape in the body, or start from a value of the shape that comes out");
  EXPECT_EQ(message<ts::ShapeError>([] {
              ts::while_loop([](Array x) { return x + 1; }, [](Array x) { return x; }, 1,
                             std::source_location{});
            }),
            "while_loop: the condition gives i32[]\n  rule: the condition is one boolean scalar\n  "
            "try: compare, and reduce with ts::any or ts::all");
}

TEST(ForiLoop, StaticBoundsHaveGradients) {
  auto power = [](Array x) {
    return ts::fori_loop(
        0, 5, [&](Array, Array acc) { return acc * x; }, Array(1.0f));
  };
  EXPECT_EQ(power(2.0f).item<float>(), 32.f);
  EXPECT_EQ(ts::grad(power)(2.0f).item<float>(), 80.f);
  Array s = ts::fori_loop(
      3, 6, [](Array i, Array acc) { return acc + i; }, 0);
  EXPECT_EQ(s.item<int>(), 12);
  EXPECT_EQ(ts::fori_loop(
                6, 3, [](Array i, Array acc) { return acc + i; }, 7)
                .item<int>(),
            7);
}

TEST(ForiLoop, TracedBounds) {
  auto f = ts::jit([](Array n) {
    return ts::fori_loop(
        0, n, [](Array i, Array acc) { return acc + i; }, 0);
  });
  EXPECT_EQ(f(5).item<int>(), 10);
  EXPECT_EQ(f(0).item<int>(), 0);
  EXPECT_EQ(f.trace_count(), 1u);
}

TEST(Scan, CarriesAndStacks) {
  auto [c, ys] = ts::scan([](Array c, Array x) { return std::pair(c + x, c * x); }, Array(0.0f),
                          vec({1, 2, 3}));
  EXPECT_EQ(c.item<float>(), 6.f);
  EXPECT_EQ(f32s(ys), (Floats{0, 2, 9}));
  auto [d, zs] = ts::scan([](Array c, Array x) { return std::pair(c + x, c * x); }, Array(0.0f),
                          vec({1, 2, 3}), {.reverse = true});
  EXPECT_EQ(d.item<float>(), 6.f);
  EXPECT_EQ(f32s(zs), (Floats{5, 6, 0}));
}

TEST(Scan, TreesLengthsAndEmptiness) {
  auto [s, out] = ts::scan(
      [](State s, std::tuple<Array, Array> x) {
        return std::pair(State{s.x + std::get<0>(x), s.n + 1, s.order},
                         std::tuple(s.n, State{std::get<1>(x), {}, 9}));
      },
      State{vec({0, 0}), Array(0), 3}, std::tuple(mat({1, 2, 3, 4}, {2, 2}), vec({7, 8})));
  EXPECT_EQ(f32s(s.x), (Floats{4, 6}));
  EXPECT_EQ(s.n.item<int>(), 2);
  EXPECT_EQ(s.order, 3);
  EXPECT_EQ(std::get<0>(out).to_vector<int>(), (std::vector<int>{0, 1}));
  EXPECT_EQ(f32s(std::get<1>(out).x), (Floats{7, 8}));
  EXPECT_EQ(std::get<1>(out).order, 9);
  auto [c, ys] =
      ts::scan([](Array c) { return std::pair(c * 2, c); }, Array(1), ts::ScanOptions{.length = 4});
  EXPECT_EQ(c.item<int>(), 16);
  EXPECT_EQ(ys.to_vector<int>(), (std::vector<int>{1, 2, 4, 8}));
  auto [e, none] =
      ts::scan([](Array c, Array x) { return std::pair(c + x, x); }, Array(5.0f), ts::zeros({0}));
  EXPECT_EQ(e.item<float>(), 5.f);
  EXPECT_EQ(none.shape(), (ts::Shape{0}));
}

TEST(Scan, DifferentiatesThroughCapturesAndMaps) {
  // c -> w c + x three times: c3 = w^3 c0 + w^2 x0 + w x1 + x2.
  auto f = [](Array w, Array xs) {
    return ts::scan([&](Array c, Array x) { return std::pair(w * c + x, c); }, Array(1.0f), xs)
        .first;
  };
  auto [dw, dx] = ts::grad<0, 1>(f)(2.0f, vec({1, 10, 100}));
  EXPECT_EQ(f(2.0f, vec({1, 10, 100})).item<float>(), 8 + 4 + 20 + 100.f);
  EXPECT_EQ(dw.item<float>(), 12 + 4 + 10.f);
  EXPECT_EQ(f32s(dx), (Floats{4, 2, 1}));
  EXPECT_EQ(ts::jvp(
                [&](Array w) {
                  return f(w, vec({1, 10, 100}));
                },
                2.0f, 1.0f)
                .second.item<float>(),
            26.f);
  EXPECT_EQ(ts::grad(ts::grad(f))(2.0f, vec({1, 10, 100})).item<float>(), 6 * 2 + 2.f);
  Array rows =
      ts::vmap(ts::grad(f), {.in_axes = {0, ts::replicated}})(vec({2, 0}), vec({1, 10, 100}));
  EXPECT_EQ(f32s(rows), (Floats{26, 10}));
  EXPECT_EQ(ts::jit(ts::grad(f))(2.0f, vec({1, 10, 100})).item<float>(), 26.f);
}

TEST(Scan, SaysWhatDoesNotFit) {
  const std::source_location none{};
  auto body = [](Array c, std::pair<Array, Array> x) { return std::pair(c, x.first); };
  EXPECT_EQ(message<ts::ShapeError>([&] {
              ts::scan(body, Array(0.f), std::pair(vec({1, 2}), vec({1, 2, 3})), {}, none);
            }),
            "scan: the inputs' leading axes differ in size\n"
            "  - args[1]/0 is f32[2]\n"
            "  - args[1]/1 is f32[3]\n"
            "  rule: all inputs have one leading size: the number of steps\n"
            "  try: capture what every step sees whole instead of passing it as an input");
  EXPECT_EQ(message<ts::ShapeError>([&] {
              ts::scan(body, Array(0.f), std::pair(vec({1, 2}), vec({1, 2})), {.length = 3}, none);
            }).substr(0, 75),
            "scan: the inputs' leading axes do not have the length asked for, 3\n"
            "  - args");
  EXPECT_EQ(message<ts::DTypeError>([&] {
              ts::scan([](Array c, Array x) { return std::pair(c > 0, x); }, vec({1}), vec({1, 2}),
                       {}, none);
            }),
            "scan: the body changes the type of its carry\n"
            "  - carry: f32[1] goes in, bool[1] comes out\n"
            "  rule: what a loop carries keeps its dtypes and shapes from step to step\n"
            "  try: use astype in the body, or start from a value of the dtype that comes out");
}

// The batches divide the elements with and without a remainder, or are as large as the whole or
// larger.
TEST(Map, InBatches) {
  auto f = [](std::pair<Array, Array> xy) {
    return std::pair(ts::sum(xy.first) * xy.second, xy.first * 2);
  };
  const std::pair xy(ts::arange(14.0f).reshape(7, 2), ts::arange(7.0f));
  const auto expected = ts::map(f, xy);
  for (std::int64_t size : {1, 2, 3, 6, 7, 100}) {
    EXPECT_TRUE(ts::tree::equal(ts::map(f, xy, {.batch_size = size}), expected)) << size;
    auto g = [&](Array x) {
      return ts::sum(ts::map([](Array v) { return v * v; }, x, {.batch_size = size}));
    };
    EXPECT_EQ(f32s(ts::grad(g)(xy.second)), (Floats{0, 2, 4, 6, 8, 10, 12})) << size;
  }
}

TEST(Map, StacksResults) {
  EXPECT_EQ(f32s(ts::map([](Array x) { return ts::sum(x * x); }, mat({1, 2, 3, 4}, {2, 2}))),
            (Floats{5, 25}));
}

TEST(AssociativeScan, GivesAllPrefixes) {
  for (int n : {1, 2, 3, 4, 5, 7, 8, 13}) {
    Floats x, sums, back;
    for (int i = 0; i < n; ++i) x.push_back(static_cast<float>(i * i - 3));
    float s = 0;
    for (float v : x) sums.push_back(s += v);
    EXPECT_EQ(f32s(ts::associative_scan([](Array a, Array b) { return a + b; }, vec(x))), sums)
        << n;
    back.resize(x.size());
    s = 0;
    for (std::size_t i = x.size(); i-- > 0;) back[i] = s += x[i];
    EXPECT_EQ(f32s(ts::associative_scan([](Array a, Array b) { return a + b; }, vec(x),
                                        {.reverse = true})),
              back)
        << n;
  }
  // Order matters: composition of affine maps (a, b): x -> a x + b along axis 1.
  using Affine = std::pair<Array, Array>;
  auto [a, b] = ts::associative_scan(
      [](Affine f, Affine g) { return Affine(g.first * f.first, g.first * f.second + g.second); },
      Affine(mat({2, 3, 5}, {1, 3}), mat({1, 1, 1}, {1, 3})), {.axis = -1});
  EXPECT_EQ(f32s(a), (Floats{2, 6, 30}));
  EXPECT_EQ(f32s(b), (Floats{1, 4, 21}));
}

}  // namespace
