// Reads of values that do not exist, and reads as another type.
#include "errors/misuse.h"

#include <cmath>
#include <map>

MISUSE(item_of_many) { (void)ts::ones({8, 3}).item<float>(); }
MISUSE(vector_of_another_type) { (void)ts::ones({3}).to_vector<double>(); }
MISUSE(condition_on_many) {
  Array x = ts::ones({3});
  if (x == x) (void)x;
}
MISUSE(operation_on_an_empty_array) {
  Array bias;
  ts::ones({3}) + bias;
}
MISUSE(length_of_a_scalar) { Array(1.0).length(); }
MISUSE(shape_of_an_axis_too_many) { ts::ones({3}).shape(1); }

MISUSE(if_on_a_traced_value) {
  ts::jit([](Array x) {
    if (x > 0) return x;
    return -x;
  })(Array(1.0));
}
MISUSE(reading_a_traced_value) {
  ts::jit([](Array x) { return x * x.item<float>(); })(Array(1.0));
}
MISUSE(printing_a_loss_inside_grad) {
  ts::grad([](Array w) {
    Array loss = ts::sum(w * w);
    (void)float(loss);
    return loss;
  })(ts::ones({3}));
}
MISUSE(traced_value_that_leaks) {
  Array leak;
  ts::jit([&](Array x) {
    leak = x * 2;
    return x;
  })(ts::ones({2}));
  leak + 1;
}
MISUSE(abstract_array_in_a_computation) { ts::abstract(ts::f32, {3}) + 1; }
MISUSE(reading_an_abstract_array) { (void)ts::abstract(ts::f32, {}).item<float>(); }
MISUSE(compiled_for_another_shape) {
  auto f = ts::jit([](Array x) { return x * 2; }).lower(ts::ones({3})).compile();
  f(ts::ones({4}));
}
MISUSE(static_value_that_changes_often) {
  auto f = ts::jit([](Array x, int step) { return x * step; });
  for (int step = 0; step < 9; ++step) f(ts::ones({2}), step);
}

MISUSE(donated_array_used_again) {
  auto step = ts::jit([](Array x) { return x + 1; }, {.donate = {0}});
  Array x = ts::ones({64, 64});
  step(x);
  (void)x.to_vector<float>();
}
MISUSE(donated_array_passed_again) {
  auto step = ts::jit([](Array x, Array y) { return x + y; }, {.donate = {0}});
  Array x = ts::ones({64, 64}), y = ts::ones({64, 64});
  step(x, y);
  step(x, y);
}
MISUSE(donated_array_in_an_operation) {
  auto step = ts::jit([](Array x) { return x + 1; });
  Array x = ts::ones({64, 64});
  step(std::move(x));
  x + 1;
}
MISUSE(donating_an_argument_that_is_not_there) {
  ts::jit([](Array x) { return x + 1; }, {.donate = {1}})(ts::ones({64, 64}));
}

MISUSE(not_a_number_as_an_integer) { ts::Array(std::nan("")).item<int>(); }
MISUSE(large_value_as_an_integer) { static_cast<int>(ts::Array(3e9)); }
MISUSE(negative_value_as_an_unsigned_integer) { ts::Array(-1).item<unsigned>(); }
MISUSE(wide_value_as_a_byte) { ts::Array(300).item<std::uint8_t>(); }

MISUSE(profile_in_the_place_of_a_folder) {
  ts::Profile p("/");
  p.finish();
}
MISUSE(profile_without_a_path) { ts::Profile p(""); }
MISUSE(save_a_tensor_as_metadata) {
  ts::save_safetensors("m.safetensors", {{{"__metadata__", ts::ones({3})}}, {}});
}
MISUSE(save_in_the_place_of_a_folder) { ts::save("/", ts::ones({3})); }
MISUSE(save_keys_that_are_one_name) {
  using Group = std::map<std::string, Array>;
  std::map<std::string, Group> model{{"a", {{"b.c", ts::ones({2})}}},
                                     {"a.b", {{"c", ts::ones({3})}}}};
  ts::save("model.safetensors", model);
}
