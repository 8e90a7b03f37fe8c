// Measures convolutions and their gradients, as programs run them, and oneDNN, called directly.
// Prints for each shape the GFLOP/s on one core: of our convolution, of its last stage (without
// packing the weights), of oneDNN on arrays in its own layouts, and of oneDNN with conversions from
// and to our layouts. The ratio compares whole calls; the share is relative to the peak of fused
// multiply-adds, measured in the same run. Shapes are those of ResNet-50 and of the rows of
// rows_bench.
//
// The table shows, by class of shapes, which side computes them, and the time of the library
// relative to our loops, even where our loops are not used. Rows of codegen/README.md come from it.
//
//   OMP_NUM_THREADS=1 conv_bench [forward,data,weights] [nhwc|nchw] [batches, "1,8"] [name]
//   OMP_NUM_THREADS=1 conv_bench table [forward,data,weights] [nhwc|nchw] [batches]
#include "codegen/calls/conv.h"
#include "codegen/calls/conv_problem.h"
#include "codegen/matrix/micro_kernel.h"
#include "ir/host_array.h"
#include "ir/op.h"
#include "least_seconds.h"
#include "ops/contraction/conv_dims.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <map>
#include <memory>
#include <new>
#include <string>
#include <vector>

namespace ts = tessera;
namespace onednn = ts::codegen::onednn;

