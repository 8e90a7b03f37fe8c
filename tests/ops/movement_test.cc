// Ops that move data by index maps: values by hand, factor rules, transposes, batching, errors.
#include "op_check.h"

namespace ts = tessera;
using namespace tessera;
using namespace tessera::testing;

TEST(Iota, CountsAlongADimension) {
  HostArray a =
      run_op("iota", {}, {{"dtype", f32}, {"shape", Ints{2, 3}}, {"dimension", std::int64_t{1}}});
  EXPECT_EQ(values<float>(a), (std::vector<float>{0, 1, 2, 0, 1, 2}));
}

TEST(BroadcastInDim, Values) {
  HostArray x = host<int>({2, 1}, {5, 7});
  EXPECT_EQ(
      values<int>(run_op("broadcast_in_dim", {x}, {{"shape", Ints{2, 3}}, {"dims", Ints{0, 1}}})),
      (std::vector<int>{5, 5, 5, 7, 7, 7}));
  EXPECT_EQ(values<int>(
                run_op("broadcast_in_dim", {x}, {{"shape", Ints{1, 2, 2}}, {"dims", Ints{2, 0}}})),
            (std::vector<int>{5, 7, 5, 7}));
}

TEST(Transpose, Values) {
  HostArray x = host<int>({2, 3}, {0, 1, 2, 3, 4, 5});
  EXPECT_EQ(values<int>(run_op("transpose", {x}, {{"permutation", Ints{1, 0}}})),
            (std::vector<int>{0, 3, 1, 4, 2, 5}));
}

TEST(Reverse, Values) {
  HostArray x = host<int>({2, 3}, {0, 1, 2, 3, 4, 5});
  EXPECT_EQ(values<int>(run_op("reverse", {x}, {{"dims", Ints{1}}})),
            (std::vector<int>{2, 1, 0, 5, 4, 3}));
}

TEST(Slice, Strided) {
  HostArray x = host<int>({7}, {0, 1, 2, 3, 4, 5, 6});
  EXPECT_EQ(values<int>(run_op("slice", {x},
                               {{"start", Ints{1}}, {"limit", Ints{7}}, {"strides", Ints{3}}})),
            (std::vector<int>{1, 4}));
}

TEST(Pad, EdgesInteriorAndCropping) {
  HostArray x = host<int>({3}, {1, 2, 3}), p = host<int>({}, {9});
  EXPECT_EQ(values<int>(run_op("pad", {x, p},
                               {{"low", Ints{1}}, {"high", Ints{2}}, {"interior", Ints{1}}})),
            (std::vector<int>{9, 1, 9, 2, 9, 3, 9, 9}));
  EXPECT_EQ(values<int>(run_op("pad", {x, p},
                               {{"low", Ints{-1}}, {"high", Ints{1}}, {"interior", Ints{0}}})),
            (std::vector<int>{2, 3, 9}));
  EXPECT_EQ(values<int>(run_op("pad", {x, p},
                               {{"low", Ints{-1}}, {"high", Ints{-1}}, {"interior", Ints{1}}})),
            (std::vector<int>{9, 2, 9}));
}

TEST(Concatenate, Values) {
  HostArray x = host<int>({2, 1}, {1, 2}), y = host<int>({2, 2}, {3, 4, 5, 6});
  EXPECT_EQ(values<int>(run_op("concatenate", {x, y}, {{"dimension", std::int64_t{1}}})),
            (std::vector<int>{1, 3, 4, 2, 5, 6}));
}

TEST(Movement, FactorRules) {
  EXPECT_EQ(factor_rule("broadcast_in_dim", {Type(f32, {16})},
                        {{"shape", Ints{8, 16}}, {"dims", Ints{1}}}),
            "([b])->([a,b]) {a=8,b=16}");
  EXPECT_EQ(factor_rule("broadcast_in_dim", {Type(f32, {1, 16})},
                        {{"shape", Ints{8, 16}}, {"dims", Ints{0, 1}}}),
            "([c,b])->([a,b]) {a=8,b=16,c=1}");
  EXPECT_EQ(factor_rule("transpose", {Type(f32, {2, 3, 5})}, {{"permutation", Ints{2, 0, 1}}}),
            "([a,b,c])->([c,a,b]) {a=2,b=3,c=5}");
  EXPECT_EQ(factor_rule("slice", {Type(f32, {8, 16})},
                        {{"start", Ints{0, 2}}, {"limit", Ints{8, 10}}, {"strides", Ints{1, 1}}}),
            "([a,b])->([a,b]) {a=8,b=8} window={b}");
  EXPECT_EQ(factor_rule("pad", {Type(f32, {8}), Type(f32, {})},
                        {{"low", Ints{0}}, {"high", Ints{3}}, {"interior", Ints{0}}}),
            "([a],[])->([a]) {a=11} window={a}");
  EXPECT_EQ(factor_rule("concatenate", {Type(f32, {4, 8}), Type(f32, {6, 8})},
                        {{"dimension", std::int64_t{0}}}),
            "([a,b],[a,b])->([a,b]) {a=10,b=8} window={a}");
  EXPECT_EQ(factor_rule("reverse", {Type(f32, {4, 8})}, {{"dims", Ints{1}}}),
            "([a,b])->([a,b]) {a=4,b=8} permutation={b}");
  EXPECT_EQ(
      factor_rule("iota", {}, {{"dtype", f32}, {"shape", Ints{3}}, {"dimension", std::int64_t{0}}}),
      "()->([a]) {a=3}");
}

