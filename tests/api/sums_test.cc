// Sums of many terms, in every layout that the code generator treats differently: the error stays
// within that of a pairwise sum, log2(n) rounding errors of the sum of magnitudes.
#include <tessera/tessera.h>

#include "only_cpu.h"

#include <gtest/gtest.h>

#include <cmath>

namespace ts = tessera;
using ts::Array;
using ts::Shape;

namespace {

// A tenth, whose rounding errors all have one sign, or numbers of very different sizes.
enum class Terms { tenths, spread };

float term(Terms kind, std::int64_t i) {
  if (kind == Terms::tenths) return 0.1f;
  const auto u = static_cast<std::uint32_t>(i) * 2654435761u;
  return std::ldexp(1 + static_cast<float>(u >> 9) * 0x1p-23f, static_cast<int>(u % 11) - 5);
}

struct Layout {
  const char* name;
  Shape shape;
  std::vector<std::int64_t> axes;
};

// Odd and even counts, one chunk and many, lanes and rows, several axes.
const Layout kLayouts[] = {
    {"all", {2000003}, {0}},
    {"all of a power of two", {1 << 20}, {0}},
    {"within one chunk", {16000}, {0}},
    {"all of a matrix", {1201, 1203}, {0, 1}},
    {"rows", {3, 300001}, {1}},
    {"short rows", {500, 3001}, {1}},
    {"columns, odd", {250007, 5}, {0}},
    {"columns, even", {1 << 17, 6}, {0}},
    {"columns, an odd leaf", {64 * 3907, 4}, {0}},
    {"wide columns", {5003, 257}, {0}},
    {"a middle axis", {3, 70001, 5}, {1}},
    {"first and last", {4001, 3, 101}, {0, 2}},
    {"first and a short last", {100003, 3, 2}, {0, 2}},
    {"first and middle", {401, 5, 301, 3}, {0, 2}},
};

template <class F>
void for_each_case(const F& f) {
  for (const Layout& l : kLayouts)
    for (Terms kind : {Terms::tenths, Terms::spread}) {
      SCOPED_TRACE(std::string(l.name) + (kind == Terms::tenths ? ", tenths" : ", spread"));
      std::vector<float> x(static_cast<std::size_t>(l.shape.count()));
      for (std::size_t i = 0; i < x.size(); ++i) x[i] = term(kind, static_cast<std::int64_t>(i));
      f(l, x);
    }
}

// The exact sums of the elements mapped by `f`, in double.
template <class F>
std::vector<double> exact_sums(const Layout& l, const std::vector<float>& x, const F& f) {
  const Array wide = ts::array(Array(x, l.shape)).astype(ts::f64);
  return ts::sum(f(wide), ts::AxisList(l.axes)).template to_vector<double>();
}

void expect_pairwise(const std::vector<float>& got, const std::vector<double>& exact,
                     std::int64_t terms, double roundings = 0) {
  ASSERT_EQ(got.size(), exact.size());
  const double bound = (std::log2(static_cast<double>(terms)) + roundings) * 0x1p-24;
  for (std::size_t i = 0; i < got.size(); ++i)
    ASSERT_LE(std::fabs(got[i] - exact[i]), bound * std::fabs(exact[i]))
        << i << ": " << got[i] << " for " << exact[i];
}

std::int64_t terms_of(const Layout& l) {
  std::int64_t n = 1;
  for (std::int64_t a : l.axes) n *= l.shape[static_cast<std::size_t>(a)];
  return n;
}

}  // namespace

TEST(Sums, AreWithinAPairwiseSum) {
  NEEDS_CPU(sums);
  for_each_case([](const Layout& l, const std::vector<float>& x) {
    const Array sums = ts::sum(Array(x, l.shape), ts::AxisList(l.axes));
    expect_pairwise(sums.to_vector<float>(), exact_sums(l, x, [](Array v) { return v; }),
                    terms_of(l));
  });
}

TEST(Sums, OfTwentyMillionTenths) {
  const float sum = ts::sum(ts::full({20000000}, 0.1)).item<float>();
  EXPECT_NEAR(sum, 20000000 * static_cast<double>(0.1f), 24 * 0x1p-24 * 2e6);
}

TEST(Sums, MeansVariancesAndNorms) {
  NEEDS_CPU(sums);
  for_each_case([](const Layout& l, const std::vector<float>& x) {
    const Array a(x, l.shape);
    const ts::AxisList axes(l.axes);
    const auto n = static_cast<double>(terms_of(l));
    std::vector<double> means = exact_sums(l, x, [](Array v) { return v; }),
                        norms = exact_sums(l, x, [](Array v) { return v * v; });
    for (double& m : means) m /= n;
    for (double& m : norms) m = std::sqrt(m);
    expect_pairwise(ts::mean(a, axes).to_vector<float>(), means, terms_of(l), 1);
    expect_pairwise(ts::norm(a, {.axis = axes}).to_vector<float>(), norms, terms_of(l), 2);
  });
}

TEST(Sums, OfSoftmaxDenominators) {
  const std::int64_t n = 3000001;
  const Array p = ts::nn::softmax(ts::zeros({n}));
  EXPECT_NEAR(p[0].item<float>() * static_cast<double>(n), 1, 30 * 0x1p-24);
  EXPECT_NEAR(ts::logsumexp(ts::zeros({n})).item<float>(), std::log(static_cast<double>(n)),
              16 * 0x1p-23);
}

