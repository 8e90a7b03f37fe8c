// Trees whose structure does not match: parameters, gradients, optimiser states and files.
#include "errors/misuse.h"

#include <filesystem>

namespace {
struct Layer {
  Array w, b;
};
using Model = std::vector<Layer>;
Layer layer(std::int64_t in, std::int64_t out) { return {ts::ones({in, out}), ts::zeros({out})}; }
}  // namespace

MISUSE(map_over_trees_of_other_lengths) {
  Model two{layer(3, 4), layer(4, 2)}, one{layer(3, 4)};
  ts::tree::map([](Array p, Array g) { return p - g; }, two, one);
}
MISUSE(map_over_maps_of_other_keys) {
  using Params = std::map<std::string, Array>;
  ts::tree::map([](Array p, Array g) { return p - g; }, Params{{"w", 1.0}, {"b", 2.0}},
                Params{{"weight", 1.0}, {"b", 2.0}});
}
MISUSE(map_over_trees_of_other_types) {
  ts::tree::map([](Array p, Array g) { return p - g; }, layer(3, 4),
                std::pair(ts::ones({3, 4}), ts::ones({4})));
}
MISUSE(map_over_five_trees_one_of_another_length) {
  Model two{layer(3, 4), layer(4, 2)}, one{layer(3, 4)};
  auto sum = [](Array a, Array b, Array c, Array d, Array e) { return a + b + c + d + e; };
  ts::tree::map(sum, two, two, two, two, one);
}
MISUSE(map_with_paths_over_trees_of_other_lengths) {
  Model two{layer(3, 4), layer(4, 2)}, one{layer(3, 4)};
  ts::tree::map_with_path([](const std::string&, Array p, Array g) { return p - g; }, two, one);
}
MISUSE(unflatten_of_too_few_leaves) {
  std::vector<Array> leaves{ts::ones({3, 4})};
  ts::tree::unflatten(layer(3, 4), std::span<const Array>(leaves));
}
MISUSE(map_over_leaves_of_other_shapes) {
  ts::tree::map([](Array p, Array g) { return p - g; }, layer(3, 4), layer(3, 5));
}
MISUSE(gradients_of_another_model) {
  auto opt = ts::optim::adam(1e-3);
  Model two{layer(3, 4), layer(4, 2)}, one{layer(3, 4)};
  opt.update(one, opt.init(two), two);
}
MISUSE(gradients_of_other_shapes) {
  auto opt = ts::optim::sgd(0.1);
  opt.update(layer(3, 5), opt.init(layer(3, 4)), layer(3, 4));
}
MISUSE(state_of_another_optimiser) {
  auto sgd = ts::optim::sgd(0.1), adam = ts::optim::adam(1e-3);
  adam.update(layer(3, 4), sgd.init(layer(3, 4)), layer(3, 4));
}
MISUSE(state_of_another_model) {
  auto adam = ts::optim::adam(1e-3);
  adam.update(layer(3, 4), adam.init(layer(3, 5)), layer(3, 4));
}
MISUSE(updates_of_another_model) {
  ts::optim::apply_updates(Model{layer(3, 4)}, Model{layer(3, 4), layer(4, 2)});
}
MISUSE(file_of_another_model) {
  const std::string path = (std::filesystem::temp_directory_path() / "misuse.safetensors").string();
  ts::save(path, layer(3, 4));
  try {
    ts::load(path, Model{layer(3, 5)});
  } catch (const ts::TreeError& e) {
    std::string text = e.what();
    text.replace(text.find(path), path.size(), "misuse.safetensors");
    throw ts::TreeError(text);
  }
}
MISUSE(file_that_is_not_there) { ts::load("no/such/model.safetensors", layer(3, 4)); }
