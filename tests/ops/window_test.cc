#include "op_check.h"

#include "ops/reduction/window_dims.h"

#include <cmath>
#include <limits>

namespace tessera::testing {
namespace {

using ops::window_attrs;
using ops::WindowDims;

constexpr float kInf = std::numeric_limits<float>::infinity();

Attrs select_attrs(const WindowDims& d, int rank, const char* select = "ge") {
  Attrs attrs = window_attrs(d, rank);
  attrs.set("select", std::string(select));
  return attrs;
}

TEST(ReduceWindow, ByHand) {
  HostArray x = host<float>({5}, {3, 1, 4, 1, 5});
  Attrs attrs = window_attrs({.window = {3}, .strides = {2}, .pad_low = {1}, .pad_high = {1}}, 1);
  EXPECT_EQ(values<float>(run_op("reduce_window_sum", {x}, attrs)), (std::vector<float>{4, 6, 6}));
  EXPECT_EQ(values<float>(run_op("reduce_window_max", {x}, attrs)), (std::vector<float>{3, 4, 5}));
  EXPECT_EQ(values<float>(run_op("reduce_window_min", {x}, attrs)), (std::vector<float>{1, 1, 1}));
}

TEST(ReduceWindow, HolesAndPaddingDoNotCount) {
  HostArray x = host<float>({3}, {-1, -2, -3});
  // The dilated operand is -1 . -2 . -3; windows have two elements.
  Attrs attrs = window_attrs({.window = {2}, .pad_low = {2}, .base_dilation = {2}}, 1);
  EXPECT_EQ(values<float>(run_op("reduce_window_max", {x}, attrs)),
            (std::vector<float>{-kInf, -1, -1, -2, -2, -3}));
  attrs = window_attrs(
      {.window = {2}, .pad_low = {-1}, .base_dilation = {2}, .window_dilation = {2}}, 1);
  EXPECT_EQ(values<float>(run_op("reduce_window_sum", {x}, attrs)), (std::vector<float>{0, -5}));
}

TEST(ReduceWindow, NaNPropagatesAndIntegersHaveIdentities) {
  HostArray x = host<float>({3}, {1, NAN, 2});
  HostArray y = run_op("reduce_window_max", {x}, window_attrs({.window = {2}}, 1));
  EXPECT_TRUE(std::isnan(y.data<float>()[0]) && std::isnan(y.data<float>()[1]));
  HostArray i = host<std::int8_t>({1}, {-7});
  Attrs padded = window_attrs({.window = {1}, .pad_low = {1}}, 1);
  EXPECT_EQ(values<std::int8_t>(run_op("reduce_window_max", {i}, padded)),
            (std::vector<std::int8_t>{-128, -7}));
  EXPECT_EQ(values<std::int8_t>(run_op("reduce_window_min", {i}, padded)),
            (std::vector<std::int8_t>{127, -7}));
}

const std::vector<std::pair<Shape, WindowDims>>& windows() {
  static const std::vector<std::pair<Shape, WindowDims>> all = {
      {{2, 4, 6, 2}, {.window = {1, 2, 3, 1}, .strides = {1, 2, 3, 1}}},
      {{5, 6}, {.window = {3, 2}, .strides = {2, 1}, .pad_low = {1, 0}, .pad_high = {1, 2}}},
      {{7},
       {.window = {3},
        .strides = {2},
        .pad_low = {-1},
        .pad_high = {3},
        .base_dilation = {3},
        .window_dilation = {2}}},
      {{9}, {.window = {2}, .strides = {3}}},
      {{4}, {.window = {2}, .base_dilation = {2}}}};
  return all;
}

TEST(ReduceWindow, TransposeOfTheSum) {
  for (const auto& [shape, d] : windows())
    check_transpose("reduce_window_sum", {Type(f32, shape)}, {true}, window_attrs(d, shape.rank()));
}

TEST(ReduceWindow, Batching) {
  for (const auto& [shape, d] : windows())
    for (int at = 0; at <= shape.rank(); ++at) {
      Shape stacked = shape;
      stacked.insert(stacked.begin() + at, 3);
      for (const char* op : {"reduce_window_sum", "reduce_window_max", "reduce_window_min"})
        check_batch(op, {integers(Type(f32, stacked), 1)}, {at}, window_attrs(d, shape.rank()));
    }
}

TEST(SelectWindow, FirstOfEqualElementsWins) {
  HostArray x = host<float>({6}, {5, 5, 2, 7, 7, 7}), source = host<float>({3}, {10, 20, 30});
  Attrs attrs = select_attrs({.window = {2}, .strides = {2}}, 1);
  EXPECT_EQ(values<float>(run_op("select_and_scatter_add", {x, source}, attrs)),
            (std::vector<float>{10, 0, 0, 20, 30, 0}));
  HostArray t = host<float>({6}, {1, 2, 3, 4, 5, 6});
  EXPECT_EQ(values<float>(run_op("select_and_gather_add", {x, t}, attrs)),
            (std::vector<float>{1, 4, 5}));
  EXPECT_EQ(values<float>(run_op("select_and_gather_add", {x, t},
                                 select_attrs({.window = {2}, .strides = {2}}, 1, "le"))),
            (std::vector<float>{1, 3, 5}));
}

TEST(SelectWindow, OverlappingWindowsAddUp) {
  HostArray x = host<float>({5}, {1, 9, 2, 8, 3}), source = host<float>({3}, {10, 20, 40});
  EXPECT_EQ(values<float>(
                run_op("select_and_scatter_add", {x, source}, select_attrs({.window = {3}}, 1))),
            (std::vector<float>{0, 30, 0, 40, 0}));
}

TEST(SelectWindow, PaddingIsNeverSelectedAndNaNIs) {
  HostArray x = host<float>({3}, {-kInf, NAN, NAN}), source = host<float>({3}, {1, 2, 4});
  Attrs attrs = select_attrs({.window = {2}, .pad_low = {1}}, 1);
  EXPECT_EQ(values<float>(run_op("select_and_scatter_add", {x, source}, attrs)),
            (std::vector<float>{1, 6, 0}));
  HostArray alone =
      run_op("select_and_gather_add", {x, x}, select_attrs({.window = {1}, .pad_low = {1}}, 1));
  EXPECT_EQ(alone.data<float>()[0], 0.0f);
}

TEST(SelectWindow, GatherAndScatterAreTransposes) {
  for (const auto& [shape, d] : windows()) {
    Type x(f32, shape),
        windows(f32, ops::windowed_shape(shape, ops::window_dims(window_attrs(d, shape.rank()))));
    HostArray at = integers(x, 4);
    Attrs attrs = select_attrs(d, shape.rank());
    check_transpose("select_and_gather_add", {x, x}, {false, true}, attrs, {at});
    check_transpose("select_and_scatter_add", {x, windows}, {false, true}, attrs, {at});
  }
}

TEST(SelectWindow, Batching) {
  Attrs attrs = select_attrs({.window = {2, 3}, .strides = {2, 1}}, 2);
  HostArray x = integers(Type(f32, {4, 5}), 1), t = integers(Type(f32, {4, 5}), 2);
  for (int at = 0; at <= 2; ++at) {
    Shape stacked{4, 5};
    stacked.insert(stacked.begin() + at, 3);
    HostArray xs = integers(Type(f32, stacked), 1), ts = integers(Type(f32, stacked), 2);
    check_batch("select_and_gather_add", {xs, ts}, {at, at}, attrs);
    check_batch("select_and_gather_add", {x, ts}, {kUnbatched, at}, attrs);
    check_batch("select_and_gather_add", {xs, t}, {at, kUnbatched}, attrs);
  }
  check_batch("select_and_scatter_add",
              {integers(Type(f32, {3, 4, 5}), 1), integers(Type(f32, {2, 3, 3}), 2)}, {0, 2},
              attrs);
}

TEST(WindowOps, FactorRules) {
  Attrs pooling = window_attrs(
      {.window = {1, 2, 3}, .strides = {1, 2, 1}, .pad_low = {0, 0, 1}, .pad_high = {0, 0, 1}}, 3);
  EXPECT_EQ(factor_rule("reduce_window_max", {Type(f32, {8, 4, 6})}, pooling),
            "([a,bp,c])->([a,b,c]) {a=8,b=2,c=6,p=2} need_repl={p} permutation={c}");
}

TEST(WindowOps, Errors) {
  EXPECT_EQ(infer_error<ShapeError>("reduce_window_max", {Type(f32, {2, 8, 8, 3})},
                                    window_attrs({.window = {2, 2}}, 4)),
            "reduce_window_max: the window does not fit an array of shape (2, 8, 8, 3)\n"
            "  - window has 2 entries\n"
            "  rule: each list has one entry for each of the 4 dimensions; windows, strides and "
            "dilations are at least 1\n"
            "  try: give batch and feature dimensions a window and a stride of 1");
  EXPECT_EQ(infer_error<ShapeError>("select_and_scatter_add", {Type(f32, {4}), Type(f32, {3})},
                                    select_attrs({.window = {2}, .strides = {2}}, 1)),
            "select_and_scatter_add: source has shape (3,)\n"
            "  rule: the windows of an array of shape (4,) give shape (2,)\n"
            "  try: check the window, strides and padding");
}

}  // namespace
}  // namespace tessera::testing
