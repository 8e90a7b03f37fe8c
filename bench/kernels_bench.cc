// Measures compiled kernels on one core, in bytes per second if they are limited by memory and in
// elements per second always.
#include "codegen/fuse/fuse.h"
#include "codegen/kernel/kernel.h"
#include "ir/builder.h"
#include "ir/host_array.h"
#include "ops/build.h"

#include <benchmark/benchmark.h>

#include <cmath>
#include <functional>

namespace ts = tessera;
namespace ops = tessera::ops;

namespace {

using Make = std::function<ts::Values(ts::Builder&)>;

// Fuses, compiles and runs a program that consists of kernels only.
void run(benchmark::State& state, const Make& make) {
  ts::Builder b;
  ts::Values results = make(b);
  ts::ProgramPtr p = b.finish(results);
  auto clusters = ts::codegen::fuse(*p, std::vector<int>(p->types.size(), 0));
  std::vector<ts::ProgramPtr> kernels;
  for (const auto& c : clusters) kernels.push_back(c.program);
  auto routines = ts::codegen::compile_kernels(kernels);
  std::vector<ts::HostArray> memory(p->types.size());
  double bytes = 0;
  auto allocate = [&](ts::Var v) {
    memory[v] = ts::HostArray(p->type(v).dtype, p->type(v).shape);
    for (std::int64_t i = 0; i < memory[v].size_bytes(); ++i)
      memory[v].bytes[i] = static_cast<std::byte>(i % 61);
    bytes += static_cast<double>(memory[v].size_bytes());
  };
  for (ts::Var v : p->inputs) allocate(v);
  for (const auto& c : clusters)
    for (ts::Var v : c.outputs) allocate(v);
  std::size_t scratch = 64;
  for (const auto& r : routines) scratch = std::max(scratch, r->scratch_bytes + 64);
  std::vector<std::byte> room(scratch);
  void* aligned =
      reinterpret_cast<void*>((reinterpret_cast<std::uintptr_t>(room.data()) + 63) / 64 * 64);
  for (auto _ : state) {
    for (std::size_t k = 0; k < clusters.size(); ++k) {
      std::vector<const void*> in;
      std::vector<void*> out;
      for (ts::Var v : clusters[k].inputs) in.push_back(memory[v].bytes);
      for (ts::Var v : clusters[k].outputs) out.push_back(memory[v].bytes);
      for (const ts::Stage& s : routines[k]->stages)
        s.run({in.data(), out.data(), aligned}, 0, s.tasks);
    }
  }
  auto iterations = static_cast<double>(state.iterations());
  state.counters["B/s"] = benchmark::Counter(bytes * iterations, benchmark::Counter::kIsRate);
  std::int64_t largest = 1;
  for (const ts::Type& t : p->types) largest = std::max(largest, t.shape.count());
  state.counters["elements/s"] =
      benchmark::Counter(static_cast<double>(largest) * iterations, benchmark::Counter::kIsRate);
}

constexpr std::int64_t kMillion = 1 << 20;

ts::Value wide(ts::Value v, const ts::Shape& s) { return ops::broadcast_in_dim(v, s, {0}); }

const std::vector<std::pair<const char*, Make>>& cases() {
  static const std::vector<std::pair<const char*, Make>> all{
      {"multiply_add/16M",
       [](ts::Builder& b) {
         ts::Value v = b.input({ts::f32, {16 * kMillion}}), w = b.input({ts::f32, {16 * kMillion}});
         return ts::Values{ops::add(ops::mul(v, ops::full_like(v, 3)), w)};
       }},
      {"sum/16M",
       [](ts::Builder& b) {
         return ts::Values{ops::reduce_sum(b.input({ts::f32, {16 * kMillion}}), {0})};
       }},
      {"sum_of_columns/4096x4096",
       [](ts::Builder& b) {
         return ts::Values{ops::reduce_sum(b.input({ts::f32, {4096, 4096}}), {0})};
       }},
      {"sum_of_rows/4096x4096",
       [](ts::Builder& b) {
         return ts::Values{ops::reduce_sum(b.input({ts::f32, {4096, 4096}}), {1})};
       }},
      {"transpose/4096x4096",
       [](ts::Builder& b) {
         return ts::Values{ops::transpose(b.input({ts::f32, {4096, 4096}}), {1, 0})};
       }},
      {"log1p_exp_tanh/4M",
       [](ts::Builder& b) {
         return ts::Values{ops::log1p(ops::exp(ops::tanh(b.input({ts::f32, {4 * kMillion}}))))};
       }},
      {"softmax/4096x1024",
       [](ts::Builder& b) {
         ts::Shape s{4096, 1024};
         ts::Value x = b.input({ts::f32, s}),
                   e = ops::exp(ops::sub(x, wide(ops::reduce_max(x, {1}), s)));
         return ts::Values{ops::div(e, wide(ops::reduce_sum(e, {1}), s))};
       }},
      {"adam/4M",
       [](ts::Builder& b) {
         ts::Type t(ts::f32, {4 * kMillion});
         ts::Value p = b.input(t), m0 = b.input(t), v0 = b.input(t), g = b.input(t);
         auto c = [&](double x) { return ops::full_like(g, x); };
         ts::Value m = ops::add(ops::mul(m0, c(0.9)), ops::mul(g, c(0.1)));
         ts::Value v = ops::add(ops::mul(v0, c(0.999)), ops::mul(ops::mul(g, g), c(0.001)));
         ts::Value step = ops::div(ops::mul(m, c(1e-3)), ops::add(ops::sqrt(v), c(1e-8)));
         return ts::Values{ops::sub(p, step), m, v};
       }},
      {"argmax/4096x1000",
       [](ts::Builder& b) {
         return ts::Values{ops::argmax(b.input({ts::f32, {4096, 1000}}), 1)};
       }},
      {"random_bits/4M",
       [](ts::Builder& b) {
         ts::Shape s{4 * kMillion};
         ts::Value k = ops::broadcast_in_dim(b.input({ts::u32, {}}), s, {});
         ts::Values r =
             ops::threefry2x32(k, k, ops::full(b, ts::u32, s, 0), ops::iota(b, ts::u32, s, 0));
         return ts::Values{ops::xor_(r[0], r[1])};
       }},
  };
  return all;
}

}  // namespace

int main(int argc, char** argv) {
  for (const auto& [name, make] : cases())
    benchmark::RegisterBenchmark(name, [make = make](benchmark::State& s) { run(s, make); });
  benchmark::Initialize(&argc, argv);
  benchmark::RunSpecifiedBenchmarks();
}
