#include "cells.h"

#include <chrono>

namespace pmap_basics {

namespace {

Array computation(Array x) { return ts::sum(ts::power(x, 2) + ts::sin(x) * ts::cos(x)); }

double seconds() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

}  // namespace

Timing benchmark_computation(Array data, int trials) {
  auto pmapped_computation = ts::pmap(computation);
  std::vector<Array> rows, results;
  for (Array row : data) rows.push_back(row);
  auto all_rows = [&] {
    results.clear();
    for (const Array& row : rows) results.push_back(computation(row));
  };
  // The document measures compilation too, and stops the clock before the results are ready. Here
  // both functions are called once before the clock starts, and their results are waited for.
  all_rows();
  Timing t;
  t.parallel = pmapped_computation(data);
  ts::block_until_ready(std::pair(results, t.parallel));

  double start = seconds();
  for (int i = 0; i < trials; ++i) {
    all_rows();
    ts::block_until_ready(results);
  }
  t.sequential_seconds = (seconds() - start) / trials;
  t.sequential = ts::stack(results);

  start = seconds();
  for (int i = 0; i < trials; ++i) {
    t.parallel = pmapped_computation(data);
    t.parallel.block_until_ready();
  }
  t.parallel_seconds = (seconds() - start) / trials;
  return t;
}

}  // namespace pmap_basics
