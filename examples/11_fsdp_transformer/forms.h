// The ways to train: each is a mesh and specs, a row of a table. The model and the training step
// are the same for all.
#pragma once

#include "11_fsdp_transformer/model.h"

#include <string>
#include <vector>

namespace fsdp_transformer {

struct Form {
  std::string name, what;
  std::vector<ts::Mesh::Axis> axes = {};      // of the mesh; none: one device, nothing is cut
  std::vector<ts::PathRule> parameters = {};  // gradients and moments lie as their parameters do
  ts::PartitionSpec batch = {};               // of ids and labels (batch, position)
  std::optional<ts::PartitionSpec> stream = {};
  bool automatic = false;  // it has no specs of its own: `settled` finds them
  std::optional<ts::AutoShardings> found = {};

  ts::Mesh mesh() const { return axes.empty() ? ts::Mesh() : ts::Mesh(axes); }
};

/// For so many devices: 1, 2, 4 or 8. Those that are automatic have yet to be settled.
std::vector<Form> forms(std::int64_t devices);
/// By name; an error that lists the names where there is no such form.
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

/// A form with specs: where it has none of its own, those of the quickest step on its mesh for a
/// state and ids like these, whose values are not read, in `memory` bytes a device (0: no limit).
Form settled(Form form, const State& state, const Array& ids, const optim::Optimizer& opt,
             bool recompute = false, std::int64_t memory = 0);

/// Specs of the model's leaves, and of all that training changes: an optimiser's moments lie as
/// their parameters, counters are whole.
ts::SpecTree model_specs(const Form& form, const Gpt& model);
ts::SpecTree state_specs(const Form& form, const State& state);
/// The state where its form has it.
State place(const Form& form, const State& state);

/// The step of a settled form, compiled. The new state lies as the old one and takes its memory.
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
