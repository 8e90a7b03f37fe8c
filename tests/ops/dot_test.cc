#include "op_check.h"

#include "ops/contraction/dot_dims.h"

namespace tessera::testing {
namespace {

using ops::dot_attrs;
using ops::DotDims;

HostArray dot_of(const HostArray& l, const HostArray& r, const DotDims& d, DType result) {
  return run_op("dot_general", {l, r}, dot_attrs(d, result));
}

TEST(DotGeneral, MatrixProduct) {
  HostArray out = dot_of(host<float>({2, 3}, {1, 2, 3, 4, 5, 6}),
                         host<float>({3, 2}, {1, 0, 0, 1, 1, 1}), {{1}, {0}, {}, {}}, f32);
  EXPECT_EQ(out.shape, (Shape{2, 2}));
  EXPECT_EQ(values<float>(out), (std::vector<float>{4, 5, 10, 11}));
}

TEST(DotGeneral, OuterProductAndInnerProduct) {
  HostArray a = host<int>({2}, {2, 3}), b = host<int>({2}, {5, 7});
  EXPECT_EQ(values<int>(dot_of(a, b, {}, i32)), (std::vector<int>{10, 14, 15, 21}));
  EXPECT_EQ(values<int>(dot_of(a, b, {{0}, {0}, {}, {}}, i32)), (std::vector<int>{31}));
}

TEST(DotGeneral, EmptyContractionIsZero) {
  HostArray out = dot_of(HostArray(f32, {2, 0}), HostArray(f32, {0, 3}), {{1}, {0}, {}, {}}, f32);
  EXPECT_EQ(values<float>(out), std::vector<float>(6, 0.0f));
}

// Result [batch, lhs free, rhs free], with every role out of order: lhs is [k1, b, m, k0], rhs is
// [n, k0, b, k1].
TEST(DotGeneral, EveryRoleOutOfOrder) {
  const int B = 2, M = 3, N = 2, K0 = 2, K1 = 3;
  HostArray l = integers(Type(i32, {K1, B, M, K0}), 1), r = integers(Type(i32, {N, K0, B, K1}), 2);
  HostArray out = dot_of(l, r, {{3, 0}, {1, 3}, {1}, {2}}, i32);
  ASSERT_EQ(out.shape, (Shape{B, M, N}));
  for (int b = 0; b < B; ++b)
    for (int m = 0; m < M; ++m)
      for (int n = 0; n < N; ++n) {
        int sum = 0;
        for (int k1 = 0; k1 < K1; ++k1)
          for (int k0 = 0; k0 < K0; ++k0)
            sum += l.data<int>()[((k1 * B + b) * M + m) * K0 + k0] *
                   r.data<int>()[((n * K0 + k0) * B + b) * K1 + k1];
        EXPECT_EQ(out.data<int>()[(b * M + m) * N + n], sum);
      }
}

TEST(DotGeneral, IntegersWrapAndBooleansAreOrOfAnds) {
  HostArray a = host<std::int8_t>({2}, {100, 100});
  EXPECT_EQ(values<std::int8_t>(dot_of(a, a, {{0}, {0}, {}, {}}, i8)),
            (std::vector<std::int8_t>{static_cast<std::int8_t>(20000)}));
  EXPECT_EQ(values<int>(dot_of(a, a, {{0}, {0}, {}, {}}, i32)), (std::vector<int>{20000}));
  HostArray t = host<bool>({2, 2}, {true, false, false, false});
  HostArray both = dot_of(t, t, {{1}, {0}, {}, {}}, bool_);
  for (int i = 0; i < 4; ++i) EXPECT_EQ(both.data<bool>()[i], i == 0);
}

// 256 + 1 is not a bfloat16 number: a sum that rounds at every step would lose both ones.
TEST(DotGeneral, NarrowFloatsRoundOnce) {
  auto bf = [](std::vector<float> v) {
    std::vector<bfloat16_t> out;
    for (float x : v) out.push_back(bfloat16_t(x));
    return host<bfloat16_t>({static_cast<std::int64_t>(v.size())}, out);
  };
  HostArray a = bf({256, 1, 1}), ones = bf({1, 1, 1});
  EXPECT_EQ(float(dot_of(a, ones, {{0}, {0}, {}, {}}, bf16).data<bfloat16_t>()[0]), 258.0f);
  EXPECT_EQ(values<float>(dot_of(a, bf({1, 1, 0}), {{0}, {0}, {}, {}}, f32)),
            (std::vector<float>{257.0f}));
}

TEST(DotGeneral, TransposesOfEveryLayout) {
  struct Case {
    Shape l, r;
    DotDims d;
  };
  std::vector<Case> cases = {{{3, 4}, {4, 5}, {{1}, {0}, {}, {}}},
                             {{4, 3}, {5, 4}, {{0}, {1}, {}, {}}},
                             {{3, 2, 3, 2}, {2, 2, 2, 3}, {{3, 0}, {1, 3}, {1}, {2}}},
                             {{2, 3, 4}, {4, 2, 5}, {{0, 2}, {1, 0}, {}, {}}},
                             {{3}, {2}, {}},
                             {{4, 2}, {2, 4}, {{0}, {1}, {1}, {0}}},
                             {{3, 5, 2}, {2, 5}, {{}, {}, {2, 1}, {0, 1}}}};
  for (const Case& c : cases)
    for (bool lhs : {true, false}) {
      Type lt(f32, c.l), rt(f32, c.r);
      check_transpose("dot_general", {lt, rt}, {lhs, !lhs}, dot_attrs(c.d, f32),
                      {integers(lhs ? rt : lt, 4)});
    }
}

TEST(DotGeneral, TransposeOfAWiderResult) {
  Type l(bf16, {2, 3}), r(bf16, {3, 2});
  check_transpose("dot_general", {l, r}, {true, false}, dot_attrs({{1}, {0}, {}, {}}, f32),
                  {integers(r, 1)});
}

// The gradient of a weight in [in, out] layout is one contraction with nothing after it.
TEST(DotGeneral, WeightGradientNeedsNoTranspose) {
  Builder b;
  Value x = b.input(Type(f32, {8, 3})), ct = b.input(Type(f32, {8, 5}));
  Value g = ops::dot_general_transpose(ct, x, {{1}, {0}, {}, {}}, Type(f32, {3, 5}), false);
  EXPECT_EQ(g.shape(), (Shape{3, 5}));
  EXPECT_EQ(b.so_far().equations.size(), 1u);
}

TEST(DotGeneral, Batching) {
  Attrs attrs = dot_attrs({{1}, {0}, {}, {}}, f32);
  HostArray l = integers(Type(f32, {3, 4}), 1), r = integers(Type(f32, {4, 2}), 2);
  for (int i = 0; i < 3; ++i) {
    Shape ls{3, 4}, rs{4, 2};
    ls.insert(ls.begin() + i, 5);
    rs.insert(rs.begin() + 2 - i, 5);
    HostArray lb = integers(Type(f32, ls), 1), rb = integers(Type(f32, rs), 2);
    check_batch("dot_general", {lb, rb}, {i, 2 - i}, attrs);
    check_batch("dot_general", {lb, r}, {i, kUnbatched}, attrs);
    check_batch("dot_general", {l, rb}, {kUnbatched, 2 - i}, attrs);
  }
  Attrs batched = dot_attrs({{2}, {0}, {1}, {2}}, f32);
  check_batch("dot_general",
              {integers(Type(f32, {4, 2, 3, 5}), 1), integers(Type(f32, {5, 2, 3, 4}), 2)}, {0, 3},
              batched);
  check_batch("dot_general",
              {integers(Type(f32, {4, 2, 3, 5}), 1), integers(Type(f32, {5, 2, 3}), 2)},
              {0, kUnbatched}, batched);
}

TEST(DotGeneral, FactorRule) {
  EXPECT_EQ(factor_rule("dot_general", {Type(f32, {6, 2, 3}), Type(f32, {6, 3, 4})},
                        dot_attrs({{2}, {1}, {0}, {0}}, f32)),
            "([b,m,k],[b,k,n])->([b,m,n]) {b=6,k=3,m=2,n=4} reduction={k:+}");
}

TEST(DotGeneral, Errors) {
  EXPECT_EQ(infer_error<ShapeError>("dot_general", {Type(f32, {32, 784}), Type(f32, {512, 10})},
                                    dot_attrs({{1}, {0}, {}, {}}, f32)),
            "dot_general: operands of shapes (32, 784) and (512, 10) do not contract over "
            "dimensions [1] of lhs and [0] of rhs\n"
            "  - contracting dimension 1 of lhs has 784 elements, dimension 0 of rhs has 512\n"
            "  rule: paired dimensions have equal extents, and no dimension is named twice\n"
            "  try: transpose or reshape an operand so that the contracted dimensions agree");
  EXPECT_EQ(infer_error<ShapeError>("dot_general", {Type(f32, {2, 3}), Type(f32, {3})},
                                    dot_attrs({{1, 1}, {0, 1}, {}, {}}, f32)),
            "dot_general: operands of shapes (2, 3) and (3,) do not contract over dimensions [1, "
            "1] of lhs and [0, 1] of rhs\n"
            "  - lhs dimension 1 is named twice\n"
            "  - rhs has no dimension 1: it has 1\n"
            "  rule: paired dimensions have equal extents, and no dimension is named twice\n"
            "  try: transpose or reshape an operand so that the contracted dimensions agree");
  EXPECT_EQ(infer_error<DTypeError>("dot_general", {Type(f32, {2}), Type(i32, {2})},
                                    dot_attrs({{0}, {0}, {}, {}}, f32)),
            "dot_general: the operands are float32 and int32\n"
            "  rule: both operands have one dtype\n"
            "  try: convert one of them");
  EXPECT_EQ(
      infer_error<DTypeError>("dot_general", {Type(f32, {2}), Type(f32, {2})},
                              dot_attrs({{0}, {0}, {}, {}}, i32)),
      "dot_general: float32 operands cannot give a result of int32\n"
      "  rule: the result's dtype is of the operands' kind: floating, complex, integer or bool\n"
      "  try: convert the operands first, or the result after");
}

}  // namespace
}  // namespace tessera::testing
