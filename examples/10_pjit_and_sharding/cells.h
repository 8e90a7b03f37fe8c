// The cells of the document. Each is a function that returns the values that its cell shows. They
// run on the meshes of make_meshes(), which cover the available devices.
#pragma once

#include <tessera/tessera.h>

#include <cstdint>
#include <string>
#include <vector>

namespace pjit_and_sharding {

namespace ts = tessera;
using ts::Array;
using ts::Mesh;
using ts::none;
using ts::P;

/// The collectives of one call, as text: "nothing", "psum over 'x': 40 bytes".
std::string moves(const ts::Lowered& program);

// --- products.cc
struct Meshes {
  Mesh line;  // all devices along "x"
  Mesh grid;  // 2 x 2 along "data" and "model"; n x 1 if there are fewer than four devices
};
Meshes make_meshes();

struct Product {
  Array a, b, result;
  std::string moves;
};
/// Shards the rows of x over all devices and replicates y.
Product simple_product(const Mesh& line);

struct Strategy {
  std::string name;
  ts::PartitionSpec a, b, result;
};
/// Three ways to partition a product: by the rows of a, by the columns of b, and not at all.
std::vector<Strategy> strategies();
/// The same product, partitioned in each of these ways.
std::vector<Product> matrix_multiply_variants(const Mesh& line);
/// Uses both axes of a mesh: the first operand is sharded into blocks, the second into rows.
Product product_on_grid(const Mesh& grid);

struct Timing {
  std::string strategy;
  double seconds = 0;  // of one call
};
std::vector<Timing> benchmark_sharding_strategies(const Mesh& line, int trials = 20);

// --- layers.cc
struct Linear {
  Array w, b;
};
Linear init_linear(Array key, std::int64_t input_size, std::int64_t output_size);
Array linear_forward(const Linear& params, Array x);
/// Shards weights and bias along the outputs.
ts::Jit<decltype(&linear_forward)> parallel_linear(const Mesh& line);

using Mlp = std::vector<Linear>;
Mlp init_mlp(Array key, const std::vector<std::int64_t>& layer_sizes);
/// Applies relu after every layer except the last.
Array mlp_forward(const Mlp& params, Array x);
/// For three layers: the first is sharded by columns, the second by rows, the third by the batch.
ts::Jit<decltype(&mlp_forward)> parallel_mlp(const Mesh& line, const Mlp& params);
/// The library's error for the document's sharding: every layer and the result by columns.
std::string refusal_of_mlp_by_columns(const Mesh& line, const Mlp& params, Array x);

/// The product of x and w, checkpointed.
Array efficient_linear(Array w, Array x);
/// Shards the weights along the inputs and the result along the outputs.
ts::Jit<decltype(&efficient_linear)> efficient_layer(const Mesh& line);

struct Memory {
  std::int64_t kept = 0, checkpointed = 0;  // bytes of temporaries
};
/// Memory of the gradient of eight gelu layers on 2048 rows, without and with checkpointing each.
Memory memory_of_gradient(const Mesh& line);

// --- training.cc
Array loss_fn(const Linear& params, Array x, Array y);
/// Returns the parameters after a step of gradient descent, and the loss before it.
std::pair<Linear, Array> training_step(const Linear& params, Array x, Array y, Array lr);
/// Shards the parameters along the inputs, both as arguments and as results.
ts::Jit<decltype(&training_step)> sharded_training_step(const Mesh& line);

// --- resharding.cc
struct Resharding {
  Array x;                             // sharded by rows
  Array row_sums;                      // of x by rows: nothing moves
  Array column_sums;                   // of x by columns, as in_shardings request
  Array constrained_sums, added_sums;  // inside a program: x moves, or the sums do
  Array by_columns, put_by_columns;    // x, by an identity and by device_put
  std::string row_moves, constrained_moves, added_moves, identity_moves;
};
Resharding demonstrate_resharding(const Mesh& line);

// --- patterns.cc
/// Computes the sum of squares; large arrays are sharded, and each device adds up its shard.
class AdaptiveSum {
 public:
  explicit AdaptiveSum(const Mesh& line, std::int64_t threshold = 1000);
  /// Whether x (n,) is large enough, and divides over the devices.
  bool cuts(const Array& x) const;
  Array operator()(const Array& x) const;

 private:
  using Sum = ts::Jit<Array (*)(Array)>;
  std::int64_t devices_, threshold_;
  Sum cut_, whole_;
};
/// The library's error if 100 numbers are to be sharded anyway.
std::string refusal_of_a_small_array(const Mesh& line);

/// Runs two stages with different shardings one after the other on all devices: relu, then the mean
/// of the rows.
Array pipeline_stages(const Mesh& line, Array x);

struct Pipeline {
  Array result;
  std::int64_t rounds = 0;
};
/// Runs stage i, relu(x . weights[i]), on device i. Batches (n, rows, features) enter one per
/// round, and each moves from device to device while the next ones follow.
Pipeline pipeline(const Mesh& line, Array weights, Array batches);

}  // namespace pjit_and_sharding
