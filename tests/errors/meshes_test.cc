// Invalid meshes and specs, and arrays that do not fit them.
#include "errors/misuse.h"

namespace {
const ts::Mesh& mesh() {
  static const auto& m = *[] { return new ts::Mesh({{"data", 2}, {"model", 2}}); }();
  return m;
}
}  // namespace

MISUSE(mesh_of_more_devices_than_there_are) { ts::Mesh({{"data", 4}, {"model", 8}}); }
MISUSE(mesh_of_zero_devices) { ts::Mesh({{"data", 0}}); }
MISUSE(mesh_with_two_axes_of_a_name) { ts::Mesh({{"x", 2}, {"x", 2}}); }
MISUSE(abstract_mesh_with_two_axes_of_a_name) {
  ts::Mesh::abstract({{"x", 2}, {"y", 4}, {"x", 1}});
}
MISUSE(made_mesh_with_two_axes_of_a_name) { ts::make_mesh({1, 2}, {"x", "x"}, {{0}, {1}}); }
MISUSE(scope_of_two_axes_of_a_name) { (void)ts::use_mesh(ts::Mesh({{"x", 2}, {"x", 2}})); }
MISUSE(mesh_with_a_nameless_axis) { ts::Mesh({{"", 2}}); }
MISUSE(mesh_with_an_odd_name) { ts::Mesh({{"x:y", 2}}); }
MISUSE(mesh_beyond_all_numbers) {
  ts::Mesh::abstract({{"a", std::int64_t{1} << 40}, {"b", std::int64_t{1} << 40}});
}
MISUSE(mesh_of_a_device_that_is_not_there) { ts::Mesh({{"x", 2}}, {{0}, {77}}); }
MISUSE(sizes_without_names) { ts::make_mesh({2, 2}, {"x"}); }
MISUSE(size_of_an_unknown_axis) { (void)mesh().size("batch"); }
MISUSE(scope_of_an_empty_mesh) { (void)ts::use_mesh(ts::Mesh()); }
MISUSE(spec_with_an_axis_twice) { ts::Sharding(mesh(), ts::P("data", "data")); }
MISUSE(spec_with_an_axis_twice_in_a_dimension) { ts::Sharding(mesh(), ts::P({"data", "data"})); }
MISUSE(put_along_an_axis_twice) {
  ts::device_put(std::pair(ts::ones({4}), ts::ones({4, 4})), mesh(),
                 {ts::P(), ts::P({"data", "model"}, "model")});
}
MISUSE(constraint_along_an_axis_twice) {
  const auto scope = ts::use_mesh(mesh());
  ts::jit([](Array x) { return ts::with_sharding_constraint(x, ts::P("data", "data")); })(
      ts::ones({4, 4}));
}
MISUSE(argument_of_a_jit_along_an_axis_twice) {
  ts::jit([](Array x) { return x; },
          {.mesh = mesh(), .in_shardings = ts::P({"data", "data"})})(ts::ones({4, 4}));
}
MISUSE(result_of_a_jit_along_an_axis_twice) {
  ts::jit([](Array x) { return x; },
          {.mesh = mesh(), .out_shardings = ts::P("data", "data")})(ts::ones({4, 4}));
}
MISUSE(shard_map_of_an_axis_twice) {
  ts::shard_map([](Array x) { return x; },
                {.mesh = mesh(), .in_specs = ts::P("data", "data")})(ts::ones({4, 4}));
}
MISUSE(shard_map_to_an_axis_twice) {
  ts::shard_map([](Array x) { return x; },
                {.mesh = mesh(), .in_specs = ts::P("data"), .out_specs = ts::P({"data", "data"})})(
      ts::ones({4, 4}));
}
MISUSE(autoshard_of_an_axis_twice) {
  (void)ts::autoshard([](Array x) { return x * 2; },
                      {.mesh = mesh(), .in_shardings = ts::P("data", "data")})(ts::ones({4, 4}));
}
MISUSE(spec_of_another_mesh) { ts::Sharding(mesh(), ts::P("rows")); }
MISUSE(spec_longer_than_the_rank) { ts::device_put(ts::ones({4}), mesh(), ts::P("data", "model")); }
MISUSE(size_that_does_not_divide) {
  ts::device_put(ts::ones({6, 3}), mesh(), ts::P(ts::none, {"data", "model"}));
}
MISUSE(spec_without_a_mesh) { ts::device_put(ts::ones({4}), ts::P("data")); }
MISUSE(put_unconstrained) { ts::device_put(ts::ones({4}), mesh(), ts::P(ts::unconstrained)); }
MISUSE(put_on_an_abstract_mesh) {
  ts::device_put(ts::ones({4}), ts::Mesh::abstract({{"x", 2}}), ts::P("x"));
}
MISUSE(specs_that_are_no_prefix) {
  ts::device_put(std::pair(ts::ones({4}), ts::ones({4})), mesh(),
                 {ts::P("data"), ts::P(), ts::P()});
}
MISUSE(leaves_that_do_not_divide) {
  ts::device_put(std::pair(ts::ones({5}), std::vector{ts::ones({4}), ts::ones({})}), mesh(),
                 ts::P("data"));
}
MISUSE(rules_that_fit_nothing) {
  struct Layer {
    Array w, b;
  };
  ts::specs(Layer{}, {{"w", ts::P()}, {"*", ts::P()}, {"b", ts::P()}, {"layers/*", ts::P()}});
}
MISUSE(specs_without_the_static_child) {
  struct Heads {
    Array w;
    int heads = 4;
    Array b;
  };
  const Heads x{ts::ones({4}), 4, ts::ones({4})};
  ts::device_put(x, mesh(), {ts::P("data"), ts::P()});
}
MISUSE(leaf_without_a_rule) {
  ts::specs(std::pair(ts::ones({2}), ts::ones({2})), {{"0", ts::P()}});
}
MISUSE(spec_that_leaves_a_dimension_open_that_is_not_there) {
  ts::jit([](Array x) { return x; },
          {.mesh = mesh(), .in_shardings = ts::P("data", ts::none, ts::unconstrained)})(
      ts::ones({4, 4}));
}
MISUSE(constraint_that_leaves_a_dimension_open_that_is_not_there) {
  ts::jit([](Array x) { return ts::with_sharding_constraint(x, ts::P("data", ts::unconstrained)); },
          {.mesh = mesh()})(ts::ones({4}));
}
MISUSE(parts_of_a_sharding_without_devices) {
  const auto scope = ts::use_mesh(mesh());  // the sharding does not take the mesh of the scope
  ts::make_array_from_callback({4}, ts::Sharding(), [](const auto&) { return ts::ones({4}); });
}
MISUSE(single_parts_of_a_sharding_without_devices) {
  const auto scope = ts::use_mesh(mesh());
  ts::make_array_from_single_device_arrays({4}, ts::Sharding(), {ts::ones({4})});
}
MISUSE(local_data_of_a_sharding_without_devices) {
  const auto scope = ts::use_mesh(mesh());
  ts::make_array_from_process_local_data(ts::Sharding(), ts::ones({4}));
}
MISUSE(constraint_to_a_sharding_without_devices) {
  ts::jit([](Array x) { return ts::with_sharding_constraint(x, ts::Sharding()); },
          {.mesh = mesh()})(ts::ones({4}));
}
MISUSE(parts_of_a_negative_shape) {
  ts::make_array_from_callback({-4, 4}, ts::Sharding(mesh(), ts::P("data")), [](const auto&) {
    return ts::ones({4, 4});
  });
}
MISUSE(ranges_of_a_negative_shape) { (void)ts::Sharding(mesh(), ts::P("data")).indices({-2}); }
MISUSE(constraint_inside_pmap) {
  ts::pmap([](Array x) { return ts::with_sharding_constraint(x, ts::Sharding(mesh(), ts::P())); })(
      ts::ones({4, 4}));
}
MISUSE(local_data_of_a_negative_shape) {
  ts::make_array_from_process_local_data(ts::Sharding(mesh(), ts::P("data")), ts::ones({4}),
                                         ts::Shape{-4});
}
MISUSE(sharding_on_a_device_that_is_not_there) { ts::Sharding(ts::Device{99}); }
MISUSE(sharded_jit_inside_shard_map) {
  const auto f = ts::jit([](Array x) { return x * 2; }, {.mesh = mesh(), .in_shardings = ts::P()});
  ts::shard_map(
      [&](Array x) { return f(x); },
      {.mesh = mesh(), .in_specs = ts::P("data"), .out_specs = ts::P("data")})(ts::ones({4}));
}
MISUSE(part_of_another_shape) {
  ts::make_array_from_callback({4}, ts::Sharding(mesh(), ts::P("data")),
                               [](const auto&) { return ts::ones({3}); });
}
MISUSE(part_of_another_dtype) {
  int n = 0;
  ts::make_array_from_callback({4}, ts::Sharding(mesh(), ts::P("data")), [&](const auto&) {
    return ts::ones({2}).astype(n++ ? ts::i32 : ts::f32);
  });
}
MISUSE(too_few_parts) {
  ts::make_array_from_single_device_arrays({4}, ts::Sharding(mesh(), ts::P("data")),
                                           {ts::device_put(ts::ones({2}), ts::Device{0})});
}
MISUSE(picture_of_a_dimension_that_is_not_there) {
  (void)ts::visualize_sharding({4, 4, 4}, ts::Sharding(mesh(), ts::P()), {.dims = {0, 3}});
}
MISUSE(picture_of_too_many_parts) {
  (void)ts::visualize_sharding({64, 64}, ts::Sharding(ts::Mesh::abstract({{"x", 64}}), ts::P("x")));
}

