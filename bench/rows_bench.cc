// Runs the rows: under Google Benchmark (its options, --benchmark_filter and so on), or by the
// first argument
//
// --serve: reads "time ROW SECONDS" lines and answers "ok WALL_US CPU_US" or "error TEXT";
//
// --first ROW: makes the row, runs it once and prints the microseconds of that call;
//
// --peak ROW: makes the row and runs it five times, for the memory that takes;
//
// --profile ROW FILE: profiles the third call, for chrome://tracing and Perfetto.
#include "rows.h"

#include <benchmark/benchmark.h>

#include <sys/resource.h>

#include <algorithm>
#include <chrono>
#include <iostream>
#include <sstream>

namespace {

using Clock = std::chrono::steady_clock;
double seconds_since(Clock::time_point start) {
  return std::chrono::duration<double>(Clock::now() - start).count();
}

const bench::Row& find(const std::string& name) {
  for (const bench::Row& row : bench::rows())
    if (row.name == name) return row;
  throw std::runtime_error("no row is called " + name);
}

// Of all threads.
double cpu_seconds() {
  rusage u;
  getrusage(RUSAGE_SELF, &u);
  auto s = [](timeval t) {
    return static_cast<double>(t.tv_sec) + 1e-6 * static_cast<double>(t.tv_usec);
  };
  return s(u.ru_utime) + s(u.ru_stime);
}

// Wall time, the median over batches of calls that last about `budget` seconds together; CPU time.
std::pair<double, double> time_calls(const bench::Call& call, double budget) {
  auto start = Clock::now();
  call();
  double once = std::max(seconds_since(start), 1e-7);
  auto batch = std::max<std::int64_t>(1, static_cast<std::int64_t>(budget / 8 / once));
  std::vector<double> times;
  double cpu = cpu_seconds();
  for (auto begin = Clock::now(); times.empty() || seconds_since(begin) < budget;) {
    start = Clock::now();
    for (std::int64_t i = 0; i < batch; ++i) call();
    times.push_back(seconds_since(start) / static_cast<double>(batch));
  }
  cpu = (cpu_seconds() - cpu) / static_cast<double>(batch) / static_cast<double>(times.size());
  auto middle = times.begin() + static_cast<std::ptrdiff_t>(times.size() / 2);
  std::nth_element(times.begin(), middle, times.end());
  return {*middle, cpu};
}

// One row is kept between requests, so that its rounds cost no setup.
int serve() {
  std::string current, line;
  bench::Call call;
  while (std::getline(std::cin, line)) {
    std::istringstream words(line);
    std::string verb, name;
    double budget = 0;
    words >> verb >> name >> budget;
    try {
      if (name != current) {
        call = nullptr;
        current.clear();
        call = find(name).make();
        current = name;
        call();
        call();
      }
      auto [wall, cpu] = time_calls(call, budget);
      std::cout << "ok " << wall * 1e6 << " " << cpu * 1e6 << std::endl;
    } catch (const std::exception& e) {
      std::string text = e.what();
      std::replace(text.begin(), text.end(), '\n', ' ');
      std::cout << "error " << text << std::endl;
    }
  }
  return 0;
}

int once(const std::string& name, int calls) {
  bench::Call call = find(name).make();
  auto start = Clock::now();
  call();
  std::cout << "ok " << seconds_since(start) * 1e6 << std::endl;
  for (int i = 1; i < calls; ++i) call();
  return 0;
}

int profile(const std::string& name, const std::string& file) {
  bench::Call call = find(name).make();
  call();
  call();
  ts::Profile recorded(file);
  call();
  recorded.finish();
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  ts::set_device_count(96);
  bench::add_dispatch_rows();
  bench::add_array_rows();
  bench::add_collective_rows();
  bench::add_sharded_rows();
  bench::add_training_rows();
  bench::add_gpt_rows();
  bench::add_op_rows();
  bench::add_from_jax_rows();
  std::string mode = argc > 1 ? argv[1] : "";
  if (mode == "--serve") return serve();
  if (mode == "--first" && argc == 3) return once(argv[2], 1);
  if (mode == "--profile" && argc == 4) return profile(argv[2], argv[3]);
  if (mode == "--peak" && argc == 3) return once(argv[2], 5);
  for (const bench::Row& row : bench::rows())
    benchmark::RegisterBenchmark(row.name.c_str(), [&row](benchmark::State& state) {
      bench::Call call = row.make();
      call();
      for (auto _ : state) call();
    })->UseRealTime();
  benchmark::Initialize(&argc, argv);
  benchmark::RunSpecifiedBenchmarks();
}
