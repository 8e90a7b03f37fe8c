// Random numbers equal those of JAX's default generator in published vectors: integers exactly,
// floats up to the rounding of log1p and similar functions on either side.
#include <tessera/creation.h>
#include <tessera/elementwise.h>
#include <tessera/jit.h>
#include <tessera/random.h>
#include <tessera/reductions.h>

#include <gtest/gtest.h>

#include <cmath>
#include <set>

namespace ts = tessera;
namespace random_ = ts::random;
using ts::Array;

namespace {

using U32 = std::vector<std::uint32_t>;
using I32 = std::vector<std::int32_t>;
U32 u32s(const Array& x) { return x.to_vector<std::uint32_t>(); }
I32 i32s(const Array& x) { return x.to_vector<std::int32_t>(); }
void expect_near(const Array& x, const std::vector<double>& expected) {
  ASSERT_EQ(x.size(), static_cast<std::int64_t>(expected.size()));
  std::vector<float> v = x.to_vector<float>();
  for (std::size_t i = 0; i < v.size(); ++i)
    EXPECT_NEAR(v[i], expected[i], 1e-6 * std::max(1.0, std::fabs(expected[i])));
}

}  // namespace

TEST(Random, Keys) {
  EXPECT_EQ(u32s(random_::key(0)), (U32{0, 0}));
  EXPECT_EQ(u32s(random_::key((std::uint64_t{7} << 32) | 42)), (U32{7, 42}));
  EXPECT_EQ(u32s(random_::split(random_::key(0), 4)),
            (U32{1797259609, 2579123966, 928981903, 3453687069, 4146024105, 2718843009, 2467461003,
                 3840466878}));
  EXPECT_EQ(u32s(random_::fold_in(random_::key(0), 4)), (U32{2285895361, 433833334}));
  auto [a, b] = random_::split<2>(random_::key(0));
  EXPECT_EQ(u32s(a), (U32{1797259609, 2579123966}));
  EXPECT_EQ(u32s(b), (U32{928981903, 3453687069}));
}

TEST(Random, Bits) {
  EXPECT_EQ(u32s(random_::bits(random_::key(0), {4})),
            (U32{4070199207, 4202968722, 1427181096, 2012915765}));
  EXPECT_EQ(u32s(random_::bits(random_::key(1), {4})),
            (U32{1883912375, 2292451390, 1915204986, 1882898417}));
  EXPECT_EQ(u32s(random_::bits(random_::key(42), {4})),
            (U32{2098992034, 2919706841, 2646866425, 2409546199}));
  EXPECT_EQ(u32s(random_::bits(random_::key(1701), {4})),
            (U32{1111271205, 2679469115, 974515252, 521976754}));
  EXPECT_EQ(random_::bits(random_::key(0), {4}, ts::u8).to_vector<std::uint8_t>(),
            (std::vector<std::uint8_t>{167, 146, 40, 53}));
  EXPECT_EQ(random_::bits(random_::key(0), {4}, ts::u16).to_vector<std::uint16_t>(),
            (std::vector<std::uint16_t>{20391, 13970, 3624, 43061}));
  EXPECT_EQ(random_::bits(random_::key(0), {2}, ts::u64).to_vector<std::uint64_t>(),
            (std::vector<std::uint64_t>{7719171245655871230u, 3989946895414531357u}));
}

TEST(Random, Floats) {
  expect_near(random_::uniform(random_::key(0), {4}), {.94766700, .97857988, .33229148, .46866846});
  expect_near(random_::uniform(random_::key(42), {4}),
              {.48870957, .67979717, .61627150, .56101608});
  expect_near(random_::normal(random_::key(0), {4}),
              {1.62264204, 2.02526474, -.43359444, -.07861735});
  expect_near(random_::normal(random_::key(42), {4}),
              {-.02830462, .46713185, .29570296, .15354592});
}

TEST(Random, Integers) {
  EXPECT_EQ(i32s(random_::randint(random_::key(0), {9}, 0, 10)), (I32{9, 0, 2, 3, 1, 7, 2, 3, 3}));
  EXPECT_EQ(i32s(random_::randint(random_::key(0), {9}, 0, 8)), (I32{5, 0, 0, 5, 3, 3, 0, 7, 5}));
  EXPECT_EQ(i32s(random_::permutation(random_::key(0), 10)), (I32{0, 1, 8, 5, 6, 4, 3, 2, 7, 9}));
  EXPECT_EQ(i32s(random_::permutation(random_::key(1), 8)), (I32{7, 6, 3, 2, 0, 1, 5, 4}));
  EXPECT_EQ(random_::bernoulli(random_::key(0), 0.5, ts::Shape{8}).to_vector<bool>(),
            (std::vector<bool>{false, false, true, true, false, true, true, false}));
}

TEST(Random, JitGivesTheSameBits) {
  auto f = [](Array key) { return random_::normal(key, {37}); };
  EXPECT_EQ(f(random_::key(3)).to_vector<float>(), ts::jit(f)(random_::key(3)).to_vector<float>());
}

TEST(Random, RangesAndMoments) {
  Array u = random_::uniform(random_::key(9), {20000}, ts::f32, -2.0, 3.0);
  EXPECT_GE(ts::min(u).item<float>(), -2.0f);
  EXPECT_LT(ts::max(u).item<float>(), 3.0f);
  // Five standard errors: the deviation of one draw over sqrt(n).
  EXPECT_NEAR(ts::mean(u).item<double>(), 0.5, 5 * (5 / std::sqrt(12.0)) / std::sqrt(20000.0));
  Array n = random_::normal(random_::key(10), {20000});
  EXPECT_NEAR(ts::mean(n).item<double>(), 0, 5 / std::sqrt(20000.0));
  EXPECT_NEAR(ts::var(n).item<double>(), 1, 5 * std::sqrt(2 / 20000.0));
  Array t = random_::truncated_normal(random_::key(11), -1.0, 2.0, {5000});
  EXPECT_GT(ts::min(t).item<float>(), -1.0f);
  EXPECT_LT(ts::max(t).item<float>(), 2.0f);
}

TEST(Random, ChoiceWithoutReplacementTakesEachOnce) {
  std::vector<std::int32_t> v = i32s(random_::choice(random_::key(0), 20, {20}, false));
  EXPECT_EQ(std::set<std::int32_t>(v.begin(), v.end()).size(), 20u);
  Array never = ts::array({0.0, 1.0, 0.0});
  for (std::int32_t i : i32s(random_::choice(random_::key(0), 3, {50}, true, never)))
    EXPECT_EQ(i, 1);
}
