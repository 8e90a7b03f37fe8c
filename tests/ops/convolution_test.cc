#include "op_check.h"

#include "ops/contraction/conv_dims.h"

namespace tessera::testing {
namespace {

using ops::conv_attrs;
using ops::ConvDims;

const Ints kNhwc{0, 3, 1, 2}, kHwio{3, 2, 0, 1}, kNcw{0, 1, 2}, kOiw{0, 1, 2};

// The convolution by scattering: the product of each pair of elements of operand and kernel is
// added to the results that it belongs to.
HostArray scattered(const HostArray& l, const HostArray& r, const ConvDims& d,
                    const Shape& out_shape) {
  HostArray out(l.dtype, out_shape);
  std::fill_n(out.bytes, out.size_bytes(), std::byte{0});
  Shape out_strides = out_shape.strides();
  std::int64_t in = r.shape[d.rhs_spec[1]], features = r.shape[d.rhs_spec[0]];
  std::int64_t batch = out_shape[d.out_spec[0]];
  std::int64_t flat_l = 0;
  for_each_index(l.shape, [&](const Shape& li) {
    float x = l.data<float>()[flat_l++];
    std::int64_t flat_r = 0;
    for_each_index(r.shape, [&](const Shape& ri) {
      float y = r.data<float>()[flat_r++];
      std::int64_t n = li[d.lhs_spec[0]], c = li[d.lhs_spec[1]], f = ri[d.rhs_spec[0]];
      std::int64_t of_feature = f / (features / (d.feature_groups * d.batch_groups));
      if (ri[d.rhs_spec[1]] != c % in) return;
      if (d.feature_groups > 1 && c / in != of_feature) return;
      if (d.batch_groups > 1 && n / batch != of_feature) return;
      Shape o = out_shape;
      o[d.out_spec[0]] = n % batch;
      o[d.out_spec[1]] = f;
      for (std::size_t i = 0; i < d.strides.size(); ++i) {
        std::int64_t p = li[d.lhs_spec[i + 2]] * d.lhs_dilation[i] + d.pad_low[i] -
                         ri[d.rhs_spec[i + 2]] * d.rhs_dilation[i];
        // Negative padding crops elements that a window would otherwise reach.
        std::int64_t place = li[d.lhs_spec[i + 2]] * d.lhs_dilation[i] + d.pad_low[i];
        std::int64_t width =
            (l.shape[d.lhs_spec[i + 2]] - 1) * d.lhs_dilation[i] + 1 + d.pad_low[i] + d.pad_high[i];
        if (place < 0 || place >= width || p < 0 || p % d.strides[i] ||
            p / d.strides[i] >= out_shape[d.out_spec[i + 2]])
          return;
        o[d.out_spec[i + 2]] = p / d.strides[i];
      }
      out.data<float>()[flat_index(o, out_strides)] += x * y;
    });
  });
  return out;
}

struct Case {
  Shape l, r;
  ConvDims d;
};

std::vector<Case> cases() {
  ConvDims wide{.strides = {2, 1},
                .pad_low = {1, 0},
                .pad_high = {2, 3},
                .lhs_dilation = {1, 2},
                .rhs_dilation = {2, 1},
                .lhs_spec = kNhwc,
                .rhs_spec = kHwio,
                .out_spec = {3, 0, 2, 1}};
  ConvDims cropped{.strides = {1, 2},
                   .pad_low = {-1, 2},
                   .pad_high = {1, -2},
                   .lhs_dilation = {1, 1},
                   .rhs_dilation = {1, 1},
                   .lhs_spec = kNhwc,
                   .rhs_spec = kHwio,
                   .out_spec = kNhwc};
  ConvDims features{.strides = {2},
                    .pad_low = {2},
                    .pad_high = {0},
                    .lhs_dilation = {1},
                    .rhs_dilation = {2},
                    .lhs_spec = kNcw,
                    .rhs_spec = kOiw,
                    .out_spec = kNcw,
                    .feature_groups = 2};
  ConvDims depthwise = features;
  depthwise.feature_groups = 4;
  ConvDims batches{.strides = {2},
                   .pad_low = {0},
                   .pad_high = {1},
                   .lhs_dilation = {2},
                   .rhs_dilation = {1},
                   .lhs_spec = {1, 2, 0},
                   .rhs_spec = {2, 0, 1},
                   .out_spec = {2, 1, 0},
                   .batch_groups = 2};
  ConvDims plain{.strides = {},
                 .pad_low = {},
                 .pad_high = {},
                 .lhs_dilation = {},
                 .rhs_dilation = {},
                 .lhs_spec = {0, 1},
                 .rhs_spec = {1, 0},
                 .out_spec = {0, 1}};
  // There is more padding than the kernel reaches, and windows end before the operand does.
  ConvDims over{.strides = {3},
                .pad_low = {4},
                .pad_high = {5},
                .lhs_dilation = {1},
                .rhs_dilation = {1},
                .lhs_spec = kNcw,
                .rhs_spec = kOiw,
                .out_spec = kNcw};
  return {{{2, 5, 4, 3}, {2, 3, 3, 2}, wide}, {{2, 5, 6, 2}, {3, 2, 2, 3}, cropped},
          {{2, 4, 7}, {6, 2, 2}, features},   {{2, 4, 7}, {8, 1, 2}, depthwise},
          {{5, 4, 3}, {3, 2, 6}, batches},    {{3, 4}, {4, 2}, plain},
          {{1, 2, 4}, {2, 2, 3}, over}};
}

std::vector<Type> types(const Case& c) { return {Type(f32, c.l), Type(f32, c.r)}; }

TEST(Convolution, ByHand) {
  ConvDims d{.pad_low = {1}, .pad_high = {1}, .lhs_spec = kNcw, .rhs_spec = kOiw, .out_spec = kNcw};
  HostArray out = run_op(
      "convolution", {host<float>({1, 1, 4}, {1, 2, 3, 4}), host<float>({1, 1, 3}, {1, 10, 100})},
      conv_attrs(d));
  EXPECT_EQ(values<float>(out), (std::vector<float>{210, 321, 432, 43}));
  d.strides = {2};
  d.rhs_dilation = {2};
  out =
      run_op("convolution", {host<float>({1, 1, 4}, {1, 2, 3, 4}), host<float>({1, 1, 2}, {1, 10})},
             conv_attrs(d));
  EXPECT_EQ(values<float>(out), (std::vector<float>{20, 42}));
}

TEST(Convolution, AgainstScattering) {
  for (const Case& c : cases()) {
    HostArray l = integers(Type(f32, c.l), 1), r = integers(Type(f32, c.r), 2);
    HostArray out = run_op("convolution", {l, r}, conv_attrs(c.d));
    EXPECT_EQ(values<float>(out), values<float>(scattered(l, r, c.d, out.shape)));
    EXPECT_GT(out.count(), 0);
  }
}

TEST(Convolution, EmptyWindowsAndOperands) {
  ConvDims d{.lhs_spec = kNcw, .rhs_spec = kOiw, .out_spec = kNcw};
  EXPECT_EQ(
      run_op("convolution", {HostArray(f32, {2, 1, 2}), HostArray(f32, {3, 1, 4})}, conv_attrs(d))
          .shape,
      (Shape{2, 3, 0}));
  HostArray none =
      run_op("convolution", {HostArray(f32, {1, 0, 4}), HostArray(f32, {2, 0, 3})}, conv_attrs(d));
  EXPECT_EQ(values<float>(none), std::vector<float>(4, 0.0f));
}

TEST(Convolution, TransposesAreInnerProductsOfBothSides) {
  for (const Case& c : cases())
    for (bool lhs : {true, false})
      check_transpose("convolution", types(c), {lhs, !lhs}, conv_attrs(c.d),
                      {integers(types(c)[lhs ? 1 : 0], 3)});
}

TEST(Convolution, BatchingOfBothSides) {
  for (const Case& c : cases()) {
    HostArray l = integers(Type(f32, c.l), 1), r = integers(Type(f32, c.r), 2);
    for (int at = 0; at <= c.l.rank(); ++at) {
      Shape ls = c.l, rs = c.r;
      ls.insert(ls.begin() + at, 3);
      rs.insert(rs.begin() + (c.l.rank() - at), 3);
      HostArray lb = integers(Type(f32, ls), 1), rb = integers(Type(f32, rs), 2);
      check_batch("convolution", {lb, r}, {at, kUnbatched}, conv_attrs(c.d));
      check_batch("convolution", {l, rb}, {kUnbatched, c.l.rank() - at}, conv_attrs(c.d));
      check_batch("convolution", {lb, rb}, {at, c.l.rank() - at}, conv_attrs(c.d));
    }
  }
}

TEST(Convolution, FactorRules) {
  ConvDims same{.pad_low = {1, 1},
                .pad_high = {1, 1},
                .lhs_spec = kNhwc,
                .rhs_spec = kHwio,
                .out_spec = kNhwc};
  EXPECT_EQ(factor_rule("convolution", {Type(f32, {8, 32, 32, 4}), Type(f32, {3, 3, 4, 6})},
                        conv_attrs(same)),
            "([n,h,j,i],[s,t,i,o])->([n,h,j,o]) {h=32,i=4,j=32,n=8,o=6,s=3,t=3} reduction={i:+} "
            "need_repl={s,t} permutation={h,j}");
  ConvDims patches{
      .strides = {16}, .lhs_spec = {0, 2, 1}, .rhs_spec = {2, 1, 0}, .out_spec = {0, 2, 1}};
  EXPECT_EQ(factor_rule("convolution", {Type(f32, {2, 224, 3}), Type(f32, {16, 3, 8})},
                        conv_attrs(patches)),
            "([n,hs,i],[s,i,o])->([n,h,o]) {h=14,i=3,n=2,o=8,s=16} reduction={i:+} need_repl={s}");
  // The gradient of a kernel: the long dimensions are summed over together with the cotangent.
  ConvDims kernel{.pad_low = {1},
                  .pad_high = {1},
                  .lhs_spec = {2, 0, 1},
                  .rhs_spec = {2, 0, 1},
                  .out_spec = {1, 2, 0}};
  EXPECT_EQ(factor_rule("convolution", {Type(f32, {2, 16, 3}), Type(f32, {2, 16, 5})},
                        conv_attrs(kernel)),
            "([i,s,n],[i,s,o])->([h,n,o]) {h=3,i=2,n=3,o=5,s=16} reduction={i:+,s:+} "
            "need_repl={h}");
  ConvDims depthwise{
      .lhs_spec = {0, 2, 1}, .rhs_spec = {2, 1, 0}, .out_spec = {0, 2, 1}, .feature_groups = 4};
  EXPECT_EQ(factor_rule("convolution", {Type(f32, {2, 6, 4}), Type(f32, {3, 1, 8})},
                        conv_attrs(depthwise)),
            "([n,h,gi],[s,i,go])->([n,h,go]) {g=4,h=4,i=1,n=2,o=2,s=3} need_repl={o,i,s} "
            "window={h}");
}

TEST(Convolution, Errors) {
  ConvDims d{.lhs_spec = kNhwc, .rhs_spec = kHwio, .out_spec = kNhwc};
  EXPECT_EQ(
      infer_error<ShapeError>("convolution", {Type(f32, {8, 28, 28, 3}), Type(f32, {3, 3, 1, 32})},
                              conv_attrs(d)),
      "convolution: an operand of shape (8, 28, 28, 3) does not fit a kernel of shape (3, 3, 1, "
      "32)\n"
      "  - the kernel takes 1 features for each of 1 groups, 1 in all; the operand has 3\n"
      "  rule: the kernel's input features times feature_groups are the operand's features, and "
      "groups divide what they group\n"
      "  try: check the layouts: the operand's features are dimension 3, the kernel's input "
      "features dimension 2 and its output "
      "features dimension 3");
  d.strides = {2, 0};
  d.pad_low = {1};
  EXPECT_EQ(
      infer_error<ShapeError>("convolution", {Type(f32, {8, 28, 28, 3}), Type(f32, {3, 3, 3, 32})},
                              conv_attrs(d)),
      "convolution: the attributes do not fit 2 spatial dimensions\n"
      "  - strides has an entry 0\n"
      "  - pad_low has 1 entries\n"
      "  rule: each list has one entry a spatial dimension; strides and dilations are at least 1\n"
      "  try: give as many entries as the operand has dimensions besides batch and features");
  EXPECT_EQ(
      infer_error<ShapeError>("convolution", {Type(f32, {8, 28, 28}), Type(f32, {3, 3, 3, 32})},
                              conv_attrs(d)),
      "convolution: operand and kernel have shapes (8, 28, 28) and (3, 3, 3, 32)\n"
      "  rule: both have the same number of dimensions, at least 2: batch, features and space\n"
      "  try: insert dimensions of 1 with expand_dims");
}

}  // namespace
}  // namespace tessera::testing
