// Misuses of pmap: sizes, axes, names and devices that do not match.
#include "errors/misuse.h"

namespace {
auto identity() {
  return ts::pmap([](Array x) { return x; }, {.axis_name = "devices"});
}
template <class F>
auto over_devices(F f) {
  return ts::pmap(f, {.axis_name = "devices"});
}
struct Batch {
  Array image, label;
};
}  // namespace

MISUSE(mapped_sizes_that_differ) {
  auto f = ts::pmap([](Batch b, Array w) { return b.image * w; }, {.axis_name = "devices"});
  f(Batch{ts::ones({4, 3}), ts::ones({3})}, ts::ones({4, 3}));
}
MISUSE(more_rows_than_devices) { identity()(ts::ones({6, 3})); }
MISUSE(more_rows_than_devices_listed) {
  ts::pmap([](Array x) { return x; }, {.devices = {{0}, {1}}})(ts::ones({3}));
}
MISUSE(nothing_to_map) { identity()(ts::ones({0, 3})); }
MISUSE(mapping_a_scalar) {
  ts::pmap([](Array x, Array lr) { return x * lr; })(ts::ones({4, 3}), 0.1f);
}
MISUSE(axis_size_of_another_number) {
  ts::pmap([](Array x) { return x; }, {.axis_size = 2})(ts::ones({4}));
}
MISUSE(in_axes_with_an_entry_too_few) {
  ts::pmap([](Array x, Array y) { return x + y; }, {.in_axes = {0}})(ts::ones({4}), ts::ones({4}));
}
MISUSE(in_axes_deeper_than_the_argument) {
  ts::pmap([](Batch b) { return b.image; },
           {.in_axes = {{0, {0, 0}}}})(Batch{ts::ones({4, 3}), ts::ones({4})});
}
MISUSE(out_axes_with_an_entry_too_many) {
  ts::pmap([](Array x) { return x; }, {.out_axes = {0, 0}})(ts::ones({4}));
}
MISUSE(out_axes_beyond_the_last_axis) {
  ts::pmap([](Array x) { return x; }, {.out_axes = 2})(ts::ones({4, 3}));
}
MISUSE(replicated_result_that_varies) {
  auto loss = ts::pmap(
      [](Array w, Array x) {
        Array own = ts::mean(ts::square(x - w));
        return own;
      },
      {.axis_name = "devices", .in_axes = {ts::replicated, 0}, .out_axes = ts::replicated});
  loss(Array(1.0f), ts::ones({4, 3}));
}
MISUSE(replicated_device_number) {
  ts::pmap([](Array) { return ts::axis_index("devices"); },
           {.axis_name = "devices", .out_axes = ts::replicated})(ts::ones({4}));
}
MISUSE(device_that_does_not_exist) {
  ts::pmap([](Array x) { return x; }, {.devices = {{0}, {7}}})(ts::ones({2}));
}
MISUSE(device_listed_twice) {
  ts::pmap([](Array x) { return x; }, {.devices = {{0}, {0}}})(ts::ones({2}));
}

MISUSE(unknown_axis_name) {
  over_devices([](Array x) { return ts::psum(x, "device"); })(ts::ones({4}));
}
MISUSE(collective_outside_any_axis) { ts::pmean(ts::ones({4}), "devices"); }
MISUSE(collective_in_jit) {
  ts::jit([](Array x) { return ts::pmean(x, "devices"); })(ts::ones({4}));
}
MISUSE(axis_number_outside) { ts::axis_index("devices"); }
MISUSE(collective_under_a_varying_predicate) {
  over_devices([](Array x) {
    auto sum = [&] { return ts::psum(x, "devices"); };
    auto same = [&] { return x; };
    return ts::cond(ts::sum(x) > 0, sum, same);
  })(ts::ones({4, 3}));
}
MISUSE(collective_in_a_loop_of_varying_length) {
  over_devices([](Array x) {
    return ts::while_loop([](Array v) { return ts::sum(v) < 100; },
                          [](Array v) { return v + ts::pmean(v, "devices"); }, x);
  })(ts::ones({4, 3}));
}
MISUSE(pairs_that_are_no_permutation) {
  over_devices([](Array x) {
    return ts::ppermute(x, "devices", {{0, 1}, {1, 1}, {2, 7}});
  })(ts::ones({4}));
}
MISUSE(shuffle_of_too_few_members) {
  over_devices([](Array x) { return ts::pshuffle(x, "devices", {1, 0}); })(ts::ones({4}));
}
MISUSE(broadcast_from_a_member_too_many) {
  over_devices([](Array x) { return ts::pbroadcast(x, "devices", 4); })(ts::ones({4}));
}
MISUSE(scatter_of_another_extent) {
  over_devices([](Array x) { return ts::psum_scatter(x, "devices"); })(ts::ones({4, 6}));
}
MISUSE(tiled_scatter_that_does_not_divide) {
  over_devices([](Array x) { return ts::psum_scatter(x, "devices", {.tiled = true}); })(
      ts::ones({4, 6}));
}
MISUSE(exchange_of_another_extent) {
  over_devices([](Array x) { return ts::all_to_all(x, "devices", 0, 0); })(ts::ones({4, 6}));
}
MISUSE(gather_along_an_axis_too_many) {
  over_devices([](Array x) { return ts::all_gather(x, "devices", {.axis = 3}); })(ts::ones({4, 6}));
}
MISUSE(groups_that_are_no_partition) {
  over_devices([](Array x) { return ts::psum(x, "devices", {{0, 1}, {1, 2}}); })(ts::ones({4}));
}
MISUSE(mean_over_groups_that_are_no_partition) {
  over_devices([](Array x) { return ts::pmean(x, "devices", {{0, 1}, {1, 2}}); })(ts::ones({4}));
}
MISUSE(mean_over_groups_of_a_mapped_axis) {
  ts::vmap(
      [](Array x) {
        return ts::pmean(x, "rows", {{0, 1}, {2, 3}});
      },
      {.axis_name = "rows"})(ts::ones({4}));
}
MISUSE(swap_with_an_axis_of_another_extent) {
  over_devices([](Array x) { return ts::pswapaxes(x, "devices", 0); })(ts::ones({4, 6}));
}
MISUSE(gradient_of_a_collective_in_a_branch_of_each_member) {
  auto f = [](Array x) {
    return ts::cond(
        x > 0, [&] { return ts::psum(x * x, "rows"); }, [&] { return x; });
  };
  ts::vmap(f, {.axis_name = "rows"})(ts::array({1.0, -2.0}));  // this one is valid
  ts::vmap(ts::grad(f), {.axis_name = "rows"})(ts::array({1.0, -2.0}));
}
MISUSE(gradient_of_pmax) {
  over_devices([](Array x) {
    return ts::grad([](Array v) { return ts::pmax(ts::sum(v), "devices"); })(x);
  })(ts::ones({4, 3}));
}

MISUSE(pmap_over_a_negative_number) {
  ts::pmap([](Array x) { return x; }, {.in_axes = ts::replicated, .axis_size = -2})(ts::ones({3}));
}
MISUSE(vmap_over_a_negative_number) {
  ts::vmap([](Array x) { return x; }, {.in_axes = ts::replicated, .axis_size = -2})(ts::ones({3}));
}
MISUSE(psum_over_an_axis_twice) {
  ts::pmap([](Array x) { return ts::psum(x, {"i", "i"}); })(ts::ones({2, 3}));
}
