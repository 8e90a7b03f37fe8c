#include "training.h"

#include <filesystem>

namespace {

constexpr std::int64_t kWidth = 128, kDigits = 10;

optim::Optimizer optimizer() { return optim::adam(1e-3); }

std::string file_in(const std::string& folder, const std::string& kind) {
  for (const char* end : {"", ".gz"})
    if (const std::string path = folder + "/digits-" + kind + end; std::filesystem::exists(path))
      return path;
  return folder + "/digits-" + kind;
}

std::pair<State, Array> train_step(State state, Array images, Array labels) {
  const Array key = ts::random::fold_in(state.key, state.step);
  const auto [loss, gradients] = ts::value_and_grad([&](const Model& model) {
    return ts::mean(nn::softmax_cross_entropy_with_integer_labels(model(images, key), labels));
  })(state.model);
  auto [updates, moments] = optimizer().update(gradients, state.optimizer, state.model);
  return {State{optim::apply_updates(state.model, updates), moments, state.key, state.step + 1},
          loss};
}

}  // namespace

Array Model::operator()(const Array& images, const Array& key) const {
  const nn::Dropout dropout{0.1};
  const Array keys = ts::random::split(key, 2);
  const Array x = dropout(nn::relu(first(images)), keys(0));
  return last(dropout(nn::relu(second(x)), keys(1)));
}

Batches::Batches(const std::string& folder, std::int64_t batch, const ts::Sharding& sharding,
                 const Array& key)
    : images_(file_in(folder, "images-idx3-ubyte")),
      labels_(file_in(folder, "labels-idx1-ubyte")),
      sharding_(sharding),
      order_(images_.shape()[0], batch, key) {}

std::pair<Array, Array> Batches::next() {
  const auto own = ts::data::process_part(order_.next().indices, sharding_);
  const Array images =
      images_.rows(own).reshape(std::int64_t(own.size()), pixels()).astype(ts::f32) / 255;
  return {ts::make_array_from_process_local_data(sharding_, images),
          ts::make_array_from_process_local_data(sharding_, labels_.rows(own))};
}

ts::SpecTree specs_of(const State& state) {
  const ts::SpecTree model = ts::specs(state.model, {{"last/*", ts::P()}, {"**", ts::P("data")}});
  return {model, optim::specs(state.optimizer, state.model, model), ts::P(), ts::P()};
}

State first_state(const ts::Mesh& mesh, std::int64_t pixels, std::int64_t seed) {
  const Array keys = ts::random::split(ts::random::key(seed), 4);
  const Model model{nn::linear(keys(0), pixels, kWidth), nn::linear(keys(1), kWidth, kWidth),
                    nn::linear(keys(2), kWidth, kDigits)};
  const State state{model, optimizer().init(model), keys(3), ts::zeros({}, ts::i32)};
  return ts::device_put(state, mesh, specs_of(state));
}

ts::Jit<std::pair<State, Array> (*)(State, Array, Array)> make_step(const ts::Mesh& mesh,
                                                                    const State& state) {
  const ts::SpecTree specs = specs_of(state);
  return ts::jit(&train_step, {.mesh = mesh,
                               .in_shardings = {specs, ts::P("data"), ts::P("data")},
                               .out_shardings = {specs, ts::P()}});
}
