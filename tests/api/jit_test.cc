#include "api/trace/cache.h"
#include "message.h"
#include "only_cpu.h"

#include <tessera/creation.h>
#include <tessera/elementwise.h>
#include <tessera/jit.h>
#include <tessera/manipulation.h>
#include <tessera/reductions.h>
#include <tessera/warning.h>

#include <gtest/gtest.h>

#include <atomic>
#include <thread>

namespace ts = tessera;
using ts::Array;

namespace {

using Map = std::map<std::string, Array>;
struct Layer {
  Array w, b;
  int power = 1;
};
std::vector<float> f32s(const Array& x) { return x.to_vector<float>(); }
Array vec(std::vector<float> v) { return Array(v); }
using test::message;
Array twice(const Array& x) { return x + x; }
Array thrice(Array x) noexcept { return 3 * x; }

TEST(Jit, RunsAndCachesByDtypeShapeAndWeakness) {
  auto f = ts::jit([](Array x, Array y) { return x * y + 1; });
  EXPECT_EQ(f32s(f(vec({1, 2}), vec({3, 4}))), (std::vector<float>{4, 9}));
  EXPECT_EQ(f32s(f(vec({5, 6}), vec({7, 8}))), (std::vector<float>{36, 49}));
  EXPECT_EQ(f.trace_count(), 1u);
  EXPECT_EQ(f32s(f(vec({1, 2, 3}), vec({1, 1, 1}))), (std::vector<float>{2, 3, 4}));
  EXPECT_EQ(f.trace_count(), 2u);
  EXPECT_EQ(f32s(f(vec({1, 2}), 2.0f)), (std::vector<float>{3, 5}));
  EXPECT_EQ(f32s(f(vec({1, 2}), 3.0)), (std::vector<float>{4, 7}));
  EXPECT_EQ(f.trace_count(), 3u);
  EXPECT_EQ(f32s(f(vec({1, 2}), vec({1, 1}))), (std::vector<float>{2, 3}));
  EXPECT_EQ(f.trace_count(), 3u);
}

TEST(Jit, TakesEveryKindOfCallable) {
  EXPECT_EQ(f32s(ts::jit(twice)(vec({2}))), (std::vector<float>{4}));
  EXPECT_EQ(f32s(ts::jit(&thrice)(2.0f)), (std::vector<float>{6}));
  EXPECT_EQ(f32s(ts::jit([](auto x) { return x + x; })(vec({2}))), (std::vector<float>{4}));
  int calls = 0;
  auto counting = ts::jit([calls](Array x) mutable {
    ++calls;
    return x + calls;
  });
  EXPECT_EQ(f32s(counting(vec({2}))), (std::vector<float>{3}));
  EXPECT_EQ(f32s(counting(vec({2}))), (std::vector<float>{3}));
  struct Functor {
    Array operator()(const Array& x, float by = 3) const { return x * by; }
  };
  EXPECT_EQ(f32s(ts::jit(Functor{})(vec({2}), 5.f)), (std::vector<float>{10}));
  std::function<Array(Array)> erased = twice;
  EXPECT_EQ(f32s(ts::jit(erased)(vec({2}))), (std::vector<float>{4}));
  EXPECT_EQ(f32s(ts::jit([] { return vec({7}); })()), (std::vector<float>{7}));
}

TEST(Jit, TreesInAndOutKeepStatics) {
  auto f = ts::jit([](const Layer& l, std::map<std::string, Array> m) {
    Array y = l.w;
    for (int i = 1; i < l.power; ++i) y = y * l.w;
    return std::tuple(Layer{y, l.b, l.power + 1}, m.at("a") + m.at("b"), std::string("done"), 4);
  });
  auto [layer, sum, text, four] = f(Layer{vec({2}), {}, 3}, Map{{"a", vec({1})}, {"b", vec({2})}});
  EXPECT_EQ(f32s(layer.w), (std::vector<float>{8}));
  EXPECT_TRUE(layer.b.is_empty());
  EXPECT_EQ(layer.power, 4);
  EXPECT_EQ(f32s(sum), (std::vector<float>{3}));
  EXPECT_EQ(text, "done");
  EXPECT_EQ(four, 4);
  f(Layer{vec({2}), {}, 4}, Map{{"a", vec({1})}, {"b", vec({2})}});
  EXPECT_EQ(f.trace_count(), 2u);
  f(Layer{vec({2}), vec({1}), 4}, Map{{"a", vec({1})}, {"b", vec({2})}});
  EXPECT_EQ(f.trace_count(), 3u);
  f(Layer{vec({2}), {}, 4}, Map{{"a", vec({1})}, {"b", vec({2})}, {"c", vec({2})}});
  EXPECT_EQ(f.trace_count(), 4u);
}

TEST(Jit, StaticParametersAreKeys) {
  auto f = ts::jit([](Array x, int n, std::string how, bool up) {
    for (int i = 0; i < n; ++i) x = how == "double" ? x + x : x + 1;
    return up ? x : -x;
  });
  EXPECT_EQ(f32s(f(vec({1}), 3, "double", true)), (std::vector<float>{8}));
  EXPECT_EQ(f32s(f(vec({1}), 3, "inc", true)), (std::vector<float>{4}));
  EXPECT_EQ(f32s(f(vec({1}), 3, "inc", false)), (std::vector<float>{-4}));
  EXPECT_EQ(f32s(f(vec({2}), 3, "double", true)), (std::vector<float>{16}));
  EXPECT_EQ(f.trace_count(), 3u);
}

TEST(Jit, EighthRetraceForStaticsWarnsOnce) {
  std::vector<std::string> warnings;
  auto before = ts::set_warning_handler([&](const std::string& w) { warnings.push_back(w); });
  auto f = ts::jit([](Array x, int step) { return x + step; }, {.name = "train_step"});
  for (int i = 0; i < 20; ++i) f(vec({1}), i);
  ts::set_warning_handler(before);
  ASSERT_EQ(warnings.size(), 1u);
  EXPECT_EQ(
      warnings[0],
      "train_step: traced and compiled 8 times for arguments that differ in static values only\n"
      "  rule: a C++ number, enum or string is part of the key: each value of it is traced and "
      "compiled anew\n"
      "  at: args[1], 6 before and 7 now\n"
      "  try: make it an Array, unless the program has to depend on its value");
}

TEST(Jit, CapturesArraysOfTheFirstTrace) {
  Array k = vec({10});
  auto f = ts::jit([&](Array x) { return x + k; });
  EXPECT_EQ(f32s(f(vec({1}))), (std::vector<float>{11}));
  EXPECT_EQ(f32s(f(vec({2}))), (std::vector<float>{12}));
}

TEST(Jit, ChangedCapturesAreFoundWhenAsked) {
  Array k = vec({10});
  float scale = 2;
  auto f = ts::jit([&](Array x) { return x * scale + k; }, {.name = "f"});
  ts::detail::set_check_captures(true);
  EXPECT_EQ(f32s(f(vec({1}))), (std::vector<float>{12}));
  EXPECT_EQ(f32s(f(vec({2}))), (std::vector<float>{14}));
  k = vec({20});
  const std::string rule_and_advice =
      "  rule: what a function captures, and any state that it reads, is that of its first trace\n"
      "  try: pass what changes as an argument";
  EXPECT_EQ(
      message([&] { f(vec({1})); }),
      "f: a captured array, f32[1], is not the one in the compiled program\n" + rule_and_advice);
  scale = 3;
  EXPECT_EQ(message([&] { f(vec({1})); }),
            "f: the function now traces to a different program\n" + rule_and_advice);
  ts::detail::set_check_captures(false);
  EXPECT_EQ(f32s(f(vec({1}))), (std::vector<float>{12}));
}

TEST(Jit, InsideJitIsInlinedAndSeesTracedCaptures) {
  auto inner = ts::jit([](Array x) { return x * x; });
  auto outer = ts::jit([&](Array x) {
    auto local = ts::jit([&](Array y) { return y + x; });
    return local(inner(x)) + inner(local(x));
  });
  EXPECT_EQ(f32s(outer(vec({3}))), (std::vector<float>{9 + 3 + 36}));
  EXPECT_EQ(f32s(outer(vec({4}))), (std::vector<float>{16 + 4 + 64}));
  EXPECT_EQ(inner.trace_count(), 1u);
}

TEST(Jit, ThrowingFunctionLeavesNothingBehind) {
  bool fail = true;
  auto f = ts::jit([&](Array x) {
    Array y = x + 1;
    if (fail) throw std::runtime_error("mine");
    return y;
  });
  EXPECT_EQ(message<std::runtime_error>([&] { f(vec({1})); }), "mine");
  EXPECT_EQ(f.trace_count(), 0u);
  EXPECT_EQ(f32s(vec({1}) + vec({2})), (std::vector<float>{3}));
  fail = false;
  EXPECT_EQ(f32s(f(vec({1}))), (std::vector<float>{2}));
}

TEST(Jit, ConcurrentCallsOfOneFunction) {
  auto f = ts::jit([](Array x, int n) { return x * n; });
  std::atomic<int> wrong{0};
  std::vector<std::thread> threads;
  for (int t = 0; t < 8; ++t)
    threads.emplace_back([&, t] {
      for (int i = 0; i < 50; ++i)
        if (f32s(f(vec({float(t)}), i % 5)) != std::vector<float>{float(t * (i % 5))}) ++wrong;
    });
  for (auto& t : threads) t.join();
  EXPECT_EQ(wrong, 0);
  EXPECT_GE(f.trace_count(), 5u);
}

TEST(Jit, DonationByMoveAndByOption) {
  auto f = ts::jit([](Array x) { return x + 1; });
  Array x = ts::ones({64, 64}), kept = x;
  f(std::move(x));
  EXPECT_FALSE(kept.is_deleted());
  Array alone = ts::ones({64, 64});
  f(std::move(alone));
  EXPECT_TRUE(alone.is_deleted());  // NOLINT: moved-from on purpose
  Array small = vec({1});
  f(std::move(small));
  EXPECT_TRUE(small.is_deleted());  // NOLINT

  auto g = ts::jit([](Array a, Array b) { return a + b; }, {.donate = {0}, .name = "g"});
  Array a = ts::ones({64, 64}), b = ts::ones({64, 64});
  EXPECT_EQ(ts::sum(g(a, b)).item<float>(), 8192.f);
  EXPECT_TRUE(a.is_deleted());
  EXPECT_FALSE(b.is_deleted());
  EXPECT_EQ(
      message<ts::TraceError>([&] { g(b, a); }),
      "g: the array f32[64,64] was donated to g (jit_test.cc:195)\n  rule: an argument passed "
      "with std::move, or named in donate, is given away: its memory becomes the call's\n  "
      "at: args[1]\n  "
      "try: use the result of that call, or pass the array without std::move and donate");
  EXPECT_FALSE(b.is_deleted());
}

TEST(Jit, LowersWithoutData) {
  auto f = ts::jit([](Layer l, Array x) { return x * l.w + l.b; });
  auto lowered = f.lower(Layer{ts::abstract(ts::f32, {4}), ts::abstract(ts::f32, {4})},
                         ts::abstract(ts::f32, {4}));
  EXPECT_NE(lowered.ir().find("mul"), std::string::npos);
  auto compiled = lowered.compile();
  EXPECT_EQ(f32s(compiled(Layer{vec({1, 2, 3, 4}), vec({1, 1, 1, 1})}, vec({2, 2, 2, 2}))),
            (std::vector<float>{3, 5, 7, 9}));
  EXPECT_EQ(f.trace_count(), 1u);
  EXPECT_EQ(message<ts::TraceError>([&] {
              compiled(Layer{vec({1, 2, 3, 4}), vec({1})}, Array(std::vector<int>{2}));
            }).substr(0, 3),
            "jit");
  EXPECT_EQ(message<ts::TraceError>([&] {
              f(Layer{vec({1, 2, 3, 4}), ts::abstract(ts::f32, {4})}, vec({1, 1, 1, 1}));
            }).find("abstract") != std::string::npos,
            true);
}

TEST(Jit, CompiledListsWhatDiffers) {
  auto f = ts::jit([](Layer l, Array x) { return x * l.w; }, {.name = "f"});
  auto compiled =
      f.lower(Layer{ts::abstract(ts::f32, {4}), {}}, ts::abstract(ts::f32, {4})).compile();
  EXPECT_EQ(message<ts::TraceError>([&] {
              compiled(Layer{vec({1, 2}), {}}, Array(std::vector<int>{2}));
            }),
            "f: the arguments are not those that the program was compiled for\n"
            "  - args[0]/w is f32[2], compiled for f32[4]\n"
            "  - args[1] is i32[1], compiled for f32[4]\n"
            "  rule: a compiled program takes one structure, dtypes and shapes\n"
            "  try: call the jitted function itself");
}

TEST(Jit, EvalShape) {
  auto r = ts::eval_shape(
      [](Array x, Layer l) {
        return Layer{x + l.w, {}, 7};
      },
      ts::abstract(ts::f32, {3}), Layer{ts::abstract(ts::f32, {2, 3}), {}});
  EXPECT_TRUE(r.w.is_abstract());
  EXPECT_EQ(r.w.shape(), (ts::Shape{2, 3}));
  EXPECT_EQ(r.power, 7);
  EXPECT_TRUE(ts::abstract_like(Layer{vec({1}), {}}).w.is_abstract());
}

TEST(Jit, BranchOnATracedValueNamesCond) {
  auto f = ts::jit([](Array x) { return x > 0 ? x : -x; });
  const std::string what = message<ts::TraceError>([&] { f(1.0f); });
  EXPECT_NE(what.find("cond"), std::string::npos) << what;
  EXPECT_NE(what.find("where"), std::string::npos) << what;
}

}  // namespace

// A sort with more elements than the compiled form counts in one call is left to the evaluator,
// with a warning.
TEST(Jit, WhatHasNoCompiledFormWarns) {
  NEEDS_CPU(schedules);
  std::vector<std::string> warnings;
  auto before = ts::set_warning_handler([&](const std::string& w) { warnings.push_back(w); });
  const auto sorted = ts::jit([](Array x) { return ts::sort(x, 0); });
  (void)sorted.lower(ts::abstract(ts::f32, {std::int64_t{1} << 43, 3})).schedule();
  ts::set_warning_handler(before);
  ASSERT_EQ(warnings.size(), 1u);
  const std::string line = std::to_string(__LINE__ - 4);
  EXPECT_EQ(warnings[0],
            "sort: operands of types f32[8796093022208,3] have no compiled form, and run slowly\n"
            "  rule: what runs element by element costs a hundred times a kernel\n"
            "  from: jit_test.cc:" +
                line +
                "\n"
                "  try: split the operands into smaller ones");
}
