// Ops in which the order of elements matters: sorting and running totals.
#include "op_check.h"

#include <cmath>
#include <limits>

using namespace tessera;
using namespace tessera::testing;

namespace {
constexpr float kNan = std::numeric_limits<float>::quiet_NaN();
constexpr float kInf = std::numeric_limits<float>::infinity();
Attrs sort_attrs(std::int64_t dimension, std::int64_t keys) {
  return {{"dimension", dimension}, {"num_keys", keys}};
}
Attrs run_attrs(std::int64_t axis, bool reverse) { return {{"axis", axis}, {"reverse", reverse}}; }
}  // namespace

TEST(Sort, StableWithNanLastAndZerosEqual) {
  HostArray keys = host<float>({8}, {kNan, 0.0f, kInf, -0.0f, -kInf, 0.0f, kNan, -1.0f}),
            places = host<int>({8}, {0, 1, 2, 3, 4, 5, 6, 7});
  auto out = run({keys, places},
                 [](Builder& b, const Values& in) { return b.emit("sort", in, sort_attrs(0, 1)); });
  EXPECT_EQ(values<int>(out[1]), (std::vector<int>{4, 7, 1, 3, 5, 2, 0, 6}));
  EXPECT_TRUE(std::signbit(values<float>(out[0])[3]));  // elements are moved, not rewritten
}

TEST(Sort, SeveralKeysAndDimensions) {
  HostArray a = host<int>({3, 2}, {2, 1, 1, 3, 2, 1}), b = host<float>({3, 2}, {5, 9, 6, 7, 4, 8});
  auto out = run(
      {a, b}, [](Builder& bb, const Values& in) { return bb.emit("sort", in, sort_attrs(0, 2)); });
  EXPECT_EQ(values<int>(out[0]), (std::vector<int>{1, 1, 2, 1, 2, 3}));
  EXPECT_EQ(values<float>(out[1]), (std::vector<float>{6, 8, 4, 9, 5, 7}));
}

TEST(SortEnds, AreThoseOfTheSort) {
  HostArray keys = host<float>({8}, {kNan, 0.0f, kInf, -0.0f, -kInf, 0.0f, kNan, -1.0f}),
            places = host<int>({8}, {0, 1, 2, 3, 4, 5, 6, 7});
  auto ends = [&](std::int64_t count, bool last) {
    return values<int>(run({keys, places}, [&](Builder& b, const Values& in) {
      Attrs attrs = sort_attrs(0, 1);
      attrs.set("count", count);
      attrs.set("last", last);
      return b.emit("sort_ends", in, attrs);
    })[1]);
  };
  EXPECT_EQ(ends(4, false), (std::vector<int>{4, 7, 1, 3}));
  EXPECT_EQ(ends(3, true), (std::vector<int>{2, 0, 6}));
  EXPECT_EQ(infer_error<ShapeError>("sort_ends", {Type(DType::float32, {3, 1})},
                                    {{"dimension", std::int64_t{1}},
                                     {"num_keys", std::int64_t{1}},
                                     {"count", std::int64_t{2}},
                                     {"last", false}}),
            "sort_ends: count is 2, and dimension 1 of f32[3,1] has 1 element\n"
            "  rule: count lies in [0, 1]\n"
            "  try: sort gives all of them");
}

// A NaN of any sign is the greatest, zeros are equal, and of equal elements the first comes first.
TEST(TopK, NanFirstAndTheFirstOfEquals) {
  HostArray x = host<float>({2, 6}, {1, kNan, -0.0f, 0.0f, -kNan, kInf, 2, 2, -kInf, 3, 2, 3});
  auto out = run({x}, [](Builder&, const Values& in) { return ops::top_k(in[0], 5); });
  EXPECT_EQ(values<int>(out[1]), (std::vector<int>{1, 4, 5, 0, 2, 3, 5, 0, 1, 4}));
  std::vector<float> v = values<float>(out[0]);
  EXPECT_TRUE(std::isnan(v[0]) && std::isnan(v[1]) && std::signbit(v[4]));
  EXPECT_EQ(std::vector<float>(v.begin() + 5, v.end()), (std::vector<float>{3, 3, 2, 2, 2}));
}

TEST(TopK, IntegersAtTheirLimits) {
  HostArray x = host<std::int64_t>(
      {3}, {std::numeric_limits<std::int64_t>::min(), 0, std::numeric_limits<std::int64_t>::max()});
  auto out = run({x}, [](Builder&, const Values& in) { return ops::top_k(in[0], 3); });
  EXPECT_EQ(values<int>(out[1]), (std::vector<int>{2, 1, 0}));
  HostArray b = host<bool>({4}, {false, true, false, true});
  EXPECT_EQ(
      values<int>(
          run({b}, [](Builder&, const Values& in) { return Values{ops::top_k(in[0], 3)[1]}; })[0]),
      (std::vector<int>{1, 3, 0}));
}

