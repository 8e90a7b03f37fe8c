// The time of a call, for benchmarks of single routines.
#pragma once

#include <algorithm>
#include <chrono>

/// The seconds of one call: the least of nine tries of some milliseconds each.
template <class F>
double seconds(F f) {
  using Clock = std::chrono::steady_clock;
  f();
  double best = 1e9;
  int calls = 1;
  for (int i = 0; i < 9; ++i) {
    const auto start = Clock::now();
    for (int c = 0; c < calls; ++c) f();
    const double s = std::chrono::duration<double>(Clock::now() - start).count();
    best = std::min(best, s / calls);
    calls = std::max(1, static_cast<int>(2e-3 / best));
  }
  return best;
}
