// Measures how far a platform's results are from the exact ones, and prints the table of
// docs/platforms.md.
//
//   platform_numbers PLUGIN [OPTION=NUMBER]...     such as cpu_device_count=1
//
// Elementary functions: the largest error in units in the last place of the exact result, over
// operands between 2^-20 and 2^20 of either sign whose exact result is a normal number. Products
// and sums: the largest error in units of the type's precision times the sum of the magnitudes of
// what is added, which no order of additions exceeds by more than its length.
#include "../tests/accuracy/measure.h"

#include <tessera/tessera.h>

#include <charconv>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <limits>
#include <string>
#include <vector>

namespace {

namespace ts = tessera;
using ts::Array;
using ts::DType;

struct Format {
  DType dtype;
  int precision;       // bits of the mantissa, with the hidden one
  int least_exponent;  // of normal numbers
  double most;
};
constexpr Format kFormats[] = {{DType::float32, 24, -126, 3.4028234663852886e38},
                               {DType::float64, 53, -1022, std::numeric_limits<double>::max()},
                               {DType::float16, 11, -14, 65504},
                               {DType::bfloat16, 8, -126, 3.3895313892515355e38}};

double unit_of(const Format& f, double exact) {
  int exponent = 0;
  (void)std::frexp(exact, &exponent);
  return std::ldexp(1.0, std::max(exponent - 1, f.least_exponent) - f.precision + 1);
}

// Numbers of either sign with exponents from -20 to 20, the same in each run.
std::vector<double> operands(std::size_t n, std::uint64_t seed) {
  std::vector<double> all;
  for (std::size_t i = 0; i < n; ++i) {
    std::uint64_t w = (i + 1 + seed * n) * 0x9e3779b97f4a7c15u;
    w = (w ^ (w >> 29)) * 0xbf58476d1ce4e5b9u;
    w ^= w >> 32;
    const double mantissa = 1 + static_cast<double>(w >> 12) * 0x1p-52;
    const int exponent = static_cast<int>(w % 41) - 20;
    all.push_back(std::ldexp(w & 64 ? -mantissa : mantissa, exponent));
  }
  return all;
}

struct Place {
  ts::Device there;
  Array put(const Array& x) const { return ts::device_put(x, there); }
};

std::vector<double> read(const Array& x) {
  return ts::device_get(x).astype(ts::f64).to_vector<double>();
}

std::string bound(double ulps) {
  if (ulps == 0) return "0";
  if (!std::isfinite(ulps)) return "inf";
  const double unit = std::pow(10, std::floor(std::log10(ulps)) - 1);
  char text[32];
  std::snprintf(text, sizeof text, "%.10g", std::ceil(ulps / unit) * unit);
  return text;
}

// The largest error, and the operand with it.
double worst_of(const Place& place, const accuracy::Function& f, const Format& format, double& at) {
  constexpr std::size_t kPoints = 1 << 15;
  const Array x = Array(operands(kPoints, 0)).astype(format.dtype),
              y = Array(operands(kPoints, 1)).astype(format.dtype);
  const std::vector<double> got =
      read(ts::jit([&](Array a, Array b) { return f.computed(a, b); })(place.put(x), place.put(y)));
  const std::vector<double> a = read(x), b = read(y);
  double worst = 0;
  for (std::size_t i = 0; i < got.size(); ++i) {
    const long double exact =
        format.dtype == DType::float64
            ? f.exact_of_doubles(static_cast<long double>(a[i]), static_cast<long double>(b[i]))
            : static_cast<long double>(f.exact(a[i], b[i]));
    const auto rounded = static_cast<double>(exact);
    if (std::isnan(rounded) && std::isnan(got[i])) continue;
    if (std::fabs(rounded) > format.most ||
        std::fabs(rounded) < std::ldexp(1.0, format.least_exponent))
      continue;
    double unit = unit_of(format, rounded);
    if (f.least) unit = std::max(unit, unit_of(format, f.least(a[i], b[i])));
    const double error =
        std::isnan(rounded) || std::isnan(got[i])
            ? std::numeric_limits<double>::infinity()
            : static_cast<double>(std::fabs(static_cast<long double>(got[i]) - exact)) / unit;
    if (error > worst) {
      worst = error;
      at = a[i];
    }
  }
  return worst;
}

// The largest error of f in units of precision times f of the operands' magnitudes. Both oracles
// are computed in float64 on the CPU, of operands that the type holds.
template <class F>
double worst_sum(const Place& place, const Format& format, const ts::Shape& one,
                 const ts::Shape& two, F f) {
  const auto made = [&](const ts::Shape& shape, std::uint64_t seed) {
    const Array unit = ts::random::normal(ts::random::key(seed), shape, ts::f64);
    return unit.astype(format.dtype);
  };
  const Array x = made(one, 1), y = made(two, 2);
  const std::vector<double> got = read(ts::jit(f)(place.put(x), place.put(y)));
  const Array wx = x.astype(ts::f64), wy = y.astype(ts::f64);
  const std::vector<double> want = read(f(wx, wy)), most = read(f(ts::abs(wx), ts::abs(wy)));
  double worst = 0;
  for (std::size_t i = 0; i < got.size(); ++i)
    worst = std::max(worst, std::fabs(got[i] - want[i]) / (std::ldexp(most[i], -format.precision)));
  return worst;
}

void print_products(const Place& place) {
  std::printf(
      "\n| products and sums | float32 | float64 | float16 | bfloat16 |\n|---|---|---|---|---|\n");
  const auto row = [&](const char* name, const ts::Shape& one, const ts::Shape& two, auto f) {
    std::printf("| %s |", name);
    for (const Format& format : kFormats)
      std::printf(" %s |", bound(worst_sum(place, format, one, two, f)).c_str());
    std::printf("\n");
    std::fflush(stdout);
  };
  row("`dot` of 128 x 512 and 512 x 64", {128, 512}, {512, 64},
      [](Array a, Array b) { return ts::dot(a, b); });
  row("`einsum`, 8 x 32 x 64 and 8 x 64 x 16", {8, 32, 64}, {8, 64, 16},
      [](Array a, Array b) { return ts::matmul(a, b); });
  row("`sum` of 1024 x 64 along the first", {1024, 64}, {1},
      [](Array a, Array) { return ts::sum(a, 0); });
  row("`cumsum` of 512 x 8", {512, 8}, {1}, [](Array a, Array) { return ts::cumsum(a, 0); });
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 2) {
    std::fprintf(stderr, "platform_numbers PLUGIN [OPTION=NUMBER]...\n");
    return 2;
  }
  ts::PlatformOptions options;
  for (int i = 2; i < argc; ++i)
    if (const char* equals = std::strchr(argv[i], '='))
      options[std::string(argv[i], static_cast<std::size_t>(equals - argv[i]))] =
          static_cast<std::int64_t>(std::atoll(equals + 1));
  const Place place{ts::load_platform("measured", argv[1], options)[0]};
  const ts::PlatformInfo info = ts::platform_info("measured");
  std::printf("%s, %s:\n\n", info.reports.c_str(), info.device.c_str());
  std::printf(
      "| function | float32 | float64 | float16 | bfloat16 | farthest (float32) "
      "|\n|---|---|---|---|---|---|\n");
  for (const accuracy::Function& f : accuracy::functions()) {
    std::printf("| `%s` |", f.name.c_str());
    double where = 0;
    for (const Format& format : kFormats) {
      double at = 0;
      std::printf(" %s |", bound(worst_of(place, f, format, at)).c_str());
      if (format.dtype == DType::float32) where = at;
    }
    std::printf(" %.9g |\n", where);
    std::fflush(stdout);
  }
  print_products(place);
}
