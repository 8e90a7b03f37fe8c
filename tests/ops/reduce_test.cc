// Reductions agree with sums written out by hand.
#include "ops/op_check.h"

#include <cmath>
#include <limits>

namespace ts = tessera;
using namespace ts::testing;

namespace {

constexpr float kInf = std::numeric_limits<float>::infinity();
const float kNan = std::numeric_limits<float>::quiet_NaN();

template <class T>
std::vector<T> reduce(const std::string& op, ts::Shape shape, std::vector<T> x, ts::Ints axes) {
  return values<T>(run_op(op, {host<T>(std::move(shape), x)}, {{"axes", axes}}));
}
std::vector<std::int32_t> arg(const std::string& op, ts::Shape shape, std::vector<float> x,
                              std::int64_t axis) {
  return values<std::int32_t>(
      run_op(op, {host<float>(std::move(shape), x)}, {{"axis", axis}, {"dtype", ts::i32}}));
}
ts::HostArray booleans(ts::Shape shape, std::vector<int> v) {
  ts::HostArray a(ts::bool_, std::move(shape));
  for (std::size_t i = 0; i < v.size(); ++i) a.data<bool>()[i] = v[i];
  return a;
}

}  // namespace

TEST(Reduce, EachSubsetOfAxes) {
  std::vector<std::int32_t> x(24);
  for (int i = 0; i < 24; ++i) x[static_cast<std::size_t>(i)] = i * i % 7;
  ts::Shape shape = {2, 3, 4};
  for (int mask = 1; mask < 8; ++mask) {
    ts::Ints axes;
    for (int d = 0; d < 3; ++d)
      if (mask >> d & 1) axes.push_back(d);
    std::vector<std::int32_t> expected;
    auto range = [&](int d) {
      return mask >> d & 1 ? std::int64_t{1} : shape[static_cast<std::size_t>(d)];
    };
    auto inner = [&](int d) {
      return mask >> d & 1 ? shape[static_cast<std::size_t>(d)] : std::int64_t{1};
    };
    for (int i = 0; i < range(0); ++i)
      for (int j = 0; j < range(1); ++j)
        for (int k = 0; k < range(2); ++k) {
          std::int32_t sum = 0;
          for (int ii = 0; ii < inner(0); ++ii)
            for (int jj = 0; jj < inner(1); ++jj)
              for (int kk = 0; kk < inner(2); ++kk)
                sum += x[static_cast<std::size_t>(((i + ii) * 3 + j + jj) * 4 + k + kk)];
          expected.push_back(sum);
        }
    EXPECT_EQ(reduce("reduce_sum", shape, x, axes), expected) << "mask " << mask;
  }
}

TEST(Reduce, EmptyAndWrapping) {
  EXPECT_EQ(reduce<float>("reduce_sum", {2, 0}, {}, {1}), (std::vector<float>{0, 0}));
  EXPECT_EQ(reduce<float>("reduce_prod", {2, 0}, {}, {1}), (std::vector<float>{1, 1}));
  EXPECT_EQ(reduce<float>("reduce_max", {1, 0}, {}, {1}), (std::vector<float>{-kInf}));
  EXPECT_EQ(reduce<std::int8_t>("reduce_min", {0}, {}, {0}), (std::vector<std::int8_t>{127}));
  EXPECT_EQ(reduce<std::uint8_t>("reduce_and", {0}, {}, {0}), (std::vector<std::uint8_t>{255}));
  EXPECT_EQ(reduce<std::uint8_t>("reduce_sum", {3}, {100, 100, 100}, {0}),
            (std::vector<std::uint8_t>{44}));
  EXPECT_EQ(reduce<std::int32_t>("reduce_prod", {3}, {65536, 65536, 3}, {0}),
            (std::vector<std::int32_t>{0}));
}

TEST(Reduce, ExtremaPropagateNan) {
  EXPECT_TRUE(std::isnan(reduce<float>("reduce_max", {3}, {1, kNan, 3}, {0})[0]));
  EXPECT_TRUE(std::isnan(reduce<float>("reduce_min", {3}, {1, kNan, 3}, {0})[0]));
  EXPECT_EQ(reduce<float>("reduce_max", {2, 2}, {1, -kInf, -kInf, -kInf}, {1}),
            (std::vector<float>{1, -kInf}));
  EXPECT_FALSE(std::signbit(reduce<float>("reduce_max", {2}, {-0.0f, 0.0f}, {0})[0]));
  EXPECT_TRUE(std::signbit(reduce<float>("reduce_min", {2}, {0.0f, -0.0f}, {0})[0]));
  EXPECT_EQ(reduce<std::int32_t>("reduce_max", {2, 3}, {1, 5, 2, -7, -9, -8}, {1}),
            (std::vector<std::int32_t>{5, -7}));
}

