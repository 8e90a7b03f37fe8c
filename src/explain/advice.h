// Suggests a change that would make the costliest collective of a plan cheaper.
#pragma once

#include "explain/work.h"

namespace tessera::inline v0::explain {

/// Tries other shardings for the arguments and results that the collective depends on, one kind at
/// a time, and partitions the program anew for each. Arguments are of one kind if their paths
/// differ only in numbers and they have the same type and spec; results with the path of an
/// argument belong to its kind. Returns one sentence about the fastest variant if it saves at least
/// one per cent of the time, else an empty string.
std::string advice_for(const Question& question, const ProgramOnMesh& divided, const Work& work,
                       const std::vector<PlannedCollective>& collectives,
                       const PlanOptions& options);

}  // namespace tessera::inline v0::explain
