// Branches and loops whose bodies do not fit.
#include "errors/misuse.h"

#include <functional>

namespace {
struct State {
  Array x, momentum;
};
}  // namespace

MISUSE(branches_of_other_dtypes) {
  Array x = ts::ones({3});
  auto same = [&] { return x; };
  auto other = [&] { return x.astype(ts::i32); };
  ts::cond(true, same, other);
}
MISUSE(branches_of_other_shapes) {
  Array x = ts::ones({3});
  auto same = [&] { return x; };
  auto other = [&] { return ts::sum(x); };
  ts::cond(ts::sum(x) > 0, same, other);
}
MISUSE(branches_of_other_structure) {
  Array x = ts::ones({3});
  auto one = [&] { return std::vector<Array>{x}; };
  auto two = [&] { return std::vector<Array>{x, x}; };
  ts::cond(true, one, two);
}
MISUSE(predicate_of_many) {
  Array x = ts::ones({3});
  auto same = [&] { return x; };
  ts::cond(x > 0, same, [&] { return -x; });
}
MISUSE(switch_on_a_float) {
  Array x = ts::ones({3});
  ts::switch_(1.0, std::tuple([&] { return x; }, [&] { return -x; }));
}
MISUSE(carry_changes_its_dtype) {
  ts::scan([](Array total, Array x) { return std::pair(total + x, total); }, ts::zeros({}, ts::i32),
           ts::ones({5}));
}
MISUSE(carry_changes_its_shape) {
  ts::scan(
      [](Array h, Array x) {
        return std::pair(ts::concatenate({h, x}), x);
      },
      ts::zeros({2}), ts::ones({5, 2}));
}
MISUSE(carry_changes_its_structure) {
  ts::fori_loop(
      0, 3,
      [](Array, State s) {
        return State{s.x + 1, s.x};
      },
      State{ts::ones({2}), {}});
}
MISUSE(carry_changes_its_length) {
  ts::fori_loop(
      0, 3,
      [](Array, std::vector<Array> all) {
        all.push_back(all.back() + 1);
        return all;
      },
      std::vector<Array>{ts::ones({2})});
}
MISUSE(while_changes_its_carry) {
  ts::while_loop([](Array i) { return i < 10; }, [](Array i) { return i * 1.5; },
                 ts::zeros({}, ts::i32));
}
MISUSE(while_on_many) {
  ts::while_loop([](Array x) { return x < 10; }, [](Array x) { return x * 2; }, ts::ones({3}));
}
MISUSE(bounds_of_floats) {
  ts::fori_loop(
      Array(0), Array(3.0), [](Array, Array c) { return c * 2; }, ts::ones({3}));
}
MISUSE(scan_over_other_lengths) {
  ts::scan([](Array c, std::pair<Array, Array> xy) { return std::pair(c + xy.first, xy.second); },
           Array(0.0f), std::pair(ts::ones({5}), ts::ones({4})));
}
MISUSE(scan_of_another_length) {
  ts::scan([](Array c, Array x) { return std::pair(c + x, x); }, Array(0.0f), ts::ones({5}),
           {.length = 6});
}
MISUSE(scan_over_a_scalar) {
  ts::scan([](Array c, Array x) { return std::pair(c + x, x); }, Array(0.0f), Array(1.0f));
}
MISUSE(scan_without_a_length) {
  ts::scan([](Array c) { return std::pair(c + 1, c); }, Array(0.0f), ts::ScanOptions{});
}
MISUSE(map_over_a_scalar) {
  ts::map([](Array x) { return x * 2; }, Array(1.0));
}
MISUSE(map_in_negative_batches) {
  ts::map([](Array x) { return x * 2; }, ts::ones({5}), {.batch_size = -1});
}
MISUSE(combine_of_another_shape) {
  ts::associative_scan([](Array a, Array) { return ts::sum(a); }, ts::ones({5}));
}
MISUSE(vmap_over_other_sizes) {
  ts::vmap([](Array x, Array w) { return x * w; })(ts::ones({4, 3}), ts::ones({3}));
}
MISUSE(vmap_over_a_scalar) {
  ts::vmap([](Array x, Array lr) { return x * lr; })(ts::ones({4, 3}), 0.1f);
}
MISUSE(vmap_over_an_axis_too_many) {
  ts::vmap([](Array x) { return x; }, {.in_axes = 2})(ts::ones({4, 3}));
}
MISUSE(vmap_over_nothing) {
  ts::vmap([](Array x) { return x; }, {.in_axes = ts::replicated})(ts::ones({4, 3}));
}
MISUSE(vmap_with_an_entry_too_many) {
  ts::vmap([](Array x) { return x; }, {.in_axes = {0, 0}})(ts::ones({4, 3}));
}
MISUSE(vmap_replicates_what_differs) {
  ts::vmap([](Array x) { return x; }, {.out_axes = ts::replicated})(ts::ones({4, 3}));
}
MISUSE(vmap_stacks_beyond_the_last_axis) {
  ts::vmap([](Array x) { return x; }, {.out_axes = 3})(ts::ones({4, 3}));
}

MISUSE(fori_loop_of_too_many_steps) {
  ts::fori_loop(
      INT64_MIN, INT64_MAX, [](Array, Array x) { return x + 1; }, 0);
}
MISUSE(function_that_calls_itself) {
  static std::function<Array(Array)> again;
  auto f = ts::jit([](Array x) { return again(x); });
  again = [&](Array x) { return f(x - 1); };
  f(ts::arange(3));
}