TEST(TopK, Errors) {
  auto error = [](const Type& x, std::int64_t k) {
    return infer_error<ShapeError>("top_k", {x}, {{"k", k}});
  };
  EXPECT_EQ(error(Type(f32, {}), 1),
            "top_k: the operand f32[] has no axis\n"
            "  rule: the greatest elements are those of each row along the last axis\n"
            "  try: pass an array with an axis, such as reshape(x, {1})");
  EXPECT_EQ(error(Type(f32, {3, 1}), 2),
            "top_k: k is 2, and rows of the operand f32[3,1] have 1 element\n"
            "  rule: k lies in [0, 1]\n"
            "  try: take all with k = 1");
  EXPECT_EQ(error(Type(f32, {4}), -1),
            "top_k: k is -1, and rows of the operand f32[4] have 4 elements\n"
            "  rule: k lies in [0, 4]\n"
            "  try: pass how many elements to take");
  EXPECT_EQ(error(Type(f32, {std::int64_t{1} << 31}), 1),
            "top_k: rows of the operand f32[2147483648] have 2147483648 elements\n"
            "  rule: indices are int32, so a row has at most 2147483647\n"
            "  try: reshape to shorter rows, and take the greatest of their greatest");
}

TEST(Cumulative, Values) {
  HostArray x = host<int>({2, 3}, {1, 2, 3, 4, 5, 6});
  EXPECT_EQ(values<int>(run_op("cumsum", {x}, run_attrs(1, false))),
            (std::vector<int>{1, 3, 6, 4, 9, 15}));
  EXPECT_EQ(values<int>(run_op("cumsum", {x}, run_attrs(1, true))),
            (std::vector<int>{6, 5, 3, 15, 11, 6}));
  EXPECT_EQ(values<int>(run_op("cumprod", {x}, run_attrs(0, false))),
            (std::vector<int>{1, 2, 3, 4, 10, 18}));
  HostArray f = host<float>({4}, {1, 3, kNan, 2});
  std::vector<float> up = values<float>(run_op("cummax", {f}, run_attrs(0, false))),
                     down = values<float>(run_op("cummin", {f}, run_attrs(0, true)));
  EXPECT_EQ(up[1], 3);
  EXPECT_TRUE(std::isnan(up[2]) && std::isnan(up[3]));
  EXPECT_EQ(down[3], 2);
  EXPECT_TRUE(std::isnan(down[0]));
  HostArray bytes = host<std::int8_t>({3}, {100, 100, 100});
  EXPECT_EQ(values<std::int8_t>(run_op("cumsum", {bytes}, run_attrs(0, false))),
            (std::vector<std::int8_t>{100, -56, 44}));
}

// A running bfloat16 sum of ones would stick at 256; float32 carries it on.
TEST(Cumulative, SixteenBitFloatsRunInFloat32) {
  HostArray ones = host<bfloat16_t>({1024}, std::vector<bfloat16_t>(1024, bfloat16_t(1.0f)));
  EXPECT_EQ(run_op("cumsum", {ones}, run_attrs(0, false)).number(1023), 1024);
}

TEST(Cumulative, TransposeAndBatch) {
  check_transpose("cumsum", {Type(f32, {3, 4})}, {true}, run_attrs(1, false));
  check_transpose("cumsum", {Type(f32, {3, 4})}, {true}, run_attrs(0, true));
  for (int d = 0; d < 3; ++d) {
    Shape s{2, 3};
    s.insert(s.begin() + d, 4);
    for (const char* op : {"cumsum", "cumprod", "cummax", "cummin"})
      check_batch(op, {integers(Type(f32, s), 1)}, {d}, run_attrs(1, true));
    check_batch("top_k", {integers(Type(f32, s), 1)}, {d}, {{"k", std::int64_t{2}}});
    check_batch("sort", {integers(Type(f32, s), 1), integers(Type(i32, {2, 3}), 2)},
                {d, kUnbatched}, sort_attrs(1, 1));
  }
}

TEST(Order, FactorRules) {
  EXPECT_EQ(factor_rule("cumsum", {Type(f32, {8, 16})}, run_attrs(1, false)),
            "([a,b])->([a,b]) {a=8,b=16} prefix={b:+}");
  EXPECT_EQ(factor_rule("top_k", {Type(f32, {8, 16})}, {{"k", std::int64_t{3}}}),
            "([a,b])->([a,p],[a,p]) {a=8,b=16,p=3} contest={b:max} need_repl={p}");
  EXPECT_EQ(factor_rule("sort", {Type(f32, {8, 16})}, sort_attrs(1, 1)),
            "([a,b])->([a,b]) {a=8,b=16} prefix={b}");
}
