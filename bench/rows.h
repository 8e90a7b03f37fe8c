// The rows of the comparison with other libraries. Each is a workload with a name that the programs
// of compare/ share. rows_bench runs them under Google Benchmark, or one at a time for compare.py.
#pragma once

#include <tessera/tessera.h>

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

namespace ts = tessera;
using ts::Array;

namespace bench {

/// Executes the row once and waits for its results.
using Call = std::function<void()>;
struct Row {
  std::string name;
  /// Makes the data and the function; the call keeps both alive.
  std::function<Call()> make;
};

/// In the order of registration.
inline std::vector<Row>& rows() {
  static std::vector<Row> all;
  return all;
}

/// Standard normal numbers, computed before the clock starts.
inline Array normal(std::uint64_t seed, const ts::Shape& shape) {
  Array x = ts::random::normal(ts::random::key(seed), shape);
  x.block_until_ready();
  return x;
}

/// Wraps a function without arguments in a call that waits for its results.
template <class F>
Call waited(F f) {
  return [f = std::move(f)] { ts::block_until_ready(f()); };
}
template <class F, class... A>
Call bound(F f, A... args) {
  return waited([=] { return f(args...); });
}

/// The first devices of the default platform.
inline std::vector<ts::Device> first_devices(std::int64_t n) {
  std::vector<ts::Device> all = ts::devices(ts::default_backend());
  if (std::ssize(all) > n) all.resize(static_cast<std::size_t>(n));
  return all;
}

// Each of these registers its rows.
void add_dispatch_rows();
void add_array_rows();
void add_collective_rows();
void add_sharded_rows();
void add_training_rows();
void add_gpt_rows();
void add_op_rows();
void add_from_jax_rows();

}  // namespace bench
