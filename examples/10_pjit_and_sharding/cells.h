// The cells of the document, each a function that gives what it shows. They run on the meshes of
// make_meshes(), which cover the devices that there are.
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

/// What the devices exchange in a call, as text: "nothing", "psum over 'x': 40 bytes".
std::string moves(const ts::Lowered& program);

// --- products.cc
struct Meshes {
  Mesh line;  // all devices along "x"
  Mesh grid;  // 2 x 2 of them along "data" and "model"; n x 1 where there are fewer than four
};
Meshes make_meshes();

struct Product {
  Array a, b, result;
  std::string moves;
};
/// Rows of x on all devices, y whole on each.
Product simple_product(const Mesh& line);

struct Strategy {
  std::string name;
  ts::PartitionSpec a, b, result;
};
/// Three ways to share out a product: by the rows of a, by the columns of b, not at all.
std::vector<Strategy> strategies();
/// The same product by each of them.
std::vector<Product> matrix_multiply_variants(const Mesh& line);
/// Both axes of a mesh at work: the first operand in blocks, the second in rows.
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
/// Weights and bias cut along the outputs.
ts::Jit<decltype(&linear_forward)> parallel_linear(const Mesh& line);

using Mlp = std::vector<Linear>;
Mlp init_mlp(Array key, const std::vector<std::int64_t>& layer_sizes);
/// relu after every layer but the last.
Array mlp_forward(const Mlp& params, Array x);
/// For three layers: the first cut by columns, the second by rows, the third by the batch.
ts::Jit<decltype(&mlp_forward)> parallel_mlp(const Mesh& line, const Mlp& params);
/// What the library says of the document's: every layer and the result by columns.
std::string refusal_of_mlp_by_columns(const Mesh& line, const Mlp& params, Array x);

/// x . w, checkpointed.
Array efficient_linear(Array w, Array x);
/// Weights cut along the inputs, the result along the outputs.
ts::Jit<decltype(&efficient_linear)> efficient_layer(const Mesh& line);

struct Memory {
  std::int64_t kept = 0, checkpointed = 0;  // bytes of temporaries
};
/// Of the gradient of eight gelu layers on 2048 rows, as they are and each checkpointed.
Memory memory_of_gradient(const Mesh& line);

// --- training.cc
Array loss_fn(const Linear& params, Array x, Array y);
/// A step of gradient descent, and the loss before it.
std::pair<Linear, Array> training_step(const Linear& params, Array x, Array y, Array lr);
/// Parameters cut along the inputs, on the way in and out.
ts::Jit<decltype(&training_step)> sharded_training_step(const Mesh& line);

// --- resharding.cc
struct Resharding {
  Array x;                             // by rows
  Array row_sums;                      // x by rows: nothing moves
  Array column_sums;                   // x by columns, as in_shardings ask
  Array constrained_sums, added_sums;  // the same as part of a program; added where the rows are
  Array by_columns, put_by_columns;    // x itself, by an identity and by device_put
  std::string row_moves, constrained_moves, added_moves, identity_moves;
};
Resharding demonstrate_resharding(const Mesh& line);

// --- patterns.cc
/// The sum of squares; of large arrays each device adds a part.
class AdaptiveSum {
 public:
  explicit AdaptiveSum(const Mesh& line, std::int64_t threshold = 1000);
  /// Whether x (n,) is large, and divides.
  bool cuts(const Array& x) const;
  Array operator()(const Array& x) const;

 private:
  using Sum = ts::Jit<Array (*)(Array)>;
  std::int64_t devices_, threshold_;
  Sum cut_, whole_;
};
/// What the library says when 100 numbers are to be cut anyway.
std::string refusal_of_a_small_array(const Mesh& line);

/// Two stages with layouts of their own, one after the other on all devices: relu, then the mean of
/// the rows.
Array pipeline_stages(const Mesh& line, Array x);

struct Pipeline {
  Array result;
  std::int64_t rounds = 0;
};
/// Stage i, relu(x . weights[i]), on device i. Batches (n, rows, features) enter one a round, and
/// each goes from device to device while the next ones follow.
Pipeline pipeline(const Mesh& line, Array weights, Array batches);

}  // namespace pjit_and_sharding
