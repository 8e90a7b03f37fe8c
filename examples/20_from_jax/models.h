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

/// A model's function, whose first arguments are its weights, and the weights that its `init` drew.
struct Model {
  ts::LoadedFunction function;
  Weights weights;

  /// Calls the function with these weights, followed by the arguments.
  std::vector<Array> operator()(const Weights& w, const std::vector<Array>& rest) const;
};
Model load(const std::string& folder, const std::string& name, std::uint64_t seed);

/// JAX's results for the same models, by name.
std::map<std::string, Array> expected(const std::string& folder);

/// Logits [8, 10] of the first 8 images of those that fine-tuning uses.
Array classify(const Model& resnet);
/// Returns the mean cross entropy before each of `steps` steps of gradient descent on 32 images, on
/// one device; or on several, each of which has a shard of the images and a copy of the weights.
std::vector<float> fine_tune(Model resnet, int steps);
std::vector<float> fine_tune_on_devices(const Model& resnet, int steps, int devices);

struct Text {
  Array tokens;  // [2, 24]
  Array logits;  // [2, 96], of the last token
};
/// Generates greedily, one token at a time, from tokens 1 and 2, with a cache of keys and values.
Text generate(const Model& transformer);

/// Denoises [2, 16, 16, 1] in nine steps.
Array denoise(const Model& diffusion);

}  // namespace from_jax_example
