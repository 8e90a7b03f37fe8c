// Groups equal collectives.
#pragma once

#include <tessera/plan.h>

#include <string>
#include <vector>

namespace tessera::inline v0::explain {

struct Grouped {
  const PlannedCollective* one = nullptr;
  std::int64_t times = 0;  // sum over the group
  double seconds() const { return one->seconds * static_cast<double>(times); }
};
/// Costliest first. The plan must outlive the result.
std::vector<Grouped> grouped(const Plan& plan);

/// For example "'data', 'model'".
std::string axes_text(const std::vector<std::string>& axes);
/// For example "P('x') -> P()"; empty if unknown.
std::string moves_text(const PlannedCollective& collective);

}  // namespace tessera::inline v0::explain
