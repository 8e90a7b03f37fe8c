// Searches for the cheapest sequence of moves.
#pragma once

#include "spmd/reshard/steps.h"

#include <optional>

namespace tessera::inline v0::spmd {

/// If parts are even, the ratio of a part to the whole follows from the sizes of the atoms. The
/// size of the whole then affects which sequence is cheapest only if links have latencies.
struct SearchQuestion {
  Ground ground;
  const Placement &from, &to;
  const Links& links;
  bool joint = true;
  double bytes = 0;  // of the whole value; 0 if it does not matter
};

/// Searches with the size limit of plan_reshard: no part is larger than the larger of both ends.
/// The result is never longer or more expensive than the sequences in `known` that respect the
/// limit; it is absent if neither they nor the search yield one.
std::optional<std::vector<Step>> cheapest_steps(const SearchQuestion& question,
                                                const std::vector<std::vector<Step>>& known);

}  // namespace tessera::inline v0::spmd
