// Invalid operands of matrix functions and transforms.
#include "errors/misuse.h"

#include <complex>

namespace {
Array square() { return ts::eye(3); }
Array tall() { return ts::ones({3, 2}); }
Array waves() { return ts::array({std::complex<float>(1, 2), std::complex<float>(0, -1)}); }
}  // namespace

MISUSE(inverse_of_a_tall_matrix) { ts::linalg::inv(tall()); }
MISUSE(cholesky_of_a_vector) { ts::linalg::cholesky(ts::ones({3})); }
MISUSE(eigenvalues_of_a_tall_matrix) { ts::linalg::eigvals(tall()); }
MISUSE(singular_values_of_a_number) { ts::linalg::svdvals(2.0); }
MISUSE(solve_for_other_rows) { ts::linalg::solve(square(), ts::ones({2})); }
MISUSE(solve_for_a_number) { ts::linalg::solve(square(), 1.0); }
MISUSE(solve_for_other_batches) { ts::linalg::solve(ts::ones({2, 3, 3}), ts::ones({4, 3, 1})); }
MISUSE(solve_triangular_of_no_kind) {
  ts::linalg::solve_triangular(square(), square(), {.trans = 3});
}
MISUSE(solve_from_the_right_for_other_columns) {
  ts::linalg::triangular_solve(square(), ts::ones({3, 2}));
}
MISUSE(schur_of_no_kind) { ts::linalg::schur(square(), "triangular"); }
MISUSE(derivative_of_schur) {
  ts::grad([](Array x) { return ts::sum(ts::linalg::schur(x).t); })(square());
}
MISUSE(derivative_of_sqrtm) {
  ts::grad([](Array x) { return ts::sum(ts::real(ts::linalg::sqrtm(x))); })(square());
}
MISUSE(householder_product_of_too_many) {
  ts::linalg::householder_product(ts::ones({2, 3}), ts::ones({3}));
}
MISUSE(tridiagonal_solve_for_a_vector) {
  const Array d = ts::ones({3});
  ts::linalg::tridiagonal_solve(d, d, d, d);
}
MISUSE(qr_of_no_mode) { ts::linalg::qr(square(), "full"); }
MISUSE(matrix_norm_of_no_order) { ts::linalg::matrix_norm(square(), {.ord = "3"}); }
MISUSE(condition_of_no_order) { ts::linalg::cond(square(), 3); }
MISUSE(product_of_one_factor) { ts::linalg::multi_dot({square()}); }
MISUSE(product_with_a_stack) { ts::linalg::multi_dot({square(), ts::ones({2, 3, 3})}); }
MISUSE(tensor_inverse_of_odd_halves) { ts::linalg::tensorinv(ts::ones({2, 3, 4})); }
MISUSE(tensor_equation_of_other_axes) {
  ts::linalg::tensorsolve(ts::ones({2, 3, 6}), ts::ones({3, 2}));
}
MISUSE(least_squares_of_a_stack) { ts::linalg::lstsq(ts::ones({2, 3, 2}), ts::ones({2, 3, 1})); }
MISUSE(gradient_of_full_singular_vectors) {
  ts::grad([](Array x) { return ts::sum(ts::linalg::svd(x).u); })(tall());
}
MISUSE(transform_of_no_points) { ts::fft::fft(ts::ones({2, 0})); }
MISUSE(transform_to_too_many_points) { ts::fft::fft(waves(), {.n = std::int64_t{1} << 40}); }
MISUSE(transform_of_one_point_back) { ts::fft::irfft(ts::ones({1})); }
MISUSE(transform_of_a_number) { ts::fft::fft(1.0); }
MISUSE(transform_along_an_axis_too_many) { ts::fft::fft(waves(), {.axis = 1}); }
MISUSE(real_transform_of_complex_numbers) { ts::fft::rfft(waves()); }
MISUSE(transform_of_no_norm) { ts::fft::ifft(waves(), {.norm = "unitary"}); }
MISUSE(transform_of_an_axis_twice) { ts::fft::fftn(tall(), {.axes = {0, -2}}); }
MISUSE(transform_with_too_few_lengths) { ts::fft::fftn(tall(), {.s = {4}, .axes = {0, 1}}); }
MISUSE(frequencies_of_no_points) { ts::fft::fftfreq(0); }
