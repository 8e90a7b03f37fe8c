// Complex arrays as users meet them.
#include <tessera/tessera.h>

#include "message.h"

#include <gtest/gtest.h>

#include <cmath>
#include <complex>
#include <vector>

namespace {

namespace ts = tessera;
using ts::Array;
using C = std::complex<float>;
using Z = std::complex<double>;
using Cs = std::vector<C>;
using Zs = std::vector<Z>;

const C i{0, 1};

TEST(Complex, Arrays) {
  const Array x = ts::array({C(1, 2), C(0, -1)});
  EXPECT_EQ(x.dtype(), ts::c64);
  EXPECT_EQ(x.nbytes(), 16);
  EXPECT_EQ(x.to_vector<C>(), (Cs{{1, 2}, {0, -1}}));
  EXPECT_EQ(ts::array({{C(1, 2)}, {3}}, ts::c128).to_vector<Z>(), (Zs{{1, 2}, 3}));
  EXPECT_EQ(x[0].item<Z>(), Z(1, 2));
  EXPECT_EQ(Array(Zs{{1, 2}}).dtype(), ts::c128);
  EXPECT_EQ(ts::zeros({2}, ts::c128).to_vector<Z>(), (Zs{0, 0}));
  EXPECT_EQ(ts::full({2}, C(1, 2)).to_vector<C>(), (Cs{{1, 2}, {1, 2}}));
  EXPECT_EQ(Array(C(1, 2)).dtype(), ts::c64);
  EXPECT_TRUE(Array(C(1, 2)).weak_type());
  EXPECT_EQ(ts::ones({2}).astype(ts::c64).to_vector<C>(), (Cs{1, 1}));
  EXPECT_TRUE(ts::iscomplexobj(x));
  EXPECT_EQ(ts::name_of(ts::c64), "complex64");
}

TEST(Complex, Print) {
  EXPECT_EQ(ts::to_string(ts::array({C(1, 10), C(2.5, -2), C(-0.25, 0.1F)})),
            "[ 1.  +10.j   2.5  -2.j  -0.25 +0.1j]");
  EXPECT_EQ(ts::to_string(ts::array({C(1, 2)})), "[1.+2.j]");
  EXPECT_EQ(ts::to_string(ts::array({C(1, 1), C(2, -3.5)})), "[1.+1.j  2.-3.5j]");
  EXPECT_EQ(ts::to_string(Array(C(1, 2))), "(1+2j)");
  EXPECT_EQ(ts::to_string(Array(C(0, 2))), "2j");
  EXPECT_EQ(ts::to_string(Array(Z(-0.0, 2))), "(-0+2j)");
  EXPECT_EQ(ts::to_string(Array(C(0.1F, 1e-7F))), "(0.1+1e-07j)");
  EXPECT_EQ(ts::to_string(Array(C(0, 0))), "0j");
}

TEST(Complex, PromotesAsJax) {
  const auto with = [](ts::DType d, const Array& y) { return (ts::ones({2}, d) * y).dtype(); };
  for (ts::DType d : {ts::bool_, ts::i8, ts::i32, ts::f16, ts::bf16, ts::f32, ts::c64}) {
    EXPECT_EQ(with(d, Array(i)), ts::c64) << d;
    EXPECT_EQ(with(d, ts::array({i})), ts::c64) << d;
  }
  EXPECT_EQ(with(ts::f64, Array(i)), ts::c128);
  EXPECT_EQ(with(ts::c128, Array(i)), ts::c128);
  EXPECT_EQ(with(ts::f64, ts::array({i})), ts::c128);
  EXPECT_EQ(with(ts::c64, Array(2.0)), ts::c64);
  EXPECT_EQ(with(ts::c64, ts::ones({2}, ts::f64)), ts::c128);
  // A bare number keeps all its bits.
  EXPECT_EQ((ts::ones({1}, ts::f64) * Z(0.1, 0.2)).to_vector<Z>(), (Zs{{0.1, 0.2}}));
}

TEST(Complex, Arithmetic) {
  const Array x = ts::array({C(1, 2), C(3, -1)}), y = ts::array({C(2, -1), C(0, 4)});
  EXPECT_EQ((x + y).to_vector<C>(), (Cs{{3, 1}, {3, 3}}));
  EXPECT_EQ((x - y).to_vector<C>(), (Cs{{-1, 3}, {3, -5}}));
  EXPECT_EQ((x * y).to_vector<C>(), (Cs{{4, 3}, {4, 12}}));
  EXPECT_EQ((x / y).to_vector<C>(), (Cs{{0, 1}, {-0.25F, -0.75F}}));
  EXPECT_EQ((-x).to_vector<C>(), (Cs{{-1, -2}, {-3, 1}}));
  EXPECT_EQ((x == y).to_vector<bool>(), (std::vector<bool>{false, false}));
  EXPECT_EQ((x != C(1, 2)).to_vector<bool>(), (std::vector<bool>{false, true}));
  EXPECT_EQ(ts::power(x, 2).to_vector<C>(), (Cs{{-3, 4}, {8, -6}}));
  EXPECT_EQ(ts::abs(ts::array({C(3, -4)})).to_vector<float>(), (std::vector<float>{5}));
  EXPECT_EQ(ts::sign(ts::array({C(3, -4), C(0, 0)})).to_vector<C>(), (Cs{{0.6F, -0.8F}, 0}));
  EXPECT_EQ(ts::real(x).to_vector<float>(), (std::vector<float>{1, 3}));
  EXPECT_EQ(ts::imag(x).to_vector<float>(), (std::vector<float>{2, -1}));
  EXPECT_EQ(ts::imag(ts::ones({1})).to_vector<float>(), (std::vector<float>{0}));
  EXPECT_EQ(ts::conj(x).to_vector<C>(), (Cs{{1, -2}, {3, 1}}));
  EXPECT_EQ(ts::complex(ts::array({1.0, 2.0}), 3).to_vector<C>(), (Cs{{1, 3}, {2, 3}}));
  EXPECT_EQ(ts::angle(ts::array({C(0, 1)})).item<float>(), std::atan2(1.0F, 0.0F));
  EXPECT_EQ(ts::isreal(ts::array({C(1, 0), i})).to_vector<bool>(),
            (std::vector<bool>{true, false}));
  EXPECT_EQ(ts::isfinite(ts::array({C(1, INFINITY), i})).to_vector<bool>(),
            (std::vector<bool>{false, true}));
  EXPECT_EQ(ts::isinf(ts::array({C(NAN, INFINITY), i})).to_vector<bool>(),
            (std::vector<bool>{true, false}));
}

TEST(Complex, ReductionsAndProducts) {
  const Array x = ts::array({{C(1, 2), C(3, -1)}, {C(0, 1), C(-2, 0)}});
  EXPECT_EQ(ts::sum(x).item<Z>(), Z(2, 2));
  EXPECT_EQ(ts::sum(x, 0).to_vector<C>(), (Cs{{1, 3}, {1, -1}}));
  EXPECT_EQ(ts::prod(x, 1).to_vector<C>(), (Cs{{5, 5}, {0, -2}}));
  EXPECT_EQ(ts::mean(x).item<Z>(), Z(0.5, 0.5));
  EXPECT_EQ(ts::var(ts::array({C(1, 1), C(3, -3)})).item<float>(), 5);
  EXPECT_EQ(ts::cumsum(x[0]).to_vector<C>(), (Cs{{1, 2}, {4, 1}}));
  EXPECT_EQ(ts::cumprod(x[0]).to_vector<C>(), (Cs{{1, 2}, {5, 5}}));
  EXPECT_EQ(ts::matmul(x, x).to_vector<C>(), (Cs{{-2, 7}, {-1, 7}, {-2, -1}, {5, 3}}));
  EXPECT_EQ(ts::sort(ts::array({C(2, 1), C(1, 5), C(1, -5), C(1, NAN)}))
                .astype(ts::c128)
                .to_vector<Z>()[0],
            Z(1, -5));
  EXPECT_TRUE(ts::allclose(x, x + C(1e-9F, 0)).item<bool>());
}

TEST(Complex, Derivatives) {
  const auto grad = [](auto f, Z z) {
    return Array(ts::grad(f)(ts::full({}, z, ts::c128))).template item<Z>();
  };
  EXPECT_EQ(grad([](Array z) { return ts::square(ts::abs(z)); }, {3, 4}), Z(6, -8));
  EXPECT_EQ(grad([](Array z) { return ts::real(z * z * z); }, {1, 2}), Z(-9, 12));
  // jax.grad(lambda z: jnp.abs(jnp.sin(z) * jnp.conj(z)) + jnp.angle(z))(1 + 2j)
  const Z g =
      grad([](Array z) { return ts::abs(ts::sin(z) * ts::conj(z)) + ts::angle(z); }, {1, 2});
  EXPECT_NEAR(g.real(), 1.5381157552796711, 1e-14);
  EXPECT_NEAR(g.imag(), -11.724983469626888, 1e-13);
}

TEST(Complex, NormsAreOfMagnitudes) {
  const Array z = ts::array({C(3, 4), C(0, -12)});
  EXPECT_EQ(ts::norm(z).dtype(), ts::f32);
  EXPECT_EQ(ts::norm(z).item<float>(), 13);
  EXPECT_EQ(ts::norm(z, {.ord = 1}).item<float>(), 17);
  EXPECT_EQ(ts::norm(z, {.ord = HUGE_VAL}).item<float>(), 12);
  EXPECT_EQ(ts::norm(z.astype(ts::c128)).dtype(), ts::f64);
  // |z - mean|^2, with the mean 1.5 - 4i: 2.25 + 64 twice.
  EXPECT_EQ(ts::var(z).item<float>(), 66.25f);
}

TEST(Complex, LoopsAndTransformations) {
  const Array xs = ts::array({C(1, 1), C(0, 2), C(-1, 1)});
  const auto product = ts::jit([](Array xs) {
    return ts::scan([](Array c, Array x) { return std::pair(c * x, c); },
                    ts::full({}, C(1, 0), ts::c64), xs)
        .first;
  });
  EXPECT_EQ(product(xs).item<Z>(), Z(1, 1) * Z(0, 2) * Z(-1, 1));
  const auto squares = ts::vmap([](Array x) { return ts::real(x * ts::conj(x)); });
  EXPECT_EQ(squares(xs).to_vector<float>(), (std::vector<float>{2, 4, 2}));
}

TEST(Complex, Devices) {
  const auto n = static_cast<std::int64_t>(ts::devices().size());
  const Array xs = ts::arange(2 * n).astype(ts::c64).reshape(n, 2) * C(1, 1);
  const auto f =
      ts::pmap([](Array x) { return std::pair(ts::psum(x, "i"), ts::all_gather(x, "i")); },
               {.axis_name = "i"});
  const auto [sums, all] = f(xs);
  EXPECT_EQ(sums[0].to_vector<C>(), ts::sum(xs, 0).to_vector<C>());
  EXPECT_EQ(all[0].to_vector<C>(), xs.to_vector<C>());
}

TEST(Complex, Indexing) {
  const Array x = ts::array({C(1, 2), C(3, 4), C(5, 6)});
  EXPECT_EQ(x[ts::array({2, 0})].to_vector<C>(), (Cs{{5, 6}, {1, 2}}));
  EXPECT_EQ(x.at(1).set(C(0, 1)).to_vector<C>(), (Cs{{1, 2}, {0, 1}, {5, 6}}));
  EXPECT_EQ(x.at(ts::array({0, 0})).add(C(0, 1)).to_vector<C>(), (Cs{{1, 4}, {3, 4}, {5, 6}}));
  EXPECT_EQ(x.at(ts::array({0, 2})).multiply(C(0, 1)).to_vector<C>(),
            (Cs{{-2, 1}, {3, 4}, {-6, 5}}));
  EXPECT_EQ(ts::concatenate({x, x}).size(), 6);
  EXPECT_EQ(ts::where(ts::array({true, false, true}), x, 0).to_vector<C>(),
            (Cs{{1, 2}, 0, {5, 6}}));
}

}  // namespace
