// Ops with bodies agree with plain loops, and random bits with XLA's.
#include "ops/reduction/general.h"
#include "ops/indexing/combine_at.h"
#include "ops/movement/order_by.h"
#include "ops/op_check.h"
#include "ops/random/rng_bit_generator.h"
#include "transform/autodiff.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>

namespace ts = tessera;

namespace {

using tessera::testing::host;
using tessera::testing::values;
using ts::Builder;
using ts::DType;
using ts::HostArray;
using ts::ProgramPtr;
using ts::Shape;
using ts::Type;
using ts::Value;
using ts::Values;
using I = std::int32_t;

// A body of `n` scalars.
template <class F>
ProgramPtr body(std::vector<DType> dtypes, F f) {
  Builder b("body");
  Values in;
  for (DType d : dtypes) in.push_back(b.input(Type(d, {})));
  return b.finish(f(in));
}

// The results of `f` on arrays, by the evaluators.
template <class F>
std::vector<HostArray> run(const std::vector<HostArray>& in, F f) {
  Builder b;
  Values values;
  for (const HostArray& x : in) values.push_back(b.input(Type(x.dtype, x.shape)));
  const Values out = f(b, values);
  return ts::evaluate(*b.finish(out), in);
}

Value number(Builder& b, DType d, double v) { return ts::ops::scalar(b, d, v); }

const std::vector<I> kNumbers{5, -3, 8, 8, 0, 7, 2, 9, -4, 1, 6, 3};

}  // namespace

TEST(General, ReduceFoldsInOrderFromItsInit) {
  // 10 a + b is neither commutative nor associative, so it shows the order.
  const ProgramPtr digits = body({ts::i32, ts::i32}, [](const Values& v) {
    return Values{ts::ops::add(ts::ops::mul(v[0], ts::ops::full_like(v[0], 10)), v[1])};
  });
  auto got = run({host<I>({2, 3}, {1, 2, 3, 4, 5, 6})}, [&](Builder& b, const Values& x) {
    Values nine{number(b, ts::i32, 9)};
    Values rows = ts::ops::reduce(x, nine, digits, {1}),
           all = ts::ops::reduce(x, nine, digits, {0, 1});
    Values start{ts::ops::iota(b, ts::i32, {2}, 0)};
    return Values{rows[0], all[0], ts::ops::reduce(x, start, digits, {1})[0]};
  });
  EXPECT_EQ(values<I>(got[0]), (std::vector<I>{9123, 9456}));
  EXPECT_EQ(values<I>(got[1]), (std::vector<I>{9123456}));
  EXPECT_EQ(values<I>(got[2]), (std::vector<I>{123, 1456}));
}

TEST(General, ReduceOfSeveralArraysIsAnArgmax) {
  const ProgramPtr first_max = ts::ops::example_body("first_max", ts::i32);
  auto got = run({host<I>({3, 4}, kNumbers)}, [&](Builder& b, const Values& x) {
    Values in{x[0], ts::ops::iota(b, ts::i32, {3, 4}, 1)};
    Values inits{number(b, ts::i32, INT32_MIN), number(b, ts::i32, 99)};
    return ts::ops::reduce(in, inits, first_max, {1});
  });
  EXPECT_EQ(values<I>(got[0]), (std::vector<I>{8, 9, 6}));
  EXPECT_EQ(values<I>(got[1]), (std::vector<I>{2, 3, 2}));
}

TEST(General, WindowsPassOverPaddingAndHoles) {
  // The initial value of 1 counts once in the sum.
  const ProgramPtr sum =
      body({ts::i32, ts::i32}, [](const Values& v) { return Values{ts::ops::add(v[0], v[1])}; });
  auto got = run({host<I>({4}, {1, 2, 3, 4})}, [&](Builder& b, const Values& x) {
    Values one{number(b, ts::i32, 1)};
    Values plain =
        ts::ops::reduce_window(x, one, sum, {.window = {3}, .strides = {2}, .pad_low = {1}});
    Values holes = ts::ops::reduce_window(
        x, one, sum, {.window = {2}, .base_dilation = {2}, .window_dilation = {3}});
    return Values{plain[0], holes[0]};
  });
  // The windows are 1 2 and 2 3 4; in 1 . 2 . 3 . 4 they have two places, three apart.
  EXPECT_EQ(values<I>(got[0]), (std::vector<I>{4, 10}));
  EXPECT_EQ(values<I>(got[1]), (std::vector<I>{1 + 1, 1 + 3, 1 + 2, 1 + 4}));
}

