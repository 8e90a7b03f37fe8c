// Runs loops of 64 iterations that update a 4 KB row of their carry. The time must not depend on
// the size of the carry, which a call copies once. Reports iterations per second, without the time
// of that copy.
#include <tessera/tessera.h>

#include <benchmark/benchmark.h>

#include <chrono>
#include <functional>

namespace ts = tessera;
using ts::Array;

namespace {

using Turn = std::function<Array(Array i, Array carry, Array row)>;

double seconds(const std::function<void()>& call) {
  const auto start = std::chrono::steady_clock::now();
  call();
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

// `gradient`: runs the gradient of the sum of the loop's results instead of the loop.
void run(benchmark::State& state, const Turn& turn, bool gradient, std::int64_t rows) {
  Array x = ts::zeros({rows, 1024}), row = ts::ones({1024});
  auto loop = [=](int turns) {
    auto f = [=](Array x, Array row) {
      return ts::fori_loop(
          0, turns, [=](Array i, Array c) { return turn(i, c, row); }, x);
    };
    auto g = ts::jit(f);
    auto d = ts::jit(ts::grad([=](Array x, Array r) { return ts::sum(f(x, r)); }));
    std::function<void()> call = [=]() mutable {
      ts::block_until_ready(gradient ? d(x, row) : g(x, row));
    };
    call();
    return call;
  };
  std::function<void()> none = loop(1), all = loop(65);
  double without = 1e9;
  for (int k = 0; k < 5; ++k) without = std::min(without, seconds(none));
  for (auto _ : state) state.SetIterationTime(std::max(0.0, (seconds(all) - without) / 64));
}

}  // namespace

int main(int argc, char** argv) {
  const std::pair<const char*, Turn> turns[] = {
      {"set", [](Array i, Array c, Array row) { return c.at(i).set(row * 1.5f); }},
      {"set_after_read", [](Array i, Array c, Array row) { return c.at(i + 1).set(c[i] + row); }},
      {"scatter",
       [](Array i, Array c, Array row) {
         return c.at(ts::stack({i, i + 1})).add(row * 1.5f);
       }},
  };
  for (const auto& [name, turn] : turns)
    for (bool gradient : {false, true})
      for (std::int64_t rows : {128, 1024, 16384})
        benchmark::RegisterBenchmark(
            (std::string(gradient ? "gradient_of_" : "") + name + "/" + std::to_string(rows * 4) +
             "KB")
                .c_str(),
            [=, turn = turn](benchmark::State& s) { run(s, turn, gradient, rows); })
            ->UseManualTime()
            ->Iterations(20);
  benchmark::Initialize(&argc, argv);
  benchmark::RunSpecifiedBenchmarks();
}
