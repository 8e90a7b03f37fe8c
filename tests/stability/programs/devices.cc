// A program as users of version 0.1 write them: many devices, plans and pipelines. It is compiled
// with the headers of 0.1 for as long as these have to work, so it does not change.
#include <tessera/tessera.h>

#include <iostream>
#include <string>
#include <utility>
#include <vector>

namespace ts = tessera;
using ts::Array;
using ts::P;

int main() try {
  ts::set_device_count(8);
  std::cout << "devices " << ts::device_count() << " " << ts::devices()[3].id << "\n";

  // One program on every device.
  auto total = ts::pmap([](Array x) { return ts::psum(ts::sum(x), "i"); },
                        {.axis_name = "i", .out_axes = ts::replicated});
  std::cout << "pmap " << total(ts::arange(16).reshape(8, 2)) << "\n";

  // Meshes and shardings.
  const ts::Mesh mesh({{"data", 2}, {"model", 4}});
  const Array x =
      ts::device_put(ts::arange(32).reshape(4, 8).astype(ts::f32), mesh, P("data", "model"));
  std::cout << "sharding " << x.sharding() << " " << x.shards().size() << " "
            << x.shards()[5].data.shape(1) << "\n";
  auto layer = ts::jit([](Array v, Array w) { return ts::nn::relu(v.dot(w)); },
                       {.mesh = mesh,
                        .in_shardings = {P("data"), P(ts::none, "model")},
                        .out_shardings = P("data", "model"),
                        .name = "layer"});
  const Array w = ts::ones({8, 4});
  std::cout << "jit " << layer(x, w)(ts::all, 0) << "\n";
  auto mapped = ts::shard_map(
      [](Array block) {
        return ts::psum(ts::sum(block), {"data", "model"});
      },
      {.mesh = mesh, .in_specs = {P("data", "model")}, .out_specs = P()});
  std::cout << "shard_map " << mapped(x) << "\n";
  {
    const auto scope = ts::use_mesh(mesh);
    auto f = ts::jit([](Array v) { return ts::with_sharding_constraint(2 * v, P("model")); });
    std::cout << "constraint " << f(x).sharding().spec() << "\n";
  }

  // Plans.
  const ts::Mesh large = ts::Mesh::abstract({{"data", 16}});
  auto product =
      ts::jit([](Array a, Array b) { return ts::matmul(a, b); },
              {.mesh = large, .in_shardings = {P("data"), P()}, .out_shardings = P("data")});
  const Array square = ts::abstract(ts::f32, {1024, 1024});
  const ts::Plan plan = product.explain(square, square);
  std::cout << "plan " << plan.devices << " " << plan.flops << " " << plan.moved_bytes << " "
            << plan.argument_bytes << " " << plan.collectives.size() << "\n";
  ts::PlanOptions slow;
  slow.peak_flops = 1e9;
  slow.other_links = {.latency = 1e-6, .bandwidth = 1e9};
  const ts::Plan slower = product.lower(square, square).plan(slow);
  std::cout << "slower " << (slower.seconds() > plan.seconds()) << " "
            << !ts::summary(slower).empty() << "\n";
  auto found = ts::autoshard([](Array a, Array b) { return ts::matmul(a, b); }, {.mesh = large})(
      square, square);
  std::cout << "autoshard "
            << (ts::jit([](Array a, Array b) { return ts::matmul(a, b); }, found.options())
                    .explain(square, square)
                    .seconds() <= plan.seconds())
            << "\n";

  // Pipelines.
  const ts::PipelineSchedule schedule = ts::pipeline_schedule(4, 6, ts::Schedule::one_f_one_b);
  std::cout << "pipeline " << !ts::schedule_svg(schedule).empty() << "\n";

  try {
    ts::device_put(ts::ones({6, 8}), mesh, P("model"));
  } catch (const ts::ShardingError& e) {
    std::cout << "error " << e.function() << " " << !e.problem().empty() << "\n";
  }
} catch (const ts::Error& e) {
  std::cerr << e.what() << "\n";
  return 1;
}
