// Prints and checks that cannot do what was intended, and checks that fail.
#include "errors/misuse.h"

#include <cmath>

namespace {

struct Net {
  std::vector<Array> layers;
};

}  // namespace

MISUSE(print_format_of_another_type) { ts::debug::print("{:d}", ts::ones({2})); }
MISUSE(print_format_of_complex_numbers) {
  ts::debug::print("{:.2f}", ts::ones({2}).astype(ts::complex64));
}
MISUSE(print_format_in_a_traced_function) {
  ts::jit([](Array x) {
    ts::debug::print("{:.q}", x);
    return x;
  })(ts::ones({2}));
}
MISUSE(print_of_a_leaked_value) {
  Array leaked;
  ts::jit([&](Array x) { return leaked = x; })(ts::ones({2}));
  ts::debug::print("{}", leaked);
}
MISUSE(print_of_a_donated_array) {
  Array x = ts::ones({2});
  ts::jit([](Array x) { return x + 1; }, {.donate = {0}})(x);
  ts::debug::print("{}", x);
}
MISUSE(handler_that_computes) {
  const auto before = ts::debug::set_print_handler(
      [](const ts::debug::Printed&) { ts::block_until_ready(ts::ones({2}) * 2); });
  const auto f = ts::jit([](Array x) {
    ts::debug::print("{}", x);
    return x;
  });
  try {
    ts::block_until_ready(f(ts::ones({2})));
  } catch (...) {
    ts::debug::set_print_handler(before);
    throw;
  }
}
MISUSE(print_in_a_custom_rule_that_members_choose) {
  const auto loud = ts::custom_jvp(
      [](Array x) {
        ts::debug::print("{}", x);
        return x;
      },
      [](Array x, Array dx) { return std::pair(x, dx); });
  ts::vmap([&](Array p, Array x) {
    return ts::cond(
        p, [&](Array x) { return loud(x); }, [](Array x) { return x; }, x);
  })(ts::arange(3) > 1, ts::ones({3}));
}
MISUSE(check_that_fails) {
  ts::debug::check(Net{{ts::ones({2}), ts::log(ts::arange(6.0).reshape({2, 3}) - 2)}},
                   {.name = "weights"});
}
MISUSE(check_that_fails_in_a_step) {
  const auto step = ts::jit(
      [](Array w, Array x) {
        const auto scope = ts::named_scope("loss");
        const Array y = ts::sqrt(ts::matmul(x, w));
        ts::debug::check(y, {.name = "y", .max = 100});
        return ts::sum(y);
      },
      {.name = "step"});
  ts::block_until_ready(step(ts::ones({3}), ts::ones({4, 3}) * -1));
}
MISUSE(check_that_fails_on_a_device) {
  const auto f = ts::pmap(
      [](Array x) {
        ts::debug::check(x, {.min = 0});
        return ts::psum(x, "data");
      },
      {.axis_name = "data"});
  ts::block_until_ready(f(ts::arange(4) - 1));
}
MISUSE(check_of_bounds_without_numbers) { ts::debug::check(ts::ones({2}), {.min = NAN}); }
MISUSE(check_of_bounds_in_the_wrong_order) {
  ts::debug::check(ts::ones({2}), {.min = 3, .max = -3});
}
MISUSE(check_of_bounds_of_complex_numbers) {
  ts::debug::check(Net{{ts::ones({2}).astype(ts::complex64)}}, {.max = 3});
}
