// Whole training steps, on one device and data-parallel, and the time until the first step of one
// has run.
#include "bench.h"

#include <optional>

namespace {

namespace nn = ts::nn;
namespace optim = ts::optim;
constexpr const char* kAxis = "devices";

struct Mlp {
  nn::Linear first, second, last;
  Array operator()(Array x) const { return last(ts::tanh(second(ts::tanh(first(x))))); }
};
Mlp make_mlp() {
  auto [a, b, c] = ts::random::split<3>(ts::random::key(0));
  return {nn::linear(a, 784, 256), nn::linear(b, 256, 128), nn::linear(c, 128, 10)};
}
Array mlp_loss(const Mlp& model, Array x, Array y) { return ts::mean(ts::square(model(x) - y)); }

struct Cnn {
  nn::Conv first, second;
  nn::Linear dense;
  Array operator()(Array x) const {
    x = ts::max_pool(nn::relu(first(x)), {2, 2});
    x = ts::max_pool(nn::relu(second(x)), {2, 2});
    return dense(x.reshape(x.shape(0), -1)).astype(ts::f32);
  }
};
Cnn make_cnn(std::optional<ts::DType> dtype = {}) {
  auto [a, b, c] = ts::random::split<3>(ts::random::key(0));
  return {nn::conv(a, 3, 32, {3, 3}, {.dtype = dtype}),
          nn::conv(b, 32, 64, {3, 3}, {.dtype = dtype}), nn::linear(c, 4096, 10, {.dtype = dtype})};
}
Array cnn_loss(const Cnn& model, Array x, Array labels) {
  return ts::mean(nn::softmax_cross_entropy_with_integer_labels(model(x), labels));
}

template <class Model>
struct Training {
  Model model;
  optim::State optimizer;
};

// One step: gradients, their mean over the devices where there are several, Adam.
template <class Model>
auto step_of(Array (*loss)(const Model&, Array, Array), bool mapped) {
  return [=](Training<Model> t, Array x, Array y) {
    auto [value, grads] = ts::value_and_grad(loss)(t.model, x, y);
    if (mapped) {
      grads = ts::pmean(grads, kAxis);
      value = ts::pmean(value, kAxis);
    }
    auto [updates, next] = optim::adam(1e-3).update(grads, t.optimizer, t.model);
    return std::pair(Training<Model>{optim::apply_updates(t.model, updates), next}, value);
  };
}
template <class Model>
auto make_step(Array (*loss)(const Model&, Array, Array)) {
  return ts::jit(step_of(loss, false));
}
template <class Model>
auto make_mapped_step(Array (*loss)(const Model&, Array, Array)) {
  return ts::pmap(step_of(loss, true), {.axis_name = kAxis,
                                        .in_axes = {ts::replicated, 0, 0},
                                        .out_axes = {ts::replicated, ts::replicated}});
}

// Steps that feed each other, each loss read as a training loop does.
template <class Step, class Model>
void train(benchmark::State& state, const Step& step, Model model, Array x, Array y,
           std::int64_t batch) {
  Training<Model> t{model, optim::adam(1e-3).init(model)};
  auto once = [&] {
    auto [next, loss] = step(std::move(t), x, y);
    t = std::move(next);
    benchmark::DoNotOptimize(loss.template item<float>());
  };
  once();
  once();
  for (auto _ : state) once();
  state.SetItemsProcessed(state.iterations() * batch);
}

// Time of the first call of a function that is new to the process; kernels come from the caches
// after the first iteration unless TESSERA_CACHE_DIR names a fresh folder.
template <class Make, class Model>
void first_call(benchmark::State& state, Make make, Model model, Array x, Array y) {
  Training<Model> t{model, optim::adam(1e-3).init(model)};
  ts::block_until_ready(t);
  for (auto _ : state) {
    auto step = make();
    step(t, x, y).second.template item<float>();
  }
}

void mlp_one(benchmark::State& state) {
  train(state, make_step(mlp_loss), make_mlp(), bench::normal(1, {512, 784}),
        bench::normal(2, {512, 10}), 512);
}
void mlp_pmap(benchmark::State& state) {
  std::int64_t n = state.range(0);
  train(state, make_mapped_step(mlp_loss), make_mlp(),
        bench::normal(1, {n, 512 / n, std::int64_t{784}}),
        bench::normal(2, {n, 512 / n, std::int64_t{10}}), 512);
}
void mlp_compile(benchmark::State& state) {
  first_call(
      state, [] { return make_step(mlp_loss); }, make_mlp(), bench::normal(1, {512, 784}),
      bench::normal(2, {512, 10}));
}

Array labels(const ts::Shape& shape) {
  return ts::random::randint(ts::random::key(3), shape, 0, 10);
}

void cnn_one(benchmark::State& state) {
  train(state, make_step(cnn_loss), make_cnn(), bench::normal(1, {128, 32, 32, 3}), labels({128}),
        128);
}
void cnn_bf16(benchmark::State& state) {
  train(state, make_step(cnn_loss), make_cnn(ts::bf16), bench::normal(1, {128, 32, 32, 3}),
        labels({128}), 128);
}
void cnn_pmap(benchmark::State& state) {
  std::int64_t n = state.range(0), each = n == 96 ? 1 : 128 / n;
  train(state, make_mapped_step(cnn_loss), make_cnn(),
        bench::normal(1, {n, each, std::int64_t{32}, std::int64_t{32}, std::int64_t{3}}),
        labels({n, each}), n * each);
}
void cnn_compile(benchmark::State& state) {
  first_call(
      state, [] { return make_step(cnn_loss); }, make_cnn(), bench::normal(1, {128, 32, 32, 3}),
      labels({128}));
}

// A hundred dependent psums of a thousand floats on four devices.
void psum_chain(benchmark::State& state) {
  auto f = ts::pmap(
      [](Array x) {
        for (int i = 0; i < 100; ++i) x = ts::psum(x, kAxis) * 0.25f + float(i);
        return x;
      },
      {.axis_name = kAxis});
  Array x = bench::normal(0, {4, 1000});
  bench::wall(state, [&] { return f(x); });
}

BENCHMARK(mlp_one)->UseRealTime()->Unit(benchmark::kMillisecond);
BENCHMARK(mlp_pmap)->Arg(4)->Arg(8)->UseRealTime()->Unit(benchmark::kMillisecond);
BENCHMARK(mlp_compile)->Iterations(1)->UseRealTime()->Unit(benchmark::kMillisecond);
BENCHMARK(cnn_one)->UseRealTime()->Unit(benchmark::kMillisecond);
BENCHMARK(cnn_bf16)->UseRealTime()->Unit(benchmark::kMillisecond);
BENCHMARK(cnn_pmap)->Arg(4)->Arg(8)->Arg(96)->UseRealTime()->Unit(benchmark::kMillisecond);
BENCHMARK(cnn_compile)->Iterations(1)->UseRealTime()->Unit(benchmark::kMillisecond);
BENCHMARK(psum_chain)->UseRealTime()->Unit(benchmark::kMicrosecond);

}  // namespace

int main(int argc, char** argv) {
  benchmark::Initialize(&argc, argv);
  ts::set_device_count(96);
  benchmark::RunSpecifiedBenchmarks();
}
