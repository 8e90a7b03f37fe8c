// The smallest modules of each kind that JAX's own tests compile and that used to be refused, if
// their folder is beside the source tree. The expected numbers are jaxlib's.
#include <tessera/tessera.h>

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <complex>
#include <filesystem>
#include <limits>

namespace ts = tessera;
using ts::Array;

namespace {

using Floats = std::vector<float>;
using Ints = std::vector<std::int32_t>;
using Complexes = std::vector<std::complex<float>>;

class PjrtCases : public testing::Test {
 protected:
  void SetUp() override {
    if (!std::filesystem::exists(kFolder)) GTEST_SKIP() << "there is no folder " << kFolder;
  }
  static std::string path(const std::string& name) { return (kFolder / name).string(); }
  static ts::LoadedFunction load(const std::string& name) { return ts::load_stablehlo(path(name)); }

 private:
  static inline const std::filesystem::path kFolder =
      std::filesystem::path(TESSERA_SOURCE_DIR) / ".." / "shared" / "pjrt_cases";
};

template <class T>
void expect_near(const Array& got, const std::vector<T>& want, float tolerance) {
  const std::vector<T> values = got.to_vector<T>();
  ASSERT_EQ(values.size(), want.size());
  for (std::size_t i = 0; i < want.size(); ++i)
    EXPECT_LE(std::abs(values[i] - want[i]), tolerance * (1 + std::abs(want[i]))) << i;
}

}  // namespace

TEST_F(PjrtCases, CustomCallWithTilings) {
  const auto x = load("custom_call_v2.mlirbc")(Array(Floats{2, 3, 9, 4}, {1, 2, 2}),
                                               Array(Floats{1, 8}, {1, 2, 1}));
  EXPECT_EQ(x[0].to_vector<float>(), (Floats{-2.5f, 2.0f}));
}

TEST_F(PjrtCases, TransformOfNoPoints) {
  const auto f = load("fft_empty_axis.mlirbc");
  const auto y = f(ts::zeros({0}, ts::c64));
  EXPECT_EQ(y[0].shape(), ts::Shape({0}));
  EXPECT_EQ(y[0].dtype(), ts::c64);
}

// The marked columns come first, then the longest of the others.
TEST_F(PjrtCases, FactorsWithColumnsThatGoFirst) {
  const auto f = load("ormqr_tau.mlirbc");
  Complexes a;
  for (int i = 0; i < 16; ++i)
    a.emplace_back(static_cast<float>(i * 7 % 11 - 4), static_cast<float>(i * 5 % 7 - 3));
  struct Want {
    Ints marks, columns;
    Complexes diagonal, taus;
  };
  const Want wants[] = {{{0, 0, 0, 0},
                         {4, 3, 1, 2},
                         {-9.110434f, -8.712268f, 6.1688027f, -2.69642f},
                         {{1.6585855f, -0.21952853f},
                          {1.5773437f, -0.13377854f},
                          {1.9309195f, -0.31345516f},
                          {1.0267437f, -0.9996423f}}},
                        {{0, 0, 1, 0},
                         {3, 4, 1, 2},
                         {8.717798f, -9.104654f, 6.1688027f, -2.6964195f},
                         {{1.1147078f, 0},
                          {1.415928f, -0.49478176f},
                          {1.8087431f, -0.4399264f},
                          {1.4095925f, -0.91226864f}}},
                        {{0, 3, 0, 9},
                         {2, 4, 3, 1},
                         {-6.0f, -8.922506f, -8.232088f, -2.9957848f},
                         {{1.5f, 0.33333334f},
                          {1.16284f, -0.45335898f},
                          {1.4827572f, -0.38217264f},
                          {1.0830423f, -0.996546f}}},
                        {{1, 1, 1, 1},
                         {1, 2, 3, 4},
                         {7.8102493f, 3.987686f, 5.884192f, -7.2042036f},
                         {{1.5121475f, 0.38411066f},
                          {1.1951535f, -0.7398749f},
                          {1.0686051f, 0.19864102f},
                          {1.4653039f, 0.885151f}}}};
  for (const Want& want : wants) {
    const auto out = f(Array(a, {4, 4}), Array(want.marks));
    EXPECT_EQ(out[1].to_vector<std::int32_t>(), want.columns);
    Complexes diagonal;
    for (int i = 0; i < 4; ++i) diagonal.push_back(out[0](i, i).item<std::complex<float>>());
    for (std::size_t i = 0; i < 4; ++i)
      EXPECT_LE(std::abs(diagonal[i] - want.diagonal[i]), 2e-5f) << i;
    expect_near(out[2], want.taus, 2e-6f);
  }
}

