// Shapes, axes and indices that do not fit.
#include "errors/misuse.h"

static Array a83() { return ts::ones({8, 3}); }
static Array a82() { return ts::ones({8, 2}); }

MISUSE(add_of_other_shapes) { a83() + a82(); }
MISUSE(logical_and_of_other_shapes) { (a83() > 0) && (a82() > 0); }
MISUSE(dot_of_features_and_rows) { ts::dot(a83(), a82()); }
MISUSE(matmul_of_a_scalar) { ts::matmul(a83(), 2.0); }
MISUSE(einsum_names_the_wrong_extent) { ts::einsum("ij,jk->ik", {a83(), a82()}); }
MISUSE(einsum_with_too_few_operands) { ts::einsum("ij,jk->ik", {a83()}); }
MISUSE(reshape_to_another_size) { a83().reshape(7); }
MISUSE(reshape_infers_no_whole_number) { a83().reshape(5, -1); }
MISUSE(sum_over_an_axis_too_many) { ts::sum(a83(), 2); }
MISUSE(mean_over_an_axis_twice) { ts::mean(a83(), {0, -2}); }
MISUSE(max_of_nothing) { ts::max(ts::zeros({0, 3})); }
MISUSE(argmax_of_nothing) { ts::argmax(ts::zeros({0})); }
MISUSE(concatenate_of_other_rows) { ts::concatenate({a83(), a82()}); }
MISUSE(concatenate_nothing) { ts::concatenate({}); }
MISUSE(stack_of_other_shapes) { ts::stack({a83(), a82()}); }
MISUSE(split_into_unequal_parts) { ts::split(a83(), 3); }
MISUSE(broadcast_to_fewer_rows) { ts::broadcast_to(a83(), {4, 3}); }
MISUSE(squeeze_of_a_long_axis) { ts::squeeze(a83(), 0); }
MISUSE(transpose_of_some_axes) { ts::transpose(a83(), {1}); }
MISUSE(where_of_other_shapes) { ts::where(a83() > 0, a83(), a82()); }
MISUSE(pad_of_one_axis) { ts::pad(a83(), {{1, 1}}); }
MISUSE(tile_a_negative_number_of_times) { ts::tile(a83(), {-1}); }
MISUSE(rows_of_different_length) { ts::array({{1, 2}, {3}}); }
MISUSE(vectors_of_different_length) { ts::array(std::vector<std::vector<float>>{{1, 2}, {3}}); }
MISUSE(values_that_do_not_fill_the_shape) { Array(std::vector<float>{1, 2}, {3}); }
MISUSE(more_elements_than_memory) { ts::ones({1LL << 40, 1LL << 40}); }
MISUSE(negative_extent) { ts::zeros({-1, 3}); }
MISUSE(identity_of_a_negative_size) { ts::eye(-2); }
MISUSE(arange_without_end) { ts::arange(0, 10, 0); }
MISUSE(linspace_of_a_negative_number) { ts::linspace(0, 1, -3); }
MISUSE(index_outside) { a83()[9]; }
MISUSE(index_outside_the_second_axis) { a83()(0, 3); }
MISUSE(too_many_indices) { a83()(0, 0, 0); }
MISUSE(index_by_floats) { a83()[ts::ones({2})]; }
MISUSE(index_by_a_mask) {
  Array x = a83();
  x[ts::sum(x, 1) > 2];
}
MISUSE(set_rows_of_another_length) { a83().at(0).set(ts::ones({2})); }
MISUSE(set_outside) { a83().at(8).set(1.0); }
MISUSE(take_by_floats) { ts::take(a83(), ts::ones({2}), 0); }
MISUSE(one_hot_of_floats) { ts::one_hot(ts::ones({2}), 10); }
MISUSE(one_hot_of_no_classes) { ts::one_hot(ts::arange(2), -1); }
MISUSE(dynamic_slice_larger_than_the_array) { ts::dynamic_slice(a83(), {0, 0}, {9, 1}); }
MISUSE(dynamic_slice_at_floats) { ts::dynamic_slice(a83(), {0, ts::ones({})}, {2, 1}); }
MISUSE(reshape_to_too_many_dimensions) {
  ts::reshape(ts::ones({1}), ts::Shape(std::vector<std::int64_t>(50000, 1)));
}
MISUSE(values_in_too_many_dimensions) {
  Array(std::vector<float>{1}, ts::Shape(std::vector<std::int64_t>(50000, 1)));
}
MISUSE(sort_along_an_axis_too_many) { ts::sort(a83(), 2); }
MISUSE(top_k_of_more_than_a_row_has) { ts::top_k(a83(), 4); }
MISUSE(top_k_of_a_number) { ts::top_k(ts::ones({}), 1); }
MISUSE(shift_of_floats) { a83() << 1; }
MISUSE(convolution_with_another_number_of_channels) {
  ts::conv(ts::ones({1, 8, 8, 3}), ts::ones({3, 3, 4, 16}));
}
MISUSE(convolution_with_unknown_padding) {
  ts::conv(ts::ones({1, 8, 8, 3}), ts::ones({3, 3, 3, 16}), {.padding = "full"});
}
MISUSE(pool_with_a_window_for_one_axis) { ts::max_pool(ts::ones({1, 8, 8, 3}), {2}); }
MISUSE(convolution_in_no_groups) {
  ts::conv(ts::ones({1, 8, 8, 3}), ts::ones({3, 3, 3, 16}), {.feature_group_count = 0});
}
MISUSE(convolution_with_a_dilation_that_overflows) {
  ts::conv(ts::ones({1, 8, 8, 3}), ts::ones({3, 3, 3, 16}), {.kernel_dilation = {INT64_MAX, 1}});
}
MISUSE(convolution_with_a_padding_that_overflows) {
  ts::conv(ts::ones({1, 8, 3}), ts::ones({3, 3, 16}),
           {.padding = std::vector{std::pair<std::int64_t, std::int64_t>(INT64_MAX, 1)}});
}
MISUSE(reshape_to_a_size_that_overflows) {
  ts::zeros({0}).reshape(std::int64_t{1} << 32, std::int64_t{1} << 32);
}
MISUSE(values_for_a_shape_that_overflows) {
  Array(std::vector<float>(), {std::int64_t{1} << 32, std::int64_t{1} << 32});
}
MISUSE(abstract_of_a_negative_shape) { ts::abstract(ts::f32, {8, -1}); }
MISUSE(take_from_nothing) { ts::take(ts::zeros({0, 3}), ts::array({0, 1}), 0); }
