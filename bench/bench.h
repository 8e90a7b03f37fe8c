// Shared by the benchmark programs: data, and waiting for results.
#pragma once

#include <tessera/tessera.h>

#include <benchmark/benchmark.h>

#include <cstdint>

namespace ts = tessera;
using ts::Array;

namespace bench {

/// Standard normals, ready before the clock starts.
inline Array normal(std::uint64_t seed, const ts::Shape& shape) {
  Array x = ts::random::normal(ts::random::key(seed), shape);
  x.block_until_ready();
  return x;
}

/// A call with its result's values waited for; once outside the clock, so that nothing compiles
/// inside it.
template <class F>
void wall(benchmark::State& state, F&& call) {
  ts::block_until_ready(call());
  for (auto _ : state) {
    auto result = call();
    ts::block_until_ready(result);
  }
}

inline void bytes_moved(benchmark::State& state, double bytes) {
  state.counters["GB/s"] =
      benchmark::Counter(bytes * 1e-9, benchmark::Counter::kIsIterationInvariantRate);
}
inline void flops(benchmark::State& state, double count) {
  state.counters["GFLOP/s"] =
      benchmark::Counter(count * 1e-9, benchmark::Counter::kIsIterationInvariantRate);
}

}  // namespace bench
