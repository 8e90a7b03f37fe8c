// Collectives that are alike as one.
#pragma once

#include <tessera/plan.h>

#include <string>
#include <vector>

namespace tessera::inline v0::explain {

struct Grouped {
  const PlannedCollective* one = nullptr;
  std::int64_t times = 0;  // of all
  double seconds() const { return one->seconds * static_cast<double>(times); }
};
/// Costliest first. The plan lives as long.
std::vector<Grouped> grouped(const Plan& plan);

/// "'data', 'model'"
std::string axes_text(const std::vector<std::string>& axes);
/// "P('x') -> P()"; empty where nobody knows.
std::string moves_text(const PlannedCollective& collective);

}  // namespace tessera::inline v0::explain
