// The first programs of users who come from NumPy, JAX or LibTorch.
#include <tessera/tessera.h>

#include <gtest/gtest.h>

#include <cmath>

namespace ts = tessera;
using ts::Array;
using ts::Shape;

namespace {
std::vector<float> floats(const Array& x) { return x.astype(ts::float32).to_vector<float>(); }
std::vector<int> ints(const Array& x) { return x.astype(ts::int32).to_vector<int>(); }
using Floats = std::vector<float>;
using Ints = std::vector<int>;
}  // namespace

TEST(FirstTries, ShapesFromOneInteger) {
  EXPECT_EQ(ts::zeros(3).shape(), (Shape{3}));
  EXPECT_EQ(ts::ones(3u, ts::int64).dtype(), ts::i64);
  EXPECT_EQ(floats(ts::full(2, 0.5)), (Floats{0.5, 0.5}));
  EXPECT_EQ(ts::random::normal(ts::random::key(0), 4).shape(), (Shape{4}));
  EXPECT_EQ(ts::zeros(std::vector<int>{2, 3}).shape(), (Shape{2, 3}));
}

TEST(FirstTries, VectorsOfEveryIntegerType) {
  EXPECT_EQ(Array(std::vector<long long>{1, 1LL << 40}).dtype(), ts::i64);
  EXPECT_EQ(Array(std::vector<unsigned long long>{~0ULL}).item<unsigned long long>(), ~0ULL);
  EXPECT_EQ(Array(std::vector<long>{5}).item<long long>(), 5);
  EXPECT_EQ(ts::arange(3, ts::i64).to_vector<long long>(), (std::vector<long long>{0, 1, 2}));
}

TEST(FirstTries, ExtentsByName) {
  auto [rows, columns] = ts::zeros({2, 3}).shape().unpack<2>();
  EXPECT_EQ(rows, 2);
  EXPECT_EQ(columns, 3);
  auto [a, b] = ts::arange(6).reshape(2, 3).unpack<2>();
  EXPECT_EQ(ints(b), (Ints{3, 4, 5}));
  EXPECT_THROW(ts::zeros({2, 3}).shape().unpack<3>(), ts::ShapeError);
  EXPECT_THROW(ts::zeros({2, 3}).unpack<3>(), ts::ShapeError);
  EXPECT_THROW(Array(1.0).unpack<1>(), ts::ShapeError);
}

TEST(FirstTries, TwoKeysByName) {
  const Array key = ts::random::key(7), both = ts::random::split(key, 2);
  auto [next, now] = ts::random::split(key);
  EXPECT_EQ(next.to_vector<std::uint32_t>(), both[0].to_vector<std::uint32_t>());
  EXPECT_EQ(now.to_vector<std::uint32_t>(), both[1].to_vector<std::uint32_t>());
  // It is an array like any other: stored, mapped over, passed and returned.
  Array keys = ts::random::split(key);
  EXPECT_EQ(keys.shape(), (Shape{2, 2}));
  const Array drawn = ts::vmap([](Array k) { return ts::random::normal(k, 3); })(keys);
  EXPECT_EQ(
      floats(ts::vmap([](auto k) { return ts::random::normal(k, 3); })(ts::random::split(key))),
      floats(drawn));
  EXPECT_EQ(ts::jit([](Array k) { return ts::random::split(k); })(key).shape(), (Shape{2, 2}));
  const auto inside = ts::jit([](Array k) {
    auto [a, b] = ts::random::split(k);
    return std::pair(ts::random::split(a), b);
  })(key);
  EXPECT_EQ(inside.second.to_vector<std::uint32_t>(), both[1].to_vector<std::uint32_t>());
}

TEST(FirstTries, NamesOfNumbersAndDtypes) {
  EXPECT_EQ((ts::ones(1) * ts::pi).dtype(), ts::float32);
  EXPECT_EQ((ts::ones(1) * ts::pi).item<float>(), float(M_PI));
  EXPECT_TRUE(std::isinf((-ts::full(1, ts::inf)).item<float>()));
  EXPECT_TRUE(std::isnan(Array(ts::nan).item<float>()));
  EXPECT_EQ(ts::zeros(1, ts::bfloat16).dtype(), ts::bf16);
  EXPECT_EQ(ts::zeros(1, ts::float16).item<ts::float16_t>().bits, 0);
  EXPECT_EQ(ts::array({1, 2}, ts::uint8).dtype(), ts::u8);
}

