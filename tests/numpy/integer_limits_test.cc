// Every function of integers at the limits of every dtype agrees with arithmetic in 128 bits.
#include <tessera/tessera.h>

#include <gtest/gtest.h>

#include "message.h"

#include <algorithm>
#include <complex>
#include <functional>
#include <limits>
#include <map>

// Long lists of values, which g++ would take twice as long to optimise as to compile.
#ifndef __clang__
#pragma GCC optimize("O0")
#endif

namespace ts = tessera;
using ts::Array;

namespace {

__extension__ using Wide = __int128;

// The value of T with the same low bits, as integers wrap.
template <class T>
T wrapped(Wide v) {
  return static_cast<T>(static_cast<std::make_unsigned_t<T>>(v));
}
template <class T>
bool fits(Wide v) {
  return v >= Wide(std::numeric_limits<T>::min()) && v <= Wide(std::numeric_limits<T>::max());
}
Wide floor_div(Wide x, Wide y) {
  if (y == 0) return 0;
  return x / y - ((x % y != 0) && ((x < 0) != (y < 0)));
}
Wide floor_rem(Wide x, Wide y) { return y == 0 ? 0 : x - y * floor_div(x, y); }
// Modulo 2^128: the product of two unsigned long may need more than a signed 128 bits.
Wide times(Wide x, Wide y) {
  return static_cast<Wide>(static_cast<unsigned __int128>(x) * static_cast<unsigned __int128>(y));
}
template <class T>
Wide power(T x, T y) {
  if (y < T(0)) return x == T(1) ? 1 : x == T(-1) ? (y % 2 == 0 ? 1 : -1) : 0;
  T result = 1, square = x;
  for (std::uint64_t n = static_cast<std::uint64_t>(y); n; n >>= 1) {
    if (n & 1) result = wrapped<T>(times(result, square));
    square = wrapped<T>(times(square, square));
  }
  return result;
}

// The limits of T and the numbers next to them, zero and small numbers.
template <class T>
std::vector<T> edges() {
  using L = std::numeric_limits<T>;
  std::vector<T> v{L::min(), T(L::min() + 1), T(L::min() / 2), 0,       1, 2, 3, 7,
                   13,       T(L::max() / 2), T(L::max() - 1), L::max()};
  if (std::is_signed_v<T>) v.insert(v.end(), {T(-1), T(-2), T(-7)});
  return v;
}

template <class T>
class IntegerLimits : public testing::Test {};
using Integers = testing::Types<std::int8_t, std::int16_t, std::int32_t, std::int64_t, std::uint8_t,
                                std::uint16_t, std::uint32_t, std::uint64_t>;
TYPED_TEST_SUITE(IntegerLimits, Integers);

template <class T>
std::vector<T> values(const Array& x) {
  EXPECT_EQ(x.dtype(), ts::dtype_of<T>());
  return x.template to_vector<T>();
}

TYPED_TEST(IntegerLimits, PairsOfArrays) {
  using T = TypeParam;
  std::vector<T> a, b;
  for (T x : edges<T>())
    for (T y : edges<T>()) a.push_back(x), b.push_back(y);
  const Array x(a), y(b);
  using Binary = std::pair<Array (*)(ts::Operand, ts::Operand), Wide (*)(Wide, Wide)>;
  const std::map<std::string, Binary> wraps{
      {"add", {ts::add, [](Wide u, Wide v) { return u + v; }}},
      {"subtract", {ts::subtract, [](Wide u, Wide v) { return u - v; }}},
      {"multiply", {ts::multiply, times}},
      {"floor_divide", {ts::floor_divide, floor_div}},
      {"remainder", {ts::remainder, floor_rem}},
      {"power",
       {ts::power, [](Wide u, Wide v) { return power(static_cast<T>(u), static_cast<T>(v)); }}},
      {"maximum", {ts::maximum, [](Wide u, Wide v) { return std::max(u, v); }}},
      {"minimum", {ts::minimum, [](Wide u, Wide v) { return std::min(u, v); }}},
  };
  for (const auto& [name, f] : wraps) {
    const std::vector<T> eager = values<T>(f.first(x, y));
    const std::vector<T> jitted =
        values<T>(ts::jit([&f = f](Array u, Array v) { return f.first(u, v); })(x, y));
    for (std::size_t i = 0; i < a.size(); ++i) {
      ASSERT_EQ(eager[i], wrapped<T>(f.second(a[i], b[i]))) << name << " " << +a[i] << " " << +b[i];
      ASSERT_EQ(jitted[i], eager[i]) << name;
    }
  }
  const std::map<std::string, std::pair<Array (*)(ts::Operand, ts::Operand), bool (*)(Wide, Wide)>>
      tests{
          {"equal", {ts::equal, [](Wide u, Wide v) { return u == v; }}},
          {"not_equal", {ts::not_equal, [](Wide u, Wide v) { return u != v; }}},
          {"less", {ts::less, [](Wide u, Wide v) { return u < v; }}},
          {"less_equal", {ts::less_equal, [](Wide u, Wide v) { return u <= v; }}},
          {"greater", {ts::greater, [](Wide u, Wide v) { return u > v; }}},
          {"greater_equal", {ts::greater_equal, [](Wide u, Wide v) { return u >= v; }}},
      };
  // Comparisons with arrays of every other dtype and with bare numbers also follow the order of the
  // exact values.
  for (const auto& [name, f] : tests) {
    const std::vector<bool> got = f.first(x, y).template to_vector<bool>();
    for (std::size_t i = 0; i < a.size(); ++i)
      ASSERT_EQ(got[i], f.second(a[i], b[i])) << name << " " << +a[i] << " " << +b[i];
    const Array edge(edges<T>());
    for (long long n :
         {-1LL, -128LL, -129LL, 255LL, 256LL, 300LL, 70000LL, -70000LL, 5000000000LL, -5000000000LL,
          std::numeric_limits<long long>::min(), std::numeric_limits<long long>::max()}) {
      const std::vector<bool> right = f.first(edge, n).template to_vector<bool>(),
                              left = f.first(n, edge).template to_vector<bool>();
      const std::vector<bool> traced =
          ts::jit([&f = f, n](Array v) { return f.first(v, n); })(edge).template to_vector<bool>();
      for (std::size_t i = 0; i < right.size(); ++i) {
        ASSERT_EQ(right[i], f.second(edges<T>()[i], n))
            << name << " " << +edges<T>()[i] << " " << n;
        ASSERT_EQ(left[i], f.second(n, edges<T>()[i])) << name << " " << n << " " << +edges<T>()[i];
        ASSERT_EQ(traced[i], right[i]) << name;
      }
    }
  }
}

TYPED_TEST(IntegerLimits, EveryOtherDtypeComparesExactly) {
  using T = TypeParam;
  const std::vector<T> left = edges<T>();
  const auto against = [&](auto tag) {
    using U = decltype(tag);
    const std::vector<U> right = edges<U>();
    const Array x = Array(left).reshape(-1, 1), y(right);
    const auto lt = (x < y).template to_vector<bool>(), eq = (x == y).template to_vector<bool>(),
               ge = (x >= y).template to_vector<bool>(), ne = (x != y).template to_vector<bool>();
    for (std::size_t i = 0; i < left.size(); ++i)
      for (std::size_t j = 0; j < right.size(); ++j) {
        const std::size_t k = i * right.size() + j;
        ASSERT_EQ(lt[k], Wide(left[i]) < Wide(right[j])) << +left[i] << " " << +right[j];
        ASSERT_EQ(eq[k], Wide(left[i]) == Wide(right[j])) << +left[i] << " " << +right[j];
        ASSERT_EQ(ge[k], !lt[k]);
        ASSERT_EQ(ne[k], !eq[k]);
      }
    // Sums have a dtype that holds both operands, except for 64-bit integers of different
    // signedness, which are added in float64.
    const Array sum = x + y;
    if (ts::is_integer(sum.dtype()))
      EXPECT_GE(ts::size_of(sum.dtype()), std::max(sizeof(T), sizeof(U)));
    else
      EXPECT_EQ(sum.dtype(), ts::f64);
  };
  against(std::int8_t{}), against(std::int16_t{}), against(std::int32_t{}), against(std::int64_t{});
  against(std::uint8_t{}), against(std::uint16_t{}), against(std::uint32_t{}),
      against(std::uint64_t{});
}

TYPED_TEST(IntegerLimits, ArraysAlone) {
  using T = TypeParam;
  const std::vector<T> v = edges<T>();
  const Array x(v);
  const std::vector<T> neg = values<T>(-x), magnitude = values<T>(ts::abs(x)),
                       square = values<T>(ts::square(x)), sign = values<T>(ts::sign(x)),
                       bits = values<T>(~x), same = values<T>(ts::floor(x)),
                       cube = values<T>(ts::power(x, 3)), most = values<T>(ts::cummax(x)),
                       sums = values<T>(ts::cumsum(x)), sorted = values<T>(ts::sort(x));
  T running = v[0];
  Wide total = 0;
  std::vector<T> want = v;
  std::sort(want.begin(), want.end());
  EXPECT_EQ(sorted, want);
  for (std::size_t i = 0; i < v.size(); ++i) {
    const Wide e = v[i];
    EXPECT_EQ(neg[i], wrapped<T>(-e));
    EXPECT_EQ(magnitude[i], wrapped<T>(e < 0 ? -e : e));
    EXPECT_EQ(square[i], wrapped<T>(Wide(static_cast<unsigned __int128>(e) *
                                         static_cast<unsigned __int128>(e))));
    EXPECT_EQ(cube[i], (wrapped<T>(Wide(wrapped<T>(Wide(static_cast<unsigned __int128>(e) *
                                                        static_cast<unsigned __int128>(e)))) *
                                   e)));
    EXPECT_EQ(sign[i], T(e > 0 ? 1 : e < 0 ? -1 : 0));
    EXPECT_EQ(bits[i], wrapped<T>(~e));
    EXPECT_EQ(same[i], v[i]);
    EXPECT_EQ(most[i], running = std::max(running, v[i]));
    EXPECT_EQ(sums[i], wrapped<T>(total += e));
  }
  EXPECT_EQ(ts::max(x).template item<T>(), std::numeric_limits<T>::max());
  EXPECT_EQ(ts::min(x).template item<T>(), std::numeric_limits<T>::min());
  EXPECT_EQ(v[static_cast<std::size_t>(ts::argmax(x).template item<int>())],
            std::numeric_limits<T>::max());
  // Sums have at least 32 bits.
  const Array sum = ts::sum(x);
  ts::dispatch(sum.dtype(), [&](auto tag) {
    using S = decltype(tag);
    if constexpr (std::is_integral_v<S> && !std::is_same_v<S, bool>) {
      EXPECT_GE(sizeof(S), 4u);
      EXPECT_EQ(sum.template item<S>(), wrapped<S>(total));
    } else {
      ADD_FAILURE() << sum.dtype();
    }
  });
}

// A bare number beside an array of T is computed with if T holds it, and refused otherwise.
TYPED_TEST(IntegerLimits, NumbersThatFitAndThatDoNot) {
  using T = TypeParam;
  const Array x(edges<T>());
  const std::vector<long long> numbers{0,
                                       1,
                                       -1,
                                       3,
                                       -3,
                                       127,
                                       128,
                                       -128,
                                       -129,
                                       255,
                                       256,
                                       300,
                                       32767,
                                       32768,
                                       -32769,
                                       65535,
                                       65536,
                                       2147483647LL,
                                       2147483648LL,
                                       -2147483649LL,
                                       4294967295LL,
                                       4294967296LL,
                                       5000000000LL,
                                       std::numeric_limits<long long>::min(),
                                       std::numeric_limits<long long>::max()};
  const std::map<std::string, std::function<Array(Array, Array)>> uses{
      {"multiply", [](Array u, Array n) { return u * n; }},
      {"add", [](Array u, Array n) { return n + u; }},
      {"subtract", [](Array u, Array n) { return n - u; }},
      {"maximum", [](Array u, Array n) { return ts::maximum(u, n); }},
      {"clip", [](Array u, Array n) { return ts::clip(u, n, n); }},
      {"where", [](Array u, Array n) { return ts::where(u == 0, u, n); }},
      {"operator&", [](Array u, Array n) { return u & n; }},
      {"remainder", [](Array u, Array n) { return u % n; }},
      {"floor_divide", [](Array u, Array n) { return ts::floor_divide(n, u); }},
      {"power", [](Array u, Array n) { return ts::power(n, u); }},
      {"at().set", [](Array u, Array n) { return u.at(0).set(n); }},
      {"at().add",
       [](Array u, Array n) {
         return u.at(ts::array({0, 1})).add(n);
       }},
      {"full", [](Array u, Array n) { return ts::full({3}, n, u.dtype()); }},
      {"full_like", [](Array u, Array n) { return ts::full_like(u, n); }},
      {"array", [](Array u, Array n) { return ts::array(n, u.dtype()); }},
      {"pad",
       [](Array u, Array n) {
         return ts::pad(u, {{1, 1}}, n);
       }},
  };
  for (const auto& [name, f] : uses)
    for (long long n : numbers) {
      const auto strong = [&] { return f(x, ts::array(n, ts::i64).astype(ts::dtype_of<T>())); };
      if (fits<T>(n)) {
        EXPECT_TRUE(ts::tree::equal(f(x, n), strong())) << name << " " << n;
        EXPECT_TRUE(ts::tree::equal(ts::jit([&f = f, n](Array u) { return f(u, n); })(x), strong()))
            << name << " " << n;
      } else {
        const std::string text = test::message<ts::DTypeError>([&] { f(x, n); });
        EXPECT_NE(text.find(name + ": the number " + std::to_string(n)), std::string::npos)
            << name << " " << n << ": " << text;
        EXPECT_NE(text.find("holds " + std::to_string(std::numeric_limits<T>::min()) + " to " +
                            std::to_string(std::numeric_limits<T>::max())),
                  std::string::npos)
            << text;
        EXPECT_THROW(ts::jit([&f = f](Array u, Array m) { return f(u, m); })(x, n), ts::DTypeError)
            << name << " " << n;
        EXPECT_THROW(ts::jit([&f = f, n](Array u) { return f(u, n); })(x), ts::DTypeError)
            << name << " " << n;
      }
    }
}

// Floats take every number, and so do divisions.
TYPED_TEST(IntegerLimits, InFloatsNumbersAreThemselves) {
  using T = TypeParam;
  const Array six = ts::full({1}, 6, ts::dtype_of<T>());
  const double out = sizeof(T) == 8 ? 6.0 / -3e9 : static_cast<double>(6.0f / -3e9f);
  EXPECT_EQ((six / -3000000000LL).template item<double>(), out);
  EXPECT_EQ((six / -3).template item<double>(), -2);
  EXPECT_EQ(ts::hypot(six, -8).template item<double>(), 10);
  EXPECT_GT(ts::arctan2(six, -3).template item<double>(), 2);
}

// Positions and labels of T on axes longer than T counts.
TYPED_TEST(IntegerLimits, PositionsAndLabels) {
  using T = TypeParam;
  for (std::int64_t n : {1, 5, 100, 200, 300, 1000, 70000}) {
    const Array data = ts::arange(n);
    std::vector<T> p;
    for (T v : edges<T>()) p.push_back(v);
    for (std::int64_t v : {43 % n, n - 1, -n, -1 - n, n})
      if (fits<T>(v)) p.push_back(static_cast<T>(v));
    const Array positions(p);
    const auto taken = ts::take(data, positions).template to_vector<std::int32_t>(),
               picked = data[positions].template to_vector<std::int32_t>(),
               along = ts::take_along_axis(data, positions, 0).template to_vector<std::int32_t>(),
               changed = data.at(positions).set(-5).template to_vector<std::int32_t>();
    const auto hot = ts::one_hot(positions, n, ts::i32).template to_vector<std::int32_t>();
    std::vector<std::int32_t> want(static_cast<std::size_t>(n));
    for (std::int64_t i = 0; i < n; ++i)
      want[static_cast<std::size_t>(i)] = static_cast<std::int32_t>(i);
    for (std::size_t i = 0; i < p.size(); ++i) {
      const Wide v = p[i], at = v < 0 ? v + n : v;
      const bool inside = at >= 0 && at < n;
      const auto filled = std::numeric_limits<std::int32_t>::min();
      const auto clipped = static_cast<std::int32_t>(at < 0 ? 0 : at >= n ? n - 1 : at);
      ASSERT_EQ(taken[i], inside ? static_cast<std::int32_t>(at) : filled) << +p[i] << " of " << n;
      ASSERT_EQ(along[i], taken[i]);
      ASSERT_EQ(picked[i], clipped) << +p[i] << " of " << n;
      if (inside) want[static_cast<std::size_t>(at)] = -5;
      std::int64_t ones = 0;
      for (std::int64_t c = 0; c < n; ++c) {
        const auto h = hot[i * static_cast<std::size_t>(n) + static_cast<std::size_t>(c)];
        ones += h;
        ASSERT_EQ(h, Wide(c) == v) << "label " << +p[i] << " of " << n;
      }
      ASSERT_EQ(ones, v >= 0 && v < n);
    }
    ASSERT_EQ(changed, want) << n;
  }
}

TYPED_TEST(IntegerLimits, CrossEntropyOfEveryLabelType) {
  using T = TypeParam;
  const Array logits = ts::sin(ts::arange(600).astype(ts::f32)).reshape(2, 300);
  const Array labels(std::vector<T>{43, 99}), plain = ts::array({43, 99});
  const auto loss = [&](Array l) {
    return
        [l](Array z) { return ts::sum(ts::nn::softmax_cross_entropy_with_integer_labels(z, l)); };
  };
  EXPECT_TRUE(ts::tree::equal(loss(labels)(logits), loss(plain)(logits)));
  EXPECT_TRUE(ts::tree::equal(ts::grad(loss(labels))(logits), ts::grad(loss(plain))(logits)));
}

TYPED_TEST(IntegerLimits, Loops) {
  using T = TypeParam;
  const auto count = [](Array, Array c) { return c + 1; };
  const Array zero = ts::zeros({}, ts::dtype_of<T>());
  EXPECT_EQ(ts::fori_loop(zero, 100, count, Array(0)).template item<int>(), 100);
  if (sizeof(T) == 1 && std::is_signed_v<T>)
    EXPECT_THROW(ts::fori_loop(zero, 200, count, Array(0)), ts::DTypeError);
  else
    EXPECT_EQ(ts::fori_loop(zero, 200, count, Array(0)).template item<int>(), 200);
}

TYPED_TEST(IntegerLimits, Makers) {
  using T = TypeParam;
  using L = std::numeric_limits<T>;
  const ts::DType d = ts::dtype_of<T>();
  const Array both = ts::array({L::min(), L::max()}, d);
  EXPECT_EQ(both.template to_vector<T>(), (std::vector<T>{L::min(), L::max()}));
  EXPECT_EQ(ts::full({1}, L::max(), d).template item<T>(), L::max());
  if constexpr (sizeof(T) < 8) {
    const std::int64_t most = L::max(), least = L::min();
    EXPECT_EQ(ts::arange(most - 2, most + 1, 1, d).template to_vector<T>(),
              (std::vector<T>{T(most - 2), T(most - 1), T(most)}));
    EXPECT_EQ(ts::arange(least + 1, least - 1, -1, d).template to_vector<T>(),
              (std::vector<T>{T(least + 1), T(least)}));
    EXPECT_THROW(ts::arange(most - 2, most + 2, 1, d), ts::DTypeError);
    EXPECT_THROW(ts::array({most + 1}, d), ts::DTypeError);
    EXPECT_THROW(ts::array({least - 1, 0L}, d), ts::DTypeError);
    EXPECT_THROW(ts::array({1e30}, d), ts::DTypeError);
  }
  EXPECT_EQ(ts::linspace(0, 100, 3, true, d).template to_vector<T>(), (std::vector<T>{0, 50, 100}));
  EXPECT_EQ(ts::linspace(0, 7, 5, true, d).template to_vector<T>(),
            (std::vector<T>{0, 1, 3, 5, 7}));
}

}  // namespace