TEST(Reduce, AndOr) {
  EXPECT_EQ(reduce<std::uint8_t>("reduce_and", {2, 2}, {0x0f, 0x3c, 0xff, 0x81}, {1}),
            (std::vector<std::uint8_t>{0x0c, 0x81}));
  EXPECT_EQ(reduce<std::uint8_t>("reduce_or", {2, 2}, {0x0f, 0x30, 0, 0x81}, {1}),
            (std::vector<std::uint8_t>{0x3f, 0x81}));
  ts::HostArray x = booleans({3, 2}, {1, 1, 1, 0, 0, 0});
  for (auto [op, expected] : {std::pair("reduce_and", std::vector<int>{1, 0, 0}),
                              std::pair("reduce_or", std::vector<int>{1, 1, 0})}) {
    ts::HostArray r = run_op(op, {x}, {{"axes", ts::Ints{1}}});
    EXPECT_EQ(std::vector<int>(r.data<bool>(), r.data<bool>() + 3), expected) << op;
  }
}

// 256 ones in bfloat16, one after another in bfloat16 itself, stick at 256; so do 4096 in float16
// at 2048.
TEST(Reduce, SixteenBitSumsAccumulateWider) {
  EXPECT_EQ(
      float(reduce<ts::bfloat16_t>("reduce_sum", {1024},
                                   std::vector<ts::bfloat16_t>(1024, ts::bfloat16_t(1)), {0})[0]),
      1024.0f);
  EXPECT_EQ(float(reduce<ts::float16_t>(
                "reduce_sum", {4096}, std::vector<ts::float16_t>(4096, ts::float16_t(1)), {0})[0]),
            4096.0f);
}

TEST(Reduce, ArgReductionsTakeTheFirstAndNanWins) {
  EXPECT_EQ(arg("argmax", {2, 4}, {1, 3, 3, 2, 0, kNan, 9, kNan}, 1),
            (std::vector<std::int32_t>{1, 1}));
  EXPECT_EQ(arg("argmin", {2, 4}, {5, 3, 3, 4, 0, -1, kNan, -2}, 1),
            (std::vector<std::int32_t>{1, 2}));
  EXPECT_EQ(arg("argmax", {3, 2}, {1, 6, 3, 2, 2, 7}, 0), (std::vector<std::int32_t>{1, 2}));
  EXPECT_EQ(arg("argmax", {3}, {-kInf, -kInf, -kInf}, 0), (std::vector<std::int32_t>{0}));
  EXPECT_EQ(arg("argmax", {2}, {-0.0f, 0.0f}, 0), (std::vector<std::int32_t>{0}));
}

TEST(Reduce, AxesThatDoNotFit) {
  EXPECT_EQ(infer_error<ts::ShapeError>("reduce_sum", {ts::Type(ts::f32, {2, 3})},
                                        {{"axes", ts::Ints{2}}}),
            "reduce_sum: axis 2 is not one of the operand's; its shape is (2, 3)\n"
            "  rule: axes are sorted, distinct and in [0, 2)\n"
            "  try: name each axis to reduce once");
  EXPECT_EQ(infer_error<ts::ShapeError>("argmax", {ts::Type(ts::f32, {2, 0})},
                                        {{"axis", std::int64_t{1}}, {"dtype", ts::i32}}),
            "argmax: axis 1 of an operand of shape (2, 0) is empty\n"
            "  rule: there is an index only where there is an element\n"
            "  try: reduce an axis that has elements");
}

TEST(Reduce, Batching) {
  for (const char* op : {"reduce_sum", "reduce_prod", "reduce_max", "reduce_min"})
    for (int dim : {0, 1, 2, 3})
      check_batch(op, {integers(ts::Type(ts::f32, {3, 3, 3, 3}), 1)}, {dim},
                  {{"axes", ts::Ints{0, 2}}});
  for (int dim : {0, 1, 2})
    check_batch("argmax", {integers(ts::Type(ts::f32, {3, 3, 3}), 1)}, {dim},
                {{"axis", std::int64_t{1}}, {"dtype", ts::i32}});
}

TEST(Reduce, Transposes) {
  check_transpose("reduce_sum", {ts::Type(ts::f64, {2, 3, 4})}, {true}, {{"axes", ts::Ints{0, 2}}});
  check_transpose("reduce_sum", {ts::Type(ts::f64, {5})}, {true}, {{"axes", ts::Ints{0}}});
}

TEST(Reduce, FactorRule) {
  EXPECT_EQ(factor_rule("reduce_sum", {ts::Type(ts::f32, {8, 16})}, {{"axes", ts::Ints{1}}}),
            "([a,b])->([a]) {a=8,b=16} reduction={b:+}");
  EXPECT_EQ(factor_rule("reduce_max", {ts::Type(ts::f32, {8, 16})}, {{"axes", ts::Ints{0, 1}}}),
            "([a,b])->([]) {a=8,b=16} reduction={a:max,b:max}");
  EXPECT_EQ(factor_rule("add", {ts::Type(ts::f32, {8, 16}), ts::Type(ts::f32, {8, 16})}, {}),
            "([a,b],[a,b])->([a,b]) {a=8,b=16}");
}
