// Invalid functions, passed by the caller, that combine or compare elements.
#include "errors/misuse.h"

static Array row() { return ts::arange(4).astype(ts::f32); }

MISUSE(reduce_by_a_function_that_compares) {
  ts::reduce(row(), 0, [](Array a, Array b) { return a < b; }, {0});
}
MISUSE(reduce_by_a_function_of_arrays) {
  ts::reduce(row(), 0, [](Array a, Array b) { return ts::stack({a, b}); }, {0});
}
MISUSE(reduce_by_what_is_outside) {
  Array scale = ts::ones({4});
  ts::reduce(row(), 0, [&](Array a, Array b) { return a + b * scale[0]; }, {0});
}
MISUSE(reduce_with_too_few_inits) {
  ts::reduce({row(), row()}, {Array(0)}, [](auto a, auto) { return a; }, {0});
}
MISUSE(reduce_from_an_array) {
  ts::reduce(row(), ts::ones({2}), [](Array a, Array b) { return a + b; }, {0});
}
MISUSE(reduce_window_of_a_row_by_a_square) {
  ts::reduce_window(row(), 0, [](Array a, Array b) { return a + b; }, {.window = {2, 2}});
}
MISUSE(reduce_window_that_runs_too_far) {
  ts::reduce_window(row(), 0, [](Array a, Array b) { return a + b; },
                    {.window = {3}, .window_dilation = {std::int64_t{1} << 59}});
}
MISUSE(sort_by_a_difference) {
  ts::sort_by({row()}, [](auto a, auto b) { return a[0] - b[0]; });
}
MISUSE(sort_nothing) {
  ts::sort_by({}, [](auto a, auto b) { return a[0] < b[0]; });
}
MISUSE(reduce_precision_without_an_exponent) { ts::reduce_precision(row(), 0, 7); }
MISUSE(polygamma_of_a_negative_order) { ts::polygamma(-1, row()); }
MISUSE(bits_of_floats) { ts::population_count(row()); }
MISUSE(bitcast_to_a_wider_number) { ts::bitcast_convert_type(row(), ts::f64); }
MISUSE(derivative_of_a_neighbour) {
  ts::grad([](Array x) { return ts::sum(ts::nextafter(x, 1.0)); })(row());
}
MISUSE(random_bits_of_a_key) { ts::rng_bit_generator(ts::random::key(0), {3}); }
MISUSE(random_bits_of_a_long_state) {
  ts::rng_bit_generator(ts::zeros({3}, ts::u64), {3}, ts::BitGenerator::three_fry);
}
MISUSE(random_booleans) {
  ts::rng_bit_generator(ts::zeros({2}, ts::u64), {3}, ts::BitGenerator::philox, ts::DType::boolean);
}
