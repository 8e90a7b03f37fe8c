// Absurd counts, widths and depths, and names with escape sequences for a terminal.
#include "errors/misuse.h"

MISUSE(split_of_nothing_into_very_many) { ts::split(ts::zeros({0, 3}), 1000000000000); }
MISUSE(array_split_into_very_many) { ts::array_split(ts::ones({3}), std::int64_t{1} << 62); }
MISUSE(unstack_of_very_many) { ts::unstack(ts::zeros({std::int64_t{1} << 30, 0})); }
MISUSE(print_of_an_endless_width) { ts::debug::print("{:999999999d}", ts::arange(2)); }
MISUSE(print_of_an_endless_precision) {
  ts::debug::print("{:0>10.99999999999999999999f}", ts::ones({2}));
}
MISUSE(file_with_an_escape_in_its_name) { ts::load_npy("no/\x1b[31m\xff\xe2\x80\xae.npy"); }
MISUSE(module_with_an_escape_in_a_name) {
  ts::load_stablehlo_text("func.func @main() { return }", {.function = "\x1b]0;title\x07"});
}
MISUSE(polynomial_integrated_very_often) { ts::polyint(ts::ones({3}), 1000000000000); }
MISUSE(adaptive_pool_to_very_many) {
  ts::nn::adaptive_avg_pool(ts::ones({1, 8, 8, 2}), {1, 1000000000000});
}
MISUSE(indices_of_an_endless_triangle) { ts::triu_indices(1000000000000, 0, 2); }
MISUSE(frequencies_of_endless_transforms) { ts::fft::fftfreq(1000000000000); }
MISUSE(gamma_function_of_endless_matrices) { ts::multigammaln(ts::full({2}, 1e15), 1000000000000); }

namespace {
template <class List>
List nested(int levels) {
  List list;
  for (int i = 0; i < levels; ++i) {
    std::vector<List> one;
    one.push_back(std::move(list));
    list = List(std::move(one));
  }
  return list;
}
}  // namespace
MISUSE(axes_nested_very_deep) { nested<ts::Axes>(100000); }
MISUSE(specs_nested_very_deep) { nested<ts::SpecTree>(100000); }
