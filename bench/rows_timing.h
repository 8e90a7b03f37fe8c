// Times the calls of a row. Processes that run together make the same calls: process 0 decides how
// many, and only its clock counts.
#pragma once

#include "rows.h"

#include <chrono>

namespace bench {

using Clock = std::chrono::steady_clock;
inline double seconds_since(Clock::time_point start) {
  return std::chrono::duration<double>(Clock::now() - start).count();
}

struct Times {
  double wall, cpu;  // seconds per call; `cpu` is of all threads of this process
};
/// Returns the median over batches of calls that last about `budget` seconds together.
Times time_calls(const Call& call, double budget);

}  // namespace bench
