// A classifier of handwritten digits, its weights and their moments sharded over all devices.
#pragma once

#include <tessera/tessera.h>

#include <string>
#include <utility>

namespace ts = tessera;
namespace nn = tessera::nn;
namespace optim = tessera::optim;
using ts::Array;

struct Model {
  nn::Linear first, second, last;
  Array operator()(const Array& images, const Array& key) const;
};

struct State {
  Model model;
  optim::State optimizer;
  Array key;   // of dropout
  Array step;  // int32: how many are done
};
/// All that training goes on from: with it a run that was interrupted gives the bits of one that
/// was not.
struct Checkpoint {
  State state;
  ts::data::EpochBatches::Position examples;
};

/// Each process reads the examples of its own devices.
class Batches {
 public:
  Batches(const std::string& folder, std::int64_t batch, const ts::Sharding& sharding,
          const Array& key);
  /// Images float32 (batch, pixels), labels (batch,).
  std::pair<Array, Array> next();
  ts::data::EpochBatches& order() { return order_; }
  std::int64_t pixels() const { return images_.shape()[1] * images_.shape()[2]; }

 private:
  ts::data::IdxFile images_, labels_;
  ts::Sharding sharding_;
  ts::data::EpochBatches order_;
};

/// Over the mesh, every weight cut along its first dimension.
ts::SpecTree specs_of(const State& state);
State first_state(const ts::Mesh& mesh, std::int64_t pixels, std::int64_t seed);
/// (state, images, labels) -> (state, loss); takes the state's memory.
ts::Jit<std::pair<State, Array> (*)(State, Array, Array)> make_step(const ts::Mesh& mesh,
                                                                    const State& state);