MISUSE(drawing_of_a_size_that_does_not_divide) {
  (void)ts::sharding_svg({6, 8}, ts::Sharding(ts::Mesh::abstract({{"x", 4}}), ts::P("x")));
}
MISUSE(ranges_of_a_size_that_does_not_divide) {
  (void)ts::Sharding(mesh(), ts::P("data")).indices({3});
}

MISUSE(shard_map_forgotten_psum) {
  ts::shard_map(
      [](Array x) {
        const Array s = ts::sum(x);
        return s * 2;
      },
      {.mesh = mesh(), .in_specs = ts::P("data"), .out_specs = ts::P()})(ts::ones({4}));
}
// The gathered value has equal bits on all devices, but its type says that it varies.
MISUSE(shard_map_of_a_gather_that_varies) {
  ts::shard_map(
      [](Array x) {
        const Array y = x * 2;
        return ts::all_gather(y, "data");
      },
      {.mesh = mesh(), .in_specs = ts::P("data"), .out_specs = ts::P()})(ts::ones({4}));
}
MISUSE(shard_map_without_a_mesh) {
  ts::shard_map([](Array x) { return x; }, {.in_specs = ts::P("data")})(ts::ones({4}));
}
MISUSE(shard_map_of_blocks_that_do_not_divide) {
  ts::shard_map([](Array x, Array) { return x; },
                {.mesh = mesh(), .in_specs = {ts::P("data"), ts::P(ts::none, "model")}})(
      ts::ones({3}), ts::ones({4}));
}
MISUSE(shard_map_of_other_results) {
  ts::shard_map([](Array x) { return std::pair(x, x); },
                {.mesh = mesh(),
                 .in_specs = ts::P("data"),
                 .out_specs = {ts::P("data"), ts::P("data"), ts::P()}})(ts::ones({4}));
}
MISUSE(shard_map_result_without_the_dimension) {
  ts::shard_map(
      [](Array x) { return ts::sum(x); },
      {.mesh = mesh(), .in_specs = ts::P("data"), .out_specs = ts::P("data")})(ts::ones({4}));
}
MISUSE(shard_map_inside_pmap) {
  ts::pmap([](Array x) {
    return ts::shard_map([](Array y) { return y; },
                         {.mesh = mesh(), .in_specs = ts::P(), .out_specs = ts::P()})(x);
  })(ts::ones({2, 2}));
}
MISUSE(shard_map_on_an_abstract_mesh) {
  ts::shard_map([](Array x) { return x; }, {.mesh = ts::Mesh::abstract({{"x", 64}})});
}
MISUSE(shard_map_collective_over_another_axis) {
  ts::shard_map([](Array x) { return ts::psum(x, "batch"); },
                {.mesh = mesh(), .in_specs = ts::P("data")})(ts::ones({4}));
}
MISUSE(collective_in_a_jit_over_a_mesh) {
  ts::jit([](Array x) { return ts::psum(x, "data"); },
          {.mesh = mesh(), .in_shardings = ts::P("data")})(ts::ones({4}));
}
MISUSE(collective_in_the_scope_of_a_mesh) {
  auto scope = ts::use_mesh(mesh());
  ts::axis_index("data");
}
MISUSE(shard_map_collective_in_a_branch_by_device) {
  ts::shard_map(
      [](Array x) {
        const auto summed = [](Array a) { return ts::psum(a, "data"); };
        const auto itself = [](Array a) { return a; };
        return ts::cond(ts::axis_index("data") == 0, summed, itself, x);
      },
      {.mesh = mesh(), .in_specs = ts::P("data"), .out_specs = ts::P("data")})(ts::ones({4}));
}
MISUSE(shard_map_left_open) {
  ts::shard_map([](Array x) { return x; },
                {.mesh = mesh(), .in_specs = ts::P(ts::unconstrained)})(ts::ones({4}));
}