TEST(Reshape, FactorRules) {
  auto rule = [](Shape from, const Ints& to) {
    return factor_rule("reshape", {Type(f32, std::move(from))}, {{"shape", to}});
  };
  EXPECT_EQ(rule({8, 16}, {128}), "([a,b])->([ab]) {a=8,b=16}");
  EXPECT_EQ(rule({2, 12}, {4, 6}), "([a,bc])->([ab,c]) {a=2,b=2,c=6}");
  EXPECT_EQ(rule({6, 4}, {4, 6}),
            "([ap,qb])->([ar,sb]) {a=2,b=2,p=3,q=2,r=2,s=3} need_repl={p,q,r,s}");
  EXPECT_EQ(rule({1, 8}, {8, 1}), "([u,a])->([a,v]) {a=8,u=1,v=1}");
  EXPECT_EQ(rule({128}, {8, 16}), "([ab])->([a,b]) {a=8,b=16}");
  EXPECT_EQ(rule({2, 3}, {3, 2}), "([p,q])->([r,s]) {p=2,q=3,r=3,s=2} need_repl={p,q,r,s}");
}

TEST(Movement, TransposesAreAdjoint) {
  check_transpose("broadcast_in_dim", {Type(f32, {2, 1})}, {true},
                  {{"shape", Ints{3, 4, 2}}, {"dims", Ints{2, 1}}});
  check_transpose("pad", {Type(f32, {3, 4}), Type(f32, {})}, {true, true},
                  {{"low", Ints{1, -1}}, {"high", Ints{2, 1}}, {"interior", Ints{1, 0}}});
  check_transpose("reshape", {Type(f32, {2, 6})}, {true}, {{"shape", Ints{4, 3}}});
  check_transpose("transpose", {Type(f64, {2, 3, 4})}, {true}, {{"permutation", Ints{2, 0, 1}}});
  check_transpose("reverse", {Type(f32, {2, 3})}, {true}, {{"dims", Ints{0}}});
  check_transpose("slice", {Type(f32, {9, 4})}, {true},
                  {{"start", Ints{1, 2}}, {"limit", Ints{8, 2}}, {"strides", Ints{3, 1}}});
  check_transpose("slice", {Type(f32, {9})}, {true},
                  {{"start", Ints{1}}, {"limit", Ints{8}}, {"strides", Ints{3}}});
  check_transpose("concatenate", {Type(f32, {2, 1}), Type(f32, {2, 3})}, {true, true},
                  {{"dimension", std::int64_t{1}}});
}

TEST(Movement, BatchingIsALoop) {
  auto x = [](Shape s) { return integers(Type(f32, std::move(s)), 1); };
  for (int d = 0; d < 3; ++d) {
    Shape s{2, 3};
    s.insert(s.begin() + d, 4);
    check_batch("broadcast_in_dim", {x(s)}, {d}, {{"shape", Ints{3, 5, 2}}, {"dims", Ints{2, 0}}});
    check_batch("reshape", {x(s)}, {d}, {{"shape", Ints{3, 2}}});
    check_batch("transpose", {x(s)}, {d}, {{"permutation", Ints{1, 0}}});
    check_batch("reverse", {x(s)}, {d}, {{"dims", Ints{1}}});
    check_batch("slice", {x(s)}, {d},
                {{"start", Ints{0, 1}}, {"limit", Ints{2, 3}}, {"strides", Ints{1, 2}}});
    check_batch("pad", {x(s), x({})}, {d, kUnbatched},
                {{"low", Ints{1, -1}}, {"high", Ints{0, 2}}, {"interior", Ints{1, 0}}});
    check_batch("concatenate", {x(s), x({2, 3})}, {d, kUnbatched},
                {{"dimension", std::int64_t{1}}});
    check_batch("concatenate", {x({2, 3}), x(s)}, {kUnbatched, d},
                {{"dimension", std::int64_t{0}}});
  }
}

TEST(Movement, Errors) {
  EXPECT_EQ(infer_error<ShapeError>("reshape", {Type(f32, {2, 3})}, {{"shape", Ints{4, 2}}}),
            "reshape: shape (2, 3) does not reshape to (4, 2)\n"
            "  rule: the number of elements stays: 6 is not 8\n"
            "  try: choose extents whose product is 6");
  EXPECT_EQ(
      infer_error<ShapeError>("transpose", {Type(f32, {2, 3})}, {{"permutation", Ints{0, 0}}}),
      "transpose: permutation (0, 0) names dimension 0 twice\n"
      "  rule: distinct dimensions of shape (2, 3), each in [0, 2)\n"
      "  try: name every dimension once");
  EXPECT_EQ(infer_error<ShapeError>("broadcast_in_dim", {Type(f32, {2})},
                                    {{"shape", Ints{3}}, {"dims", Ints{0}}}),
            "broadcast_in_dim: shape (2,) does not broadcast to (3,) with dims (0,)\n"
            "  - operand dimension 0 has extent 2, result dimension 0 has 3\n"
            "  rule: an operand dimension has extent 1 or that of the result dimension it goes to\n"
            "  try: map the dimension elsewhere, or reshape the operand first");
}
