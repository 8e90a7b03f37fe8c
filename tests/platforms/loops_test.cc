// Factorisations as loops: the product of the factors is the matrix to a few eps n, orthogonal
// factors are orthogonal, and what is unique agrees with LAPACK.
#include "ops/linalg/loops.h"
#include "ops/linalg/solve.h"
#include "other_plugin.h"
#include "runtime/programs.h"

#include <tessera/tessera.h>

#include <gtest/gtest.h>

#include <complex>
#include <cstdint>
#include <functional>
#include <limits>
#include <random>
#include <vector>

namespace ts = tessera;
namespace ops = tessera::ops;
using ts::Array;

namespace {

using Complex = std::complex<double>;

double unit_of(ts::DType d) { return ts::real_dtype(d) == ts::f64 ? 2.3e-16 : 1.2e-7; }

ts::HostArray drawn(std::mt19937& random, ts::DType dtype, const ts::Shape& shape) {
  std::normal_distribution<double> normal;
  ts::HostArray a(dtype, shape);
  for (std::int64_t i = 0; i < a.count(); ++i)
    ts::dispatch(dtype, [&](auto tag) {
      using T = decltype(tag);
      if constexpr (std::is_floating_point_v<T>) a.data<T>()[i] = static_cast<T>(normal(random));
      if constexpr (std::is_same_v<T, std::complex<float>> ||
                    std::is_same_v<T, std::complex<double>>) {
        using R = typename T::value_type;
        const auto re = static_cast<R>(normal(random));
        a.data<T>()[i] = T(re, static_cast<R>(normal(random)));
      }
    });
  return a;
}

/// The values in complex128, in which the checks compute.
Array wide(const ts::HostArray& a) {
  std::vector<Complex> v;
  for (std::int64_t i = 0; i < a.count(); ++i)
    ts::dispatch(a.dtype, [&](auto tag) {
      using T = decltype(tag);
      if constexpr (std::is_arithmetic_v<T>)
        v.emplace_back(static_cast<double>(a.data<T>()[i]), 0.0);
      else if constexpr (std::is_same_v<T, std::complex<float>> ||
                         std::is_same_v<T, std::complex<double>>)
        v.emplace_back(a.data<T>()[i].real(), a.data<T>()[i].imag());
    });
  return Array(v, a.shape);
}
Array adjoint(const Array& x) { return ts::conj(ts::swapaxes(x, -1, -2)); }
double largest(const Array& x) { return x.size() == 0 ? 0 : ts::max(ts::abs(x)).item<double>(); }
double apart(const Array& got, const Array& want) {
  EXPECT_EQ(got.shape(), want.shape());
  return largest(got - want) / std::max(largest(want), 1e-300);
}
double not_orthonormal(const Array& q) {
  const Array gram = ts::matmul(adjoint(q), q);
  return largest(gram - ts::eye(q.shape(-1)).astype(ts::c128));
}

using Factors = std::function<ts::Values(ts::Value)>;
std::vector<Array> run(const ts::HostArray& a, const Factors& f) {
  const auto p = rt::program({ts::Type(a.dtype, a.shape)},
                             [&](ts::Builder&, ts::Values v) { return f(v[0]); });
  std::vector<Array> out;
  for (const auto& r : rt::run(p, {a})) out.push_back(wide(rt::host(*r)));
  return out;
}

/// Panels of three columns, so that small matrices have several; and no products at all.
constexpr ops::LoopOptions kSmall{.exact_products = true, .panel = 3},
    kNone{.exact_products = false};

class Loops : public testing::TestWithParam<ts::Shape> {
 protected:
  const ts::Shape shape = GetParam();
  const std::int64_t m = shape[shape.size() - 2], n = shape[shape.size() - 1],
                     most = std::max<std::int64_t>(std::max(m, n), 4);
  std::mt19937 random{static_cast<unsigned>(m * 100 + n)};
  /// Large matrices take longer to compile, and fewer dtypes are enough there.
  std::vector<ts::DType> dtypes() const {
    if (most > 5) return {ts::f32, ts::c128};
    return {ts::f32, ts::f64, ts::c64, ts::c128};
  }
  double bound(ts::DType d) const { return 10 * unit_of(d) * static_cast<double>(most); }
};

}  // namespace

