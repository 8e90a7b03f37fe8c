// A classifier of handwritten digits, with weights and moments sharded over all devices.
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
  Array key;   // for dropout
  Array step;  // int32: the number of finished steps
};
/// The complete state of training: a run that was interrupted and resumed from it gives the same
/// bits as one that was not.
struct Checkpoint {
  State state;
  ts::data::EpochBatches::Position examples;
};

/// Reads batches; each process reads the examples of its own devices.
class Batches {
 public:
  Batches(const std::string& folder, std::int64_t batch, const ts::Sharding& sharding,
          const Array& key);
  /// Returns images, float32 (batch, pixels), and labels, (batch,).
  std::pair<Array, Array> next();
  ts::data::EpochBatches& order() { return order_; }
  std::int64_t pixels() const { return images_.shape()[1] * images_.shape()[2]; }

 private:
  ts::data::IdxFile images_, labels_;
  ts::Sharding sharding_;
  ts::data::EpochBatches order_;
};

/// Specs that shard the first dimension of every weight over the mesh.
ts::SpecTree specs_of(const State& state);
State first_state(const ts::Mesh& mesh, std::int64_t pixels, std::int64_t seed);
/// Compiles (state, images, labels) -> (state, loss), which reuses the state's memory.
ts::Jit<std::pair<State, Array> (*)(State, Array, Array)> make_step(const ts::Mesh& mesh,
                                                                    const State& state);
