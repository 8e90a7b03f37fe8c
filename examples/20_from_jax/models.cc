#include "models.h"

namespace from_jax_example {

namespace {

constexpr float kRate = 0.05f;

Array cross_entropy(const Array& logits, const Array& labels) {
  return ts::mean(ts::nn::softmax_cross_entropy_with_integer_labels(logits, labels));
}
struct Batch {
  Array images, labels;
};
Batch batch() {
  return {ts::random::normal(ts::random::key(1), {32, 32, 32, 3}),
          ts::random::randint(ts::random::key(2), {32}, 0, 10)};
}

}  // namespace

std::vector<Array> Model::operator()(const Weights& w, const std::vector<Array>& rest) const {
  std::vector<Array> arguments = w;
  arguments.insert(arguments.end(), rest.begin(), rest.end());
  return function(arguments);
}

Model load(const std::string& folder, const std::string& name, std::uint64_t seed) {
  const auto init = ts::load_stablehlo(folder + "/" + name + "_init.bin");
  return {ts::load_stablehlo(folder + "/" + name + ".bin"), init(ts::random::key(seed))};
}

std::map<std::string, Array> expected(const std::string& folder) {
  return ts::load_npz(folder + "/expected.npz");
}

Array classify(const Model& resnet) {
  return resnet(resnet.weights, {batch().images[ts::until(8)]})[0];
}

std::vector<float> fine_tune(Model resnet, int steps) {
  const Batch data = batch();
  auto step = ts::jit([f = resnet](const Weights& weights, Array images, Array labels) {
    auto loss = [&](const Weights& w) { return cross_entropy(f(w, {images})[0], labels); };
    auto [value, gradients] = ts::value_and_grad(loss)(weights);
    Weights next;
    for (std::size_t i = 0; i < weights.size(); ++i)
      next.push_back(weights[i] - kRate * gradients[i]);
    return std::pair(next, value);
  });
  std::vector<float> losses;
  for (int i = 0; i < steps; ++i) {
    auto [next, loss] = step(resnet.weights, data.images, data.labels);
    resnet.weights = next;
    losses.push_back(ts::item<float>(loss));
  }
  return losses;
}

std::vector<float> fine_tune_on_devices(const Model& resnet, int steps, int devices) {
  const Batch data = batch();
  // The file leaves the batch size open, so the same function takes a shard of the images.
  auto step = ts::pmap(
      [f = resnet](const Weights& weights, Array images, Array labels) {
        auto loss = [&](const Weights& w) { return cross_entropy(f(w, {images})[0], labels); };
        auto [value, gradients] = ts::value_and_grad(loss)(weights);
        Weights next;
        for (std::size_t i = 0; i < weights.size(); ++i)
          next.push_back(weights[i] - kRate * ts::pmean(gradients[i], "batch"));
        return std::pair(next, ts::pmean(value, "batch"));
      },
      {.axis_name = "batch",
       .in_axes = {ts::replicated, 0, 0},
       .out_axes = {ts::replicated, ts::replicated},
       .name = "fine_tune"});
  const auto part = [&](const Array& x) {
    std::vector<std::int64_t> shape{devices, x.shape()[0] / devices};
    shape.insert(shape.end(), x.shape().begin() + 1, x.shape().end());
    return x.reshape(ts::Shape(shape));
  };
  const Array images = part(data.images), labels = part(data.labels);
  Weights weights = resnet.weights;
  std::vector<float> losses;
  for (int i = 0; i < steps; ++i) {
    auto [next, loss] = step(weights, images, labels);
    weights = next;
    losses.push_back(ts::item<float>(loss));
  }
  return losses;
}

Text generate(const Model& transformer) {
  const auto& inputs = transformer.function.inputs();
  const ts::ArrayType& cache = inputs[transformer.weights.size()];
  const std::int64_t longest = cache.shape[2];
  Array keys = ts::zeros(cache.shape), values = keys, token = ts::array({1, 2});
  std::vector<Array> tokens;
  Text text;
  for (std::int64_t position = 0; position < longest; ++position) {
    const auto results = transformer(
        transformer.weights, {keys, values, token, Array(static_cast<std::int32_t>(position))});
    text.logits = results[0], keys = results[1], values = results[2];
    token = ts::argmax(text.logits, -1).astype(ts::i32);
    tokens.push_back(token);
  }
  text.tokens = ts::stack(tokens, 1);
  return text;
}

Array denoise(const Model& diffusion) {
  Array x = ts::random::normal(ts::random::key(5), {2, 16, 16, 1});
  for (int time = 900; time > 0; time -= 100)
    x = diffusion(diffusion.weights, {x, Array(float(time)), Array(float(time - 100))})[0];
  return x;
}

}  // namespace from_jax_example
