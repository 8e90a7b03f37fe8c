// Functions of complex numbers agree with mpmath and, at branch cuts, with NumPy
// (make_functions.py).
#include <tessera/tessera.h>

#include <gtest/gtest.h>

#include <cmath>
#include <complex>
#include <limits>
#include <map>
#include <string>

namespace {

namespace ts = tessera;
using ts::Array;

constexpr double kInf = std::numeric_limits<double>::infinity();
constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();

struct Row {
  const char* name;
  double xr, xi, yr, yi;
};
constexpr Row kRows[] = {
#include "functions.inc"
};

const std::map<std::string, Array (*)(ts::Operand)>& functions() {
  static const std::map<std::string, Array (*)(ts::Operand)> all = {
      {"sqrt", ts::sqrt},        {"rsqrt", ts::rsqrt},   {"exp", ts::exp},
      {"expm1", ts::expm1},      {"log", ts::log},       {"log1p", ts::log1p},
      {"logistic", ts::sigmoid}, {"sin", ts::sin},       {"cos", ts::cos},
      {"tan", ts::tan},          {"asin", ts::arcsin},   {"acos", ts::arccos},
      {"atan", ts::arctan},      {"sinh", ts::sinh},     {"cosh", ts::cosh},
      {"tanh", ts::tanh},        {"asinh", ts::arcsinh}, {"acosh", ts::arccosh},
      {"atanh", ts::arctanh}};
  return all;
}

// The error in units in the last place of T at `want`; zeros of different sign differ.
template <class T>
double ulps(T got, T want) {
  if (std::isnan(got) || std::isnan(want)) return std::isnan(got) == std::isnan(want) ? 0 : kInf;
  if (got == want) return std::signbit(got) == std::signbit(want) ? 0 : kInf;
  if (std::isinf(want)) return kInf;
  const int digits = std::numeric_limits<T>::digits;
  const int exponent = want == 0 ? -1000 : std::ilogb(want);
  const int least = std::numeric_limits<T>::min_exponent - 1;
  return std::fabs(static_cast<double>(got) - static_cast<double>(want)) /
         std::ldexp(1.0, std::max(exponent, least) - digits + 1);
}

template <class T>
void check(double bound) {
  for (const auto& [name, f] : functions()) {
    std::vector<std::complex<T>> x, want;
    for (const Row& r : kRows) {
      if (r.name != name) continue;
      x.emplace_back(static_cast<T>(r.xr), static_cast<T>(r.xi));
      want.emplace_back(static_cast<T>(r.yr), static_cast<T>(r.yi));
    }
    ASSERT_GE(x.size(), 14u) << name;
    const std::vector<std::complex<T>> y = f(Array(x)).template to_vector<std::complex<T>>();
    for (std::size_t i = 0; i < x.size(); ++i) {
      EXPECT_LE(ulps(y[i].real(), want[i].real()), bound)
          << name << x[i] << " is " << y[i] << ", not " << want[i];
      EXPECT_LE(ulps(y[i].imag(), want[i].imag()), bound)
          << name << x[i] << " is " << y[i] << ", not " << want[i];
    }
  }
}

TEST(ComplexFunctions, AreRightInSingle) { check<float>(1); }
TEST(ComplexFunctions, AreRightInDouble) { check<double>(2); }

}  // namespace
