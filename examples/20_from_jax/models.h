// Models that JAX and Flax exported (export.py), run without Python.
#pragma once

#include <tessera/tessera.h>

#include <map>
#include <string>
#include <vector>

namespace from_jax_example {

namespace ts = tessera;
using ts::Array;
using Weights = std::vector<Array>;

/// A model's function, whose first arguments are its weights, and weights that its `init` drew.
struct Model {
  ts::LoadedFunction function;
  Weights weights;

  /// The function's results for these weights and the arguments behind them.
  std::vector<Array> operator()(const Weights& w, const std::vector<Array>& rest) const;
};
Model load(const std::string& folder, const std::string& name, std::uint64_t seed);

/// What JAX made of the same models, by name.
std::map<std::string, Array> expected(const std::string& folder);

/// Logits [8, 10] of the first 8 of the images that fine-tuning uses.
Array classify(const Model& resnet);
/// Mean cross entropies before each of `steps` steps of gradient descent on 32 images, by one
/// device; or by several, each of which has its part of the images and a copy of the weights.
std::vector<float> fine_tune(Model resnet, int steps);
std::vector<float> fine_tune_on_devices(const Model& resnet, int steps, int devices);

struct Text {
  Array tokens;  // [2, 24]
  Array logits;  // [2, 96], of the last
};
/// Greedily, one token at a time from tokens 1 and 2, with the keys and values of those before.
Text generate(const Model& transformer);

/// From noise [2, 16, 16, 1] in nine steps.
Array denoise(const Model& diffusion);

}  // namespace from_jax_example