MISUSE(jit_of_arguments_that_do_not_divide) {
  ts::jit([](Array x, Array y) { return ts::dot(x, y); },
          {.mesh = mesh(), .in_shardings = {ts::P("data"), ts::P(ts::none, "model")}})(
      ts::ones({3, 4}), ts::ones({4, 5}));
}
MISUSE(jit_of_results_that_do_not_divide) {
  ts::jit([](Array x) { return std::pair(x, ts::sum(x)); },
          {.mesh = mesh(), .out_shardings = {ts::P("data"), ts::P("model")}})(ts::ones({5}));
}
MISUSE(jit_with_an_unknown_axis) {
  ts::jit([](Array x) { return x; },
          {.mesh = mesh(), .in_shardings = ts::P("batch")})(ts::ones({4}));
}
MISUSE(jit_with_specs_and_no_mesh) {
  ts::jit([](Array x) { return x; }, {.in_shardings = ts::P("data")})(ts::ones({4}));
}
MISUSE(jit_with_specs_that_are_no_prefix) {
  ts::jit([](std::pair<Array, Array> x) { return x.first; },
          {.mesh = mesh(), .in_shardings = {{ts::P("data"), ts::P(), ts::P()}}})(
      std::pair(ts::ones({4}), ts::ones({4})));
}
MISUSE(jit_with_shardings_inside_pmap) {
  ts::pmap([](Array x) {
    return ts::jit([](Array y) { return y; }, {.mesh = mesh(), .in_shardings = ts::P("data")})(x);
  })(ts::ones({2, 2}));
}
MISUSE(jit_with_shardings_on_an_abstract_mesh) {
  ts::jit([](Array x) { return x; },
          {.mesh = ts::Mesh::abstract({{"x", 64}}), .in_shardings = ts::P("x")})(ts::ones({64}));
}
MISUSE(constraint_without_a_mesh) {
  ts::jit([](Array x) { return ts::with_sharding_constraint(x, ts::P("data")); })(ts::ones({4}));
}
MISUSE(constraint_with_an_axis_twice) {
  ts::jit([](Array x) { return ts::with_sharding_constraint(x, ts::P("data", "data")); },
          {.mesh = mesh()})(ts::ones({4, 4}));
}

