// Pipelines: meshes, layers and batches that do not fit together.
#include "errors/misuse.h"

namespace {

struct Layer {
  Array w, b;
};
Array layer(const Layer& p, Array x) { return ts::dot(x, p.w) + p.b; }
Array loss(Array y, Array target) { return ts::mean(ts::square(y - target)); }

Layer layers(std::int64_t n) { return {ts::ones({n, 3, 3}), ts::ones({n, 3})}; }

const ts::Mesh& mesh() {
  static const auto& m = *[] { return new ts::Mesh({{"data", 2}, {"stage", 2}}); }();
  return m;
}
ts::PipelineOptions options(std::int64_t microbatches) {
  return {.mesh = mesh(), .microbatches = microbatches};
}

}  // namespace

MISUSE(pipeline_without_a_mesh) {
  ts::pipeline(layer, {.microbatches = 4})(layers(4), ts::ones({8, 3}));
}
MISUSE(pipeline_on_an_abstract_mesh) {
  ts::pipeline(layer, {.mesh = ts::Mesh::abstract({{"stage", 2}}), .microbatches = 4})(
      layers(4), ts::ones({8, 3}));
}
MISUSE(pipeline_over_an_unknown_axis) {
  ts::pipeline(layer, {.mesh = mesh(), .axis = "stages", .microbatches = 4})(layers(4),
                                                                             ts::ones({8, 3}));
}
MISUSE(pipeline_with_an_unknown_batch_axis) {
  ts::pipeline_value_and_grad(layer, loss,
                              {.mesh = mesh(), .microbatches = 4, .batch_axis = "batch"})(
      layers(4), ts::ones({8, 3}), ts::ones({8, 3}));
}
MISUSE(pipeline_with_one_axis_for_both) {
  ts::pipeline(layer, {.mesh = mesh(), .microbatches = 4, .batch_axis = "stage"})(layers(4),
                                                                                  ts::ones({8, 3}));
}
MISUSE(pipeline_of_zero_microbatches) {
  ts::pipeline(layer, {.mesh = mesh()})(layers(4), ts::ones({8, 3}));
}
MISUSE(pipeline_of_layers_that_do_not_divide) {
  ts::pipeline(layer, options(4))(layers(3), ts::ones({8, 3}));
}
MISUSE(pipeline_of_layers_that_differ_in_number) {
  ts::pipeline(layer, options(4))(Layer{ts::ones({4, 3, 3}), ts::ones({2, 3})}, ts::ones({8, 3}));
}
MISUSE(pipeline_of_one_layer_that_is_not_stacked) {
  ts::pipeline([](Array scale, Array x) { return scale * x; }, options(4))(Array(2.0f),
                                                                           ts::ones({8, 3}));
}
MISUSE(pipeline_without_parameters) {
  ts::pipeline([](Layer, Array x) { return x; }, options(4))(Layer(), ts::ones({8, 3}));
}
MISUSE(pipeline_of_rows_that_do_not_divide) {
  ts::pipeline(layer, options(4))(layers(4), ts::ones({10, 3}));
}
MISUSE(pipeline_of_rows_that_do_not_divide_over_devices) {
  ts::pipeline_value_and_grad(layer, loss,
                              {.mesh = mesh(), .microbatches = 4, .batch_axis = "data"})(
      layers(4), ts::ones({12, 3}), ts::ones({12, 3}));
}
MISUSE(pipeline_of_fewer_targets_than_rows) {
  ts::pipeline_value_and_grad(layer, loss, options(4))(layers(4), ts::ones({8, 3}),
                                                       ts::ones({4, 3}));
}
MISUSE(pipeline_of_a_layer_that_changes_shapes) {
  ts::pipeline(layer, options(4))(Layer{ts::ones({4, 3, 5}), ts::ones({4, 5})}, ts::ones({8, 3}));
}
MISUSE(pipeline_of_a_layer_that_changes_dtypes) {
  ts::pipeline([](const Layer& p, Array x) { return layer(p, x).astype(ts::bf16); }, options(4))(
      layers(4), ts::ones({8, 3}));
}
MISUSE(pipeline_of_a_layer_that_loses_a_part) {
  using State = std::pair<Array, Array>;
  ts::pipeline([](const Layer& p, const State& s) { return State(layer(p, s.first), Array()); },
               options(4))(layers(4), State(ts::ones({8, 3}), ts::ones({8})));
}
MISUSE(pipeline_of_the_wrong_schedule) {
  ts::pipeline(layer, {.mesh = mesh(), .microbatches = 4, .schedule = ts::Schedule::one_f_one_b})(
      layers(4), ts::ones({8, 3}));
}
MISUSE(pipeline_with_a_loss_of_many_numbers) {
  ts::pipeline_value_and_grad(
      layer, [](Array y, Array t) { return ts::mean(ts::square(y - t), 1); }, options(4))(
      layers(4), ts::ones({8, 3}), ts::ones({8, 3}));
}
MISUSE(pipeline_with_an_integer_loss) {
  ts::pipeline_value_and_grad(
      layer, [](Array y, Array t) { return ts::sum(y > t); }, options(4))(
      layers(4), ts::ones({8, 3}), ts::ones({8, 3}));
}
MISUSE(pipeline_of_integer_parameters) {
  ts::pipeline_value_and_grad([](Array p, Array x) { return x * p; }, loss, options(4))(
      ts::arange(4), ts::ones({8, 3}), ts::ones({8, 3}));
}
MISUSE(pipeline_of_an_integer_head) {
  ts::pipeline_value_and_grad<0, 3>(
      layer, [](Array y, Array t, Array h) { return ts::mean(y * t * h); }, options(4))(
      layers(4), ts::ones({8, 3}), ts::ones({8, 3}), ts::arange(3));
}
MISUSE(pipeline_inside_shard_map) {
  ts::shard_map(
      [](Array x) { return ts::pipeline(layer, options(4))(layers(4), x); },
      {.mesh = mesh(), .in_specs = ts::P("data"), .out_specs = ts::P("data")})(ts::ones({8, 3}));
}
MISUSE(schedule_of_no_stages) { ts::pipeline_schedule(0, 4, ts::Schedule::gpipe); }
MISUSE(schedule_of_no_microbatches) { ts::pipeline_schedule(4, 0, ts::Schedule::one_f_one_b); }
MISUSE(schedule_of_too_many_microbatches) {
  ts::pipeline_schedule(4, std::int64_t{1} << 62, ts::Schedule::gpipe);
}
MISUSE(pipeline_of_too_many_microbatches) {
  ts::pipeline(layer, options(std::int64_t{1} << 62))(layers(4), ts::ones({8, 3}));
}
