#include "transform/dead_code.h"

#include "ir/builder.h"

namespace tessera::inline v0 {

std::vector<bool> used_inputs(const Program& p) {
  std::vector<bool> used(p.types.size());
  for (const Equation& eqn : p.equations)
    for (Var v : eqn.inputs) used[v] = true;
  for (Var v : p.outputs) used[v] = true;
  std::vector<bool> result;
  for (Var v : p.inputs) result.push_back(used[v]);
  return result;
}

std::shared_ptr<Program> dead_code(const Program& p) { return prune(p); }

}  // namespace tessera::inline v0
