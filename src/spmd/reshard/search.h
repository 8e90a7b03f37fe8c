// The search for the cheapest sequence of moves.
#pragma once

#include "spmd/reshard/steps.h"

#include <optional>

namespace tessera::inline v0::spmd {

/// Where parts are even, a part is to the whole as 1 to the sizes of the atoms that cut it: which
/// sequence is cheapest depends on the size of the whole only where links have latencies.
struct SearchQuestion {
  Ground ground;
  const Placement &from, &to;
  const Links& links;
  bool joint = true;
  double bytes = 0;  // of the whole; 0 where it does not matter
};

/// Never longer or dearer than `known`, a sequence that keeps within the larger of the two parts;
/// none where there is neither such a sequence nor a better one. `known` is what it compares with.
std::optional<std::vector<Step>> cheapest_steps(const SearchQuestion& question,
                                                const std::vector<std::vector<Step>>& known);

}  // namespace tessera::inline v0::spmd
