// Where an optimiser's state lies, given where the parameters lie.
#include <tessera/optim.h>

namespace tessera::inline v0::optim {

namespace {

SpecTree moment_specs(const Leaves& moments, const Leaves& params,
                      const std::vector<std::optional<PartitionSpec>>& of_params) {
  std::vector<SpecTree> specs(moments.size());
  // A list of another length holds numbers of the stage's own.
  if (moments.size() != params.size()) return specs;
  for (std::size_t i = 0; i < moments.size(); ++i) {
    if (moments[i].is_empty() || params[i].is_empty() || moments[i].shape() != params[i].shape())
      continue;
    specs[i] = of_params[i] ? SpecTree(*of_params[i]) : SpecTree(unconstrained);
  }
  return specs;
}

SpecTree stage_specs(const std::vector<State::Stage>& stages, const Leaves& params,
                     const std::vector<std::optional<PartitionSpec>>& of_params) {
  std::vector<SpecTree> specs;
  for (const State::Stage& stage : stages) {
    std::vector<SpecTree> moments;
    for (const Leaves& m : stage.moments) moments.push_back(moment_specs(m, params, of_params));
    specs.push_back({SpecTree(), SpecTree(std::move(moments)),
                     stage_specs(stage.inner, params, of_params), SpecTree()});
  }
  return SpecTree(std::move(specs));
}

}  // namespace

SpecTree detail::state_specs(const State& state, const Leaves& params,
                             const std::vector<std::optional<PartitionSpec>>& of_params) {
  return SpecTree(std::vector<SpecTree>{stage_specs(state.stages, params, of_params)});
}

}  // namespace tessera::inline v0::optim
