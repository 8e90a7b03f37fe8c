#include "11_fsdp_transformer/forms.h"

#include <stdexcept>

namespace fsdp_transformer {

namespace {

using ts::none;
using ts::P;
using ts::PartitionSpec;

// Megatron's tensor parallelism (Shoeybi et al. 2019): along "model", each device owns some heads
// and hidden features, which are columns of the first weight and rows of the second. `rest` shards
// the other dimension and all other parameters.
std::vector<ts::PathRule> megatron(PartitionSpec::Dim rest, PartitionSpec::Dim positions) {
  const PartitionSpec columns = P(rest, "model"), rows = P("model", rest);
  return {{"**/qkv/weight", columns},         {"**/qkv/bias", P("model")},
          {"**/project/weight", rows},        {"**/up/weight", columns},
          {"**/up/bias", P("model")},         {"**/down/weight", rows},
          {"positions/weight", P(positions)}, {"**", P(rest)}};
}

}  // namespace

std::vector<Form> forms(std::int64_t n) {
  const std::int64_t pairs = n % 2 == 0 ? 2 : 1;
  return {
      {.name = "one", .what = "one device"},
      {.name = "data",
       .what = "parameters on all devices, a part of the batch on each",
       .axes = {{"data", n}},
       .parameters = {{"**", P()}},
       .batch = P("data")},
      {.name = "fsdp",
       .what = "parameters cut too, and gathered where they are used",
       .axes = {{"data", n}},
       .parameters = {{"**", P("data")}},
       .batch = P("data")},
      {.name = "tensor",
       .what = "heads and hidden features cut",
       .axes = {{"model", n}},
       .parameters = megatron(none, none)},
      {.name = "2d",
       .what = "fsdp along one axis, tensor along the other",
       .axes = {{"data", n / pairs}, {"model", pairs}},
       .parameters = megatron("data", "data"),
       .batch = P("data"),
       .stream = P("data")},
      {.name = "sequence",
       .what = "tensor, and the positions cut where that leaves features whole",
       .axes = {{"model", n}},
       .parameters = megatron(none, "model"),
       .stream = P(none, "model")},
      {.name = "auto",
       .what = "specs that were found",
       .axes = {{"data", n / pairs}, {"model", pairs}},
       .automatic = true},
  };
}

Form form(const std::string& name, std::int64_t devices) {
  std::string names;
  for (Form& f : forms(devices)) {
    if (f.name == name) return f;
    names += (names.empty() ? "" : ", ") + f.name;
  }
  throw std::invalid_argument("there is no form \"" + name + "\"; they are " + names);
}

Form settled(Form form, const State& state, const Array& ids, const optim::Optimizer& opt,
             bool recompute, std::int64_t memory) {
  if (!form.automatic) return form;
  // A full search would take a few seconds; this many evaluations come within a few percent of its
  // result.
  form.found = ts::autoshard(
      training_step(form, opt, recompute),
      {.mesh = form.mesh(), .memory_limit = memory, .evaluations = 48, .name = form.name})(
      ts::abstract_like(state), ts::abstract_like(ids), ts::abstract_like(ids));
  return form;
}

ts::SpecTree model_specs(const Form& form, const Gpt& model) {
  if (form.found) return form.found->in_shardings.children()[0].children()[0];
  return form.axes.empty() ? ts::SpecTree() : ts::specs(model, form.parameters);
}

ts::SpecTree state_specs(const Form& form, const State& state) {
  if (form.found) return form.found->in_shardings.children()[0];
  const ts::SpecTree model = model_specs(form, state.model);
  return optim::specs(state, model);
}

State place(const Form& form, const State& state) {
  return form.axes.empty() ? state : ts::device_put(state, form.mesh(), state_specs(form, state));
}

}  // namespace fsdp_transformer