TEST(General, WindowsOfLessThanNothingHaveDerivatives) {
  Builder b;
  const Values in{b.input(Type(ts::f32, {1})), b.input(Type(ts::f32, {}))};
  const ProgramPtr p = b.finish(ts::ops::reduce_window(
      std::span(in).first(1), std::span(in).subspan(1), ts::ops::example_body("affine", ts::f32),
      {.window = {1}, .strides = {1}, .pad_low = {-1}, .pad_high = {-1}}));
  const std::vector<HostArray> at{host<float>({1}, {2}), host<float>({}, {3}),
                                  host<float>({0}, {})};
  const auto got = ts::evaluate(*ts::vjp_program(*p, {true, true}), at);
  ASSERT_EQ(got.size(), 3u);  // the result, and the gradients
  EXPECT_EQ(values<float>(got[1]), std::vector<float>{0});
  EXPECT_EQ(values<float>(got[2]), std::vector<float>{0});
}

TEST(General, SelectAndScatterIsALoop) {
  const ProgramPtr ge =
      body({ts::i32, ts::i32}, [](const Values& v) { return Values{ts::ops::ge(v[0], v[1])}; });
  const ProgramPtr twice = body({ts::i32, ts::i32}, [](const Values& v) {
    return Values{ts::ops::add(ts::ops::mul(v[0], ts::ops::full_like(v[0], 2)), v[1])};
  });
  const std::vector<I> source{1, 2, 3, 4, 5, 6};
  auto got =
      run({host<I>({3, 4}, kNumbers), host<I>({2, 3}, source)}, [&](Builder& b, const Values& x) {
        return Values{ts::ops::select_and_scatter(x[0], x[1], number(b, ts::i32, 7), ge, twice,
                                                  {.window = {2, 2}})};
      });
  std::vector<I> expected(12, 7);
  for (std::size_t r = 0; r < 2; ++r)
    for (std::size_t c = 0; c < 3; ++c) {
      std::size_t best = r * 4 + c;
      for (std::size_t at : {r * 4 + c + 1, r * 4 + c + 4, r * 4 + c + 5})
        if (kNumbers[at] > kNumbers[best]) best = at;
      expected[best] = 2 * expected[best] + source[r * 3 + c];
    }
  EXPECT_EQ(values<I>(got[0]), expected);
}

TEST(General, ScatterByABodyGoesInOrderAndDropsWhatIsOutside) {
  const ProgramPtr minus = body({ts::i32, ts::i32}, [](const Values& v) {
    return Values{ts::ops::sub(ts::ops::mul(v[0], ts::ops::full_like(v[0], 10)), v[1])};
  });
  const ts::ops::ScatterDims rows{{1}, {0}, {}, {}, {0}, 1};
  const std::vector<HostArray> in{host<I>({3, 2}, {1, 2, 3, 4, 5, 6}),
                                  host<I>({4, 1}, {2, 0, 3, 2}),
                                  host<I>({4, 2}, {1, 2, 3, 4, 5, 6, 7, 8})};
  auto scattered = [&](const char* mode) {
    return values<I>(run(in, [&](Builder&, const Values& x) {
      return ts::ops::scatter_by(Values{x[0]}, x[1], Values{x[2]}, rows, minus, mode);
    })[0]);
  };
  EXPECT_EQ(scattered("drop"), (std::vector<I>{7, 16, 3, 4, (50 - 1) * 10 - 7, (60 - 2) * 10 - 8}));
  EXPECT_EQ(scattered("clip"), (std::vector<I>{7, 16, 3, 4, ((50 - 1) * 10 - 5) * 10 - 7,
                                               ((60 - 2) * 10 - 6) * 10 - 8}));
}

TEST(General, SortByAComparatorIsStable) {
  // Sorts odd numbers before even ones, and keeps the order otherwise.
  const ProgramPtr odd_first = body({ts::i32, ts::i32, ts::i32, ts::i32}, [](const Values& v) {
    Value one = ts::ops::full_like(v[0], 1);
    return Values{ts::ops::gt(ts::ops::and_(v[0], one), ts::ops::and_(v[1], one))};
  });
  std::vector<I> places(12);
  std::iota(places.begin(), places.end(), 0);
  auto got = run({host<I>({12}, kNumbers), host<I>({12}, places)},
                 [&](Builder&, const Values& x) { return ts::ops::sort_by(x, odd_first, 0); });
  std::stable_sort(places.begin(), places.end(), [&](I a, I b) {
    return (kNumbers[static_cast<std::size_t>(a)] & 1) >
           (kNumbers[static_cast<std::size_t>(b)] & 1);
  });
  EXPECT_EQ(values<I>(got[1]), places);
  for (std::size_t k = 0; k < places.size(); ++k)
    EXPECT_EQ(values<I>(got[0])[k], kNumbers[static_cast<std::size_t>(places[k])]);
}

