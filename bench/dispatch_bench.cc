// What a call costs around the arithmetic: compiled, eager and mapped functions of a few elements,
// and a gradient that is traced anew each time.
#include "bench.h"

#include <vector>

namespace {

void jit_scalar(benchmark::State& state) {
  auto f = ts::jit([](Array x) { return x + 1; });
  Array x = ts::zeros({});
  bench::wall(state, [&] { return f(x); });
}

void jit_tree_of_100(benchmark::State& state) {
  auto f =
      ts::jit([](std::vector<Array> t) { return ts::tree::map([](Array x) { return x + 1; }, t); });
  std::vector<Array> t(100);
  for (Array& x : t) x = ts::zeros({});
  bench::wall(state, [&] { return f(t); });
}

void eager_add(benchmark::State& state) {
  Array x = ts::zeros({4});
  bench::wall(state, [&] { return x + x; });
}

void pmap_plus_one(benchmark::State& state) {
  auto f = ts::pmap([](Array x) { return x + 1; });
  Array x = ts::zeros({4, 8});
  bench::wall(state, [&] { return f(x); });
}

void pmap_psum(benchmark::State& state) {
  auto f = ts::pmap([](Array x) { return ts::psum(x, "i"); }, {.axis_name = "i"});
  Array x = ts::zeros({4, 8});
  bench::wall(state, [&] { return f(x); });
}

// The output of one call is the input of the next, as in training.
void pmap_chained(benchmark::State& state) {
  auto f = ts::pmap([](Array x) { return x + 1; });
  Array x = f(ts::zeros({4, 8}));
  for (auto _ : state) x = f(x);
  x.block_until_ready();
}

void grad_traced_eagerly(benchmark::State& state) {
  auto g = ts::grad([](Array x) { return ts::sum(ts::sin(x) * x); });
  Array x = ts::ones({8});
  bench::wall(state, [&] { return g(x); });
}

BENCHMARK(jit_scalar)->UseRealTime();
BENCHMARK(jit_tree_of_100)->UseRealTime();
BENCHMARK(eager_add)->UseRealTime();
BENCHMARK(pmap_plus_one)->UseRealTime();
BENCHMARK(pmap_psum)->UseRealTime();
BENCHMARK(pmap_chained)->UseRealTime();
BENCHMARK(grad_traced_eagerly)->UseRealTime();

}  // namespace

int main(int argc, char** argv) {
  benchmark::Initialize(&argc, argv);
  ts::set_device_count(4);
  benchmark::RunSpecifiedBenchmarks();
}