TEST_P(Loops, QrIsLapacks) {
  for (const ts::DType d : dtypes())
    for (const ops::LoopOptions& options : {kSmall, kNone})
      for (const bool full : {false, true}) {
        const ts::HostArray a = drawn(random, d, shape);
        const auto got = run(a, [&](ts::Value x) { return ops::qr_by_loops(x, full, options); });
        const auto want = run(a, [&](ts::Value x) {
          return x.builder->emit("qr", {{x}}, {{"full", full}});
        });
        EXPECT_LE(apart(ts::matmul(got[0], got[1]), wide(a)), bound(d));
        EXPECT_LE(not_orthonormal(got[0]), bound(d));
        EXPECT_EQ(largest(ts::tril(got[1], -1)), 0);
        // The same signs. A triangle is as exact as the matrix is well conditioned.
        EXPECT_LE(apart(got[1], want[1]), 100 * bound(d)) << ts::to_string(d);
      }
}

TEST_P(Loops, LuHasLapacksPivots) {
  for (const ts::DType d : dtypes())
    for (const ops::LoopOptions& options : {kSmall, kNone}) {
      const ts::HostArray a = drawn(random, d, shape);
      const auto got = run(a, [&](ts::Value x) { return ops::lu_by_loops(x, options); });
      const auto want = run(a, [&](ts::Value x) { return x.builder->emit("lu", {{x}}); });
      EXPECT_LE(apart(got[0], want[0]), 100 * bound(d)) << ts::to_string(d);
      EXPECT_EQ(largest(got[1] - want[1]), 0);
      EXPECT_EQ(largest(got[2] - want[2]), 0);
    }
}

TEST_P(Loops, Svd) {
  for (const ts::DType d : dtypes())
    for (const ops::LoopOptions& options : {kSmall, kNone})
      for (const bool full : {false, true}) {
        const ts::HostArray a = drawn(random, d, shape);
        const auto got =
            run(a, [&](ts::Value x) { return ops::svd_by_loops(x, true, full, options); });
        const auto want = run(a, [&](ts::Value x) { return ops::svd(x, true, full); });
        ASSERT_EQ(got.size(), 3u);
        EXPECT_EQ(got[1].shape(), want[1].shape());
        EXPECT_EQ(got[2].shape(), want[2].shape());
        EXPECT_LE(apart(got[0], want[0]), bound(d)) << ts::to_string(d);
        EXPECT_LE(not_orthonormal(got[1]), bound(d)) << ts::to_string(d);
        EXPECT_LE(not_orthonormal(adjoint(got[2])), bound(d)) << ts::to_string(d);
        const std::int64_t k = std::min(m, n);
        const Array u = ts::split_at(got[1], {k}, -1)[0], vh = ts::split_at(got[2], {k}, -2)[0];
        const Array product = ts::matmul(u * ts::expand_dims(got[0], -2), vh);
        EXPECT_LE(apart(product, wide(a)), 3 * bound(d)) << ts::to_string(d);
        const auto values =
            run(a, [&](ts::Value x) { return ops::svd_by_loops(x, false, false, options); });
        EXPECT_LE(apart(values[0], got[0]), bound(d));
      }
}

TEST_P(Loops, Eigh) {
  const std::int64_t size = std::min(m, n);
  ts::Shape square = shape;
  square[square.size() - 2] = square[square.size() - 1] = size;
  for (const ts::DType d : dtypes()) {
    const ts::HostArray a = drawn(random, d, square);
    const auto got = run(a, [](ts::Value x) { return ops::eigh_by_loops(x, true); });
    const auto want = run(a, [](ts::Value x) { return ops::eigh(x, true); });
    EXPECT_LE(apart(got[0], want[0]), bound(d)) << ts::to_string(d);
    EXPECT_LE(not_orthonormal(got[1]), bound(d)) << ts::to_string(d);
    const auto whole = [](const std::vector<Array>& f) {
      return ts::matmul(f[1] * ts::expand_dims(f[0], -2), adjoint(f[1]));
    };
    EXPECT_LE(apart(whole(got), whole(want)), 3 * bound(d)) << ts::to_string(d);
    const auto values = run(a, [](ts::Value x) { return ops::eigh_by_loops(x, false); });
    EXPECT_LE(apart(values[0], got[0]), bound(d));
  }
}

INSTANTIATE_TEST_SUITE_P(All, Loops,
                         testing::Values(ts::Shape{1, 1}, ts::Shape{2, 2}, ts::Shape{3, 3},
                                         ts::Shape{5, 2}, ts::Shape{2, 5}, ts::Shape{1, 4},
                                         ts::Shape{4, 1}, ts::Shape{2, 3, 4, 4}, ts::Shape{20, 13},
                                         ts::Shape{2, 9, 14}));

