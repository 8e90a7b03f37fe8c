// Results of jax 0.10.2 (tests/golden/make_linalg.py) for every function whose result is unique.
#include "compare.h"

#include <functional>
#include <map>

namespace {

namespace L = ts::linalg;
namespace F = ts::fft;
using Inputs = std::vector<Array>;
using Function = std::function<std::vector<Array>(const Inputs&)>;

Function one(std::function<Array(const Array&)> f) {
  return [f](const Inputs& in) { return std::vector<Array>{f(in[0])}; };
}
Function two(std::function<Array(const Array&, const Array&)> f) {
  return [f](const Inputs& in) { return std::vector<Array>{f(in[0], in[1])}; };
}
double order(const std::string& text) { return std::stod(text); }

const std::map<std::string, Function>& fourier() {
  static const auto& all = *new std::map<std::string, Function>{
      {"fft", one([](const Array& x) { return F::fft(x); })},
      {"ifft", one([](const Array& x) { return F::ifft(x); })},
      {"fft n=5 axis=0", one([](const Array& x) { return F::fft(x, {.n = 5, .axis = 0}); })},
      {"ifft n=3 axis=1 ortho",
       one([](const Array& x) { return F::ifft(x, {.n = 3, .axis = 1, .norm = "ortho"}); })},
      {"fft forward", one([](const Array& x) { return F::fft(x, {.norm = "forward"}); })},
      {"fft2", one([](const Array& x) { return F::fft2(x); })},
      {"ifft2", one([](const Array& x) { return F::ifft2(x); })},
      {"fftn", one([](const Array& x) { return F::fftn(x); })},
      {"fftn s=4,3 axes=2,0", one([](const Array& x) {
         return F::fftn(x, {.s = {4, 3}, .axes = {2, 0}});
       })},
      {"ifftn", one([](const Array& x) { return F::ifftn(x); })},
      {"fftshift", one([](const Array& x) { return F::fftshift(x); })},
      {"ifftshift 1", one([](const Array& x) { return F::ifftshift(x, 1); })},
      {"irfft", one([](const Array& x) { return F::irfft(x); })},
      {"irfft n=9", one([](const Array& x) { return F::irfft(x, {.n = 9}); })},
      {"hfft", one([](const Array& x) { return F::hfft(x); })},
      {"irfft2", one([](const Array& x) { return F::irfft2(x); })},
      {"irfftn", one([](const Array& x) { return F::irfftn(x); })},
      {"rfft", one([](const Array& x) { return F::rfft(x); })},
      {"ihfft ortho", one([](const Array& x) { return F::ihfft(x, {.norm = "ortho"}); })},
      {"rfft2", one([](const Array& x) { return F::rfft2(x); })},
      {"rfftn", one([](const Array& x) { return F::rfftn(x); })}};
  return all;
}

const std::map<std::string, Function>& algebra() {
  static const auto& all = *new std::map<std::string, Function>{
      {"cholesky", one([](const Array& x) { return L::cholesky(x); })},
      {"cholesky upper", one([](const Array& x) { return L::cholesky(x, {.upper = true}); })},
      {"solve", two([](const Array& a, const Array& b) { return L::solve(a, b); })},
      {"inv", one([](const Array& x) { return L::inv(x); })},
      {"det", one([](const Array& x) { return L::det(x); })},
      {"slogdet",
       [](const Inputs& in) {
         const L::SlogDet d = L::slogdet(in[0]);
         return std::vector<Array>{d.sign, d.logabsdet};
       }},
      {"expm", one([](const Array& x) { return L::expm(x); })},
      {"matrix_power 3", one([](const Array& x) { return L::matrix_power(x, 3); })},
      {"matrix_power -2", one([](const Array& x) { return L::matrix_power(x, -2); })},
      {"eigvalsh", one([](const Array& x) { return L::eigvalsh(x); })},
      {"cond", one([](const Array& x) { return L::cond(x); })},
      {"cond 1", one([](const Array& x) { return L::cond(x, 1); })},
      {"svdvals", one([](const Array& x) { return L::svdvals(x); })},
      {"pinv", one([](const Array& x) { return L::pinv(x); })},
      {"matrix_rank", one([](const Array& x) { return L::matrix_rank(x); })},
      {"lu",
       [](const Inputs& in) {
         const L::LU f = L::lu(in[0]);
         return std::vector<Array>{f.p, f.l, f.u};
       }},
      {"lu_factor",
       [](const Inputs& in) {
         const L::LUFactor f = L::lu_factor(in[0]);
         return std::vector<Array>{f.lu, f.pivots};
       }},
      {"cho_solve", two([](const Array& a, const Array& b) {
         return L::cho_solve(L::cho_factor(a), b);
       })},
      {"lstsq", two([](const Array& a, const Array& b) { return L::lstsq(a, b).x; })},
      {"multi_dot", [](const Inputs& in) { return std::vector<Array>{L::multi_dot(in)}; }},
      {"tensorinv", one([](const Array& x) { return L::tensorinv(x); })},
      {"tensorsolve", two([](const Array& a, const Array& b) { return L::tensorsolve(a, b); })},
      {"tridiagonal_solve",
       [](const Inputs& in) {
         return std::vector<Array>{L::tridiagonal_solve(in[0], in[1], in[2], in[3])};
       }},
      {"hessenberg",
       [](const Inputs& in) {
         const L::Hessenberg f = L::hessenberg(in[0]);
         return std::vector<Array>{f.h, f.q};
       }},
      {"sqrtm", one([](const Array& x) { return L::sqrtm(x); })},
      {"householder_product",
       two([](const Array& a, const Array& b) { return L::householder_product(a, b); })},
      {"norm 2", one([](const Array& x) { return L::norm(x, {.axis = {0, 1}, .ord = 2}); })}};
  return all;
}

Function function_of(const std::string& name) {
  for (const auto* table : {&fourier(), &algebra()})
    if (const auto it = table->find(name); it != table->end()) return it->second;
  const std::size_t space = name.find(' ');
  const std::string first = name.substr(0, space), rest = name.substr(space + 1);
  if (first == "matrix_norm")
    return one([=](const Array& x) { return L::matrix_norm(x, {.ord = rest}); });
  if (first == "vector_norm")
    return one([=](const Array& x) { return L::vector_norm(x, {.axis = -1, .ord = order(rest)}); });
  if (first == "lu_solve")
    return two([=](const Array& a, const Array& b) {
      return L::lu_solve(L::lu_factor(a), b, std::stoi(rest));
    });
  if (first == "solve_triangular")
    return two([=](const Array& a, const Array& b) {
      return L::solve_triangular(a, b, {.lower = rest == "1", .trans = std::stoi(rest)});
    });
  return nullptr;
}

Array complex_of(const Array& pairs) {
  const ts::Shape shape(pairs.shape().begin(), pairs.shape().end() - 1);
  if (pairs.dtype() == ts::f32)
    return Array::from_bytes(ts::c64, shape, pairs.to_vector<float>().data());
  return Array::from_bytes(ts::c128, shape, pairs.to_vector<double>().data());
}

struct Case {
  std::map<std::size_t, Array> in, out;
};

TEST(LinalgGolden, IsWhatJaxGives) {
  const ts::SafeTensors file =
      ts::load_safetensors(std::string(TESSERA_SOURCE_DIR) + "/tests/golden/linalg.safetensors");
  std::map<std::string, Case> cases;  // "fft/3"
  for (const auto& [key, x] : file.tensors) {
    const std::size_t slash = key.rfind('/');
    std::string what = key.substr(slash + 1);
    const bool complex = what.back() == 'c';
    if (complex) what.pop_back();
    Case& c = cases[key.substr(0, slash)];
    const bool in = what.starts_with("in");
    (in ? c.in : c.out)[static_cast<std::size_t>(std::stoi(what.substr(in ? 2 : 3)))] =
        complex ? complex_of(x) : x;
  }
  std::size_t checked = 0;
  for (const auto& [name, c] : cases) {
    SCOPED_TRACE(name);
    const Function f = function_of(name.substr(0, name.rfind('/')));
    if (!f) continue;
    Inputs in;
    for (const auto& [i, x] : c.in) in.push_back(x);
    const std::vector<Array> got = f(in);
    // Matrices have up to 6 rows and mostly a condition of about 100, at most 1e4.
    for (const auto& [i, given] : c.out) {
      Array want = given;
      // For a negative eigenvalue of a real matrix, JAX returns one of two roots, depending on
      // rounding errors.
      if (name.starts_with("sqrtm") && !ts::is_complex(in[0].dtype()) &&
          compare::largest(got[i] - want) > compare::largest(got[i] - ts::conj(want)))
        want = ts::conj(want);
      if (!ts::is_integer(want.dtype())) {
        EXPECT_EQ(got[i].dtype(), want.dtype());
      }
      const bool transform = fourier().count(name.substr(0, name.rfind('/'))) > 0;
      compare::expect_near(got[i], want, (transform ? 8 : 3000) * compare::epsilon(want));
    }
    ++checked;
  }
  EXPECT_GE(checked, 400u);
}

TEST(LinalgGolden, Frequencies) {
  const ts::SafeTensors file =
      ts::load_safetensors(std::string(TESSERA_SOURCE_DIR) + "/tests/golden/linalg.safetensors");
  for (std::int64_t n : {1, 6, 7}) {
    const std::string number = std::to_string(n);
    compare::expect_near(F::fftfreq(n, 0.5, ts::f64),
                         file.tensors.at("fftfreq/" + number + "/out0"), 1e-15);
    compare::expect_near(F::rfftfreq(n, 0.5, ts::f64),
                         file.tensors.at("rfftfreq/" + number + "/out0"), 1e-15);
  }
}

}  // namespace
