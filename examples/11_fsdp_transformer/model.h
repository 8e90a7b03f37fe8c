// A small GPT over characters: pre-norm blocks of causal attention and an MLP of four times the
// width. It is written for whole arrays and knows nothing of devices.
#pragma once

#include <tessera/tessera.h>

#include <cstdint>
#include <optional>
#include <vector>

namespace fsdp_transformer {

namespace ts = tessera;
namespace nn = tessera::nn;
namespace optim = tessera::optim;
using ts::Array;

struct Sizes {
  std::int64_t vocabulary = 64, context = 64, width = 128, heads = 8, layers = 4;
};

struct Block {
  nn::LayerNorm norm1, norm2;
  nn::Linear qkv;  // grouped by head: query, key and value of each
  nn::Linear project, up, down;
};
struct Gpt {
  nn::Embedding tokens, positions;
  std::vector<Block> blocks;
  nn::LayerNorm norm;
  nn::Linear head;
  std::int64_t heads = 1;
};

/// Weights are normal with a standard deviation of 0.02, or 0.02 / sqrt(2 layers) where the result
/// is added to the residual stream; biases are 0.
Gpt make_gpt(const Array& key, const Sizes& sizes);

struct ModelOptions {
  /// Do not keep the intermediate results of a block; compute them again in the backward pass.
  bool recompute = false;
  /// The sharding of the residual stream (batch, position, feature) between the parts of a block,
  /// if it does not follow from the arguments.
  std::optional<ts::PartitionSpec> stream = {};
};

/// Takes int32 ids (batch, position) and returns float32 logits (batch, position, vocabulary).
Array logits(const Gpt& model, Array ids, const ModelOptions& options = {});
/// The mean cross entropy of the next characters, `labels` (batch, position).
Array loss(const Gpt& model, Array ids, Array labels, const ModelOptions& options = {});

}  // namespace fsdp_transformer
