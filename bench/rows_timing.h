// How long the calls of a row take. Processes that run together make the same calls: process 0 says
// how many, and its clock is the one that counts.
#pragma once

#include "rows.h"

#include <chrono>

namespace bench {

using Clock = std::chrono::steady_clock;
inline double seconds_since(Clock::time_point start) {
  return std::chrono::duration<double>(Clock::now() - start).count();
}

struct Times {
  double wall, cpu;  // seconds a call; the processor's of all threads of this process
};
/// The median over batches of calls that last about `budget` seconds together.
Times time_calls(const Call& call, double budget);

}  // namespace bench
