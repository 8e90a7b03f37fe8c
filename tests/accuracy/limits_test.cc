// Properties that an error in units in the last place does not show: a function that tends to a
// finite value returns that value, bit for bit, from where the exact result safely rounds to it;
// and no function leaves its range.
#include "measure.h"
#include "ulps.h"

#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <numbers>

namespace {

namespace ts = tessera;
using accuracy::Format;
using accuracy::widened;
using ts::Array;
using Exact = long double;

constexpr Exact kInf = std::numeric_limits<Exact>::infinity();
constexpr Exact kPi = std::numbers::pi_v<Exact>;

struct Limits {
  std::string name;           // of accuracy::functions(), unless it is in kOthers
  Exact least, most;          // the range
  std::vector<Exact> values;  // the limits
  enum Itself { no, around_zero, at_infinity } itself = no;  // where it tends to x itself
};
const std::vector<Limits>& limits() {
  static const std::vector<Limits> all{
      {"exp", 0, kInf, {0}},
      {"exp2", 0, kInf, {0}},
      {"expm1", -1, kInf, {-1}, Limits::around_zero},
      {"log1p", -kInf, kInf, {}, Limits::around_zero},
      {"sqrt", 0, kInf, {}},
      {"sin", -1, 1, {}, Limits::around_zero},
      {"cos", -1, 1, {1}},
      {"arcsin", -kPi / 2, kPi / 2, {}, Limits::around_zero},
      {"arccos", 0, kPi, {kPi / 2}},
      {"arctan", -kPi / 2, kPi / 2, {-kPi / 2, kPi / 2}, Limits::around_zero},
      {"cosh", 1, kInf, {1}},
      {"tanh", -1, 1, {-1, 1}},
      {"erf", -1, 1, {-1, 1}},
      {"erfc", 0, 2, {0, 1, 2}},
      {"sigmoid", 0, 1, {0, 0.5L, 1}},
      {"nn::gelu (erf)", -0.17L, kInf, {-0.0L}, Limits::at_infinity},
      {"nn::gelu (tanh)", -0.171L, kInf, {-0.0L}, Limits::at_infinity},
      {"nn::silu", -0.279L, kInf, {-0.0L}, Limits::at_infinity},
      {"nn::elu", -1, kInf, {-1}, Limits::at_infinity},
      {"nn::softplus", 0, kInf, {0}, Limits::at_infinity},
      {"nn::log_sigmoid", -kInf, 0, {-0.0L}, Limits::at_infinity},
      {"ndtr", 0, 1, {0, 0.5L, 1}},
      {"log_ndtr", -kInf, 0, {-0.0L}},
      {"gammainc (3)", 0, 1, {0, 1}},
      {"gammaincc (3)", 0, 1, {0, 1}},
  };
  return all;
}

struct Other {
  std::string name;
  std::function<Array(const Array&)> computed;
  Exact (*exact)(Exact);
};
// The upper incomplete gamma function of 3.
Exact upper_gamma(Exact x) { return x == kInf ? 0 : std::exp(-x) * (1 + x + x * x / 2); }
const std::vector<Other>& others() {
  static const std::vector<Other> all{
      {"ndtr", [](const Array& x) { return ts::ndtr(x); },
       [](Exact x) { return std::erfc(-x / std::numbers::sqrt2_v<Exact>) / 2; }},
      {"log_ndtr", [](const Array& x) { return ts::log_ndtr(x); },
       [](Exact x) {
         const Exact tail = std::erfc(std::fabs(x) / std::numbers::sqrt2_v<Exact>) / 2;
         return x < 0 ? std::log(tail) : std::log1p(-tail);
       }},
      {"gammainc (3)", [](const Array& x) { return ts::gammainc(3, x); },
       [](Exact x) { return x < 0       ? Exact(NAN)
                            : x < 0.01L ? x * x * x / 6
                                        : 1 - upper_gamma(x); }},
      {"gammaincc (3)", [](const Array& x) { return ts::gammaincc(3, x); },
       [](Exact x) { return x < 0 ? Exact(NAN) : upper_gamma(x); }},
  };
  return all;
}

// A share of all 16-bit floats. Of the wider types, infinities, and a share of a sequence over all
// magnitudes and of many numbers near the points where functions reach their limits.
template <class T>
std::vector<T> sweep() {
  using Bits = typename Format<T>::Bits;
  const test::Share share = test::asked_share();
  std::vector<T> x;
  if constexpr (sizeof(T) == 2) {
    for (std::uint64_t b = share.first; b < 65536; b += share.of)
      x.push_back(std::bit_cast<T>(static_cast<Bits>(b)));
    return x;
  } else {
    for (T v : {T(0), T(20), std::numeric_limits<T>::infinity()}) x.insert(x.end(), {v, -v});
    constexpr std::uint64_t kMagnitudes = 10000, kWithin = 10000;
    for (std::uint64_t n = 1 + share.first; n <= kMagnitudes; n += share.of)
      x.push_back(std::bit_cast<T>(
          static_cast<Bits>((n * 0x9e3779b97f4a7c15u) >> (64 - 8 * sizeof(Bits)))));
    for (std::uint64_t k = share.first; k <= kWithin; k += share.of)
      for (T end : {T(1), T(50), T(1000)}) {
        const T at = end * static_cast<T>(k) / static_cast<T>(kWithin);
        x.insert(x.end(), {at, -at});
      }
    return x;
  }
}

template <class T>
T narrowed(Exact v) {
  if constexpr (std::is_floating_point_v<T>)
    return static_cast<T>(v);
  else
    return T(static_cast<float>(v));
}

template <class T>
bool same(T a, T b) {
  using Bits = typename Format<T>::Bits;
  return std::bit_cast<Bits>(a) == std::bit_cast<Bits>(b);
}

template <class T>
void check(const Limits& f, const std::function<Array(const Array&)>& computed,
           const std::function<Exact(Exact)>& exact) {
  const std::vector<T> x = sweep<T>();
  const Array result = ts::jit([&computed](Array v) { return computed(v); })(Array(x));
  const auto got = result.template host<T>();
  const Exact least = widened(narrowed<T>(f.least)), most = widened(narrowed<T>(f.most));
  int wrong = 0, reached = 0;
  for (std::size_t i = 0; i < x.size() && wrong < 5; ++i) {
    const Exact at = widened(x[i]), value = widened(got[i]), right = exact(at);
    if (std::isnan(right)) continue;
    if (!(value >= least && value <= most)) {
      ++wrong;
      ADD_FAILURE() << f.name << " is " << value << " at " << at << ", beyond its range";
    }
    const auto meets = [&](Exact limit) {
      const T end = narrowed<T>(limit);
      // The exact result must round to the limit even at twice the distance.
      if (!same(narrowed<T>(right), end) || !same(narrowed<T>(right + (right - limit)), end))
        return;
      ++reached;
      if (same(got[i], end)) return;
      ++wrong;
      ADD_FAILURE() << f.name << " is " << std::hexfloat << value << " at " << std::defaultfloat
                    << at << ", where it has reached " << limit;
    };
    for (Exact limit : f.values) meets(limit);
    if (f.itself != Limits::no && std::isfinite(at) &&
        (std::fabs(at) < 1) == (f.itself == Limits::around_zero))
      meets(at);
  }
  if (f.itself != Limits::no || !f.values.empty()) {
    EXPECT_GT(reached, 20) << f.name;
  }
}

class AccuracyLimits : public testing::TestWithParam<std::size_t> {};

TEST_P(AccuracyLimits, AreReachedAndNeverPassed) {
  const Limits& f = limits()[GetParam()];
  std::function<Array(const Array&)> computed;
  std::function<Exact(Exact)> exact;
  for (const accuracy::Function& known : accuracy::functions())
    if (known.name == f.name) {
      computed = [&known](const Array& x) { return known.computed(x, x); };
      exact = [&known](Exact x) { return known.exact_of_doubles(x, x); };
    }
  for (const Other& other : others())
    if (other.name == f.name) computed = other.computed, exact = other.exact;
  ASSERT_TRUE(computed) << f.name;
  for (ts::DType d : accuracy::kDTypes) {
    SCOPED_TRACE(std::string(name_of(d)));
    switch (d) {
      case ts::DType::float64: check<double>(f, computed, exact); break;
      case ts::DType::float16: check<ts::float16_t>(f, computed, exact); break;
      case ts::DType::bfloat16: check<ts::bfloat16_t>(f, computed, exact); break;
      default: check<float>(f, computed, exact);
    }
  }
}

std::string letters_of(const std::string& name) {
  std::string s;
  for (char c : name)
    if (std::isalnum(static_cast<unsigned char>(c))) s += c;
  return s;
}
INSTANTIATE_TEST_SUITE_P(Functions, AccuracyLimits, testing::Range(std::size_t{0}, limits().size()),
                         [](const testing::TestParamInfo<std::size_t>& info) {
                           return letters_of(limits()[info.param].name);
                         });

// The error functions and similar ones, at the points beyond which a narrow float has no other
// value.
template <class T>
void reaches_one(double erf_from, double tanh_from, double sigmoid_from) {
  const auto one = [](const char* name, Array (*f)(ts::Operand), double from, double opposite) {
    std::vector<T> x;
    for (int k = 0; k < 2000; ++k)
      x.push_back(
          narrowed<T>(Exact(from) * std::exp(Exact(k) / 190)));  // up to 37000 times that point
    x.push_back(narrowed<T>(kInf));
    const std::size_t half = x.size();
    for (std::size_t i = 0; i < half; ++i) x.push_back(narrowed<T>(-Exact(widened(x[i]))));
    const std::vector<T> y = f(Array(x)).template to_vector<T>();
    for (std::size_t i = 0; i < x.size(); ++i)
      ASSERT_TRUE(same(y[i], narrowed<T>(i < half ? 1 : Exact(opposite))) ||
                  (i >= half && std::isnan(opposite)))
          << name << " of " << Exact(widened(x[i])) << " is " << Exact(widened(y[i]));
  };
  one("erf", ts::erf, erf_from, -1);
  one("tanh", ts::tanh, tanh_from, -1);
  one("sigmoid", ts::sigmoid, sigmoid_from, NAN);
}

TEST(AccuracyEnds, AreOne) {
  reaches_one<float>(4, 9.1, 17.4);
  reaches_one<double>(6, 19.1, 37.5);
  reaches_one<ts::float16_t>(2.75, 4.6, 8.4);
  reaches_one<ts::bfloat16_t>(2.4, 3.6, 6.3);
}

// Functions are infinite beyond the largest number, whichever formula computes them.
TEST(AccuracyEnds, AreInfinite) {
  const Array x(std::vector<double>{171.7, 175.25, 190, 210});
  for (ts::DType d : {ts::DType::float32, ts::DType::float64}) {
    const Array v = ts::astype(x, d);
    for (const Array& y : {ts::gamma(v), ts::factorial(v), ts::poch(v, 200),
                           ts::comb(v * 20, v * 10), ts::beta(1e-200 / v, 1e-310)})
      EXPECT_TRUE(ts::all(y == ts::inf).item<bool>()) << name_of(d) << " " << y;
  }
}

}  // namespace