namespace {

ts::HostArray matrix(const std::vector<double>& values, std::int64_t rows, std::int64_t columns) {
  ts::HostArray a(ts::f64, {rows, columns});
  std::copy(values.begin(), values.end(), a.data<double>());
  return a;
}

}  // namespace

// A zero matrix, a matrix of rank one, equal eigenvalues, and numbers near both ends of the range.
TEST(SpecialLoops, HaveExactOrOrthonormalFactors) {
  const auto svd = [](const ts::HostArray& a) {
    return run(a, [](ts::Value x) { return ops::svd_by_loops(x, true, true); });
  };
  const std::vector<double> ones(12, 1.0);
  for (const ts::HostArray& a :
       {matrix(std::vector<double>(12, 0.0), 4, 3), matrix(ones, 4, 3), matrix(ones, 3, 4),
        matrix({1e300, 0, 0, 1e300}, 2, 2), matrix({1e-300, 2e-300, 0, 1e-300}, 2, 2),
        matrix({1, 0, 0, 0, 1, 0, 0, 0, 1}, 3, 3)}) {
    const auto f = svd(a);
    EXPECT_LE(not_orthonormal(f[1]), 1e-14);
    EXPECT_LE(not_orthonormal(f[2]), 1e-14);
  }
  const auto of_ones = svd(matrix(ones, 4, 3));
  EXPECT_NEAR(largest(of_ones[0]), std::sqrt(12.0), 1e-14);
  EXPECT_EQ(largest(svd(matrix({1e300, 0, 0, 1e300}, 2, 2))[0]), 1e300);

  const auto w = run(matrix({2, 9, 9, 0, 2, 9, 0, 0, 2}, 3, 3),
                     [](ts::Value x) { return ops::eigh_by_loops(x, true); });
  EXPECT_EQ(largest(w[0] - 2.0), 0) << "the upper triangle is not read";
  EXPECT_EQ(not_orthonormal(w[1]), 0);
}

TEST(SpecialLoops, SingularMatricesKeepTheirZeroPivot) {
  const ts::HostArray a = matrix({1, 2, 3, 2, 4, 6, 0, 0, 0}, 3, 3);
  const auto got = run(a, [](ts::Value x) { return ops::lu_by_loops(x); });
  const auto want = run(a, [](ts::Value x) { return x.builder->emit("lu", {{x}}); });
  for (std::size_t k = 0; k < 3; ++k) EXPECT_EQ(largest(got[k] - want[k]), 0) << k;
}

// One matrix of the batch is not finite; the other's factors are not disturbed.
TEST(SpecialLoops, NotFinite) {
  ts::HostArray a(ts::f64, {2, 2, 2});
  const double values[] = {1, 2, 3, std::numeric_limits<double>::infinity(), 4, 1, 1, 3};
  std::copy(std::begin(values), std::end(values), a.data<double>());
  const std::vector<Factors> all = {[](ts::Value x) { return ops::qr_by_loops(x, false); },
                                    [](ts::Value x) { return ops::lu_by_loops(x); },
                                    [](ts::Value x) { return ops::svd_by_loops(x, true, false); },
                                    [](ts::Value x) { return ops::eigh_by_loops(x, true); }};
  const std::vector<Factors> routines = {[](ts::Value x) {
                                           return x.builder->emit("qr", {{x}}, {{"full", false}});
                                         },
                                         [](ts::Value x) { return x.builder->emit("lu", {{x}}); },
                                         [](ts::Value x) { return ops::svd(x, true, false); },
                                         [](ts::Value x) { return ops::eigh(x, true); }};
  for (std::size_t k = 0; k < all.size(); ++k) {
    const auto got = run(a, all[k]), want = run(a, routines[k]);
    for (std::size_t r = 0; r < got.size(); ++r) {
      const Array is_nan = ts::isnan(ts::real(got[r]));
      EXPECT_TRUE(ts::all(is_nan == ts::isnan(ts::real(want[r]))).item<bool>()) << k << " " << r;
      EXPECT_TRUE(ts::all(ts::isfinite(got[r][1])).item<bool>()) << k << " " << r;
    }
  }
}

