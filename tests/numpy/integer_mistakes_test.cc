// Errors that the drawn cases of tests/numpy/random_integers_test.cc found, each as an exact case.
#include <tessera/tessera.h>

#include <gtest/gtest.h>

#include <cmath>
#include <cstdint>

namespace ts = tessera;
using ts::Array;
using Ints = std::vector<std::int32_t>;
using Bytes = std::vector<std::uint8_t>;

namespace {

Array bytes() { return ts::array({200, 1}, ts::u8); }
std::vector<float> floats(const Array& x) { return x.to_vector<float>(); }

TEST(IntegerMistakes, NumbersThatContractionsMeet) {
  EXPECT_THROW(ts::dot(bytes(), 300), ts::DTypeError);
  EXPECT_THROW(ts::outer(bytes(), 300), ts::DTypeError);
  EXPECT_THROW(ts::inner(bytes(), 300), ts::DTypeError);
  EXPECT_THROW(ts::tensordot(bytes(), 300, 0), ts::DTypeError);
  EXPECT_THROW(ts::einsum("i,->i", bytes(), 300), ts::DTypeError);
  EXPECT_EQ(ts::dot(bytes(), 2).to_vector<std::uint8_t>(), (Bytes{144, 2}));
}

TEST(IntegerMistakes, NumbersThatJoin) {
  const Array one = ts::array(1, ts::u8);
  EXPECT_THROW(ts::stack({one, 300}), ts::DTypeError);
  EXPECT_EQ(ts::stack({one, 255}).to_vector<std::uint8_t>(), (Bytes{1, 255}));
}

TEST(IntegerMistakes, NumbersThatReductionsBeginWith) {
  EXPECT_THROW(ts::max(bytes(), {.initial = 300}), ts::DTypeError);
  EXPECT_THROW(ts::min(bytes(), {.initial = -1}), ts::DTypeError);
  EXPECT_THROW(ts::sum(bytes(), {.initial = -1}), ts::DTypeError);
  EXPECT_THROW(ts::prod(ts::array({2, 3}), {.initial = 5000000000}), ts::DTypeError);
  EXPECT_EQ(ts::sum(bytes(), {.initial = 300}).item<int>(), 501);  // in uint32
}

TEST(IntegerMistakes, NumbersThatAMaskPlaces) {
  const Array mask = ts::array({true, false});
  EXPECT_THROW(bytes().at(mask).set(300), ts::DTypeError);
  EXPECT_THROW(bytes().at(mask).add(-1), ts::DTypeError);
  EXPECT_THROW(bytes().at(mask).set(0.5), ts::DTypeError);
  EXPECT_EQ(bytes().at(mask).set(255).to_vector<std::uint8_t>(), (Bytes{255, 1}));
}

TEST(IntegerMistakes, PowersOfBothKindsOf64Bits) {
  const Array x = ts::array({2, 10}, ts::u64), y = ts::array({-1, 2}, ts::i64);
  EXPECT_EQ(ts::power(x, y).to_vector<double>(), (std::vector{0.5, 100.0}));
  const Array n = ts::power(ts::array({true, false}), 2);
  EXPECT_TRUE(n.weak_type());
  EXPECT_EQ(n.to_vector<std::int32_t>(), (Ints{1, 0}));
}

TEST(IntegerMistakes, NumbersPastInt64AsArguments) {
  const auto less = ts::jit([](Array x, Array n) { return x < n; });
  EXPECT_EQ(less(bytes(), UINT64_MAX).to_vector<bool>(), (std::vector{true, true}));
}

TEST(IntegerMistakes, EqualAndClose) {
  const Array a = ts::array({9007199254740993}, ts::i64),
              b = ts::array({9007199254740992}, ts::u64);
  EXPECT_FALSE(ts::array_equal(a, b).item<bool>());
  EXPECT_FALSE(ts::array_equal(ts::array(44, ts::u8), 300).item<bool>());
  EXPECT_FALSE(ts::isclose(a, b, 0, 0).item<bool>());
  EXPECT_TRUE(ts::isclose(a, b, 0, 1).item<bool>());
  EXPECT_FALSE(ts::allclose(ts::array({16777217}), ts::array({16777216}), 0, 0).item<bool>());
  const Array ends = ts::array({INT64_MIN, INT64_MAX}, ts::i64);
  EXPECT_FALSE(ts::isclose(ends[0], ends[1], 0, 1).item<bool>());
  EXPECT_FALSE(ts::isclose(ends[0], ts::array({UINT64_MAX}, ts::u64)[0], 0, 1).item<bool>());
}

TEST(IntegerMistakes, RangesAtTheEnds) {
  EXPECT_EQ(ts::arange(INT64_MAX - 1, INT64_MAX).to_vector<std::int64_t>(),
            (std::vector{INT64_MAX - 1}));
  EXPECT_EQ(ts::arange(INT64_MAX - 1, INT64_MAX, 1, ts::u64).to_vector<std::uint64_t>(),
            (std::vector{std::uint64_t{INT64_MAX} - 1}));
  EXPECT_EQ(ts::arange(UINT64_MAX - 2, UINT64_MAX).to_vector<std::uint64_t>(),
            (std::vector{UINT64_MAX - 2, UINT64_MAX - 1}));
  EXPECT_THROW(ts::arange(UINT64_MAX - 2, UINT64_MAX, 1, ts::i64), ts::DTypeError);
  EXPECT_THROW(ts::linspace(0, 300, 3, true, ts::u8), ts::DTypeError);
  EXPECT_THROW(ts::linspace(-0.5, 3, 3, true, ts::u8), ts::DTypeError);
  EXPECT_EQ(ts::linspace(0, 256, 2, false, ts::u8).to_vector<std::uint8_t>(), (Bytes{0, 128}));
}

TEST(IntegerMistakes, RandomBoundsPastInt64) {
  const Array key = ts::random::key(1);
  EXPECT_THROW(ts::random::randint(key, {4}, -1, 5, ts::u64), ts::ShapeError);
  EXPECT_THROW(ts::random::randint(key, {4}, 0, UINT64_MAX, ts::i64), ts::ShapeError);
  EXPECT_THROW(ts::random::randint(key, {4}, 0, UINT64_MAX), ts::ShapeError);
  for (std::uint64_t v : ts::random::randint(key, {64}, UINT64_MAX - 3, UINT64_MAX, ts::u64)
                             .to_vector<std::uint64_t>())
    EXPECT_GE(v, UINT64_MAX - 3);
}

TEST(IntegerMistakes, LoopsBetweenBothKindsOf64Bits) {
  const auto count = [](Array i, Array c) { return c + i.astype(ts::i64) % 10; };
  const Array lo = ts::array(9007199254740993, ts::i64), hi = ts::array(9007199254740995u, ts::u64);
  EXPECT_EQ(ts::fori_loop(lo, hi, count, Array(ts::array(0, ts::i64))).item<int>(), 3 + 4);
  const Array most = ts::array(UINT64_MAX, ts::u64);
  EXPECT_EQ(ts::fori_loop(most, lo, count, Array(ts::array(0, ts::i64))).item<int>(), 0);
  EXPECT_THROW(ts::fori_loop(0, UINT64_MAX, count, Array(ts::array(0, ts::i64))), ts::ShapeError);
}

TEST(IntegerMistakes, SumsOfBooleansInEinsum) {
  const Array x = ts::array({{true, false}, {true, false}});
  EXPECT_EQ(ts::einsum("ij->j", x).to_vector<bool>(), (std::vector{true, false}));
  EXPECT_EQ(ts::einsum("ii->i", x).to_vector<bool>(), (std::vector{true, false}));
}

// Differences and negatives of logits used to wrap in their own dtype.
TEST(IntegerMistakes, NetworksOfIntegers) {
  namespace nn = ts::nn;
  const Array x = ts::array({3, 250, 0}, ts::u8), f = x.astype(ts::f32),
              y = ts::array({5, 1, 255}, ts::u8);
  EXPECT_EQ(floats(nn::softmax(x)), floats(nn::softmax(f)));
  EXPECT_EQ(floats(nn::log_softmax(x)), floats(nn::log_softmax(f)));
  EXPECT_EQ(floats(nn::log_sigmoid(x)), floats(nn::log_sigmoid(f)));
  EXPECT_EQ(floats(nn::huber_loss(x, y)), (std::vector{1.5f, 248.5f, 254.5f}));
  const Array labels = ts::array({1, 0, 1}, ts::u8);
  EXPECT_EQ(floats(nn::sigmoid_binary_cross_entropy(x, labels)),
            floats(nn::sigmoid_binary_cross_entropy(f, labels)));
  const Array ends = ts::array({INT32_MIN, INT32_MAX});
  EXPECT_EQ(floats(nn::softmax(ends)), (std::vector{0.f, 1.f}));
}

}  // namespace