MISUSE(mesh_of_too_many_axes) {
  std::vector<ts::Mesh::Axis> axes;
  for (int i = 0; i < 40; ++i) axes.push_back({"a" + std::to_string(i), 1});
  ts::Mesh::abstract(axes);
}
MISUSE(pmap_inside_a_jit_with_shardings) {
  auto rows = ts::pmap([](Array x) { return x * 2; });
  ts::jit([&](Array x) { return rows(x); },
          {.mesh = mesh(), .in_shardings = ts::P("data")})(ts::ones({2, 2}));
}

MISUSE(shard_map_of_another_mesh_inside_a_jit) {
  auto rows = ts::shard_map(
      [](Array x) { return x; },
      {.mesh = ts::Mesh({{"rows", 2}}), .in_specs = ts::P("rows"), .out_specs = ts::P("rows")});
  ts::jit([&](Array x) { return rows(x); },
          {.mesh = mesh(), .in_shardings = ts::P("data")})(ts::ones({2, 2}));
}
MISUSE(constraint_on_an_abstract_mesh) {
  const ts::Mesh none = ts::Mesh::abstract({{"x", 64}});
  ts::jit([&](Array x) { return ts::with_sharding_constraint(x, ts::Sharding(none, ts::P("x"))); })(
      ts::ones({64}));
}
MISUSE(arrays_on_different_meshes) {
  const ts::Mesh two({{"rows", 2}}), four({{"rows", 4}});
  const Array x = ts::device_put(ts::ones({4}), two, ts::P("rows"));
  const Array y = ts::device_put(ts::ones({4}), four, ts::P("rows"));
  (void)(x + y);
}
MISUSE(arrays_on_different_meshes_in_a_jit) {
  const Array x = ts::device_put(ts::ones({4}), mesh(), ts::P("data"));
  const Array y = ts::device_put(ts::ones({4}), ts::devices()[3]);
  ts::jit([](Array a, Array b) { return a + b; })(x, y);
}

