// The ways to train. Each is a mesh with specs, in a row of a table; all of them use the same model
// and the same training step.
#pragma once

#include "11_fsdp_transformer/model.h"

#include <string>
#include <vector>

namespace fsdp_transformer {

struct Form {
  std::string name, what;
  std::vector<ts::Mesh::Axis> axes = {};  // of the mesh; none: one device, not sharded
  std::vector<ts::PathRule> parameters =
      {};                        // gradients and moments are sharded like their parameters
  ts::PartitionSpec batch = {};  // for ids and labels (batch, position)
  std::optional<ts::PartitionSpec> stream = {};
  bool automatic = false;  // it has no specs; `settled` finds them
  std::optional<ts::AutoShardings> found = {};

  ts::Mesh mesh() const { return axes.empty() ? ts::Mesh() : ts::Mesh(axes); }
};

/// The forms for 1, 2, 4 or 8 devices. Automatic ones have no specs yet; `settled` finds them.
std::vector<Form> forms(std::int64_t devices);
/// Returns the form of this name, or throws an error that lists the names.
Form form(const std::string& name, std::int64_t devices);

using State = optim::TrainState<Gpt>;

/// One training step: (state, ids, labels) -> (state, loss).
inline auto training_step(const Form& form, const optim::Optimizer& opt, bool recompute) {
  const ModelOptions options{recompute, form.stream};
  return [=](State state, Array ids, Array labels) {
    auto of_batch = [&](const Gpt& model, Array x, Array y) { return loss(model, x, y, options); };
    auto [value, gradients] = ts::value_and_grad(of_batch)(state.model, ids, labels);
    return std::pair(state.apply_gradients(opt, gradients), value);
  };
}

/// Returns the form with specs. An automatic form gets the specs of the fastest step on its mesh
/// that needs at most `memory` bytes per device (0: no limit). Only the types of `state` and `ids`
/// matter; their values are not read.
Form settled(Form form, const State& state, const Array& ids, const optim::Optimizer& opt,
             bool recompute = false, std::int64_t memory = 0);

/// Specs of the model's leaves, and of everything that training changes: an optimiser's moments are
/// sharded like their parameters, and counters are replicated.
ts::SpecTree model_specs(const Form& form, const Gpt& model);
ts::SpecTree state_specs(const Form& form, const State& state);
/// Returns the state with its form's shardings.
State place(const Form& form, const State& state);

/// Compiles the step of a settled form. The new state has the old one's sharding and reuses its
/// memory.
inline auto make_step(const Form& form, const State& like, const optim::Optimizer& opt,
                      bool recompute = false) {
  ts::JitOptions o;
  if (form.found) {
    o = form.found->options();
  } else if (!form.axes.empty()) {
    const ts::SpecTree state = state_specs(form, like);
    o.mesh = form.mesh();
    o.in_shardings = {state, form.batch, form.batch};
    o.out_shardings = {state, ts::P()};
  }
  o.donate = {0};
  o.name = form.name;
  return ts::jit(training_step(form, opt, recompute), o);
}

}  // namespace fsdp_transformer
