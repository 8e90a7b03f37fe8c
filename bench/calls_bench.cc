// Measures the library routines on one core, at the shapes of the example programs: GFLOP/s of
// contractions, of convolutions, and of the convolutions that are their transposes.
#include "codegen/calls/calls.h"
#include "ir/host_array.h"
#include "ops/contraction/conv_dims.h"
#include "ops/contraction/dot_dims.h"

#include <benchmark/benchmark.h>

namespace ts = tessera;

namespace {

void fill(ts::HostArray& a) {
  for (std::int64_t i = 0; i < a.count(); ++i)
    if (a.dtype == ts::f32)
      a.data<float>()[i] = static_cast<float>(i % 7) - 3;
    else if (a.dtype == ts::f64)
      a.data<double>()[i] = static_cast<double>(i % 7) - 3;
    else
      a.data<ts::bfloat16_t>()[i] = ts::bfloat16_t(static_cast<float>(i % 7) - 3);
}

void run(benchmark::State& state, const ts::Equation& eqn, const ts::Program& p) {
  std::vector<ts::Type> in, out;
  for (ts::Var v : eqn.inputs) in.push_back(p.type(v));
  for (ts::Var v : eqn.outputs) out.push_back(p.type(v));
  auto routine = ts::codegen::prepare_call(*eqn.op, eqn.attrs, in, out);
  if (!routine) return state.SkipWithError("no library takes it");
  std::vector<ts::HostArray> arrays;
  for (const auto* side : {&in, &out})
    for (const ts::Type& t : *side) fill(arrays.emplace_back(t.dtype, t.shape));
  const void* inputs[] = {arrays[0].bytes, arrays[1].bytes};
  void* outputs[] = {arrays[2].bytes};
  std::vector<std::byte> memory(routine->scratch_bytes + 64);
  void* scratch = memory.data() + (64 - reinterpret_cast<std::uintptr_t>(memory.data()) % 64);
  ts::RoutineArgs args{inputs, outputs, scratch};
  for (auto _ : state)
    for (const ts::Stage& s : routine->stages) s.run(args, 0, s.tasks);
  std::int64_t tasks = 0;
  for (const ts::Stage& s : routine->stages) tasks = std::max(tasks, s.tasks);
  state.counters["tasks"] = static_cast<double>(tasks);
}

void gflops(benchmark::State& state, double flops) {
  state.counters["GFLOP/s"] =
      benchmark::Counter(flops * 1e-9, benchmark::Counter::kIsIterationInvariantRate);
}

void dot(benchmark::State& state, const ts::Shape& l, const ts::Shape& r, const ts::ops::DotDims& d,
         ts::DType t) {
  ts::Builder b;
  ts::ops::dot_general(b.input(ts::Type(t, l)), b.input(ts::Type(t, r)), d);
  const ts::Equation& eqn = b.so_far().equations[0];
  double flops = 2.0 * static_cast<double>(b.type(eqn.outputs[0]).shape.count());
  for (std::int64_t k : d.lhs_contracting) flops *= static_cast<double>(l[k]);
  run(state, eqn, b.so_far());
  gflops(state, flops);
}

enum class Part { forward, source, kernel };

// A convolution of a square image in NHWC and HWIO, with same padding.
void convolution(benchmark::State& state, Part part, std::int64_t n, std::int64_t size,
                 std::int64_t in, std::int64_t out, std::int64_t k, std::int64_t stride) {
  std::int64_t result = (size + stride - 1) / stride,
               pad = std::max<std::int64_t>(0, (result - 1) * stride + k - size);
  ts::ops::ConvDims d{.strides = {stride, stride},
                      .pad_low = {pad / 2, pad / 2},
                      .pad_high = {pad - pad / 2, pad - pad / 2},
                      .lhs_dilation = {1, 1},
                      .rhs_dilation = {1, 1},
                      .lhs_spec = {0, 3, 1, 2},
                      .rhs_spec = {3, 2, 0, 1},
                      .out_spec = {0, 3, 1, 2}};
  ts::Builder b;
  ts::Value x = b.input(ts::Type(ts::f32, {n, size, size, in})),
            w = b.input(ts::Type(ts::f32, {k, k, in, out}));
  ts::Value y = b.input(ts::Type(ts::f32, {n, result, result, out}));
  if (part == Part::forward) ts::ops::convolution(x, w, d);
  if (part == Part::source) ts::ops::convolution_transpose_lhs(y, w, d, x.type());
  if (part == Part::kernel) ts::ops::convolution_transpose_rhs(y, x, d, w.type());
  run(state, b.so_far().equations.back(), b.so_far());
  gflops(state, 2.0 * static_cast<double>(n * result * result * in * out * k * k));
}

const int registered = [] {
  const ts::ops::DotDims nn{{1}, {0}, {}, {}}, tn{{0}, {0}, {}, {}}, nt{{1}, {1}, {}, {}};
  auto add_dot = [](const std::string& name, ts::Shape l, ts::Shape r, ts::ops::DotDims d,
                    ts::DType t = ts::f32) {
    benchmark::RegisterBenchmark(("dot/" + name).c_str(),
                                 [=](benchmark::State& s) { dot(s, l, r, d, t); });
  };
  for (std::int64_t n : {64, 256, 1024}) add_dot(std::to_string(n), {n, n}, {n, n}, nn);
  add_dot("16x1600x10", {16, 1600}, {1600, 10}, nn);
  add_dot("16x1600x10 weight gradient", {16, 1600}, {16, 10}, tn);
  add_dot("16x1600x10 input gradient", {16, 10}, {1600, 10}, nt);
  add_dot("512x784x256", {512, 784}, {784, 256}, nn);
  add_dot("512x784x256 weight gradient", {512, 784}, {512, 256}, tn);
  add_dot("512x784x256 input gradient", {512, 256}, {784, 256}, nt);
  add_dot("attention scores 4x8x64x32", {4, 64, 8, 32}, {4, 64, 8, 32}, {{3}, {3}, {0, 2}, {0, 2}});
  add_dot("attention values 4x8x64x32", {4, 8, 64, 64}, {4, 64, 8, 32}, {{3}, {1}, {0, 1}, {0, 2}});
  add_dot("bf16 256", {256, 256}, {256, 256}, nn, ts::bf16);
  add_dot("f64 256", {256, 256}, {256, 256}, nn, ts::f64);
  for (auto [part, name] : {std::pair{Part::forward, "forward"}, std::pair{Part::source, "source"},
                            std::pair{Part::kernel, "kernel"}}) {
    auto add_conv = [&, part = part](const char* shape, std::int64_t n, std::int64_t size,
                                     std::int64_t in, std::int64_t out, std::int64_t stride) {
      benchmark::RegisterBenchmark(
          (std::string("convolution/") + shape + " " + name).c_str(),
          [=](benchmark::State& s) { convolution(s, part, n, size, in, out, 3, stride); });
    };
    add_conv("16x20x20x1->32", 16, 20, 1, 32, 1);
    add_conv("16x10x10x32->64", 16, 10, 32, 64, 1);
    add_conv("64x20x20x1->32", 64, 20, 1, 32, 1);
    add_conv("64x10x10x32->64", 64, 10, 32, 64, 1);
    add_conv("32x32x32x3->32", 32, 32, 3, 32, 1);
    add_conv("32x16x16x32->64", 32, 16, 32, 64, 1);
    add_conv("8x28x28x128->128/2", 8, 28, 128, 128, 2);
  }
  return 0;
}();

}  // namespace

BENCHMARK_MAIN();
