// A bare C++ number is a double (or an int64) until it meets a dtype, wherever it travels.
#include <tessera/tessera.h>

#include <gtest/gtest.h>

#include <functional>

namespace ts = tessera;
using ts::Array;

namespace {

using Two = std::function<Array(Array x, Array c)>;

struct Named {
  const char* name;
  Two f;
};

// All functions in which a number can meet an array.
const std::vector<Named>& functions() {
  static const auto& all = *new std::vector<Named>{
      {"multiply", [](Array x, Array c) { return c * x; }},
      {"add", [](Array x, Array c) { return x + c; }},
      {"subtract", [](Array x, Array c) { return c - x; }},
      {"divide", [](Array x, Array c) { return x / c; }},
      {"remainder", [](Array x, Array c) { return x % c; }},
      {"floor_divide", [](Array x, Array c) { return ts::floor_divide(x, c); }},
      {"power", [](Array x, Array c) { return ts::power(x, c); }},
      {"power of it", [](Array x, Array c) { return ts::power(c, x); }},
      {"arctan2", [](Array x, Array c) { return ts::arctan2(x, c); }},
      {"hypot", [](Array x, Array c) { return ts::hypot(x, c); }},
      {"logaddexp", [](Array x, Array c) { return ts::logaddexp(x, c); }},
      {"maximum", [](Array x, Array c) { return ts::maximum(x * 0, c); }},
      {"minimum", [](Array x, Array c) { return ts::minimum(x, c); }},
      {"where", [](Array x, Array c) { return ts::where(x > 100, x, c); }},
      {"clip", [](Array x, Array c) { return ts::clip(x, 0.0, c); }},
      {"set", [](Array x, Array c) { return x.at(0).set(c); }},
      {"add at",
       [](Array x, Array c) {
         return x.at(ts::array({0, 0, 1})).add(c);
       }},
      {"pad",
       [](Array x, Array c) {
         return ts::pad(x, {{1, 0}}, c);
       }},
      {"concatenate",
       [](Array x, Array c) {
         return ts::concatenate({x, ts::broadcast_to(c, {2})});
       }},
      {"stack",
       [](Array x, Array c) {
         return ts::stack({x[0], c});
       }},
      {"full_like", [](Array x, Array c) { return ts::full_like(x, c); }},
      {"of numbers", [](Array x, Array c) { return x * ((c * 3 + 1) / 7); }},
      {"function of it", [](Array x, Array c) { return x * ts::exp(ts::sin(c)); }},
      {"with an int32", [](Array x, Array c) { return x * (ts::ones({}, ts::i32) * c); }},
      {"sum of it",
       [](Array x, Array c) {
         return x * ts::sum(ts::stack({c, c / 3}));
       }},
      {"copysign", [](Array x, Array c) { return ts::copysign(c, x); }},
      {"quantile", [](Array x, Array c) { return ts::quantile(x, c); }},
      {"percentile", [](Array x, Array c) { return ts::percentile(x, c * 100); }},
      {"isclose", [](Array x, Array c) { return ts::isclose(x * 0 + c, c, 0, 0); }},
      {"equal", [](Array x, Array c) { return (x * 0 + c) == c; }},
  };
  return all;
}

// The same values and the same dtype, to the bit.
void expect_same(const Array& got, const Array& want, const std::string& what) {
  EXPECT_EQ(got.dtype(), want.dtype()) << what;
  EXPECT_TRUE(ts::tree::equal(got, want)) << what << ": " << got << " for " << want;
}

Array floats(ts::DType d) { return ts::array({1.75, 2.5}).astype(d); }

TEST(Weak, MeetsItsDtypeAsWritten) {
  for (ts::DType d : {ts::f64, ts::f32, ts::bf16, ts::f16})
    for (const auto& [name, f] : functions()) {
      const bool alone = std::string(name) == "of numbers" ||
                         std::string(name) == "function of it" ||
                         std::string(name) == "sum of it" || std::string(name) == "with an int32";
      if (alone && d != ts::f64) continue;  // narrower dtypes round each step, a number only once
      expect_same(f(floats(d), 0.1), f(floats(d), ts::array(0.1, d)),
                  name + std::string(" ") + std::string(ts::name_of(d)));
    }
}

TEST(Weak, StaysADoubleInEveryTransformation) {
  const Array x = floats(ts::f64);
  const double number = 0.1;
  for (const auto& [name, f] : functions()) {
    const Array want = f(x, ts::array(number, ts::f64));
    const auto same = [&, name = name](const Array& got, const char* where) {
      expect_same(got, want, std::string(name) + " " + where);
    };
    same(ts::jit([&](Array v) { return f(v, number); })(x), "jit");
    same(ts::jit([&](Array v, Array c) { return f(v, c); })(x, number), "argument of jit");
    same(ts::jit([&](Array v) {
           return ts::jit([&](Array u, Array c) { return f(u, c); })(v, number);
         })(x),
         "argument of jit in jit");
    same(ts::vmap([&](Array v) { return f(v, number); })(ts::stack({x, x}))[1], "vmap");
    same(ts::vmap([&](Array v, Array c) { return f(v, c); }, {.in_axes = {0, ts::replicated}})(
             ts::stack({x, x}), number)[1],
         "argument of vmap");
    same(ts::pmap([&](Array v) { return f(v, number); })(ts::stack({x, x}))[1], "pmap");
    same(ts::cond(
             true, [&](Array v) { return f(v, number); }, [&](Array v) { return f(v, 0.2); }, x),
         "cond");
    same(ts::scan([&](Array c, Array v) { return std::pair(c, f(v, c)); }, Array(number),
                  ts::stack({x, x}))
             .second[1],
         "carry of scan");
    same(ts::scan([&](Array c, Array v) { return std::pair(c, f(v, number)); }, Array(0),
                  ts::stack({x, x}))
             .second[1],
         "scan");
    same(ts::remat([&](Array v, Array c) { return f(v, c); })(x, number), "checkpoint");
  }
}

TEST(Weak, DerivativesKeepIt) {
  const Array x = floats(ts::f64), c = ts::array(0.1, ts::f64);
  for (const auto& [name, g] : functions()) {
    const Two f = g;
    if (f(x, c).dtype() == ts::bool_) continue;
    const Array want = ts::grad([&](Array v, Array k) { return ts::sum(f(v, k)); })(x, c);
    const auto of = [&](Array v, Array k) { return ts::sum(f(v, k)); };
    expect_same(ts::grad([&](Array v) { return of(v, 0.1); })(x), want, name);
    expect_same(ts::jit(ts::grad(of))(x, 0.1), want, name);
    // The derivative with respect to the number is weak, and a double.
    const Array dc = ts::grad<1>(of)(x, c), weak = ts::grad<1>(of)(x, 0.1);
    EXPECT_TRUE(weak.weak_type()) << name;
    EXPECT_EQ(weak.item<double>(), dc.item<double>()) << name;
    const auto [value, tangent] = ts::jvp(of, std::tuple(x, Array(0.1)), std::tuple(x, Array(0.3)));
    const auto [value64, tangent64] =
        ts::jvp(of, std::tuple(x, c), std::tuple(x, ts::array(0.3, ts::f64)));
    expect_same(value, value64, name);
    expect_same(tangent, tangent64, name);
  }
}

TEST(Weak, MakersTakeItWhole) {
  EXPECT_EQ(ts::full({2}, 0.1, ts::f64).to_vector<double>()[1], 0.1);
  EXPECT_EQ(ts::array(0.1, ts::f64).item<double>(), 0.1);
  EXPECT_EQ(ts::array({0.1, 0.2}, ts::f64).to_vector<double>()[0], 0.1);
  EXPECT_EQ(Array(0.1).item<double>(), 0.1);
  EXPECT_EQ((Array(0.1) * 3).item<double>(), 0.1 * 3);
  EXPECT_EQ((ts::ones({}, ts::f64) + 1e40).item<double>(), 1e40);
  EXPECT_EQ((ts::ones({}, ts::f64) * 9007199254740993LL).item<double>(), 9007199254740992.0);
}

// To the user, a weak number is a float32: its dtype, the values read from it, and its printed
// form.
TEST(Weak, IsAFloat32ToLookAt) {
  const std::vector<std::pair<const char*, Array>> weak{
      {"number", Array(0.7)},
      {"sum", ts::sum(Array(0.7))},
      {"prod", ts::prod(Array(0.7))},
      {"mean", ts::mean(Array(0.7))},
      {"var", ts::var(Array(0.7))},
      {"std", ts::std(Array(0.7))},
      {"max", ts::max(Array(0.7))},
      {"norm", ts::norm(Array(0.7))},
      {"logsumexp", ts::logsumexp(Array(0.7))},
      {"cumsum", ts::cumsum(Array(0.7))},
      {"sort", ts::sort(ts::broadcast_to(0.7, {2}))},
      {"diag", ts::diag(ts::broadcast_to(0.7, {2}))},
      {"tril", ts::tril(ts::broadcast_to(0.7, {2, 2}))},
      {"trace", ts::trace(ts::broadcast_to(0.7, {2, 2}))},
      {"matmul", ts::matmul(ts::broadcast_to(0.7, {2, 2}), ts::broadcast_to(0.7, {2, 2}))},
      {"einsum", ts::einsum("i,i->", ts::broadcast_to(0.7, {2}), ts::broadcast_to(0.7, {2}))},
      {"take", ts::take(ts::broadcast_to(0.7, {2}), ts::array({1}))},
      {"take_along_axis", ts::take_along_axis(ts::broadcast_to(0.7, {2}), ts::array({1}), 0)},
      {"index", ts::broadcast_to(0.7, {2})[ts::array({1})]},
      {"pad", ts::pad(ts::broadcast_to(0.7, {2}), {{1, 1}})},
      {"tile", ts::tile(Array(0.7), {2})},
      {"repeat", ts::repeat(Array(0.7), 2)},
      {"roll", ts::roll(ts::broadcast_to(0.7, {2}), 1)},
      {"flip", ts::flip(ts::broadcast_to(0.7, {2}))},
      {"where", ts::where(true, 0.7, 1)},
      {"clip", ts::clip(0.7, 0, 1)},
      {"nan_to_num", ts::nan_to_num(Array(0.7))},
      {"zeros_like", ts::zeros_like(Array(0.7))},
      {"ones_like", ts::ones_like(Array(0.7))},
      {"full_like", ts::full_like(Array(0.7), 2)},
      {"reciprocal", ts::reciprocal(Array(0.7))},
      {"floor_divide", ts::floor_divide(Array(0.7), 2)},
      {"remainder", ts::remainder(Array(0.7), 2)},
      {"power", ts::power(Array(0.7), 2)},
      {"powers", ts::power(Array(0.7), 2.5)},
      {"log2", ts::log2(Array(0.7))},
      {"log10", ts::log10(Array(0.7))},
      {"logaddexp", ts::logaddexp(Array(0.7), 2)},
      {"hypot", ts::hypot(Array(0.7), 2)},
      {"relu", ts::nn::relu(Array(0.7))},
      {"gelu", ts::nn::gelu(Array(0.7))},
      {"silu", ts::nn::silu(Array(0.7))},
      {"elu", ts::nn::elu(Array(-0.7))},
      {"softplus", ts::nn::softplus(Array(0.7))},
      {"softmax", ts::nn::softmax(ts::broadcast_to(0.7, {2}))},
      {"log_softmax", ts::nn::log_softmax(ts::broadcast_to(0.7, {2}))},
      {"integers halved", ts::arange(3) * 0.5},
      {"jit", ts::jit([](Array s) { return s * 2; })(0.7)},
      {"grad", ts::grad([](Array s) { return s * s; })(0.7)},
      {"jacfwd", ts::jacfwd([](Array s) { return ts::sin(s); })(0.7)},
      {"jacrev", ts::jacrev([](Array s) { return ts::sin(s); })(0.7)},
      {"hessian", ts::hessian([](Array s) { return ts::sin(s); })(0.7)},
      {"vmap", ts::vmap([](Array s) { return s * 0.5; })(ts::arange(3))},
      {"pmap", ts::pmap([](Array s) { return s * 0.5; })(ts::arange(2))},
      {"scan",
       ts::scan([](Array c, Array) { return std::pair(c * 2, c); }, Array(0.7), ts::arange(3))
           .second},
      {"fori", ts::fori_loop(
                   0, 3, [](Array, Array c) { return c * 2; }, Array(0.7))},
      {"cond", ts::cond(
                   true, [](Array c) { return c * 2; }, [](Array c) { return c; }, Array(0.7))},
      {"map", ts::map([](Array v) { return v * 0.5; }, ts::arange(3))},
      {"uniform", ts::random::uniform(ts::random::key(0), {2}, ts::f32, 0.1, 0.2)},
  };
  for (const auto& [name, x] : weak) {
    EXPECT_EQ(x.dtype(), ts::f32) << name;
    EXPECT_EQ(x.to_vector<float>().size(), static_cast<std::size_t>(x.size())) << name;
    EXPECT_EQ((x * ts::ones({}, ts::f32)).dtype(), ts::f32) << name;
    EXPECT_EQ(x.nbytes(), 4 * x.size()) << name;
  }
  EXPECT_EQ(Array(0.1).to_vector<float>(), std::vector{0.1f});
  EXPECT_EQ(ts::to_string(Array(0.1) + 0.2), "0.3");
  EXPECT_EQ(ts::describe(Array(0.1)), "f32[]*");
  EXPECT_EQ(
      ts::random::bernoulli(ts::random::key(3), 0.4, ts::Shape{64}).to_vector<bool>(),
      ts::random::bernoulli(ts::random::key(3), ts::array(0.4), ts::Shape{64}).to_vector<bool>());
}

TEST(Weak, FlagsFollowTheOperands) {
  for (const Array& x :
       {ts::floor_divide(Array(7.5), 2), ts::reciprocal(Array(2.0)), ts::zeros_like(Array(2.0)),
        ts::power(Array(2), 3), ts::power(Array(2), Array(0.5)), ts::remainder(Array(7), 2)})
    EXPECT_TRUE(x.weak_type()) << x;
  for (const Array& x :
       {ts::power(ts::ones({}, ts::i32), 3), ts::floor_divide(ts::ones({}), 2), ts::array(2.0)})
    EXPECT_FALSE(x.weak_type()) << x;
}

TEST(Weak, CarriesArePromotedToAFixedPoint) {
  using Pair = std::pair<Array, Array>;
  const auto [a, b] = ts::while_loop([](Pair c) { return c.second < 4.0; },
                                     [](Pair c) { return Pair(c.second, c.second + ts::ones({})); },
                                     Pair(Array(1.0), Array(0.0)));
  EXPECT_EQ(a.item<float>(), 3.f);
  EXPECT_EQ(b.item<float>(), 4.f);
  EXPECT_FALSE(a.weak_type());
  // Four numbers in a ring, one of which becomes a float64 at once and the others one after
  // another.
  using Ring = std::array<Array, 4>;
  const Array one = ts::ones({}, ts::f64);
  const Ring ring = ts::fori_loop(
      0, 5,
      [&](Array, Ring r) {
        return Ring{r[1], r[2], r[3], r[3] + one * 0.1};
      },
      Ring{Array(1), Array(2), Array(3.5), Array(0)});
  for (const Array& x : ring) EXPECT_EQ(x.dtype(), ts::f64);
  EXPECT_EQ(ring[3].item<double>(), 0.1 + 0.1 + 0.1 + 0.1 + 0.1);
  const auto [c, ys] =
      ts::scan([](Pair p, Array x) { return std::pair(Pair(p.second, p.second + x), p.first); },
               Pair(Array(1), Array(0)), ts::array({0.5, 0.25}));
  EXPECT_EQ(c.second.item<float>(), 0.75f);
  EXPECT_EQ(ys.to_vector<float>(), (std::vector{1.f, 0.f}));
}

TEST(Weak, IntegersKeepTheirBits) {
  const Array big(5000000000LL);
  EXPECT_EQ(big.dtype(), ts::i64);
  EXPECT_EQ((big + 1).item<std::int64_t>(), 5000000001);
  EXPECT_EQ((Array(1) + big).item<std::int64_t>(), 5000000001);
  EXPECT_EQ((ts::ones({}, ts::i64) * big).item<std::int64_t>(), 5000000000);
  EXPECT_EQ(ts::jit([](Array x, Array n) { return x * n; })(ts::ones({}, ts::i64), big)
                .item<std::int64_t>(),
            5000000000);
  EXPECT_EQ((ts::ones({}, ts::f64) * big).item<double>(), 5e9);
}

}  // namespace
