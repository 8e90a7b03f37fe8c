// Derivatives of the public functions agree with finite differences, to second order; vmap, jit and
// sharding change nothing.
#include "compare.h"

#include <functional>

namespace {

namespace L = ts::linalg;
using compare::adjoint;
using compare::drawn;
using compare::expect_near;
using Function = std::function<Array(Array)>;

struct Case {
  const char* name;
  Function f;  // of a float64 or complex128 matrix; the result must not depend on signs or phases
  ts::Shape shape = {4, 4};
  bool definite = false, real_only = false;
};

Array square_of(const Array& x) { return ts::real(x * ts::conj(x)); }
Array spread(const Array& x) {  // makes all columns different
  return ts::arange(x.shape(-1)).astype(ts::f64) + 1.0;
}

const std::vector<Case>& cases() {
  static const auto& all = *new std::vector<Case>{
      {"cholesky", [](Array x) { return L::cholesky(x); }, {4, 4}, true},
      {"inv", [](Array x) { return L::inv(x); }, {4, 4}, true},
      {"solve",
       [](Array x) {
         return L::solve(x, ts::ones({4, 2}, x.dtype()));
       },
       {4, 4},
       true},
      {"det2", [](Array x) { return L::det(x); }, {2, 2}},
      {"det3", [](Array x) { return L::det(x); }, {3, 3}},
      {"det", [](Array x) { return L::det(x); }},
      {"logdet", [](Array x) { return L::slogdet(x).logabsdet; }, {4, 4}, true},
      {"lu", [](Array x) { return L::lu(x).u; }},
      {"lu_wide", [](Array x) { return L::lu(x).u; }, {2, 4}},
      {"lu_tall", [](Array x) { return L::lu(x).l; }, {4, 2}},
      {"qr", [](Array x) { return L::qr(x).r; }},
      {"qr_tall", [](Array x) { return L::qr(x).q; }, {5, 3}},
      {"qr_wide", [](Array x) { return L::qr(x).r; }, {3, 5}},
      {"svdvals", [](Array x) { return L::svdvals(x); }, {4, 3}},
      {"svd_u", [](Array x) { return square_of(L::svd(x, false).u); }, {4, 3}},
      {"svd_v", [](Array x) { return square_of(L::svd(x, false).vh); }, {3, 4}},
      {"eigvalsh", [](Array x) { return L::eigvalsh(x); }},
      {"eigh", [](Array x) { return square_of(L::eigh(x).eigenvectors) * spread(x); }},
      {"eigvals", [](Array x) { return square_of(L::eigvals(x)); }},
      {"eig", [](Array x) { return square_of(L::eig(x).eigenvectors) * spread(x); }},
      {"pinv", [](Array x) { return L::pinv(x); }, {4, 3}},
      {"lstsq", [](Array x) { return L::lstsq(x, ts::ones({4}, x.dtype())).x; }, {4, 3}},
      {"expm", [](Array x) { return L::expm(x); }},
      {"matrix_power", [](Array x) { return L::matrix_power(x, 5); }},
      {"matrix_power_minus", [](Array x) { return L::matrix_power(x, -2); }, {4, 4}, true},
      {"nuclear", [](Array x) { return L::matrix_norm(x, {.ord = "nuc"}); }, {4, 3}},
      {"spectral", [](Array x) { return L::matrix_norm(x, {.ord = "2"}); }, {4, 3}},
      {"cond", [](Array x) { return L::cond(x); }, {3, 3}},
  };
  return all;
}

double number(const Array& x) { return x.item<double>(); }

// The derivative along v of the real part of a weighted sum of the results. Its finite differences
// have an error of h^2 |f'''| / 6 + eps |f| / h.
void check(const Case& c, ts::DType dtype, int seed) {
  SCOPED_TRACE(c.name);
  std::mt19937 random(static_cast<unsigned>(seed));
  const Array x = c.definite ? compare::definite(random, dtype, c.shape)
                             : drawn(random, dtype, c.shape),
              v = drawn(random, dtype, c.shape);
  const Array weights = drawn(random, ts::f64, c.f(x).shape());
  const auto value = [&](Array y) {
    const Array r = c.f(y);
    return ts::sum((ts::is_complex(r.dtype()) ? ts::real(r) : r) * weights);
  };
  // A function of the step along v, so that complex matrices are functions of a real number as
  // well.
  const auto along = [&](Array t) { return value(x + t.astype(dtype) * v); };
  const auto slope = [&](Array t) { return ts::grad(along)(t); };
  const auto at = [](double t) { return ts::array(t).astype(ts::f64); };
  const double h = 1e-5, scale = 1 + std::abs(number(along(at(0))));
  const double first = number(slope(at(0))), second = number(ts::grad(slope)(at(0)));
  const double want = (number(along(at(h))) - number(along(at(-h)))) / (2 * h);
  EXPECT_NEAR(first, want, 1e-6 * (scale + std::abs(want) + std::abs(second)));
  const double curve = (number(slope(at(h))) - number(slope(at(-h)))) / (2 * h);
  EXPECT_NEAR(second, curve, 1e-5 * (scale + std::abs(first) + std::abs(curve)));
  const double forward = number(ts::jvp([&](Array t) { return along(t); }, at(0), at(1)).second);
  EXPECT_NEAR(first, forward, 1e-10 * (scale + std::abs(first)));
}

TEST(LinalgDerivatives, AreThoseOfDifferences) {
  for (const Case& c : cases())
    for (int seed : {1, 2}) check(c, ts::f64, seed);
}
TEST(LinalgDerivatives, OfComplexMatrices) {
  for (const Case& c : cases())
    if (!c.real_only) check(c, ts::c128, 3);
}

TEST(LinalgDerivatives, BatchesAreLoops) {
  for (const Case& c : cases())
    for (ts::DType d : {ts::f32, ts::c128}) {
      SCOPED_TRACE(c.name);
      std::mt19937 random(4);
      ts::Shape s = c.shape;
      s.insert(s.begin(), 3);
      const Array x = c.definite ? compare::definite(random, d, s) : drawn(random, d, s);
      std::vector<Array> each;
      for (std::int64_t i = 0; i < 3; ++i) each.push_back(c.f(x[i]));
      const double bound = 200 * compare::epsilon(x);
      expect_near(ts::vmap(c.f)(x), ts::stack(each), bound);
      expect_near(ts::vmap(c.f, {.in_axes = {2}})(ts::moveaxis(x, 0, 2)), ts::stack(each), bound);
      expect_near(ts::jit(ts::vmap(c.f))(x), ts::stack(each), bound);
    }
}

TEST(LinalgDerivatives, DevicesAreOne) {
  const std::int64_t k = ts::device_count();
  for (const Case& c : cases()) {
    SCOPED_TRACE(c.name);
    std::mt19937 random(5);
    ts::Shape s = c.shape;
    s.insert(s.begin(), k);
    const Array x = c.definite ? compare::definite(random, ts::f64, s) : drawn(random, ts::f64, s);
    const Array want = ts::vmap(c.f)(x);
    expect_near(ts::pmap(c.f)(x), want, 1e-12);
    const ts::Mesh mesh({{"d", k}});
    auto cut = ts::jit([&](Array y) { return ts::vmap(c.f)(y); },
                       {.mesh = mesh, .in_shardings = ts::P("d"), .out_shardings = ts::P("d")});
    expect_near(cut(x), want, 1e-12);
  }
}

}  // namespace
