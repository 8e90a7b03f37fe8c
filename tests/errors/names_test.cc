// Misuses of functions that are named after NumPy's and JAX's.
#include "errors/misuse.h"

static Array a83() { return ts::ones({8, 3}); }

MISUSE(stack_nothing_below_each_other) { ts::vstack({}); }
MISUSE(stack_rows_of_other_lengths) { ts::vstack({a83(), ts::ones({2})}); }
MISUSE(block_with_an_empty_row) { ts::block({{a83()}, {}}); }
MISUSE(array_split_into_no_parts) { ts::array_split(a83(), 0); }
MISUSE(dsplit_of_a_matrix) { ts::dsplit(a83(), 1); }
MISUSE(delete_outside) { ts::delete_(a83(), 8, 0); }
MISUSE(rot90_about_one_axis) { ts::rot90(a83(), 1, {0, -2}); }
MISUSE(fliplr_of_a_vector) { ts::fliplr(ts::ones({3})); }
MISUSE(meshgrid_of_unknown_indexing) { ts::meshgrid({ts::arange(3)}, {.indexing = "yx"}); }
MISUSE(ix_of_a_mask) { ts::ix_({ts::arange(3) > 1}); }
MISUSE(geomspace_over_zero) { ts::geomspace(-1, 1); }
MISUSE(diagonal_between_one_axis) { ts::diagonal(a83(), 0, 1, 1); }
MISUSE(fill_diagonal_of_unequal_extents) { ts::fill_diagonal(ts::ones({2, 3, 4}), 1); }
MISUSE(signbit_of_complex_numbers) { ts::signbit(ts::complex(a83(), a83())); }
MISUSE(gcd_of_floats) { ts::gcd(a83(), 2); }
MISUSE(around_of_integers_to_tens) { ts::around(ts::arange(3), -1); }
MISUSE(select_without_a_choice) { ts::select({a83() > 0}, {}); }
MISUSE(map_coordinates_of_no_mode) {
  ts::map_coordinates(a83(), {ts::ones({2}), ts::ones({2})}, {.mode = "grid-wrap"});
}
MISUSE(map_coordinates_for_one_axis) { ts::map_coordinates(a83(), {ts::ones({2})}); }
MISUSE(map_coordinates_of_nothing) { ts::map_coordinates(ts::zeros({0}), {ts::ones({2})}); }
MISUSE(fmod_by_a_number_that_does_not_fit) { ts::fmod(ts::ones({3}, ts::u8), 300); }
MISUSE(average_with_other_weights) { ts::average(a83(), {.weights = ts::ones({8})}); }
MISUSE(quantile_of_nothing) { ts::quantile(ts::zeros({0, 3}), 0.5, {.axis = 0}); }
MISUSE(quantile_by_an_unknown_method) { ts::quantile(a83(), 0.5, {.method = "weibull"}); }
MISUSE(histogram_of_no_bins) { ts::histogram(a83(), {.bins = 0}); }
MISUSE(bincount_of_floats) { ts::bincount(ts::ones({3})); }
MISUSE(bincount_in_a_trace) {
  ts::jit([](Array x) { return ts::bincount(x); })(ts::arange(3));
}
MISUSE(diff_a_negative_number_of_times) { ts::diff(a83(), {.n = -1}); }
MISUSE(gradient_of_one_row) { ts::gradient(ts::ones({1, 3})); }
MISUSE(gradient_with_too_many_distances) { ts::gradient(a83(), {.spacing = {1, 2, 3}}); }
MISUSE(interp_of_other_lengths) { ts::interp(0.5, ts::arange(3), ts::arange(4)); }
MISUSE(convolve_in_an_unknown_mode) { ts::convolve(ts::ones({3}), ts::ones({2}), "wrap"); }
MISUSE(convolve_nothing) { ts::convolve(ts::ones({0}), ts::ones({2})); }
MISUSE(convolve_with_neither_larger) { ts::convolve2d(a83(), ts::ones({2, 5})); }
MISUSE(cross_of_long_vectors) { ts::cross(ts::ones({4}), ts::ones({4})); }
MISUSE(vdot_of_other_sizes) { ts::vdot(a83(), ts::ones({3})); }
MISUSE(batch_matmul_of_other_batches) {
  ts::batch_matmul(ts::ones({2, 3, 3}), ts::ones({3, 3, 3}));
}
MISUSE(nonzero_in_a_trace) {
  ts::jit([](Array x) { return ts::nonzero(x); })(a83());
}
MISUSE(unique_of_a_negative_size) { ts::unique(a83(), {.size = -1}); }
MISUSE(extract_by_another_mask) { ts::extract(ts::arange(3) > 1, a83()); }
MISUSE(searchsorted_on_an_unknown_side) { ts::searchsorted(ts::arange(3), 1, {.side = "middle"}); }
MISUSE(searchsorted_in_a_matrix) { ts::searchsorted(a83(), 1); }
MISUSE(lexsort_of_other_shapes) { ts::lexsort({ts::arange(3), ts::arange(4)}); }
MISUSE(partition_outside) { ts::partition(a83(), 3); }
MISUSE(choose_in_an_unknown_mode) { ts::choose(ts::arange(2), {a83()}, "raise"); }
MISUSE(choose_without_choices) { ts::choose(ts::arange(2), {}); }
MISUSE(place_by_another_mask) { ts::place(a83(), ts::arange(3) > 1, 0); }
MISUSE(ravel_positions_of_one_axis) { ts::ravel_multi_index({ts::arange(3)}, {2, 3}); }
MISUSE(dynamic_slice_of_more_than_there_is) { ts::dynamic_slice_in_dim(a83(), 0, 9); }
MISUSE(polyval_of_a_matrix) { ts::polyval(a83(), 1); }
MISUSE(polyint_with_too_many_constants) { ts::polyint(ts::ones({3}), 1, ts::ones({2})); }
MISUSE(limits_of_floats_as_integers) { ts::iinfo info(ts::f32); }
MISUSE(limits_of_integers_as_floats) { ts::finfo info(ts::i32); }
MISUSE(vectorize_by_a_signature_without_a_result) {
  ts::vectorize([](Array x) { return x; }, "(n)")(a83());
}
MISUSE(piecewise_with_too_few_functions) { ts::piecewise(a83(), {a83() > 0}, {}); }
MISUSE(multigammaln_of_no_dimension) { ts::multigammaln(3.0, 0); }
MISUSE(expn_of_a_negative_order) { ts::expn(-2, 3.0); }
MISUSE(bessel_jn_of_a_negative_order) { ts::bessel_jn(1.0, -1); }
MISUSE(sici_of_complex_numbers) { ts::sici(ts::complex(1, 2)); }
MISUSE(sph_harm_y_of_a_fraction) { ts::sph_harm_y(1.5, 0, 0.1, 0.1); }
MISUSE(sph_harm_y_of_a_traced_degree) {
  ts::jit([](Array n) { return ts::sph_harm_y(n, 0, 0.1, 0.1); })(Array(3));
}
MISUSE(sph_harm_y_of_too_large_a_degree) { ts::sph_harm_y(20000, 0, 0.1, 0.1); }
MISUSE(bernoulli_below_zero) { ts::bernoulli(-1); }
MISUSE(betainc_of_complex_numbers) { ts::betainc(ts::complex(1, 2), 1, 0.5); }
MISUSE(median_of_an_axis_too_many) { ts::median(a83(), {.axis = 2}); }
MISUSE(kron_of_an_empty_handle) { ts::kron(Array(), a83()); }
