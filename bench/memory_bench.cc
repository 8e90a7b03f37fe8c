// Measures a training step of a deep network: the bytes of temporaries after memory planning, and
// the processor time. The step is data-parallel by pmap and by specs, and fully sharded; its layers
// are checkpointed or not, and unrolled or the iterations of a scan. With TESSERA_ISOLATE=1 every
// device computes and stores its own values.
#include <tessera/tessera.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <vector>

namespace ts = tessera;
using ts::Array;
using ts::P;

namespace {

std::int64_t width = 256, rows = 64;  // rows: of one device

struct Layer {
  Array up, down;
};
Array apply(const Layer& l, Array x) { return x + ts::dot(ts::tanh(ts::dot(x, l.up)), l.down); }

Array through(const std::vector<Layer>& layers, Array x, bool checkpointed) {
  const auto f = [](Layer l, Array y) { return apply(l, y); };
  for (const Layer& l : layers) x = checkpointed ? ts::remat(f)(l, x) : f(l, x);
  return x;
}
Array through(const Layer& stacked, Array x, bool checkpointed) {
  const auto turn = [](Array y, Layer l) { return std::pair(apply(l, y), Array()); };
  return (checkpointed ? ts::scan(ts::remat(turn), x, stacked) : ts::scan(turn, x, stacked)).first;
}

template <class Model>
auto step_of(bool checkpointed, bool mapped) {
  return [=](Model m, Array x, Array y) {
    const auto loss = [=](Model p, Array in, Array want) {
      return ts::mean(ts::square(through(p, in, checkpointed) - want));
    };
    auto [value, g] = ts::value_and_grad(loss)(m, x, y);
    if (mapped) g = ts::pmean(g, "data");
    return ts::tree::map([](Array p, Array d) { return p - 1e-3f * d; }, m, g);
  };
}

double processor_time() {
  timespec t{};
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
  return static_cast<double>(t.tv_sec) + 1e-9 * static_cast<double>(t.tv_nsec);
}

template <class Step, class Model>
void report(const char* name, const char* layers, std::int64_t devices, Step& step, Model m,
            const Array& x, const Array& y) {
  const ts::MemoryUse use = step.lower(m, x, y).memory();
  std::vector<double> times;
  for (int k = 0; k < 8; ++k) {
    const double begin = processor_time();
    m = step(std::move(m), x, y);
    ts::block_until_ready(m);
    if (k) times.push_back(processor_time() - begin);
  }
  std::sort(times.begin(), times.end());
  std::printf("%-22s %-12s %2lld devices  temporaries %9.2f MB  %8.2f ms\n", name, layers,
              static_cast<long long>(devices), 1e-6 * static_cast<double>(use.temporaries),
              1e3 * times[times.size() / 2]);
  std::fflush(stdout);
}

template <class Model>
void forms(const char* layers, const Model& m, std::int64_t n) {
  const ts::Mesh mesh({{"data", n}});
  const Array x = ts::random::normal(ts::random::key(1), {n * rows, width}), y = x * 2.0f;
  {
    auto step = ts::pmap(step_of<Model>(false, true), {.axis_name = "data",
                                                       .in_axes = {ts::replicated, 0, 0},
                                                       .out_axes = ts::replicated,
                                                       .donate = {0}});
    report("pmap", layers, n, step, ts::tree::map([](Array a) { return a + 0.0f; }, m),
           x.reshape(n, rows, width), y.reshape(n, rows, width));
  }
  const auto part = std::is_same_v<Model, Layer> ? P(ts::none, "data") : P("data");
  for (const auto& [name, spec, checkpointed] :
       {std::tuple("data by specs", P(), false), std::tuple("fully sharded", part, false),
        std::tuple("  checkpointed", part, true)}) {
    const ts::SpecTree of_model = ts::specs(m, {{"**", spec}});
    auto step = ts::jit(step_of<Model>(checkpointed, false),
                        {.mesh = mesh,
                         .in_shardings = {of_model, P("data"), P("data")},
                         .out_shardings = of_model,
                         .donate = {0}});
    report(name, layers, n, step,
           ts::device_put(ts::tree::map([](Array a) { return a + 0.0f; }, m), mesh, of_model), x,
           y);
  }
}

}  // namespace

int main(int count, char** words) {
  const int layers = count > 1 ? std::atoi(words[1]) : 12;
  const std::int64_t n = count > 2 ? std::atoll(words[2]) : 8;
  if (count > 3) width = std::atoll(words[3]);
  if (count > 4) rows = std::atoll(words[4]);
  ts::set_device_count(static_cast<int>(n));
  const Layer one{ts::full({width, 4 * width}, 0.01f), ts::full({4 * width, width}, 0.01f)};
  forms("written out", std::vector<Layer>(static_cast<std::size_t>(layers), one), n);
  const auto stack = [&](Array a) {
    return ts::broadcast_to(a, {layers, a.shape(0), a.shape(1)}) + 0.0f;
  };
  forms("scan", Layer{stack(one.up), stack(one.down)}, n);
}