MISUSE(constraint_on_another_mesh) {
  const ts::Mesh other({{"rows", 2}});
  ts::jit(
      [&](Array x) { return ts::with_sharding_constraint(x, ts::Sharding(other, ts::P("rows"))); },
      {.mesh = mesh()})(ts::ones({4}));
}
MISUSE(constraint_on_other_devices) {
  const ts::Mesh turned({{"data", 2}, {"model", 2}}, {{3}, {2}, {1}, {0}});
  ts::jit([&](Array x) { return ts::with_sharding_constraint(x, ts::Sharding(turned, ts::P())); },
          {.mesh = mesh()})(ts::ones({4}));
}
MISUSE(arrays_on_other_devices_than_a_constraint) {
  auto f = ts::jit([](Array x, Array y) {
    return ts::with_sharding_constraint(x + y, ts::Sharding(mesh(), ts::P("data")));
  });
  f(ts::ones({4}), ts::device_put(ts::ones({4}), ts::Mesh({{"rows", 2}}), ts::P("rows")));
}
MISUSE(jit_of_another_mesh_inside) {
  const ts::Mesh other({{"rows", 2}});
  auto inner =
      ts::jit([](Array x) { return x + 1; }, {.mesh = other, .in_shardings = ts::P("rows")});
  ts::jit([&](Array x) { return inner(x); }, {.mesh = mesh()})(ts::ones({4}));
}
MISUSE(constraint_inside_shard_map) {
  ts::shard_map(
      [](Array x) { return ts::with_sharding_constraint(x, ts::Sharding(mesh(), ts::P("data"))); },
      {.mesh = mesh(), .in_specs = ts::P("data"), .out_specs = ts::P("data")})(ts::ones({4}));
}
