// Compares arrays element by element, in doubles.
#pragma once

#include <tessera/tessera.h>

#include <gtest/gtest.h>

#include <complex>
#include <random>

namespace ts = tessera;
using ts::Array;

namespace compare {

inline std::vector<std::complex<double>> numbers(const Array& x) {
  const Array wide = x.astype(ts::c128);
  return wide.to_vector<std::complex<double>>();
}
inline double largest(const Array& x) {
  double m = 0;
  for (const auto& e : numbers(x)) m = std::max(m, std::abs(e));
  return m;
}
inline double epsilon(const Array& x) {
  return ts::real_dtype(x.dtype()) == ts::f64 ? 2.3e-16 : 1.2e-7;
}
/// Elements may differ by `bound` times the largest magnitude; NaN must be where NaN is wanted.
inline void expect_near(const Array& got, const Array& want, double bound) {
  ASSERT_EQ(got.shape(), want.shape());
  const auto a = numbers(got), b = numbers(want);
  double scale = 1e-30;
  for (const auto& e : b)
    if (std::isfinite(std::abs(e))) scale = std::max(scale, std::abs(e));
  for (std::size_t i = 0; i < a.size(); ++i) {
    if (std::isnan(std::abs(b[i]))) {
      EXPECT_TRUE(std::isnan(std::abs(a[i]))) << "element " << i;
      continue;
    }
    if (a[i] == b[i]) continue;
    ASSERT_LE(std::abs(a[i] - b[i]), bound * scale)
        << "element " << i << ": " << a[i] << ", not " << b[i];
  }
}

/// Draws standard normal numbers.
inline Array drawn(std::mt19937& random, ts::DType dtype, const ts::Shape& shape) {
  std::normal_distribution<double> normal;
  std::vector<std::complex<double>> v;
  for (std::int64_t i = 0; i < shape.count(); ++i) {
    const double re = normal(random);
    v.emplace_back(re, ts::is_complex(dtype) ? normal(random) : 0.0);
  }
  if (ts::is_complex(dtype)) return Array(v, shape).astype(dtype);
  std::vector<double> re;
  for (const auto& z : v) re.push_back(z.real());
  return Array(re, shape).astype(dtype);
}

inline Array adjoint(const Array& x) {
  const Array turned = ts::swapaxes(x, -1, -2);
  return ts::is_complex(x.dtype()) ? ts::conj(turned) : turned;
}
inline Array definite(std::mt19937& random, ts::DType dtype, const ts::Shape& shape) {
  const Array x = drawn(random, dtype, shape);
  return ts::matmul(x, adjoint(x)) + ts::eye(shape.back()).astype(dtype);
}

}  // namespace compare
