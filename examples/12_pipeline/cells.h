// A stack of residual blocks, trained in five ways that all give the same numbers: on one device,
// data-parallel, and as pipelines.
#pragma once

#include <tessera/tessera.h>

#include <cstdint>
#include <functional>
#include <string>
#include <utility>
#include <vector>

namespace pipeline_example {

namespace ts = tessera;
using ts::Array;
using ts::Mesh;
using ts::P;
using ts::Schedule;

// --- model.cc
constexpr std::int64_t kBlocks = 8, kWidth = 16, kHidden = 32, kRows = 64;

/// The parameters of one block: up (width, hidden), and so on; stacked, those of all blocks: up
/// (blocks, width, hidden).
struct Block {
  Array up, bias, down;
};
/// Returns x + gelu(x . up + bias) . down, which has the shape of x, so it can be the next block's
/// input.
Array block(const Block& p, Array x);
/// Returns the stacked parameters of all blocks: one initialisation under vmap, with a key per
/// block.
Block init_blocks(Array key, std::int64_t width = kWidth, std::int64_t hidden = kHidden);
/// Applies one block after the other.
Array network(const Block& blocks, Array x);
Array loss_fn(Array y, Array target);

struct Batch {
  Array x, target;
};
/// Random inputs, and targets that a random layer with tanh computes from them.
Batch make_batch(Array key);

// --- training.cc
struct Meshes {
  Mesh line;  // all devices along "data"
  Mesh grid;  // "data" x "stage"; 4 stages if there are so many devices
};
Meshes make_meshes();

/// Takes (blocks, x, target) and returns the loss and the gradients of the blocks.
using Step = std::function<std::pair<Array, Block>(const Block&, Array, Array)>;
struct Way {
  std::string name;
  Step step;
};
std::vector<Way> ways(const Meshes& meshes, std::int64_t microbatches);

struct Run {
  std::vector<float> losses;  // before each step
  Block blocks;               // after the last step
};
/// Trains by gradient descent.
Run train(const Way& way, int steps = 8, double rate = 0.3);

// --- memory.cc
struct Memory {
  std::int64_t microbatches = 0;
  std::int64_t gpipe = 0, one_f_one_b = 0;      // bytes of temporaries of pipeline_value_and_grad
  std::int64_t gradient = 0, checkpointed = 0;  // of the gradient of `pipeline`
};
/// Memory for growing numbers of microbatches, each of 32 rows of 64 numbers. Nothing is run.
std::vector<Memory> memory_by_microbatches(const Mesh& grid);

}  // namespace pipeline_example
