// A Gaussian process: a curve through a few points, and how sure we can be of it between them.
#include "lessons/lesson.h"

struct Kernel {
  Array log_width, log_noise;
};

Array covariance(const Kernel& k, Array a, Array b) {
  Array distance = a(ts::all, ts::newaxis) - b;
  return ts::exp(-0.5 * ts::square(distance / ts::exp(k.log_width)));
}

Array noisy(const Kernel& k, Array x) {
  return covariance(k, x, x) + ts::exp(k.log_noise) * ts::eye(x.shape()[0]);
}

Array unlikelihood(const Kernel& k, Array x, Array y) {  // the negative logarithm of the evidence
  Array lower = ts::linalg::cholesky(noisy(k, x));
  Array white = ts::linalg::solve_triangular(lower, y, {.lower = true});
  return 0.5 * ts::sum(ts::square(white)) + ts::sum(ts::log(ts::diagonal(lower)));
}

int main() {
  Array x = ts::array({-4.0, -3.2, -2.0, -1.1, 0.3, 2.6, 3.1, 4.2}).astype(ts::f64);
  Array y = ts::sin(x) + 0.1 * ts::random::normal(ts::random::key(2), x.shape(), ts::f64);
  Kernel kernel{ts::full({}, -1.0, ts::f64), ts::full({}, -2.0, ts::f64)};
  auto step = ts::jit([&](Kernel k) {
    return ts::tree::map([](Array p, Array d) { return p - 0.05 * d; }, k,
                         ts::grad(unlikelihood)(k, x, y));
  });
  for (int i = 0; i < 300; ++i) kernel = step(kernel);

  Array at = ts::linspace(-5, 5, 120), known = noisy(kernel, x), across = covariance(kernel, at, x);
  Array mean = ts::matmul(across, ts::linalg::solve(known, y));
  Array explained = ts::sum(across.T() * ts::linalg::solve(known, across.T()), 0);
  Array sigma = ts::sqrt(ts::maximum(1 - explained, 0));
  auto doubles = [](Array v) { return v.astype(ts::f64).to_vector<double>(); };
  save_chart("gaussian_process.svg",
             {{"mean", doubles(at), doubles(mean)},
              {"+ 2 sigma", doubles(at), doubles(mean + 2 * sigma)},
              {"- 2 sigma", doubles(at), doubles(mean - 2 * sigma)},
              {"points", doubles(x), doubles(y), true}},
             {.title = "A curve and its uncertainty", .x = "x"});
  std::cout << "width " << ts::exp(kernel.log_width) << ", noise "
            << ts::sqrt(ts::exp(kernel.log_noise)) << "\n";
}
