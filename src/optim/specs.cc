// The partition specs of an optimiser's state, given those of the parameters.
#include <tessera/optim/optimizer.h>

namespace tessera::inline v0::optim {

namespace {

using OfParameters = std::vector<std::optional<PartitionSpec>>;

// If a parameter has no spec, the dimensions of its moments are unconstrained.
PartitionSpec spec_of(const std::optional<PartitionSpec>& of_param, const Array& param) {
  if (of_param) return *of_param;
  return PartitionSpec(std::vector<PartitionSpec::Dim>(static_cast<std::size_t>(param.ndim()),
                                                       PartitionSpec::Dim(unconstrained)));
}

void add_stages(const std::vector<State::Stage>& stages, const Leaves& params,
                const OfParameters& of_params, std::vector<PartitionSpec>& specs) {
  for (const State::Stage& stage : stages) {
    specs.emplace_back();  // counter
    for (const Leaves& moments : stage.moments)
      for (std::size_t i = 0; i < moments.size(); ++i) {
        // A list of another length holds scalars of the stage.
        const bool of_a_parameter = moments.size() == params.size() && !moments[i].is_empty() &&
                                    !params[i].is_empty() &&
                                    moments[i].shape() == params[i].shape();
        specs.push_back(of_a_parameter ? spec_of(of_params[i], params[i]) : PartitionSpec());
      }
    add_stages(stage.inner, params, of_params, specs);
  }
}

}  // namespace

SpecTree detail::state_specs(const State& state, const Leaves& params,
                             const OfParameters& of_params) {
  std::vector<PartitionSpec> specs;
  add_stages(state.stages, params, of_params, specs);
  return SpecTree::of_leaves(std::move(specs));
}

}  // namespace tessera::inline v0::optim