namespace {

struct Layer {
  const char* name;
  std::int64_t size, inputs, outputs, window, stride, padding, groups = 1;
};
const Layer kLayers[] = {{"stem", 224, 3, 64, 7, 2, 3},
                         {"1x1 56 64-64", 56, 64, 64, 1, 1, 0},
                         {"3x3 56 64-64", 56, 64, 64, 3, 1, 1},
                         {"1x1 56 64-256", 56, 64, 256, 1, 1, 0},
                         {"1x1 56 256-64", 56, 256, 64, 1, 1, 0},
                         {"1x1 56 256-128", 56, 256, 128, 1, 1, 0},
                         {"3x3/2 56 128-128", 56, 128, 128, 3, 2, 1},
                         {"1x1 28 128-512", 28, 128, 512, 1, 1, 0},
                         {"1x1/2 56 256-512", 56, 256, 512, 1, 2, 0},
                         {"1x1 28 512-128", 28, 512, 128, 1, 1, 0},
                         {"3x3 28 128-128", 28, 128, 128, 3, 1, 1},
                         {"1x1 28 512-256", 28, 512, 256, 1, 1, 0},
                         {"3x3/2 28 256-256", 28, 256, 256, 3, 2, 1},
                         {"1x1 14 256-1024", 14, 256, 1024, 1, 1, 0},
                         {"1x1/2 28 512-1024", 28, 512, 1024, 1, 2, 0},
                         {"1x1 14 1024-256", 14, 1024, 256, 1, 1, 0},
                         {"3x3 14 256-256", 14, 256, 256, 3, 1, 1},
                         {"1x1 14 1024-512", 14, 1024, 512, 1, 1, 0},
                         {"3x3/2 14 512-512", 14, 512, 512, 3, 2, 1},
                         {"1x1 7 512-2048", 7, 512, 2048, 1, 1, 0},
                         {"1x1/2 14 1024-2048", 14, 1024, 2048, 1, 2, 0},
                         {"1x1 7 2048-512", 7, 2048, 512, 1, 1, 0},
                         {"3x3 7 512-512", 7, 512, 512, 3, 1, 1},
                         {"row strided", 56, 64, 64, 3, 2, 1},
                         {"row 1x1", 56, 64, 128, 1, 1, 0},
                         {"row depthwise", 56, 64, 64, 3, 1, 1, 64},
                         {"depthwise 112", 112, 32, 32, 3, 1, 1, 32},
                         {"depthwise/2 112", 112, 96, 96, 3, 2, 1, 96},
                         {"depthwise 56", 56, 144, 144, 3, 1, 1, 144},
                         {"depthwise 5 28", 28, 240, 240, 5, 1, 2, 240},
                         {"depthwise 14", 14, 384, 384, 3, 1, 1, 384},
                         {"depthwise 5 14", 14, 672, 672, 5, 1, 2, 672},
                         {"depthwise 7", 7, 960, 960, 3, 1, 1, 960},
                         {"grouped", 28, 256, 256, 3, 1, 1, 4},
                         {"cnn 1", 32, 3, 32, 3, 1, 1},
                         {"cnn 2", 16, 32, 64, 3, 1, 1}};

// A tile in the first-level cache that is limited only by the multiply-add units.
double peak() {
  namespace matrix = ts::codegen::matrix;
  const int rows = std::min(8, matrix::most_rows()), lanes = matrix::lanes_of(ts::f32);
  constexpr std::int64_t kSteps = 128;
  std::vector<float> a(kSteps * 16, 1.0f), b(static_cast<std::size_t>(kSteps * 2 * lanes), 1.0f),
      c(static_cast<std::size_t>(rows * 2 * lanes));
  const auto kernel = matrix::tile_kernel({{ts::f32}, rows, 2, false, matrix::ReadA::by_steps});
  const std::int64_t row = std::int64_t{8} * lanes;
  const matrix::TileArgs one{a.data(), b.data(), c.data(), 64, row, 0, 0, row, kSteps, 1};
  const double s = seconds([&] {
    for (int i = 0; i < 64; ++i) kernel(&one);
  });
  return 64.0 * 2 * rows * 2 * lanes * kSteps / s * 1e-9;
}

// Arrays begin at a cache line, as those of programs do.
template <class T>
struct Aligned {
  using value_type = T;
  T* allocate(std::size_t n) {
    return static_cast<T*>(::operator new (n * sizeof(T), std::align_val_t{64}));
  }
  void deallocate(T* p, std::size_t) { ::operator delete (p, std::align_val_t{64}); }
  friend bool operator==(const Aligned&, const Aligned&) = default;
};
using Floats = std::vector<float, Aligned<float>>;

void fill(Floats& x) {
  for (std::size_t i = 0; i < x.size(); ++i) x[i] = static_cast<float>(i % 17) * 0.125f - 1;
}

struct Memory {
  std::vector<char> bytes;
  explicit Memory(std::size_t n) : bytes(n + 64) {}
  void* at() { return bytes.data() + 64 - reinterpret_cast<std::uintptr_t>(bytes.data()) % 64; }
};

// oneDNN with all images in one call: on tensors in its own layouts, and with copies between them
// and ours.
struct Library {
  double alone = 1e9, with_copies = 1e9;
};
Library library(const onednn::ConvSpec& s, Floats& x, Floats& w, Floats& y) {
  using Tensor = onednn::Convolution::Tensor;
  const auto c = onednn::Convolution::make(s);
  if (!c) return {};
  const Tensor tensors[] = {Tensor::source, Tensor::weights, Tensor::destination};
  Floats* plain[] = {&x, &w, &y};
  const int result = s.kind == onednn::ConvKind::forward         ? 2
                     : s.kind == onednn::ConvKind::backward_data ? 0
                                                                 : 1;
  std::vector<Memory> own;
  for (Tensor t : tensors) own.emplace_back(c->bytes(t));
  Memory scratch(c->scratch_bytes());
  auto run = [&] { c->run(own[0].at(), own[1].at(), own[2].at(), scratch.at()); };
  return {seconds(run), seconds([&] {
            for (int i = 0; i < 3; ++i)
              if (i != result && !c->in_place(tensors[i]))
                c->pack(tensors[i], plain[i]->data(), own[static_cast<std::size_t>(i)].at());
            run();
            if (!c->in_place(tensors[result]))
              c->unpack(tensors[result], own[static_cast<std::size_t>(result)].at(),
                        plain[result]->data());
          })};
}

struct Times {
  double work = 0;  // in operations
  bool by_us = false;
  double ours = 1e9, main = 1e9;  // main: the last stage
  Library theirs;
};

// `always`: by our loops, even where oneDNN normally computes the convolution.
Times times_of(const Layer& l, std::int64_t batch, const std::string& kind, bool last,
               bool always) {
  const std::int64_t out = (l.size + 2 * l.padding - l.window) / l.stride + 1;
  ts::ops::ConvDims d;
  d.strides = {l.stride, l.stride};
  d.pad_low = d.pad_high = {l.padding, l.padding};
  d.lhs_dilation = d.rhs_dilation = {1, 1};
  d.feature_groups = l.groups;
  d.lhs_spec = d.out_spec = last ? ts::Ints{0, 3, 1, 2} : ts::Ints{0, 1, 2, 3};
  d.rhs_spec = last ? ts::Ints{3, 2, 0, 1} : ts::Ints{0, 1, 2, 3};
  auto image = [&](std::int64_t channels, std::int64_t size) {
    return last ? ts::Shape{batch, size, size, channels} : ts::Shape{batch, channels, size, size};
  };
  const std::int64_t in_group = l.inputs / l.groups;
  ts::Shape weights = last ? ts::Shape{l.window, l.window, in_group, l.outputs}
                           : ts::Shape{l.outputs, in_group, l.window, l.window};
  ts::Type types[] = {{ts::f32, image(l.inputs, l.size)}, {ts::f32, weights}};
  ts::Type result{ts::f32, image(l.outputs, out)};
  if (kind == "data") {
    if (l.groups > 1 && in_group > 1) return {};
    const auto edges =
        ts::ops::lhs_gradient_padding({l.size, l.size}, {l.window, l.window}, {out, out}, d);
    std::swap(types[0], result);
    d.lhs_dilation = d.strides;
    d.strides = {1, 1};
    d.pad_low = edges.low, d.pad_high = edges.high;
    if (l.groups == 1) std::swap(d.rhs_spec[0], d.rhs_spec[1]);
  } else if (kind == "weights") {
    const auto edges =
        ts::ops::rhs_gradient_padding({l.size, l.size}, {l.window, l.window}, {out, out}, d);
    std::swap(types[1], result);
    d.rhs_dilation = d.strides;
    d.strides = {1, 1};
    d.pad_low = edges.low, d.pad_high = edges.high;
    auto exchanged = [](ts::Ints v) { return std::swap(v[0], v[1]), v; };
    const ts::Ints of_weights = d.rhs_spec;
    d.rhs_spec = exchanged(d.out_spec);
    d.lhs_spec = exchanged(d.lhs_spec);
    d.out_spec = exchanged(of_weights);
    std::swap(d.feature_groups, d.batch_groups);
  }
  const ts::Op& op = ts::Registry::get().at("convolution");
  const ts::Attrs attrs = ts::ops::conv_attrs(d);
  const ts::CallArgs call{op, attrs, types, {&result, 1}};
  const auto problem = ts::codegen::recognise(call, ts::ops::conv_dims(attrs));
  if (!problem) return {};
  Times t;
  t.work =
      2.0 * static_cast<double>(batch * out * out * l.window * l.window * in_group * l.outputs);
  t.by_us = ts::codegen::own_convolution(*problem, ts::f32, t.work) != nullptr;
  const auto routine =
      always ? ts::codegen::own_convolution(*problem, ts::f32, t.work, true) : op.call(call);
  if (!routine) return {};
  Floats a(static_cast<std::size_t>(types[0].shape.count())),
      b(static_cast<std::size_t>(types[1].shape.count())),
      c(static_cast<std::size_t>(result.shape.count()));
  fill(a), fill(b);
  Memory memory(routine->scratch_bytes);
  const void* in[] = {a.data(), b.data()};
  void* to[] = {c.data()};
  const ts::RoutineArgs args{in, to, memory.at()};
  t.ours = seconds([&] {
    for (const ts::Stage& s : routine->stages) s.run(args, 0, s.tasks);
  });
  t.main = seconds([&] {
    const ts::Stage& s = routine->stages.back();
    s.run(args, 0, s.tasks);
  });
  Floats* arrays[] = {&a, &b, &c};
  t.theirs = library(problem->spec, *arrays[problem->source], *arrays[problem->weights],
                     *arrays[problem->destination]);
  return t;
}

void measure(const Layer& l, std::int64_t batch, const std::string& kind, bool last, double most) {
  const Times t = times_of(l, batch, kind, last, false);
  if (t.work == 0) return;
  const double work = 1e-9 * t.work;
  std::printf(
      "%-8s %2ld x %-20s %-6s %6.1f  packed %6.1f  oneDNN %6.1f  copies %6.1f  ratio %5.2f  peak "
      "%3.0f %%  packed %3.0f %%\n",
      kind.c_str(), batch, l.name, t.by_us ? "ours" : "theirs", work / t.ours, work / t.main,
      work / t.theirs.alone, work / t.theirs.with_copies, t.theirs.with_copies / t.ours,
      100 * work / t.ours / most, 100 * work / t.main / most);
  std::fflush(stdout);
}

// A layer's class in the table.
std::string class_of(const Layer& l) {
  const bool few = l.inputs / l.groups < 16 && l.groups == 1;
  std::string name = l.groups == l.inputs ? "depthwise"
                     : l.groups > 1       ? "grouped"
                     : few                ? "3 channels"
                     : l.window == 1      ? "one point"
                                          : "several points";
  return l.stride > 1 ? name + ", strided" : name;
}

struct Class {
  double log_ratio = 0, least = 1e9, most = 0, ours = 0, theirs = 0;
  int shapes = 0;
};

// Rows of the table: for each class, and for each side that computes shapes of it.
void print_table(const std::string& kind, bool last, const std::vector<std::int64_t>& batches,
                 double peak_of_core) {
  std::map<std::pair<std::string, bool>, Class> classes;
  for (const Layer& l : kLayers)
    for (const std::int64_t batch : batches) {
      const Times t = times_of(l, batch, kind, last, true);
      if (t.work == 0 || t.theirs.with_copies > 1e8) continue;
      Class& c = classes[{class_of(l), t.by_us}];
      const double ratio = t.theirs.with_copies / t.ours;
      c.log_ratio += std::log(ratio);
      c.least = std::min(c.least, ratio), c.most = std::max(c.most, ratio);
      c.ours += 1e-9 * t.work / t.ours / peak_of_core;
      c.theirs += 1e-9 * t.work / t.theirs.with_copies / peak_of_core;
      ++c.shapes;
    }
  for (const auto& [key, c] : classes)
    std::printf("| %s | %s | %s | %s | %d | %.0f %% | %.0f %% | %.2f (%.2f to %.2f) |\n",
                kind == "data"      ? "gradient, source"
                : kind == "weights" ? "gradient, weights"
                                    : "forward",
                last ? "adjacent channels" : "adjacent pixels", key.first.c_str(),
                key.second ? "ours" : "oneDNN", c.shapes, 100 * c.ours / c.shapes,
                100 * c.theirs / c.shapes, std::exp(c.log_ratio / c.shapes), c.least, c.most);
  std::fflush(stdout);
}

}  // namespace

