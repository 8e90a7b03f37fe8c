// Transforms of all kinds of lengths agree with sums in long doubles.
#include "compare.h"

#include <cmath>
#include <numbers>

namespace {

namespace F = ts::fft;
using Wide = std::complex<long double>;

std::vector<Wide> summed(const std::vector<std::complex<double>>& x) {
  const std::size_t n = x.size();
  std::vector<Wide> roots, out;
  for (std::size_t k = 0; k < n; ++k) {
    const long double a = -2 * std::numbers::pi_v<long double> * static_cast<long double>(k) /
                          static_cast<long double>(n);
    roots.emplace_back(std::cos(a), std::sin(a));
  }
  for (std::size_t k = 0; k < n; ++k) {
    Wide sum = 0;
    for (std::size_t j = 0; j < n; ++j) sum += Wide(x[j].real(), x[j].imag()) * roots[j * k % n];
    out.push_back(sum);
  }
  return out;
}

// |got - want| / |want| in the Euclidean norm.
double error_of(const Array& got, const std::vector<Wide>& want) {
  const auto x = compare::numbers(got);
  long double off = 0, all = 0;
  for (std::size_t i = 0; i < x.size(); ++i) {
    off += std::norm(Wide(x[i].real(), x[i].imag()) - want[i]);
    all += std::norm(want[i]);
  }
  return static_cast<double>(std::sqrt(off / all));
}

class Lengths : public testing::TestWithParam<std::int64_t> {};

TEST_P(Lengths, AreTransformedToAFewBits) {
  const std::int64_t n = GetParam();
  std::mt19937 random(7);
  const double bits = std::log2(static_cast<double>(n)) + 1;
  for (ts::DType d : {ts::c64, ts::c128}) {
    const Array x = compare::drawn(random, d, {n});
    const std::vector<Wide> want = summed(compare::numbers(x));
    const Array y = F::fft(x);
    EXPECT_LE(error_of(y, want), 3 * bits * compare::epsilon(x));
    compare::expect_near(F::ifft(y), x, 12 * bits * compare::epsilon(x));
    const Array re = compare::drawn(random, ts::real_dtype(d), {n}), half = F::rfft(re);
    std::vector<Wide> first = summed(compare::numbers(re));
    first.resize(static_cast<std::size_t>(n / 2 + 1));
    EXPECT_LE(error_of(half, first), 3 * bits * compare::epsilon(x));
    compare::expect_near(F::irfft(half, {.n = n}), re, 12 * bits * compare::epsilon(x));
  }
}

INSTANTIATE_TEST_SUITE_P(Fft, Lengths,
                         testing::Values(1, 2, 3, 4, 5, 6, 7, 11, 13, 16, 17, 23, 24, 29, 49, 60,
                                         91, 97, 128, 251, 253, 257, 360, 509, 1000, 1021, 1024,
                                         1748, 2003));

// Lines that fit no cache are compared at some points, whose sums have n terms each.
TEST(Fft, LongLinesPointByPoint) {
  std::mt19937 random(4);
  for (std::int64_t n : {4096, 4099, 4103 * 2, 32768, 96577, 245760, 100003}) {
    const Array x = compare::drawn(random, ts::c128, {n});
    const auto in = compare::numbers(x), out = compare::numbers(F::fft(x));
    for (std::int64_t k : {std::int64_t{0}, std::int64_t{1}, std::int64_t{777}, n / 2, n - 1}) {
      Wide want = 0;
      for (std::int64_t j = 0; j < n; ++j) {
        const long double a = -2 * std::numbers::pi_v<long double> *
                              static_cast<long double>(j * k % n) / static_cast<long double>(n);
        const auto& z = in[static_cast<std::size_t>(j)];
        want += Wide(z.real(), z.imag()) * Wide(std::cos(a), std::sin(a));
      }
      const auto& got = out[static_cast<std::size_t>(k)];
      const auto off = static_cast<double>(std::abs(Wide(got.real(), got.imag()) - want));
      // The elements have a size of sqrt(2 n).
      EXPECT_LE(off, 3e-15 * 18 * std::sqrt(2.0 * static_cast<double>(n))) << n << " " << k;
    }
  }
}

// However lines are distributed over lanes, columns and rows, each is computed in the same way.
TEST(Fft, LinesHaveTheBitsOfOneAlone) {
  std::mt19937 random(8);
  for (ts::DType d : {ts::c64, ts::c128, ts::f32})
    for (std::int64_t n : {1, 12, 97, 1000, 4096, 4099, 8192, 9699}) {
      const Array x = compare::drawn(random, d, {37, n});
      const bool real = d == ts::f32;
      const auto transform = [real](const Array& y) { return real ? F::rfft(y) : F::fft(y); };
      const auto back = [n, real](const Array& y) {
        return real ? F::irfft(y, {.n = n}) : F::ifft(y);
      };
      const Array all = transform(x), again = back(all);
      const Array across = ts::transpose(real ? F::rfft(ts::transpose(x), {.axis = 0})
                                              : F::fft(ts::transpose(x), {.axis = 0}));
      for (const std::int64_t row : {0, 17, 36}) {
        const Array alone = transform(x(row));
        EXPECT_TRUE(ts::array_equal(alone, all(row)).item<bool>()) << d << " " << n << " " << row;
        EXPECT_TRUE(ts::array_equal(alone, across(row)).item<bool>())
            << d << " " << n << " " << row;
        EXPECT_TRUE(ts::array_equal(back(alone), again(row)).item<bool>())
            << d << " " << n << " " << row;
      }
    }
}

TEST(Fft, NoLines) {
  for (std::int64_t n : {8, 5000})
    EXPECT_EQ(F::irfft(F::rfft(ts::zeros({0, n})), {.n = n}).shape(), ts::Shape({0, n}));
}

// A direct sum over all pairs would take minutes.
TEST(Fft, LargePrimesAreQuick) {
  std::mt19937 random(3);
  const std::int64_t n = 1048573;
  const Array x = compare::drawn(random, ts::c128, {n});
  compare::expect_near(F::ifft(F::fft(x)), x, 1e-13);
}

TEST(Fft, ManyLinesAndAxes) {
  std::mt19937 random(5);
  const Array x = compare::drawn(random, ts::c128, {3, 4, 5, 6});
  Array want = x;
  for (std::int64_t axis : {0, 1, 2, 3}) want = F::fft(want, {.axis = axis});
  compare::expect_near(F::fftn(x), want, 1e-14);
  const Array re = ts::real(x);
  want = F::rfft(re);
  for (std::int64_t axis : {0, 1, 2}) want = F::fft(want, {.axis = axis});
  compare::expect_near(F::rfftn(re), want, 1e-14);
  compare::expect_near(F::irfftn(F::rfftn(re)), re, 1e-14);
  const auto f = [](Array y) { return F::fft(y); };
  compare::expect_near(ts::vmap(f, {.in_axes = {1}})(x), F::fft(ts::moveaxis(x, 1, 0)), 0);
  compare::expect_near(ts::jit(f)(x), F::fft(x), 0);
}

// |X|^2 sums to n |x|^2, so the gradient of the left side is 2 n x.
TEST(Fft, GradientsOfPower) {
  std::mt19937 random(9);
  for (std::int64_t n : {6, 7}) {
    const Array x = compare::drawn(random, ts::f64, {n});
    const auto power = [](Array y) {
      const Array z = F::fft(y);
      return ts::sum(ts::real(z * ts::conj(z)));
    };
    const double scale = 2 * static_cast<double>(n);
    compare::expect_near(ts::grad(power)(x), x * scale, 1e-14);
    const auto halves = [n](Array y) {
      return ts::sum(ts::square(F::irfft(F::rfft(y), {.n = n})));
    };
    compare::expect_near(ts::grad(halves)(x), x * 2.0, 1e-14);
    const auto g = [&](Array y) { return ts::sum(ts::grad(power)(y) * y); };
    compare::expect_near(ts::grad(g)(x), x * (2 * scale), 1e-14);
  }
}

TEST(Fft, DevicesHaveTheBitsOfOne) {
  std::mt19937 random(2);
  const std::int64_t k = ts::device_count();
  const Array x = compare::drawn(random, ts::f32, {k, 3, 30});
  compare::expect_near(ts::pmap([](Array y) { return F::rfft(y); })(x), F::rfft(x), 0);
}

}  // namespace