TEST(Sums, OfProducts) {
  for (std::int64_t n : {1000003, 4097}) {
    std::vector<float> x(static_cast<std::size_t>(n), 0.1f);
    const Array a(x), one = ts::ones({n});
    const double exact = static_cast<double>(0.1f) * static_cast<double>(n);
    const double bound = std::log2(static_cast<double>(n)) * 0x1p-24 * exact;
    EXPECT_NEAR(ts::dot(a, one).item<float>(), exact, bound);
    EXPECT_NEAR(ts::sum(a * one).item<float>(), exact, bound);
  }
}

// The library sums blocks of a thousand terms sequentially, and the blocks are added pairwise.
TEST(Sums, OfProductsWithMatrices) {
  NEEDS_CPU(sums);
  for (std::int64_t k : {1000003, 65536, 4097})
    for (auto [m, n] : {std::pair{1, 3}, {3, 1}, {1, 64}, {64, 1}, {4, 4}, {5, 2}})
      for (bool turned : {false, true}) {
        const Array x = ts::full(turned ? ts::Shape{k, m} : ts::Shape{m, k}, 0.1f),
                    y = ts::ones(turned ? ts::Shape{n, k} : ts::Shape{k, n});
        const double exact = static_cast<double>(0.1f) * static_cast<double>(k);
        const double bound = (1024 + std::log2(static_cast<double>(k))) * 0x1p-24 * exact;
        const Array product =
            turned ? ts::matmul(ts::transpose(x), ts::transpose(y)) : ts::matmul(x, y);
        for (float v : product.to_vector<float>())
          ASSERT_NEAR(v, exact, bound) << m << " x " << k << " x " << n << turned;
      }
}

TEST(Sums, RunningSums) {
  NEEDS_CPU(sums);
  for (Terms kind : {Terms::tenths, Terms::spread})
    for (const Shape& shape : {Shape{1000000}, Shape{3, 100001}, Shape{100001, 3}}) {
      const auto n = static_cast<std::size_t>(shape.count());
      std::vector<float> x(n);
      for (std::size_t i = 0; i < n; ++i) x[i] = term(kind, static_cast<std::int64_t>(i));
      const int axis = shape[0] == 100001 || shape.rank() == 1 ? 0 : 1;
      const std::vector<float> got = ts::cumsum(Array(x, shape), axis).to_vector<float>();
      const std::size_t length = static_cast<std::size_t>(shape[static_cast<std::size_t>(axis)]),
                        stride = axis == 0 && shape.rank() == 2 ? 3 : 1, rows = n / length;
      for (std::size_t r = 0; r < rows; ++r) {
        double sum = 0;
        for (std::size_t k = 0; k < length; ++k) {
          const std::size_t at = (stride == 1 ? r * length : r) + k * stride;
          sum += x[at];
          ASSERT_LE(std::fabs(got[at] - sum),
                    (1 + std::log2(static_cast<double>(k + 1))) * 0x1p-24 * sum)
              << k;
        }
      }
    }
  const float end = ts::cumsum(ts::full({1000000}, 0.1))[-1].item<float>();
  EXPECT_NEAR(end, 100000, 0.05);
  // The same holds in float64, and in reverse, as in the gradient of a running sum.
  const double wide = ts::cumsum(ts::full({1000000}, 0.1, ts::f64))[-1].item<double>();
  EXPECT_NEAR(wide, 1000000 * ts::full({1}, 0.1, ts::f64)[0].item<double>(), 1e-9);
  const Array g = ts::grad([](Array v) { return ts::sum(ts::cumsum(v)); })(ts::ones({100000}));
  EXPECT_EQ(g[0].item<float>(), 100000);
}

TEST(Sums, RunningSumsKeepSignsOfZeroAndInfinities) {
  NEEDS_CPU(equal_zeros);
  const std::vector<float> x{-0.0f, -0.0f, 1.0f, INFINITY, 2.0f, -INFINITY, 1.0f};
  const std::vector<float> got = ts::cumsum(Array(x)).to_vector<float>();
  EXPECT_TRUE(std::signbit(got[0]) && std::signbit(got[1]));
  EXPECT_EQ(got[2], 1);
  EXPECT_EQ(got[3], INFINITY);
  EXPECT_EQ(got[4], INFINITY);
  EXPECT_TRUE(std::isnan(got[5]) && std::isnan(got[6]));
}

TEST(Sums, RunningExtremaOrderSignedZeros) {
  NEEDS_CPU(equal_zeros);
  auto signs = [](const Array& x) {
    std::string s;
    for (float v : x.to_vector<float>()) s += std::signbit(v) ? '-' : '+';
    return s;
  };
  const Array down = ts::array({0.0, -0.0, 0.0}), up = ts::array({-0.0, 0.0, -0.0});
  EXPECT_EQ(signs(ts::cummin(down)), "+--");
  EXPECT_EQ(signs(ts::cummax(up)), "-++");
  EXPECT_EQ(signs(ts::cummin(ts::stack({down, up}, 1))), "+-----");
  EXPECT_EQ(signs(ts::zeros({1}).at(ts::array({0})).min(ts::array({-0.0}))), "-");
  EXPECT_EQ(signs(ts::array({-0.0}).at(ts::array({0})).max(ts::array({0.0}))), "+");
}
