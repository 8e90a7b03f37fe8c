// The array programs of the tutorials, from small to bandwidth-bound and compute-bound.
#include "bench.h"

namespace {

Array energy(Array x) { return ts::sum(x * x + ts::sin(x) * ts::cos(x)); }

void pmapped_sum(benchmark::State& state) {
  auto f = ts::pmap(energy);
  Array x = bench::normal(0, {std::int64_t{4}, state.range(0)});
  bench::wall(state, [&] { return f(x); });
  bench::bytes_moved(state, 16.0 * static_cast<double>(state.range(0)));
}

// The same rows on one device, one call after the other.
void sequential_sum(benchmark::State& state) {
  auto f = ts::jit(energy);
  std::vector<Array> rows;
  for (std::uint64_t i = 0; i < 4; ++i) rows.push_back(bench::normal(i, {state.range(0)}));
  bench::wall(state, [&] {
    std::vector<Array> out;
    for (const Array& row : rows) out.push_back(f(row));
    return out;
  });
  bench::bytes_moved(state, 16.0 * static_cast<double>(state.range(0)));
}

// The same without jit, as the first tutorial times it.
void eager_sum(benchmark::State& state) {
  std::vector<Array> rows;
  for (std::uint64_t i = 0; i < 4; ++i) rows.push_back(bench::normal(i, {state.range(0)}));
  bench::wall(state, [&] {
    std::vector<Array> out;
    for (const Array& row : rows) out.push_back(energy(row));
    return out;
  });
  bench::bytes_moved(state, 16.0 * static_cast<double>(state.range(0)));
}

constexpr std::int64_t kLarge = 16 * 1024 * 1024;

void multiply_add(benchmark::State& state) {
  auto f = ts::jit([](Array v) { return v * 3 + 1; });
  Array v = bench::normal(0, {kLarge});
  bench::wall(state, [&] { return f(v); });
  bench::bytes_moved(state, 8.0 * kLarge);
}

// v * 3 + w, as STREAM has its triad.
void triad(benchmark::State& state) {
  auto f = ts::jit([](Array v, Array w) { return v * 3 + w; });
  Array v = bench::normal(0, {kLarge}), w = bench::normal(1, {kLarge});
  bench::wall(state, [&] { return f(v, w); });
  bench::bytes_moved(state, 12.0 * kLarge);
}

void transcendental_chain(benchmark::State& state) {
  auto f = ts::jit([](Array v) { return ts::tanh(ts::exp(ts::log1p(ts::abs(v)))); });
  Array v = bench::normal(0, {kLarge});
  bench::wall(state, [&] { return f(v); });
  bench::bytes_moved(state, 8.0 * kLarge);
}

void sum_large(benchmark::State& state) {
  auto f = ts::jit([](Array v) { return ts::sum(v); });
  Array v = bench::normal(0, {kLarge});
  bench::wall(state, [&] { return f(v); });
  bench::bytes_moved(state, 4.0 * kLarge);
}

void softmax_rows(benchmark::State& state) {
  auto f = ts::jit([](Array x) { return ts::nn::softmax(x); });
  Array x = bench::normal(0, {4096, 1024});
  bench::wall(state, [&] { return f(x); });
  bench::bytes_moved(state, 8.0 * 4096 * 1024);
}

void transpose(benchmark::State& state) {
  auto f = ts::jit([](Array x) { return ts::transpose(x); });
  Array x = bench::normal(0, {4096, 4096});
  bench::wall(state, [&] { return f(x); });
  bench::bytes_moved(state, 8.0 * 4096 * 4096);
}

void normals(benchmark::State& state) {
  auto f = ts::jit([](Array key) { return ts::random::normal(key, {4 * 1024 * 1024}); });
  Array key = ts::random::key(0);
  bench::wall(state, [&] { return f(key); });
  state.SetItemsProcessed(state.iterations() * 4 * 1024 * 1024);
}

void matmul(benchmark::State& state) {
  std::int64_t n = state.range(0);
  auto f = ts::jit([](Array a, Array b) { return ts::dot(a, b); });
  Array a = bench::normal(0, {n, n}), b = bench::normal(1, {n, n});
  bench::wall(state, [&] { return f(a, b); });
  bench::flops(state,
               2.0 * static_cast<double>(n) * static_cast<double>(n) * static_cast<double>(n));
}

BENCHMARK(pmapped_sum)->Arg(1000)->Arg(10000)->Arg(100000)->Arg(1000000)->UseRealTime();
BENCHMARK(sequential_sum)->Arg(1000)->Arg(10000)->Arg(100000)->Arg(1000000)->UseRealTime();
BENCHMARK(eager_sum)->Arg(1000)->Arg(10000)->Arg(100000)->Arg(1000000)->UseRealTime();
BENCHMARK(multiply_add)->UseRealTime()->Unit(benchmark::kMillisecond);
BENCHMARK(triad)->UseRealTime()->Unit(benchmark::kMillisecond);
BENCHMARK(transcendental_chain)->UseRealTime()->Unit(benchmark::kMillisecond);
BENCHMARK(sum_large)->UseRealTime()->Unit(benchmark::kMillisecond);
BENCHMARK(softmax_rows)->UseRealTime()->Unit(benchmark::kMillisecond);
BENCHMARK(transpose)->UseRealTime()->Unit(benchmark::kMillisecond);
BENCHMARK(normals)->UseRealTime()->Unit(benchmark::kMillisecond);
BENCHMARK(matmul)->RangeMultiplier(2)->Range(256, 2048)->UseRealTime()->Unit(
    benchmark::kMillisecond);

}  // namespace

int main(int argc, char** argv) {
  benchmark::Initialize(&argc, argv);
  ts::set_device_count(4);
  benchmark::RunSpecifiedBenchmarks();
}
