// Automatic partitioning: whole programs, specs that say how arrays are sharded over a mesh, and a
// compiler that inserts the communication.
#include "cells.h"
#include "common/command_line.h"
#include "common/outputs.h"

#include <algorithm>
#include <cstdio>
#include <iostream>

using namespace pjit_and_sharding;

namespace {

void cell(const char* title) { std::cout << "\n== " << title << "\n"; }
std::string shape(const Array& x) { return ts::to_string(x.shape()); }
Array normal(int key, const ts::Shape& shape) {
  return ts::random::normal(ts::random::key(key), shape);
}

void show_meshes(const Meshes& meshes) {
  cell("Device meshes");
  std::cout << "Available devices: " << ts::device_count() << "\n";
  std::cout << "1D Mesh: " << meshes.line << "\n";
  std::cout << "2D Mesh: " << meshes.grid << "\n";
  if (meshes.grid.size("model") == 1) std::cout << "Using 1D mesh as fallback\n";
}

void show_products(const Meshes& meshes) {
  cell("Basic pjit with sharding specifications");
  Product p = simple_product(meshes.line);
  std::cout << "Input x shape: " << shape(p.a) << "\n";
  std::cout << "Input y shape: " << shape(p.b) << "\n";
  std::cout << "Output shape: " << shape(p.result) << "\n";
  std::cout << "Output sharding: " << p.result.sharding() << "\n";
  std::cout << "The devices exchange " << p.moves << "\n";

  cell("Matrix product, three strategies");
  const std::vector<Strategy> ways = strategies();
  const std::vector<Product> v = matrix_multiply_variants(meshes.line);
  for (std::size_t i = 0; i < v.size(); ++i)
    std::cout << ways[i].name << ": result " << shape(v[i].result) << ", on each device "
              << ts::to_string(v[i].result.sharding().shard_shape(v[i].result.shape()))
              << ", exchanged: " << v[i].moves << "\n";
  // The results are sums of 64 products, which are added in another order.
  std::cout << "Results match: "
            << ts::logical_and(ts::allclose(v[0].result, v[2].result, 1e-5, 1e-4),
                               ts::allclose(v[1].result, v[2].result, 1e-5, 1e-4))
            << "\n";
}

void show_layers(const Mesh& line) {
  cell("Linear layer with model parallelism");
  auto forward = parallel_linear(line);
  Linear params = init_linear(ts::random::key(10), 256, 512);
  Array x = normal(11, {32, 256}), output = forward(params, x);
  std::cout << "Weight shape: " << shape(params.w) << "\n";
  std::cout << "Bias shape: " << shape(params.b) << "\n";
  std::cout << "Input shape: " << shape(x) << "\n";
  std::cout << "Output shape: " << shape(output) << "\n";
  std::cout << "Output sharding: " << output.sharding() << "\n";
  std::cout << "The devices exchange " << moves(forward.lower(params, x)) << "\n";

  cell("Several layers with mixed parallelism");
  Mlp mlp = init_mlp(ts::random::key(20), {784, 512, 256, 10});
  Array test_input = normal(21, {16, 784});
  auto mixed = parallel_mlp(line, mlp);
  Array mlp_output = mixed(mlp, test_input);
  std::cout << "MLP input shape: " << shape(test_input) << "\n";
  std::cout << "MLP output shape: " << shape(mlp_output) << "\n";
  std::cout << "Output sharding: " << mlp_output.sharding() << "\n";
  std::cout << "The devices exchange " << moves(mixed.lower(mlp, test_input)) << "\n";
  std::cout << "With every layer by columns, as in the document:\n"
            << refusal_of_mlp_by_columns(line, mlp, test_input) << "\n";
}

void show_grid(const Mesh& grid) {
  cell("2D parallelism");
  Product p = product_on_grid(grid);
  std::cout << "2D sharded result shape: " << shape(p.result) << "\n";
  std::cout << "The devices exchange " << p.moves << "\n";
  std::cout << "The first operand on the devices:\n"
            << ts::visualize_sharding(p.a.shape(), ts::Sharding(grid, P("data", "model")))
            << "The result:\n"
            << ts::visualize_sharding(p.result);
  // The results are sums of 256 products, which are added in another order.
  std::cout << "Results match: " << ts::allclose(p.result, ts::dot(p.a, p.b), 1e-5, 1e-4) << "\n";
}

void show_training(const Mesh& line) {
  cell("Training step with cut parameters");
  auto step = sharded_training_step(line);
  Linear params{normal(40, {256, 64}), ts::zeros({64})};
  Array x = normal(41, {32, 256}), y = normal(42, {32, 64});
  auto [new_params, loss] = step(params, x, y, 0.01f);
  std::printf("Training loss: %.4f\n", ts::item<double>(loss));
  std::cout << "Parameter update successful: " << !ts::allclose(params.w, new_params.w) << "\n";
  std::cout << "New weights: " << new_params.w.sharding() << "\n";
  std::cout << "The devices exchange " << moves(step.lower(params, x, y, 0.01f)) << "\n";
  for (int i = 0; i < 4; ++i) {
    auto [next, next_loss] = step(new_params, x, y, 0.01f);
    new_params = next;
    std::printf("Next loss: %.4f\n", ts::item<double>(next_loss));
  }
}

void show_resharding(const Mesh& line) {
  cell("Resharding");
  Resharding r = demonstrate_resharding(line);
  std::cout << "x: " << shape(r.x) << ", " << r.x.sharding() << "\n";
  std::cout << "Row operation result shape: " << shape(r.row_sums) << ", exchanged: " << r.row_moves
            << "\n";
  std::cout << "Column operation result shape: " << shape(r.column_sums) << ", x moved before\n";
  std::cout << "  x by columns inside the program, exchanged: " << r.constrained_moves << "\n";
  std::cout << "  left to the compiler, exchanged: " << r.added_moves << "\n";
  std::cout << "  all three match: "
            << ts::logical_and(ts::allclose(r.column_sums, r.added_sums, 1e-5, 1e-5),
                               ts::allclose(r.column_sums, r.constrained_sums, 1e-5, 1e-5))
            << "\n";
  std::cout << "After resharding: " << r.by_columns.sharding()
            << ", exchanged: " << r.identity_moves << "\n";
  std::cout << "device_put does it too: " << r.put_by_columns.sharding() << "\n";
  std::cout << "The values stayed: " << ts::array_equal(r.x, r.by_columns) << "\n";
}

void show_performance(const Mesh& line) {
  cell("Performance of the strategies");
  std::vector<Timing> timings = benchmark_sharding_strategies(line);
  std::cout << std::flush;
  for (const Timing& t : timings) std::printf("%-15s time: %.6fs\n", t.strategy.c_str(), t.seconds);
  auto best =
      std::min_element(timings.begin(), timings.end(),
                       [](const Timing& a, const Timing& b) { return a.seconds < b.seconds; });
  std::printf("Best strategy: %s\n", best->strategy.c_str());
  std::fflush(stdout);
}

void show_memory(const Mesh& line) {
  cell("Large layers");
  auto layer = efficient_layer(line);
  Array w = normal(70, {1024, 2048}), x = normal(71, {64, 1024});
  Array output = layer(w, x);
  std::cout << "Efficient layer output shape: " << shape(output) << "\n";
  std::cout << "Output sharding: " << output.sharding() << "\n";
  std::cout << "The devices exchange " << moves(layer.lower(w, x)) << "\n";
  Array grads = ts::grad([&](Array w, Array x) { return ts::sum(layer(w, x)); })(w, x);
  std::cout << "Gradients computed successfully: " << shape(grads) << "\n";
  Memory m = memory_of_gradient(line);
  std::cout << "Eight gelu layers, " << (m.checkpointed < m.kept ? "less" : "no less")
            << " memory for their gradient when they are checkpointed\n";
  std::cout << "temporaries " << m.kept << " bytes, checkpointed " << m.checkpointed << " bytes\n";
}

void show_patterns(const Mesh& line) {
  cell("Adaptive sharding");
  AdaptiveSum adaptive_sharding(line);
  for (Array x : {normal(80, {100}), normal(81, {10000}), normal(82, {1001})}) {
    std::cout << shape(x) << (adaptive_sharding.cuts(x) ? " cut, " : " whole, ") << "result: ";
    std::cout << adaptive_sharding(x) << "\n";
  }
  std::cout << "Cut without asking:\n" << refusal_of_a_small_array(line) << "\n";

  cell("Stages");
  Array pipeline_input = normal(90, {line.size() * 16, 64});
  Array pipeline_output = pipeline_stages(line, pipeline_input);
  std::cout << "Pipeline output shape: " << shape(pipeline_output) << "\n";

  cell("A pipeline: a stage on each device");
  Array weights = normal(91, {line.size(), 32, 32}) / 4, batches = normal(92, {16, 8, 32});
  Pipeline p = pipeline(line, weights, batches);
  Array sequential = batches;
  for (Array w : weights) sequential = ts::nn::relu(ts::matmul(sequential, w));
  std::cout << batches.length() << " batches through " << line.size() << " stages in " << p.rounds
            << " rounds\n";
  std::cout << "It is what the stages give one after the other: "
            << ts::allclose(p.result, sequential, 1e-5, 1e-5) << "\n";
}

void show() {
  const Meshes meshes = make_meshes();
  show_meshes(meshes);
  show_products(meshes);
  show_layers(meshes.line);
  show_grid(meshes.grid);
  show_training(meshes.line);
  show_resharding(meshes.line);
  show_performance(meshes.line);
  show_memory(meshes.line);
  show_patterns(meshes.line);
}

}  // namespace

int main(int argc, char** argv) {
  CLI::App app{"pjit and sharding, cell by cell"};
  int devices = 8;
  add_devices(app, devices, 16, "virtual devices; the arrays' sizes divide by these numbers")
      ->check(CLI::IsMember({1, 2, 4, 8, 16}));
  return run_example(app, argc, argv, [&] {
    use_devices(devices);
    leave_reports_to_the_first();
    show();
    return 0;
  });
}