TEST_F(PjrtCases, CallbackIntoPython) {
  const std::string file = path("python_callback.mlirbc");
  std::string text;
  try {
    load("python_callback.mlirbc");
  } catch (const ts::IoError& e) {
    text = e.what();
  }
  const std::size_t place = text.find(", byte "), end = text.find(": stablehlo", place);
  ASSERT_NE(end, std::string::npos) << text;
  EXPECT_EQ(text.substr(0, place), "load_stablehlo: " + file);
  const std::size_t from = text.find("\n  from: ");
  const std::size_t line = from == text.npos ? 0 : text.find('\n', from + 1) - from;
  if (from != text.npos) text.erase(from, line);
  EXPECT_EQ(text.substr(end),
            ": stablehlo.custom_call: it calls Python function 0 of the process that exported the "
            "module (xla_ffi_python_cpu_callback)\n"
            "  rule: the module holds that function's number and not its code\n"
            "  try: export without jax.debug.print, jax.debug.callback, pure_callback and "
            "io_callback, or compute the callback's results before and pass them as arguments");
}

TEST_F(PjrtCases, SortOfAMillionNumbers) {
  const auto f = load("sort.mlir");
  const std::size_t n = 1 << 20;
  Floats x;
  std::uint32_t state = 12345;
  for (std::size_t i = 0; i < n; ++i) {
    state = state * 1664525u + 1013904223u;
    x.push_back(static_cast<float>(static_cast<std::int32_t>(state)) * 1e-6f);
  }
  x[5] = -0.0f;
  x[9] = 0.0f;
  x[11] = -0.0f;
  x[100] = std::numeric_limits<float>::quiet_NaN();
  x[7] = -std::numeric_limits<float>::quiet_NaN();
  x[50] = std::numeric_limits<float>::infinity();
  const Floats y = f(Array(x))[0].to_vector<float>();
  // A NaN of any sign comes after the numbers.
  EXPECT_TRUE(std::isnan(y[n - 1]) && std::isnan(y[n - 2]));
  EXPECT_TRUE(std::isinf(y[n - 3]));
  Floats want;
  for (const float v : x)
    if (!std::isnan(v)) want.push_back(v);
  std::stable_sort(want.begin(), want.end());
  for (std::size_t i = 0; i < want.size(); ++i) {
    ASSERT_EQ(y[i], want[i]) << i;
    ASSERT_EQ(std::signbit(y[i]), std::signbit(want[i])) << i;  // zeros in their order
  }
}

TEST_F(PjrtCases, SortByAComparatorThatReadsOutside) {
  const auto f = load("sort_outside_value.mlirbc");
  const float nan = std::numeric_limits<float>::quiet_NaN();
  EXPECT_EQ(f(Array(Floats{3, -1, 0, -0.0f, nan, 448, -448, -1}))[0].to_vector<std::int32_t>(),
            (Ints{6, 1, 7, 2, 3, 0, 5, 4}));
}

TEST_F(PjrtCases, TokensAreNoArrays) {
  const auto f = load("token_argument.mlirbc");
  EXPECT_TRUE(f.inputs().empty());
  EXPECT_TRUE(f.outputs().empty());
  EXPECT_TRUE(f(std::vector<Array>{}).empty());
}

TEST_F(PjrtCases, SystemsWhosePivotsVanish) {
  const auto f = load("tridiagonal_solve_perturbed.mlirbc");
  Floats rows;
  for (int i = 1; i <= 10; ++i) rows.push_back(static_cast<float>(i));
  const Array b = Array(rows, {10, 1});
  const Array lower(Floats{0, 1, -1, 2, .5f, 1, 1, -2, 1, 1}),
      diagonal(Floats{1, 2, 0, 1, -1, 3, .5f, 1, 2, 4}),
      upper(Floats{1, 1, 2, -1, 1, .5f, 1, 1, 3, 0});
  expect_near(f(lower, diagonal, upper, b)[0],
              Floats{0.50714254f, 0.49285746f, 0.5071426f, 1.7464287f, -1.2392861f, 2.8874998f,
                     -2.8464284f, 5.5357146f, -3.2285714f, 3.307143f},
              2e-6f);
  // A zero pivot becomes the rounding error of the largest element, 4.
  const Array none = ts::zeros({10});
  EXPECT_EQ(f(none, diagonal, none, b)[0].to_vector<float>(),
            (Floats{1, 1, 6291456, 4, -5, 2, 14, 8, 4.5f, 2.5f}));
  // If all elements are zero, a zero pivot becomes a multiple of the least normal number that is
  // large enough for the quotient not to overflow.
  const Floats of_zeros = f(none, none, none, b)[0].to_vector<float>();
  EXPECT_EQ(of_zeros[0], 1 / std::numeric_limits<float>::min());
  EXPECT_EQ(of_zeros[2], 3 / (3 * std::numeric_limits<float>::min()));
  for (const float v : of_zeros) EXPECT_TRUE(std::isfinite(v));
  // The matrix is singular up to rounding, although no pivot except the last is small.
  Floats l(10, -1), d(10, 2), u(10, -1);
  l[0] = u[9] = 0;
  d[0] = d[9] = 1;
  for (const float v : f(Array(l), Array(d), Array(u), b)[0].to_vector<float>())
    EXPECT_NEAR(v, 461373536.0f, 128);
}
