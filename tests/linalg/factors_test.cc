// The product of the factors is the matrix: each residual is a few eps times n.
#include "compare.h"

namespace {

namespace L = ts::linalg;
using compare::adjoint;
using compare::drawn;
using compare::expect_near;

const ts::DType kAll[] = {ts::f32, ts::f64, ts::c64, ts::c128};
constexpr double kNan = std::numeric_limits<double>::quiet_NaN();

// Backward errors are a few eps n, mostly eps sqrt(n).
double bound(const Array& x) {
  return 20 * compare::epsilon(x) * static_cast<double>(std::max<std::int64_t>(1, x.shape(-1)));
}
Array unit(const Array& like, std::int64_t n) {
  ts::Shape s(like.shape().begin(), like.shape().end() - 2);
  s.push_back(n), s.push_back(n);
  return ts::broadcast_to(ts::eye(n).astype(like.dtype()), s);
}
Array first(const Array& x, std::int64_t axis, std::int64_t k) {
  return ts::moveaxis(ts::moveaxis(x, axis, 0)[ts::range(0, k)], 0, axis);
}
void expect_orthonormal(const Array& q) {
  expect_near(ts::matmul(adjoint(q), q), unit(q, q.shape(-1)), bound(q) + 20 * compare::epsilon(q));
}

class Shapes : public testing::TestWithParam<ts::Shape> {};

TEST_P(Shapes, QR) {
  std::mt19937 random(1);
  for (ts::DType d : kAll)
    for (const char* mode : {"reduced", "complete"}) {
      const Array x = drawn(random, d, GetParam());
      const L::QR f = L::qr(x, mode);
      expect_near(ts::matmul(f.q, f.r), x, bound(x));
      expect_orthonormal(f.q);
      expect_near(ts::tril(f.r, -1), ts::zeros_like(f.r), 0);
    }
}

TEST_P(Shapes, SVD) {
  std::mt19937 random(2);
  for (ts::DType d : kAll)
    for (bool full : {false, true}) {
      const Array x = drawn(random, d, GetParam());
      const L::SVD f = L::svd(x, full);
      const std::int64_t k = f.s.shape(-1);
      const Array u = first(f.u, -1, k), vh = first(f.vh, -2, k);
      expect_near(ts::matmul(u * ts::expand_dims(f.s, -2).astype(d), vh), x, 3 * bound(x));
      expect_orthonormal(f.u);
      expect_orthonormal(adjoint(f.vh));
      expect_near(L::svdvals(x), f.s, 3 * bound(x));
    }
}

TEST_P(Shapes, LU) {
  std::mt19937 random(3);
  for (ts::DType d : kAll) {
    const Array x = drawn(random, d, GetParam());
    const L::LU f = L::lu(x);
    expect_near(ts::matmul(ts::matmul(f.p.astype(d), f.l), f.u), x, bound(x));
    // The pivot of complex numbers is the one with the greatest |re| + |im|.
    EXPECT_LE(compare::largest(f.l), ts::is_complex(d) ? 1.415 : 1.0 + 1e-6);
    expect_near(ts::triu(f.l, 1), ts::zeros_like(f.l), 0);
    expect_near(ts::tril(f.u, -1), ts::zeros_like(f.u), 0);
  }
}

INSTANTIATE_TEST_SUITE_P(Factors, Shapes,
                         testing::Values(ts::Shape{1, 1}, ts::Shape{3, 3}, ts::Shape{5, 2},
                                         ts::Shape{2, 5}, ts::Shape{2, 3, 4, 4}, ts::Shape{70, 65},
                                         ts::Shape{2, 33, 40}));

class Squares : public testing::TestWithParam<ts::Shape> {};

TEST_P(Squares, Cholesky) {
  std::mt19937 random(4);
  for (ts::DType d : kAll) {
    const Array x = compare::definite(random, d, GetParam());
    const Array l = L::cholesky(x), u = L::cholesky(x, {.upper = true});
    expect_near(ts::matmul(l, adjoint(l)), x, bound(x));
    expect_near(ts::triu(l, 1), ts::zeros_like(l), 0);
    expect_near(u, adjoint(l), 0);
  }
}

TEST_P(Squares, Eigenvalues) {
  std::mt19937 random(5);
  for (ts::DType d : kAll) {
    const Array x = drawn(random, d, GetParam()), h = x + adjoint(x);
    const L::Eigh s = L::eigh(h);
    expect_near(ts::matmul(h, s.eigenvectors),
                s.eigenvectors * ts::expand_dims(s.eigenvalues, -2).astype(d), 3 * bound(x));
    expect_orthonormal(s.eigenvectors);
    expect_near(L::eigvalsh(h), s.eigenvalues, 3 * bound(x));
    const L::Eig e = L::eig(x);
    expect_near(ts::matmul(x.astype(e.eigenvectors.dtype()), e.eigenvectors),
                e.eigenvectors * ts::expand_dims(e.eigenvalues, -2), 20 * bound(x));
    EXPECT_EQ(e.eigenvalues.dtype(), ts::complex_dtype(d));
  }
}

TEST_P(Squares, SimplerForms) {
  std::mt19937 random(7);
  for (ts::DType d : kAll) {
    const Array x = drawn(random, d, GetParam());
    const L::Schur s = L::schur(x);
    expect_near(ts::matmul(ts::matmul(s.z, s.t), adjoint(s.z)), x, 3 * bound(x));
    expect_orthonormal(s.z);
    expect_near(ts::tril(s.t, ts::is_complex(d) ? -1 : -2), ts::zeros_like(s.t), 0);
    EXPECT_EQ(L::schur(x, "complex").t.dtype(), ts::complex_dtype(d));
    const L::Hessenberg h = L::hessenberg(x);
    expect_near(ts::matmul(ts::matmul(h.q, h.h), adjoint(h.q)), x, 3 * bound(x));
    expect_orthonormal(h.q);
    expect_near(ts::tril(h.h, -2), ts::zeros_like(h.h), 0);
    const Array p = compare::definite(random, d, GetParam()), root = L::sqrtm(p);
    expect_near(ts::matmul(root, root), p.astype(root.dtype()), 20 * bound(x));
  }
}

TEST_P(Squares, SolveAndInvert) {
  std::mt19937 random(6);
  for (ts::DType d : kAll) {
    const Array x = compare::definite(random, d, GetParam()), b = drawn(random, d, GetParam());
    const Array y = L::solve(x, b);
    EXPECT_LE(compare::largest(ts::matmul(x, y) - b),
              bound(x) * (compare::largest(b) + compare::largest(x) * compare::largest(y)));
    const Array i = L::inv(x);
    EXPECT_LE(compare::largest(ts::matmul(x, i) - unit(x, x.shape(-1))),
              bound(x) * (1 + compare::largest(x) * compare::largest(i)));
  }
}

INSTANTIATE_TEST_SUITE_P(Factors, Squares,
                         testing::Values(ts::Shape{1, 1}, ts::Shape{4, 4}, ts::Shape{2, 3, 5, 5},
                                         ts::Shape{65, 65}));

// Few matrices of extent 384 and more are factored in blocks, the last of which are narrower.
TEST(FactorsInBlocks, AreFactors) {
  std::mt19937 random(9);
  for (ts::DType d : kAll)
    for (const ts::Shape& shape : {ts::Shape{384, 500}, {450, 390}, {2, 401, 401}}) {
      const Array x = drawn(random, d, shape);
      const L::LU f = L::lu(x);
      expect_near(ts::matmul(ts::matmul(f.p.astype(d), f.l), f.u), x, bound(x));
      EXPECT_LE(compare::largest(f.l), ts::is_complex(d) ? 1.415 : 1.0 + 1e-6);
      if (shape.back() != shape[shape.size() - 2]) continue;
      const Array p = compare::definite(random, d, shape), l = L::cholesky(p);
      expect_near(ts::matmul(l, adjoint(l)), p, bound(p));
      expect_near(ts::triu(l, 1), ts::zeros_like(l), 0);
    }
}

// Integers and halves, with powers of two on the diagonals: no operation rounds, in any order.
Array small_integers(std::mt19937& random, ts::DType d, const ts::Shape& shape) {
  return ts::clip(ts::round(drawn(random, ts::f32, shape)), -1.0, 1.0).astype(d);
}
Array ones_and_twos(std::int64_t n, ts::DType d) {
  return ts::diag(1 + ts::remainder(ts::arange(n), 2)).astype(d);
}
TEST(FactorsInBlocks, ExactFactors) {
  std::mt19937 random(13);
  for (ts::DType d : kAll)
    for (const std::int64_t n : {384, 385, 415, 512}) {
      const Array l = ts::tril(small_integers(random, d, {2, n, n}), -1) + ones_and_twos(n, d);
      const Array x = ts::matmul(l, adjoint(l));
      expect_near(L::cholesky(x), l, 0);
      const Array above = ts::triu(ts::full({n, n}, kNan), 1).astype(d);  // must not be read
      expect_near(L::cholesky(ts::tril(x) + above, {.symmetrize = false}), l, 0);
    }
}
// The pivots are already in place, and twice as large as the elements below them.
TEST(FactorsInBlocks, ExactTriangles) {
  std::mt19937 random(14);
  for (ts::DType d : kAll)
    for (const ts::Shape& shape : {ts::Shape{384, 500}, {519, 390}, {2, 401, 401}, {448, 448}}) {
      const std::int64_t m = shape[shape.size() - 2], n = shape.back(), few = std::min(m, n);
      ts::Shape left = shape, right = shape;
      left.back() = right[right.size() - 2] = few;
      const Array l = ts::tril(small_integers(random, d, left), -1) / 2 + ts::eye(m, few).astype(d),
                  u = ts::triu(small_integers(random, d, right), 1) +
                      ts::pad(ones_and_twos(few, d), {{0, 0}, {0, n - few}});
      const L::LU f = L::lu(ts::matmul(l, u));
      expect_near(f.p, ts::broadcast_to(ts::eye(m), f.p.shape()).astype(f.p.dtype()), 0);
      expect_near(f.l, l, 0);
      expect_near(f.u, u, 0);
    }
}

// The bad elements are in the first block, in a later one, and after all divisors; no other matrix
// of the batch is affected.
TEST(FactorsInBlocks, WhatIsNotFiniteOrNotDefiniteGivesNaN) {
  std::mt19937 random(10);
  const std::int64_t n = 400;
  const Array good = compare::definite(random, ts::f64, {2, n, n});
  const Array nans = ts::full({n, n}, kNan).astype(ts::f64);
  for (std::int64_t at : {std::int64_t{3}, std::int64_t{200}, n - 1}) {
    const Array holed = good.at(0, at, at).set(kNan), negative = good.at(1, at, at).set(-1.0);
    for (const double bad : {kNan, std::numeric_limits<double>::infinity()})
      for (const std::int64_t column : {at, at / 2}) {
        const Array l = L::cholesky(good.at(0, at, column).set(bad), {.symmetrize = false});
        expect_near(l[0], ts::tril(nans), 0);
        expect_near(l[1], L::cholesky(good)[1], 0);
      }
    expect_near(L::cholesky(negative)[1], ts::tril(nans), 0);
    expect_near(L::cholesky(negative)[0], L::cholesky(good)[0], 0);
    EXPECT_TRUE(std::isnan(compare::numbers(L::lu(holed).u[0])[0].real()));
    expect_near(L::lu(holed).u[1], L::lu(good).u[1], 0);
  }
}

// A column of zeros is a zero pivot, and elimination continues after it.
TEST(FactorsInBlocks, SingularMatrices) {
  std::mt19937 random(11);
  for (std::int64_t column : {0, 100, 399}) {
    Array x = drawn(random, ts::f64, {400, 400});
    x = ts::where(ts::arange(400) == column, 0.0, x).astype(ts::f64);
    const L::LU f = L::lu(x);
    expect_near(ts::matmul(ts::matmul(f.p.astype(ts::f64), f.l), f.u), x, bound(x));
    EXPECT_EQ(L::det(x).item<double>(), 0.0);
  }
}

// A single column has a separate routine.
TEST(Factors, SolveTrianglesOfOneColumn) {
  std::mt19937 random(12);
  for (ts::DType d : kAll)
    for (const bool lower : {false, true})
      for (const bool unit_diagonal : {false, true})
        for (const int trans : {0, 1, 2}) {
          const Array x = compare::definite(random, d, {2, 7, 7}), b = drawn(random, d, {2, 7, 1});
          const Array y = L::solve_triangular(
              x, b, {.lower = lower, .trans = trans, .unit_diagonal = unit_diagonal});
          Array read = lower ? ts::tril(x) : ts::triu(x);
          if (unit_diagonal) read = (lower ? ts::tril(x, -1) : ts::triu(x, 1)) + unit(x, 7);
          if (trans > 0) read = ts::swapaxes(read, -1, -2);
          if (trans == 2) read = ts::conj(read);
          EXPECT_LE(compare::largest(ts::matmul(read, y) - b),
                    bound(x) * (compare::largest(b) + compare::largest(x) * compare::largest(y)));
        }
}

TEST(Factors, WithoutElements) {
  for (ts::DType d : kAll) {
    const Array none = ts::zeros({0, 0}, d), tall = ts::zeros({3, 0}, d),
                wide = ts::zeros({2, 0, 3}, d);
    EXPECT_EQ(L::cholesky(none).shape(), (ts::Shape{0, 0}));
    EXPECT_EQ(L::inv(none).shape(), (ts::Shape{0, 0}));
    expect_near(L::det(none), ts::ones({}, d), 0);
    EXPECT_EQ(L::solve(none, ts::zeros({0, 2}, d)).shape(), (ts::Shape{0, 2}));
    expect_near(L::qr(tall, "complete").q, ts::eye(3).astype(d), 0);
    EXPECT_EQ(L::qr(wide).r.shape(), (ts::Shape{2, 0, 3}));
    expect_near(L::svd(tall).u, ts::eye(3).astype(d), 0);
    EXPECT_EQ(L::svdvals(wide).shape(), (ts::Shape{2, 0}));
    expect_near(L::lu(tall).p, ts::eye(3).astype(d), 0);
    EXPECT_EQ(L::eigh(none).eigenvalues.shape(), (ts::Shape{0}));
    EXPECT_EQ(L::eig(none).eigenvectors.shape(), (ts::Shape{0, 0}));
    EXPECT_EQ(L::expm(none).shape(), (ts::Shape{0, 0}));
    EXPECT_EQ(L::schur(none).t.shape(), (ts::Shape{0, 0}));
    EXPECT_EQ(L::hessenberg(none).q.shape(), (ts::Shape{0, 0}));
    EXPECT_EQ(L::sqrtm(none).shape(), (ts::Shape{0, 0}));
    EXPECT_EQ(L::tridiagonal_solve(ts::zeros({0}, d), ts::zeros({0}, d), ts::zeros({0}, d),
                                   ts::zeros({0, 2}, d))
                  .shape(),
              (ts::Shape{0, 2}));
    EXPECT_EQ(L::solve_triangular(ts::zeros({0, 3, 3}, d), ts::zeros({0, 3, 2}, d)).shape(),
              (ts::Shape{0, 3, 2}));
    EXPECT_EQ(L::cholesky(ts::zeros({0, 3, 3}, d)).shape(), (ts::Shape{0, 3, 3}));
  }
}

// One bad matrix of a batch does not affect the others.
TEST(Factors, NaNAndInfinityGiveNaN) {
  std::mt19937 random(8);
  for (ts::DType d : kAll)
    for (double bad : {kNan, HUGE_VAL}) {
      const Array good = compare::definite(random, d, {2, 4, 4});
      const Array x = good.at(0, 2, 1).set(bad).at(0, 1, 2).set(bad);
      const auto check = [&](const Array& got, const Array& want) {
        for (const auto& z : compare::numbers(got[0]))
          EXPECT_TRUE(std::isnan(std::abs(z)) || z == 0.0 || z == 1.0);
        expect_near(got[1], want[1], 0);
      };
      check(L::cholesky(x), L::cholesky(good));
      check(L::lu(x).u, L::lu(good).u);
      check(L::qr(x).q, L::qr(good).q);
      check(L::svd(x).s, L::svd(good).s);
      check(L::svd(x).u, L::svd(good).u);
      check(L::eigh(x).eigenvectors, L::eigh(good).eigenvectors);
      check(L::eig(x).eigenvalues, L::eig(good).eigenvalues);
      check(L::inv(x), L::inv(good));
      check(L::det(x), L::det(good));
      check(L::expm(x), L::expm(good));
      check(L::pinv(x), L::pinv(good));
    }
}

TEST(Factors, NotPositiveDefinite) {
  const Array x = ts::array({{1.0, 2.0}, {2.0, 1.0}});
  expect_near(L::cholesky(x), ts::array({{kNan, 0.0}, {kNan, kNan}}), 0);
  expect_near(L::cholesky(x, {.upper = true}), ts::array({{kNan, kNan}, {0.0, kNan}}), 0);
}

TEST(Factors, SingularMatrices) {
  const Array x = ts::array({{1.0, 2.0}, {2.0, 4.0}});
  EXPECT_EQ(L::det(x).item<float>(), 0.f);
  const L::SlogDet d = L::slogdet(x);
  EXPECT_EQ(d.sign.item<float>(), 0.f);
  EXPECT_EQ(d.logabsdet.item<float>(), -HUGE_VALF);
  EXPECT_EQ(L::matrix_rank(x).item<int>(), 1);
  expect_near(ts::matmul(ts::matmul(x, L::pinv(x)), x), x, 1e-6);
  const L::Lstsq l =
      L::lstsq(ts::array({{1.0, 2.0}, {2.0, 4.0}, {3.0, 6.0}}), ts::array({1.0, 2.0, 3.0}));
  EXPECT_EQ(l.rank.item<int>(), 1);
  EXPECT_TRUE(std::isnan(l.residuals.to_vector<float>()[0]));
  expect_near(l.x, ts::array({0.2, 0.4}), 1e-6);
}

// Of the two roots of a negative eigenvalue, the one above the real axis is returned, on whichever
// side of it rounding puts the eigenvalue.
TEST(Factors, RootsOfNegativeEigenvalues) {
  using namespace std::complex_literals;
  std::mt19937 random(12);
  for (ts::DType d : {ts::f32, ts::f64})
    for (int trial = 0; trial < 20; ++trial) {
      const Array v = compare::definite(random, d, {4, 4});
      const Array values = ts::array({-4.0, 9.0, -0.25, 2.25}).astype(d);
      const Array roots = Array(std::vector<std::complex<double>>{2i, 3.0, 0.5i, 1.5}, {4})
                              .astype(ts::complex_dtype(d));
      const Array x = ts::matmul(v * values, L::inv(v)),
                  want = ts::matmul(v * roots, L::inv(v).astype(roots.dtype()));
      // The condition of v is below 100, and its square multiplies the errors of x.
      expect_near(L::sqrtm(x), want, 1e4 * compare::epsilon(x));
    }
}

TEST(Factors, ExponentialsOfLargeMatrices) {
  // The exponential of [[0, t], [-t, 0]] is a rotation by t.
  const double t = 40;
  const Array x = ts::array({{0.0, t}, {-t, 0.0}}).astype(ts::f64);
  const Array want =
      ts::array({{std::cos(t), std::sin(t)}, {-std::sin(t), std::cos(t)}}).astype(ts::f64);
  EXPECT_LE(compare::largest(L::expm(x) - want), 1e-5);
  EXPECT_TRUE(std::isnan(compare::numbers(L::expm(x, 2))[0].real()));
}

}  // namespace
