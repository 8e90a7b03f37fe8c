// Caches the cheapest sequence of steps under a key that contains only the inputs on which the
// answer depends.
#pragma once

#include "spmd/reshard/steps.h"

#include <memory>

namespace tessera::inline v0::spmd {

using Steps = std::vector<Step>;

/// The inputs that determine which sequence is cheapest.
struct StepsQuestion {
  const AtomMesh& mesh;
  const Placement &from, &to;
  const Links& links;
  bool joint;
  /// Bytes of the whole value; 0 if the answer does not depend on them, as without latencies.
  std::int64_t bytes;
  /// As in ReshardOptions.
  AtomSet barred;
  InlineVector<std::int64_t, 8> extents;  // as in Ground
};

/// Null if every sequence needs a part larger than the larger of the two ends. Results are cached
/// up to a limit. May be called from any thread.
std::shared_ptr<const Steps> steps_of(const StepsQuestion& question);

}  // namespace tessera::inline v0::spmd
