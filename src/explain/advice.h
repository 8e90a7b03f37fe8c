// What would make the costliest collective of a plan cheaper.
#pragma once

#include "explain/work.h"

namespace tessera::inline v0::explain {

/// Arguments and results that the collective depends on are asked for in other ways, one kind at a
/// time (those that differ in numbers in their paths, and have one type and one spec, are of one
/// kind, results with an argument of their path too), and the program is divided anew for each. One
/// sentence about the one that takes the least time, where that is a hundredth less than now; else
/// nothing.
std::string advice_for(const Question& question, const ProgramOnMesh& divided, const Work& work,
                       const std::vector<PlannedCollective>& collectives,
                       const PlanOptions& options);

}  // namespace tessera::inline v0::explain
