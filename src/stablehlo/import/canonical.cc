#include "stablehlo/import/canonical.h"

#include "ir/builder.h"
#include "transform/simplify.h"

#include <unordered_map>
#include <utility>

namespace tessera::inline v0::stablehlo {

ProgramPtr canonical(const Program& p) {
  const ProgramPtr merged = merge_common(prune(p));
  std::unordered_map<Var, std::size_t> made_by;
  for (std::size_t k = 0; k < merged->equations.size(); ++k)
    for (const Var v : merged->equations[k].outputs) made_by.emplace(v, k);
  auto ordered = std::make_shared<Program>(*merged);
  ordered->equations.clear();
  std::vector<bool> done(merged->equations.size());
  // Equations under way, with the number of operands that have been made.
  std::vector<std::pair<std::size_t, std::size_t>> open;
  const auto make = [&](Var v) {
    const auto it = made_by.find(v);
    if (it != made_by.end() && !done[it->second]) open.emplace_back(it->second, 0);
  };
  for (const Var output : merged->outputs) {
    make(output);
    while (!open.empty()) {
      const std::size_t k = open.back().first;
      const Equation& e = merged->equations[k];
      if (done[k]) {
        open.pop_back();
      } else if (open.back().second < e.inputs.size()) {
        make(e.inputs[open.back().second++]);
      } else {
        ordered->equations.push_back(e);
        done[k] = true;
      }
    }
  }
  return ordered;
}

}  // namespace tessera::inline v0::stablehlo
