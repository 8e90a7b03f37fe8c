// Runs the rows: under Google Benchmark (its options, --benchmark_filter and so on), or by the
// first argument:
//
//   --serve [FILE]: reads "time ROW SECONDS" lines and answers "ok WALL_US CPU_US" or "error TEXT";
//   --first ROW: makes the row, runs it once and prints the microseconds of that call;
//   --peak ROW: makes the row and runs it five times, to show its peak memory;
//   --profile ROW FILE: profiles the third call, for chrome://tracing and Perfetto.
//
// --devices N before it sets the number of devices, which is 96 otherwise. Processes started by a
// launcher run a row together, on the devices of all of them, whose number must be that of the row;
// process 0 answers. Each process reads requests from its own FILE, whose name ends in the
// process's number, for two reasons: launchers pass standard input to one process only, and
// processes waiting for it would disturb the measurement.
#include "rows_timing.h"

#include <benchmark/benchmark.h>

#include <algorithm>
#include <fstream>
#include <iostream>
#include <sstream>

namespace {

const bench::Row& find(const std::string& name) {
  for (const bench::Row& row : bench::rows())
    if (row.name == name) return row;
  throw std::runtime_error("no row is called " + name);
}

void answer(const std::string& text) {
  if (ts::process_index() == 0) std::cout << text << std::endl;
}

// One row is kept between requests, so that repeated rounds need no setup.
int serve(std::istream& requests) {
  std::string current, line;
  bench::Call call;
  while (std::getline(requests, line)) {
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
      auto [wall, cpu] = bench::time_calls(call, budget);
      answer("ok " + std::to_string(wall * 1e6) + " " + std::to_string(cpu * 1e6));
    } catch (const std::exception& e) {
      std::string text = e.what();
      std::replace(text.begin(), text.end(), '\n', ' ');
      answer("error " + text);
    }
  }
  return 0;
}

int once(const std::string& name, int calls) {
  bench::Call call = find(name).make();
  auto start = bench::Clock::now();
  call();
  answer("ok " + std::to_string(bench::seconds_since(start) * 1e6));
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
  int devices = 96;
  if (argc > 2 && std::string(argv[1]) == "--devices") {
    devices = std::stoi(argv[2]);
    argc -= 2;
    argv += 2;
  }
  ts::set_device_count(devices);
  bench::add_dispatch_rows();
  bench::add_array_rows();
  bench::add_collective_rows();
  bench::add_sharded_rows();
  bench::add_training_rows();
  bench::add_gpt_rows();
  bench::add_op_rows();
  bench::add_from_jax_rows();
  std::string mode = argc > 1 ? argv[1] : "";
  if (mode == "--serve" && argc == 3) {
    std::ifstream requests(argv[2] + std::to_string(ts::process_index()));
    return serve(requests);
  }
  if (mode == "--serve") return serve(std::cin);
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