TEST(General, BodiesThatDoNotFitAreRefused) {
  const ProgramPtr floats = ts::ops::example_body("affine", ts::f32);
  auto refused = [](auto f) -> std::string {
    try {
      Builder b;
      f(b);
    } catch (const ts::Error& e) {
      return e.what();
    }
    return "";
  };
  EXPECT_EQ(refused([&](Builder& b) {
              ts::ops::reduce(Values{b.input(Type(ts::i32, {3}))},
                              Values{b.input(Type(ts::i32, {}))}, floats, {0});
            }),
            "reduce: the function takes (f32[], f32[]) and gives (f32[])\n"
            "  rule: it combines accumulators with elements: it takes scalars (int32, int32) and "
            "gives scalars (int32)\n"
            "  try: write it for single elements, and convert its results with astype");
  EXPECT_EQ(refused([&](Builder& b) {
              ts::ops::reduce(Values{b.input(Type(ts::f32, {3}))},
                              Values{b.input(Type(ts::f32, {2}))}, floats, {0});
            }),
            "reduce: the operands and their inits do not fit together\n"
            "  - operand 0: f32[3]\n"
            "  - init 0: f32[2]\n"
            "  rule: operands of one shape, and for each an init of its dtype, a scalar\n"
            "  try: broadcast the operands to one shape, and give one scalar for each");
}

// The bits are those of XLA, for a state whose counter overflows its low word and then both.
TEST(RandomBits, AreThoseOfXla) {
  using ts::ops::BitGenerator;
  const HostArray state = host<std::uint64_t>({2}, {0x0123456789abcdefull, 0xfffffffffffffffeull});
  auto bits = [&](Shape shape, DType dtype, BitGenerator how) {
    return run({state}, [&](Builder&, const Values& x) {
      return ts::ops::rng_bit_generator(x[0], shape, dtype, how);
    });
  };
  using W = std::uint32_t;
  auto next = [&](const std::vector<HostArray>& out) { return values<std::uint64_t>(out[0])[1]; };
  auto out = bits({3, 5}, ts::u32, BitGenerator::three_fry);
  EXPECT_EQ(next(out), 7u);
  EXPECT_EQ(values<W>(out[1]),
            (std::vector<W>{0xb0f4215b, 0xe19a60b4, 0xb3d7494, 0xacf8c4dc, 0xaaa4d889, 0x75a52907,
                            0xd3dd8613, 0x35d0e5f1, 0x8ed17fe4, 0x7c2f19d8, 0xde79bbbd, 0x1713fd18,
                            0xb09d029e, 0x7d84f441, 0x6ca3e732}));
  out = bits({5, 3}, ts::u32, BitGenerator::three_fry);
  EXPECT_EQ(values<W>(out[1])[3], 0xe19a60b4u);
  EXPECT_EQ(values<W>(out[1])[14], 0x6ca3e732u);
  out = bits({}, ts::u32, BitGenerator::three_fry);
  EXPECT_EQ(next(out), ~0ull);
  EXPECT_EQ(values<W>(out[1]), (std::vector<W>{0xb0f4215b}));
  out = bits({5}, ts::u8, BitGenerator::three_fry);
  EXPECT_EQ(next(out), 1u);
  EXPECT_EQ(values<std::uint8_t>(out[1]),
            (std::vector<std::uint8_t>{0x5b, 0xb4, 0x94, 0xdc, 0x89}));
  out = bits({4}, ts::u64, BitGenerator::three_fry);
  EXPECT_EQ(next(out), 2u);
  EXPECT_EQ(values<std::uint64_t>(out[1])[3], 0xd3dd861375a52907ull);
  out = bits({5, 3}, ts::u32, BitGenerator::philox);
  EXPECT_EQ(next(out), 2u);
  EXPECT_EQ(values<W>(out[1]),
            (std::vector<W>{0xa485194, 0x41c5f806, 0xd6822fee, 0x3885a3d4, 0x41eb59f3, 0x307385e0,
                            0x5b8b3389, 0xa262f67c, 0x7006d264, 0xd71fd4de, 0x3aff468e, 0x40b5f768,
                            0x34da5d11, 0xa2a4e857, 0xfc81d5f9}));
  out = bits({5}, ts::u64, BitGenerator::philox);
  EXPECT_EQ(next(out), 1u);
  EXPECT_EQ(values<std::uint64_t>(out[1])[4], 0xd71fd4de7006d264ull);
  out = bits({5}, ts::u16, BitGenerator::philox);
  EXPECT_EQ(next(out), 0u);
  EXPECT_EQ(values<std::uint16_t>(out[1]),
            (std::vector<std::uint16_t>{0x5194, 0xf806, 0x2fee, 0xa3d4, 0x59f3}));
}
