// shard_map over some axes of a mesh, and which axes may be named where.
#include "errors/misuse.h"

namespace {
const ts::Mesh& mesh() {
  static const auto& m = *[] { return new ts::Mesh({{"data", 2}, {"model", 2}}); }();
  return m;
}
const Array& rows() {
  static const auto& x = *[] { return new Array(ts::ones({4, 4})); }();
  return x;
}
/// Calls f inside a shard_map over "data".
template <class F>
void along_data(F f) {
  ts::shard_map(f, {.mesh = mesh(),
                    .in_specs = ts::P("data"),
                    .out_specs = ts::P("data"),
                    .axis_names = {"data"}})(rows());
}
}  // namespace

MISUSE(manual_axis_that_is_not_there) {
  ts::shard_map([](Array x) { return x; },
                {.mesh = mesh(), .in_specs = ts::P("data"), .axis_names = {"dat"}})(rows());
}
MISUSE(manual_axis_named_twice) {
  ts::shard_map([](Array x) { return x; }, {.mesh = mesh(),
                                            .in_specs = ts::P("data"),
                                            .out_specs = ts::P("data"),
                                            .axis_names = {"data", "model", "data"}})(rows());
}
MISUSE(manual_axes_without_types) {
  ts::shard_map([](Array x) { return x; }, {.mesh = mesh(),
                                            .in_specs = ts::P("data"),
                                            .out_specs = ts::P("data"),
                                            .axis_names = {"data"},
                                            .check_vma = false})(rows());
}
MISUSE(spec_of_an_automatic_axis) {
  ts::shard_map([](Array x) { return x; }, {.mesh = mesh(),
                                            .in_specs = ts::P("data", "model"),
                                            .out_specs = ts::P("data"),
                                            .axis_names = {"data"}})(rows());
}
MISUSE(result_of_an_automatic_axis) {
  ts::shard_map([](Array x) { return x; }, {.mesh = mesh(),
                                            .in_specs = ts::P("data"),
                                            .out_specs = ts::P({"data", "model"}),
                                            .axis_names = {"data"}})(rows());
}
MISUSE(psum_over_an_automatic_axis) {
  along_data([](Array x) { return ts::psum(x, {"data", "model"}); });
}
MISUSE(axis_index_of_an_automatic_axis) {
  along_data([](Array x) { return x * ts::axis_index("model"); });
}
MISUSE(forgotten_psum_over_a_manual_axis) {
  ts::shard_map(
      [](Array x) {
        const Array s = ts::sum(x, 0);
        return s * 2;
      },
      {.mesh = mesh(), .in_specs = ts::P("data"), .out_specs = ts::P(), .axis_names = {"data"}})(
      rows());
}
MISUSE(shard_map_inside_over_a_manual_axis) {
  along_data([](Array x) {
    return ts::shard_map(
        [](Array y) { return y; },
        {.in_specs = ts::P("data"), .out_specs = ts::P("data"), .axis_names = {"data"}})(x);
  });
}
MISUSE(shard_map_inside_with_a_manual_spec) {
  along_data([](Array x) {
    return ts::shard_map([](Array y) { return y; },
                         {.in_specs = ts::P("data"), .out_specs = ts::P("data")})(x);
  });
}
MISUSE(shard_map_inside_over_another_mesh) {
  along_data([](Array x) {
    return ts::shard_map([](Array y) { return y; }, {.mesh = ts::Mesh({{"model", 4}}),
                                                     .in_specs = ts::P("model"),
                                                     .out_specs = ts::P("model")})(x);
  });
}
MISUSE(shard_map_inside_with_no_axis_left) {
  along_data([](Array x) {
    return ts::shard_map(
        [](Array y) {
          return ts::shard_map([](Array z) { return z; },
                               {.in_specs = ts::P(), .out_specs = ts::P()})(y);
        },
        {.in_specs = ts::P("model"), .out_specs = ts::P("model")})(x);
  });
}
MISUSE(constraint_on_a_manual_axis) {
  along_data([](Array x) { return ts::with_sharding_constraint(x, ts::P("data")); });
}
MISUSE(jit_inside_with_a_manual_axis) {
  along_data([](Array x) {
    return ts::jit([](Array y) { return y; }, {.out_shardings = ts::P("model", "data")})(x);
  });
}
MISUSE(inner_collective_in_a_branch_by_the_outer_axis) {
  along_data([](Array x) {
    const auto summed = [](Array a) {
      return ts::shard_map([](Array b) { return ts::psum(b, "data"); },
                           {.in_specs = ts::P("model"), .out_specs = ts::P("model")})(a);
    };
    const auto itself = [](Array a) { return a; };
    return ts::cond(ts::axis_index("data") == 0, summed, itself, x);
  });
}
MISUSE(pmap_beside_manual_axes) {
  ts::jit([](Array x) {
    const Array z = ts::pmap([](Array y) { return y; })(x);
    return ts::shard_map([](Array y) { return y; }, {.mesh = mesh(),
                                                     .in_specs = ts::P("data"),
                                                     .out_specs = ts::P("data"),
                                                     .axis_names = {"data"}})(z);
  })(rows());
}
