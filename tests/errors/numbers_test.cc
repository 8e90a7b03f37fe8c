// Numbers that do not fit the dtype of their destination.
#include "errors/misuse.h"

namespace {
Array bytes() { return ts::array({200, 1}, ts::u8); }
}  // namespace

MISUSE(number_too_large_for_int32) { ts::ones({2}, ts::i32) * 5000000000LL; }
MISUSE(negative_number_beside_uint8) { (void)(bytes() * -3); }
MISUSE(bound_past_uint8) { ts::clip(bytes(), 0, 300); }
MISUSE(number_past_uint8_set) { bytes().at(0).set(300); }
MISUSE(number_that_needs_64_bits_in_a_jit) {
  ts::jit([](Array x, Array n) { return x * n; })(ts::ones({2}, ts::i32), 5000000000LL);
}
MISUSE(values_past_their_dtype) { ts::array({1, 300}, ts::u8); }
MISUSE(positions_past_their_dtype) { ts::arange(250, 260, 1, ts::u8); }
MISUSE(floats_into_integers) { ts::arange(3).at(0).multiply(0.5); }
MISUSE(loop_past_its_counter) {
  ts::fori_loop(
      ts::zeros({}, ts::i8), 200, [](Array, Array c) { return c + 1; }, Array(0));
}
MISUSE(carry_from_a_number_to_integers) {
  ts::while_loop([](Array c) { return c < 3.0; }, [](Array) { return ts::ones({}, ts::i32); },
                 Array(1.5));
}
MISUSE(pick_from_an_empty_axis) { ts::zeros({0, 3})[ts::array({0})]; }
MISUSE(trace_of_one_axis_twice) { ts::trace(ts::ones({2, 2}), 0, 1, -1); }
MISUSE(bernoulli_numbers_in_integers) { ts::bernoulli(8, ts::i32); }
MISUSE(classes_of_a_negative_number) { ts::one_hot(ts::array({1}), -2); }
MISUSE(abstract_of_more_than_there_is) { ts::abstract(ts::f32, {1LL << 40, 1LL << 40}); }
