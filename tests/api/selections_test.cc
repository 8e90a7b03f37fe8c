// Values that a selection does not take have no part in its derivative, even if their own
// derivative is infinite.
#include <tessera/constants.h>
#include <tessera/contractions.h>
#include <tessera/creation.h>
#include <tessera/elementwise.h>
#include <tessera/grad.h>
#include <tessera/jit.h>
#include <tessera/linalg.h>
#include <tessera/manipulation.h>
#include <tessera/operators.h>
#include <tessera/reductions.h>
#include <tessera/vmap.h>

#include "only_cpu.h"

#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <random>

namespace ts = tessera;
using ts::Array;

namespace {

using Doubles = std::vector<double>;
using Loss = std::function<Array(Array)>;

// The gradient, eager and compiled, which must agree.
Doubles gradient(const Loss& f, const Array& x) {
  const auto eager = ts::ravel(ts::grad(f)(x)).to_vector<double>();
  EXPECT_EQ(ts::ravel(ts::jit(ts::grad(f))(x)).to_vector<double>(), eager);
  return eager;
}

TEST(Selections, OfBranchesThatAreInfiniteElsewhere) {
  const Array x(Doubles{-1, 0, 4});
  EXPECT_EQ(gradient([](Array v) { return ts::sum(ts::where(v > 0, ts::sqrt(v), 0)); }, x),
            (Doubles{0, 0, 0.25}));
  EXPECT_EQ(gradient([](Array v) { return ts::sum(ts::where(v > 0, ts::log(v) * v, 2 * v)); }, x),
            (Doubles{2, 2, std::log(4.0) + 1}));
  EXPECT_EQ(gradient([](Array v) { return ts::sum(ts::where(v == 0, 1, ts::sin(v) / v)); },
                     Array(Doubles{0}))[0],
            0);
}

TEST(Selections, OfSelections) {
  const Array x(Doubles{-1, 0, 1, 2, 4});
  // log x for 0 < x < 2; 1 / (x - 2) + x from 2 on, which is infinite at 2; else 0.
  const Loss f = [](Array v) {
    const Array inner = ts::where(v < 2, ts::log(v), ts::where(v > 2, 1 / (v - 2), 0) + v);
    return ts::sum(ts::where(v > 0, inner, 0));
  };
  EXPECT_EQ(gradient(f, x), (Doubles{0, 0, 1, 1, 0.75}));
  // A root that several branches use.
  const Loss shared = [](Array v) {
    const Array root = ts::sqrt(v);
    return ts::sum(ts::where(v > 1, root, 0) + ts::where(v > 3, root * 2, 0) +
                   ts::where(v > 0, ts::where(v > 3, root, -root), v));
  };
  EXPECT_EQ(gradient(shared, x), (Doubles{1, 1, -0.5, 0, 1}));
}

TEST(Selections, FarOfThem) {
  // Twenty selections around one root.
  const Loss f = [](Array v) {
    Array y = ts::sqrt(v);
    for (int i = 0; i < 20; ++i) y = ts::where(v > i - 18.5, y, 0) * 2;
    return ts::sum(y) / 0x1p20;
  };
  EXPECT_EQ(gradient(f, Array(Doubles{0, 4})), (Doubles{0, 0.25}));
}

TEST(Selections, BySizeAndBounds) {
  const Array x(Doubles{0, 1, 4});
  EXPECT_EQ(gradient([](Array v) { return ts::sum(ts::maximum(ts::log(v), -1)); }, x),
            (Doubles{0, 1, 0.25}));
  EXPECT_EQ(gradient([](Array v) { return ts::sum(ts::minimum(1 / v, 0.5)); }, x),
            (Doubles{0, 0, -0.0625}));
  EXPECT_EQ(gradient([](Array v) { return ts::sum(ts::clip(1 / v, 0, 3)); }, x),
            (Doubles{0, -1, -0.0625}));
  EXPECT_EQ(gradient([](Array v) { return ts::max(ts::log(v)); }, x), (Doubles{0, 0, 0.25}));
  // Where both are equal, each has half of the derivative.
  EXPECT_EQ(gradient([](Array v) { return ts::sum(ts::maximum(v, 1)); }, x), (Doubles{0, 0.5, 1}));
}

TEST(Selections, OfWhatWasSummedOrRepeated) {
  NEEDS_CPU(same_bits);
  const Array x(Doubles{0, 0, 3, 4}, {2, 2});
  const Loss norms = [](Array v) {
    const Array n = ts::sum(v * v, 1);
    return ts::sum(ts::where(n > 0, ts::sqrt(n), 0));
  };
  EXPECT_EQ(gradient(norms, Array(Doubles{0, 0, 0, 4}, {2, 2})), (Doubles{0, 0, 0, 1}));
  const Loss rows = [](Array v) {
    return ts::sum(ts::where(v[0] == v[0] && ts::array({0, 1}) == 1, ts::sum(ts::sqrt(v), 1), 0));
  };
  EXPECT_EQ(gradient(rows, x), (Doubles{0, 0, 0.5 / std::sqrt(3.0), 0.25}));
  const Loss turned = [](Array v) {
    return ts::sum(ts::where(ts::ravel(v.T()) > 0, ts::ravel(ts::log(v).T()), 0));
  };
  EXPECT_EQ(gradient(turned, x), (Doubles{0, 0, 1.0 / 3, 0.25}));
}

TEST(Selections, SecondDerivatives) {
  const Loss f = [](Array v) { return ts::sum(ts::where(v > 0, v * ts::sqrt(v), v * v)); };
  const Array x(Doubles{-3, 0, 4});
  const Array h = ts::hessian(f)(x);
  EXPECT_EQ(ts::ravel(h).to_vector<double>(), (Doubles{2, 0, 0, 0, 2, 0, 0, 0, 0.375}));
  EXPECT_EQ(ts::ravel(ts::jit(ts::hessian(f))(x)).to_vector<double>(),
            ts::ravel(h).to_vector<double>());
}

TEST(Selections, UnderVmap) {
  const auto f = [](Array v) { return ts::where(v > 0, ts::sqrt(v), 0); };
  EXPECT_EQ(ts::vmap(ts::grad(f))(Array(Doubles{0, 4})).to_vector<double>(), (Doubles{0, 0.25}));
}

// Sums of nested selections agree with finite differences, far from singular points.
TEST(Selections, DrawnNestsAgreeWithDifferences) {
  NEEDS_CPU(same_bits);
  std::mt19937 rng(11);
  for (int round = 0; round < 40; ++round) {
    const std::uint32_t seed = rng();
    const Loss f = [seed](Array v) {
      std::mt19937 choose(seed);
      std::vector<Array> values{v, ts::sqrt(v), 1 / v, ts::log(v)};
      for (int i = 0; i < 8; ++i) {
        const auto pick = [&] { return values[choose() % values.size()]; };
        const Array bound = v > 0.5 + 0.7 * static_cast<double>(choose() % 4);
        switch (choose() % 4) {
          case 0: values.push_back(ts::where(bound, pick(), 0)); break;
          case 1: values.push_back(ts::where(bound, pick(), pick())); break;
          case 2: values.push_back(pick() + pick()); break;
          default: values.push_back(ts::where(bound, 0, pick()) * pick());
        }
      }
      return ts::sum(values.back());
    };
    const Array x(Doubles{0.3, 0.9, 1.5, 2.2, 3.1});
    const Doubles d = gradient(f, x);
    for (std::size_t i = 0; i < d.size(); ++i) {
      Doubles step(5, 0);
      step[i] = 1e-6;
      const double up = f(x + Array(step)).item<double>(), down = f(x - Array(step)).item<double>();
      EXPECT_NEAR(d[i], (up - down) / 2e-6, 1e-6 * (1 + std::fabs(d[i]) + std::fabs(up)))
          << "seed " << seed << " element " << i;
    }
  }
}

TEST(EqualEigenvalues, OfFunctionsThatDoNotDependOnTheVectors) {
  // The projection onto the eigenspace of the two smallest eigenvalues of 1, 1, 3 in a rotated
  // basis.
  const double c = std::sqrt(0.5);
  const Array turn(Doubles{c, -c, 0, c, c, 0, 0, 0, 1}, {3, 3});
  const Array a = ts::matmul(ts::matmul(turn, ts::diag(Array(Doubles{1, 1, 3}))), turn.T());
  const Array direction(Doubles{0.3, -0.2, 0.5, -0.2, 0.1, 0.7, 0.5, 0.7, -0.4}, {3, 3});
  const auto projection = [](Array m) {
    const Array v = ts::linalg::eigh(m).eigenvectors;
    const Array low = ts::where(ts::array({1, 1, 0}) == 1, v, 0);
    return ts::matmul(low, low.T());
  };
  const auto loss = [&](Array m) { return ts::sum(projection(m) * direction); };
  // By perturbation theory, the derivative of the projection P is P dA S + S dA P with S = (1 - P)
  // / (1 - 3).
  const Array p = projection(a), s = (ts::eye(3, {}, 0, ts::f64) - p) / (1.0 - 3.0);
  const Array want =
      ts::matmul(ts::matmul(p, direction), s) + ts::matmul(ts::matmul(s, direction), p);
  const Array got = ts::grad(loss)(a), both = (got + got.T()) / 2;
  EXPECT_TRUE(ts::allclose(both, want, 1e-9, 1e-9).item<bool>()) << both << want;
  // The eigenvalues of the identity are exactly equal.
  const auto sums = [](Array m) { return ts::sum(ts::linalg::eigh(m).eigenvalues); };
  EXPECT_EQ(ts::grad(sums)(ts::eye(2, {}, 0, ts::f64)).to_vector<double>(), (Doubles{1, 0, 0, 1}));
}

TEST(EqualSingularValues, OfFunctionsThatDoNotDependOnTheVectors) {
  const auto is_finite = [](Array x) { return ts::all(ts::isfinite(x)).item<bool>(); };
  // U V' is a function of the matrix only; at a multiple of a rotation all singular values are
  // equal.
  const auto polar = [](Array m) {
    const auto f = ts::linalg::svd(m, false);
    return ts::matmul(f.u, f.vh);
  };
  const Array a = 2 * ts::eye(3, {}, 0, ts::f64);
  // The derivative of sum(W * polar) at 2 I is (W - W') / 4.
  const Array w = ts::arange(9).reshape({3, 3}).astype(ts::f64);
  const Array got = ts::grad([&](Array m) { return ts::sum(polar(m) * w); })(a);
  EXPECT_TRUE(ts::allclose(got, (w - w.T()) / 4, 1e-12, 1e-12).item<bool>()) << got;
  // The projection onto the range of a tall matrix of rank 1.
  const Array tall(Doubles{1, 0, 1, 0, 1, 0}, {3, 2});
  EXPECT_TRUE(is_finite(ts::grad([](Array m) {
    const auto f = ts::linalg::svd(m, false);
    const Array u = ts::where(ts::array({1, 0}) == 1, f.u, 0);
    return ts::sum(ts::matmul(u, u.T()) * ts::arange(9).reshape({3, 3}));
  })(tall)));
}

}  // namespace
