// Complex numbers where real ones are required.
#include "errors/misuse.h"

#include <complex>

namespace {
Array waves() { return ts::array({std::complex<float>(1, 2), std::complex<float>(0, -1)}); }
}  // namespace

MISUSE(order_of_complex_numbers) { (void)(waves() < waves()); }
MISUSE(maximum_of_complex_numbers) { ts::max(waves()); }
MISUSE(position_of_the_greatest_complex_number) { ts::argmax(waves()); }
MISUSE(complex_numbers_as_floats) { waves().astype(ts::f32); }
MISUSE(complex_element_as_a_float) { waves()[0].item<float>(); }
MISUSE(complex_value_in_real_braces) { ts::array({std::complex<double>(1, 2)}, ts::f32); }
MISUSE(gradient_of_a_complex_loss) {
  ts::grad([](Array z) { return ts::sum(z * z); })(waves());
}
MISUSE(complex_updates_of_real_arrays) { ts::zeros({2}).at(0).set(std::complex<float>(1, 2)); }
MISUSE(parts_that_are_complex) { ts::complex(waves(), 1.0); }
MISUSE(bits_of_complex_numbers) { (void)(waves() & waves()); }
MISUSE(jacobian_of_a_complex_function) {
  ts::jacrev([](Array z) { return z * z; })(waves());
}
MISUSE(jacobian_by_complex_numbers) {
  ts::jacfwd([](Array z) { return ts::abs(z); })(waves());
}
