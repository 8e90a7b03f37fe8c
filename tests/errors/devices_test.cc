// Devices, places and replicas.
#include "errors/misuse.h"

MISUSE(no_devices) { ts::set_device_count(0); }
MISUSE(fewer_devices_than_arrays_need) {
  Array x = ts::device_put(ts::ones({3}), ts::Device{3});
  ts::set_device_count(2);
}
MISUSE(put_on_a_device_that_is_not_there) { ts::device_put(ts::ones({3}), ts::Device{9}); }
MISUSE(devices_of_a_platform_that_is_not_there) { ts::devices("cuda"); }
MISUSE(put_on_a_platform_that_is_not_there) {
  ts::device_put(ts::ones({3}), ts::Device{0, "cuda"});
}
MISUSE(put_an_abstract_array) { ts::device_put(ts::abstract(ts::f32, {3}), ts::Device{0}); }
MISUSE(operands_on_two_devices) {
  Array x = ts::device_put(ts::ones({3}), ts::Device{0});
  Array y = ts::device_put(ts::ones({3}), ts::Device{1});
  x + y;
}
MISUSE(place_of_a_traced_array) {
  ts::jit([](Array x) {
    (void)x.sharding();
    return x;
  })(ts::ones({3}));
}
MISUSE(memory_of_a_device_that_is_not_there) { ts::memory_stats({9}); }
MISUSE(default_device_that_is_not_there) { ts::set_default_device(ts::Device{9}); }
MISUSE(default_platform_that_is_not_there) { ts::set_default_device("cuda"); }
MISUSE(scope_of_a_default_device_that_is_not_there) { ts::DefaultDevice here(ts::Device{9}); }
MISUSE(fewer_devices_than_the_default_needs) {
  const ts::DefaultDevice here(ts::Device{3});
  ts::set_device_count(2);
}
MISUSE(replicas_that_ran_apart) { ts::unreplicate(std::pair(ts::arange(4), ts::ones({4, 3}))); }
MISUSE(unreplicate_of_a_scalar) { ts::unreplicate(Array(1.0)); }
MISUSE(replicate_over_no_devices) { ts::replicate(ts::ones({3}), 0); }

static ts::Sharding rows_over_two() {
  return ts::pmap([](Array x) { return x; })(ts::ones({2, 3})).sharding();
}
MISUSE(put_rows_that_do_not_divide) { ts::device_put(ts::ones({5, 3}), rows_over_two()); }
MISUSE(put_a_scalar_over_devices) { ts::device_put(1.0, rows_over_two()); }
MISUSE(put_by_an_empty_sharding) { ts::device_put(ts::ones({4}), ts::Sharding()); }
MISUSE(mesh_of_another_size) { ts::Mesh({{"x", 4}}, {{0}, {1}}); }
MISUSE(put_by_an_unknown_axis) { ts::device_put(ts::ones({4}), ts::Mesh({{"x", 2}}), ts::P("y")); }
MISUSE(mesh_with_one_device_twice) { ts::Mesh({{"x", 2}}, {{1}, {1}}); }
MISUSE(mesh_on_several_platforms) { ts::Mesh({{"x", 2}}, {{0}, {1, "cuda"}}); }
