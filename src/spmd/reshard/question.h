// Which steps are cheapest, as far as the answer depends on less than the whole question: asked
// once, and kept.
#pragma once

#include "spmd/reshard/steps.h"

#include <memory>

namespace tessera::inline v0::spmd {

using Steps = std::vector<Step>;

/// What decides which steps are cheapest.
struct StepsQuestion {
  const AtomMesh& mesh;
  const Placement &from, &to;
  const Links& links;
  bool joint;
  /// Of the whole; 0 where it does not matter, as without latencies.
  std::int64_t bytes;
  /// As in ReshardOptions.
  AtomSet barred;
  InlineVector<std::int64_t, 8> extents;  // as in Ground
};

/// Null where no sequence keeps within the larger of the two parts. Kept, with a bound; from any
/// thread.
std::shared_ptr<const Steps> steps_of(const StepsQuestion& question);

}  // namespace tessera::inline v0::spmd