int main(int argc, char** argv) {
  const bool table = argc > 1 && std::string(argv[1]) == "table";
  if (table) --argc, ++argv;
  const std::string kinds = argc > 1 ? argv[1] : "forward,data,weights",
                    layouts = argc > 2 ? argv[2] : "nhwc,nchw",
                    batches = argc > 3 ? argv[3] : "1,8", name = argc > 4 ? argv[4] : "";
  const double most = peak();
  std::printf("peak of one core: %.1f GFLOP/s\n", most);
  if (table)
    std::printf(
        "\n| pass | layout | window | computed by | shapes | ours, of the peak | oneDNN | "
        "time of oneDNN / ours |\n|---|---|---|---|---:|---:|---:|---:|\n");
  auto has = [](const std::string& list, const std::string& x) {
    return ("," + list + ",").find("," + x + ",") != std::string::npos;
  };
  for (const char* kind : {"forward", "data", "weights"})
    for (const char* layout : {"nhwc", "nchw"}) {
      if (table && has(kinds, kind) && has(layouts, layout)) {
        std::vector<std::int64_t> some;
        for (std::int64_t batch : {1, 8, 32})
          if (has(batches, std::to_string(batch))) some.push_back(batch);
        print_table(kind, std::string(layout) == "nhwc", some, most);
      }
      if (table) continue;
      for (std::int64_t batch : {1, 8, 32}) {
        if (!has(kinds, kind) || !has(layouts, layout) || !has(batches, std::to_string(batch)))
          continue;
        std::printf("%s, %s\n", kind, layout);
        for (const Layer& l : kLayers)
          if (std::string(l.name).find(name) != std::string::npos)
            measure(l, batch, kind, std::string(layout) == "nhwc", most);
      }
    }
}