TEST(SpecialLoops, EmptyMatrices) {
  for (const ts::Shape& s : {ts::Shape{0, 0}, ts::Shape{3, 0}, ts::Shape{0, 3}, ts::Shape{0, 2, 2}})
    for (const bool full : {false, true}) {
      const ts::HostArray a(ts::f32, s);
      const auto qr = run(a, [&](ts::Value x) { return ops::qr_by_loops(x, full); });
      const auto qr_want = run(a, [&](ts::Value x) {
        return x.builder->emit("qr", {{x}}, {{"full", full}});
      });
      const auto svd = run(a, [&](ts::Value x) { return ops::svd_by_loops(x, true, full); });
      const auto svd_want = run(a, [&](ts::Value x) { return ops::svd(x, true, full); });
      for (std::size_t k = 0; k < 2; ++k) EXPECT_EQ(apart(qr[k], qr_want[k]), 0);
      for (std::size_t k = 0; k < 3; ++k) EXPECT_EQ(apart(svd[k], svd_want[k]), 0);
    }
}

namespace {

class OnPlatform : public testing::Test {
 protected:
  static std::vector<ts::Device> load() {
    if (const char* other = std::getenv("TESSERA_TEST_PLUGIN"))
      return ts::load_platform("theirs", other, test::two_devices());
    return ts::load_platform("mine", TESSERA_PJRT_LIBRARY, {{"device_count", std::int64_t{2}}});
  }
  ~OnPlatform() override { ts::set_factorisations(ts::Factorisations::on_platform); }
  const std::vector<ts::Device> there = load();
  Array put(const Array& x) const { return ts::device_put(x, there.back()); }
  Array normal(const ts::Shape& shape) const {
    return ts::random::normal(ts::random::key(3), shape, ts::f64);
  }
};

double difference(const Array& got, const Array& want) {
  return ts::max(ts::abs(ts::device_get(got) - want)).item<double>();
}

}  // namespace

TEST_F(OnPlatform, TheSettingSaysWhereTheyRun) {
  const auto f = ts::jit([](Array x) { return ts::linalg::det(x); });
  const Array a = normal({4, 4});
  const double want = f(a).item<double>();
  EXPECT_EQ(ts::factorisations(), ts::Factorisations::on_platform);
  const std::string loops = f.lower(put(a)).schedule();
  EXPECT_NE(loops.find("with lu as loops"), std::string::npos) << loops;
  EXPECT_EQ(loops.find("on the host"), std::string::npos);
  EXPECT_NEAR(f(put(a)).item<double>(), want, 1e-12);
  ts::set_factorisations(ts::Factorisations::on_host);
  const std::string cut = f.lower(put(a)).schedule();
  EXPECT_NE(cut.find("on the host"), std::string::npos) << cut;
  EXPECT_NEAR(f(put(a)).item<double>(), want, 1e-12);
}

TEST_F(OnPlatform, GradientsAndMaps) {
  const Array a = normal({3, 5, 5});
  const auto symmetric = [](Array x) { return x + ts::swapaxes(x, -1, -2); };
  const auto check = [&](auto f, const char* what) {
    const auto g = ts::vmap(ts::grad(f));
    EXPECT_LE(difference(ts::jit(g)(put(a)), g(a)), 1e-9) << what;
  };
  check([](Array x) { return ts::linalg::slogdet(x).logabsdet; }, "lu");
  check([](Array x) { return ts::sum(ts::abs(ts::linalg::qr(x).r)); }, "qr");
  check([](Array x) { return ts::sum(ts::linalg::svdvals(x) * ts::arange(5)); }, "svd");
  check(
      [&](Array x) {
        const auto e = ts::linalg::eigh(symmetric(x));
        return ts::sum(ts::square(e.eigenvectors) * ts::arange(5)) +
               ts::sum(ts::square(e.eigenvalues));
      },
      "eigh");
  check([](Array x) { return ts::sum(ts::linalg::inv(x)); }, "inv");
}

// In a per-device program the loops run on each device, for as long as its own matrices need.
TEST_F(OnPlatform, InAMapOverDevices) {
  const Array a = normal({2, 6, 6});
  const auto f = [](Array x) { return ts::linalg::svdvals(x); };
  const ts::Mesh mesh({{"i", 2}}, there);
  const auto mapped =
      ts::shard_map(f, {.mesh = mesh, .in_specs = {ts::P("i")}, .out_specs = {ts::P("i")}});
  const auto whole = ts::jit(mapped);
  const Array parts = ts::device_put(a, mesh, ts::P("i"));
  const std::string text = whole.lower(parts).schedule();
  EXPECT_NE(text.find("with svd as loops"), std::string::npos) << text.substr(0, 2000);
  const Array got = whole(parts);
  EXPECT_LE(difference(got, f(a)), 1e-12);
}