TEST(FirstTries, MethodsAreTheFunctions) {
  const Array x = ts::array({{3, -1}, {2, 5}, {0, 4}}).astype(ts::f32);
  EXPECT_EQ(floats(x.sum(0)), (Floats{5, 8}));
  EXPECT_EQ(floats(x.mean(1)), (Floats{1, 3.5, 2}));
  EXPECT_EQ(x.max().item<float>(), 5);
  EXPECT_EQ(floats(x.min({.axis = 0})), (Floats{0, -1}));
  EXPECT_EQ(floats(x.prod(1)), (Floats{-3, 10, 0}));
  EXPECT_EQ(floats(x.var(1)), (Floats{4, 2.25, 4}));
  EXPECT_EQ(floats(x.var({.axis = 1, .ddof = 1})), (Floats{8, 4.5, 8}));
  EXPECT_EQ(floats(x.std(1)), (Floats{2, 1.5, 2}));
  EXPECT_EQ((x > 0).any().item<bool>(), true);
  EXPECT_EQ(ints((x > 0).all(1)), (Ints{0, 1, 0}));
  EXPECT_EQ(ints(x.argmax(1)), (Ints{0, 1, 1}));
  EXPECT_EQ(x.argmin().item<int>(), 1);
  EXPECT_EQ(floats(x.cumsum(0)), (Floats{3, -1, 5, 4, 5, 8}));
  EXPECT_EQ(floats(x.cumprod({.axis = 1})), (Floats{3, -3, 2, 10, 0, 0}));
  EXPECT_EQ(x.transpose(1, 0).shape(), (Shape{2, 3}));
  EXPECT_EQ(x.transpose({1, 0}).shape(), (Shape{2, 3}));
  EXPECT_EQ(x.reshape(1, 3, 2).transpose(2, 0, 1).shape(), (Shape{2, 1, 3}));
  EXPECT_EQ(x.reshape(1, 3, 2).swapaxes(0, 2).shape(), (Shape{2, 3, 1}));
  EXPECT_EQ(x.ravel().shape(), (Shape{6}));
  EXPECT_EQ(x.reshape(3, 1, 2).squeeze().shape(), (Shape{3, 2}));
  EXPECT_EQ(x.reshape(1, 3, 1, 2).squeeze(0).shape(), (Shape{3, 1, 2}));
  EXPECT_EQ(floats(x.clip(0, 3)), (Floats{3, 0, 2, 3, 0, 3}));
  EXPECT_EQ(floats((x / 2).round()), (Floats{2, -0.0f, 1, 2, 0, 2}));
  EXPECT_EQ(floats(x.dot(ts::array({1.0, 2.0}))), (Floats{1, 12, 8}));
  EXPECT_EQ(floats(x.matmul(x.T())), floats(ts::matmul(x, x.T())));
}

TEST(FirstTries, ACopyHasMemoryOfItsOwn) {
  const Array x = ts::arange(4) * 2;
  const Array y = x.copy();
  EXPECT_EQ(ints(y), (Ints{0, 2, 4, 6}));
  EXPECT_NE(x.host<int>().data(), y.host<int>().data());
  EXPECT_EQ(ts::jit([](Array a) { return a.copy() + 1; })(x).to_vector<int>(), (Ints{1, 3, 5, 7}));
}

TEST(Masks, PickWhatIsUpdated) {
  const Array x = ts::array({{1, -2, 3}, {-4, 5, -6}});
  EXPECT_EQ(ints(x.at(x < 0).set(0)), (Ints{1, 0, 3, 0, 5, 0}));
  EXPECT_EQ(ints(x.at(x < 0).add(10)), (Ints{1, 8, 3, 6, 5, 4}));
  EXPECT_EQ(ints(x.at(x < 0).multiply(-1)), (Ints{1, 2, 3, 4, 5, 6}));
  EXPECT_EQ(ints(x.at(x < 0).max(-3)), (Ints{1, -2, 3, -3, 5, -3}));
  EXPECT_EQ(ints(x.at(x > 0).min(2)), (Ints{1, -2, 2, -4, 2, -6}));
  const Array rows = ts::array({false, true});
  EXPECT_EQ(ints(x.at(rows).set(ts::array({7, 8, 9}))), (Ints{1, -2, 3, 7, 8, 9}));
  EXPECT_EQ(ints(x.at(rows).add(1)), (Ints{1, -2, 3, -3, 6, -5}));
  EXPECT_EQ(ints(ts::jit([](Array a) { return a.at(a < 0).set(0); })(x)), (Ints{1, 0, 3, 0, 5, 0}));
  EXPECT_EQ(ints(x.at(Array(true)).set(4)), (Ints{4, 4, 4, 4, 4, 4}));
}

TEST(Masks, DerivativesStayWithWhatIsPicked) {
  const Array x = ts::array({1.0, 2.0, 3.0}), m = ts::array({true, false, true});
  const auto gradient = [&](auto f) { return floats(ts::grad(f)(x)); };
  EXPECT_EQ(gradient([&](Array a) { return ts::sum(a.at(m).set(0)); }), (Floats{0, 1, 0}));
  EXPECT_EQ(gradient([&](Array a) { return ts::sum(a.at(m).multiply(5)); }), (Floats{5, 1, 5}));
  // An infinite factor beside the mask gives no NaN in it.
  EXPECT_EQ(gradient([&](Array a) {
              return ts::sum(a.at(ts::array({false, false, false})).multiply(ts::inf));
            }),
            (Floats{1, 1, 1}));
}
