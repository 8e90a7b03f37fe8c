// Convolutions by oneDNN: the forward pass and both gradients. Those with our own loops are in
// conv_channels.h, conv_gradient.h, conv_pixels.h and conv_product.h.
#include "codegen/calls/conv.h"

#include "base/machine.h"
#include "codegen/calls/add.h"
#include "codegen/calls/conv_channels.h"
#include "codegen/calls/conv_gradient.h"
#include "codegen/calls/conv_parts.h"
#include "codegen/calls/conv_pixels.h"
#include "codegen/calls/conv_problem.h"
#include "codegen/calls/conv_product.h"
#include "codegen/calls/internal.h"
#include "codegen/calls/onednn.h"

#include <algorithm>
#include <numeric>
#include <optional>

namespace tessera::inline v0::codegen {
namespace {

using onednn::ConvKind;
using onednn::Convolution;
using onednn::ConvSpec;
using onednn::Layout;
using Tensor = Convolution::Tensor;

// A band of result rows of each image, as a separate convolution; a few images are divided into
// bands.
struct RowBand {
  std::shared_ptr<const Convolution> convolution;
  std::int64_t source = 0, destination = 0;  // offsets in elements from an image's start
};

// The locations of a routine's arrays in the computation dtype, and its layout of scratch memory.
struct ConvSchedule {
  ConvProblem problem;
  std::shared_ptr<const Convolution> convolution;  // over `chunk` images of the batch
  std::int64_t chunk = 0, chunks = 0;
  std::vector<RowBand> bands;  // at least one, with all rows
  // weight gradient: parts of a chunk, each of which `convolution` computes
  std::int64_t leaves = 1;
  std::size_t levels = 0;  // number of halvings of a chunk
  DType dtype = DType::float32;
  bool widened[3] = {};      // by array: 16-bit floats that are widened to float32 in scratch
  std::size_t wide[3] = {};  // their offsets in scratch
  // The weights are given as a packed form.
  bool weights_given = false;
  // Packed weights. For a weight gradient, each chunk has a sum, and one more for each halving.
  std::size_t weights = 0, weights_stride = 0;
  std::size_t reversed = 0;  // the reversed kernel, unpacked
  // For each chunk: packed source, packed destination, library scratch.
  std::size_t own = 0, own_stride = 0, own_destination = 0, own_scratch = 0;
  Ints counts;  // element counts of our arrays

  // A pointer to array i, `elements` after its start.
  void* array(const RoutineArgs& args, int i, std::int64_t elements = 0) const {
    const std::size_t size = widened[i] ? sizeof(float) : size_of(dtype);
    char* start = widened[i] ? static_cast<char*>(at(args, wide[i]))
                  : i == 2   ? static_cast<char*>(args.outputs[0])
                             : const_cast<char*>(static_cast<const char*>(args.inputs[i]));
    return start + elements * static_cast<std::int64_t>(size);
  }
  static void* at(const RoutineArgs& args, std::size_t offset) {
    return static_cast<char*>(args.scratch) + offset;
  }
  static float* floats_at(const RoutineArgs& args, std::size_t offset) {
    return static_cast<float*>(at(args, offset));
  }
};

// Copies the kernel with its spatial dimensions reversed, in the same layout.
template <class T>
void reverse_kernel(const Layout& w, const T* from, T* to) {
  // Nest from the largest stride to the smallest, so that memory is read in order.
  std::vector<std::size_t> order(w.dims.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::sort(order.begin(), order.end(),
            [&](std::size_t a, std::size_t b) { return w.strides[a] > w.strides[b]; });
  Shape extents, there, back;
  std::int64_t last = 0;  // location of the first element's mirror image
  for (std::size_t d : order) {
    bool mirrored = d >= 3;
    extents.push_back(w.dims[d]);
    there.push_back(w.strides[d]);
    back.push_back(mirrored ? -w.strides[d] : w.strides[d]);
    if (mirrored) last += (w.dims[d] - 1) * w.strides[d];
  }
  std::int64_t n = extents.back(), step = there.back(), mirror_step = back.back();
  extents.pop_back();
  there.pop_back();
  back.pop_back();
  for_each_index(extents, [&](const Shape& i) {
    const T* x = from + flat_index(i, there);
    T* y = to + last + flat_index(i, back);
    for (std::int64_t k = 0; k < n; ++k) y[k * mirror_step] = x[k * step];
  });
}

// `reversed`: memory for the reversed kernel, if it has to be reversed.
void pack_weights(const ConvSchedule& p, const void* kernel, void* reversed, void* to) {
  if (p.problem.reversed) {
    auto reverse = [&]<class T>(T) {
      reverse_kernel(p.problem.spec.weights, static_cast<const T*>(kernel),
                     static_cast<T*>(reversed));
    };
    p.problem.spec.dtype == DType::bfloat16 ? reverse(bfloat16_t{}) : reverse(float{});
    kernel = reversed;
  }
  p.convolution->pack(Tensor::weights, kernel, to);
}

Stage pack_weights_stage(const ConvSchedule& p) {
  return single_stage([p](const RoutineArgs& args) {
    pack_weights(p, p.array(args, p.problem.weights), p.at(args, p.reversed),
                 p.at(args, p.weights));
  });
}

// A text of everything that the order of packed weights depends on.
std::string text_of(const ConvSpec& s) {
  std::string text = std::to_string(static_cast<int>(s.kind)) + to_string(s.dtype);
  for (const onednn::Dims* dims :
       {&s.source.dims, &s.source.strides, &s.weights.dims, &s.weights.strides, &s.destination.dims,
        &s.destination.strides, &s.strides, &s.dilations, &s.pad_low, &s.pad_high}) {
    text += ",";
    for (const std::int64_t d : *dims) text += " " + std::to_string(d);
  }
  return text;
}

// The weights in the library's layout, packed by a task.
std::shared_ptr<OperandForm> library_form(const ConvSchedule& p, const ConvSpec& leaf) {
  auto form = std::make_shared<OperandForm>();
  const auto weights = static_cast<std::size_t>(p.problem.weights);
  form->key =
      "onednn " + to_string(p.dtype) + (p.problem.reversed ? " reversed " : " ") + text_of(leaf);
  form->bytes = p.convolution->bytes(Tensor::weights);
  form->make = [p, weights](const void* kernel, void* to, std::int64_t, std::int64_t) {
    std::vector<float> wide, reversed;
    if (p.widened[weights]) {
      wide.resize(static_cast<std::size_t>(p.counts[weights]));
      widen_from(p.dtype, kernel, wide.data(), p.counts[weights]);
      kernel = wide.data();
    }
    if (p.problem.reversed) reversed.resize(static_cast<std::size_t>(p.counts[weights]));
    pack_weights(p, kernel, reversed.data(), to);
  };
  return form;
}

// Runs one band of one chunk of the batch per task.
Stage run_stage(const ConvSchedule& p) {
  Stage stage;
  const auto bands = static_cast<std::int64_t>(p.bands.size());
  stage.tasks = p.chunks * bands;
  stage.run = [p, bands](const RoutineArgs& args, std::int64_t begin, std::int64_t end) {
    const ConvSpec& s = p.problem.spec;
    std::int64_t images = p.chunk / p.leaves;
    std::size_t n = p.convolution->bytes(Tensor::weights) / sizeof(float);
    // `first` is the first image. `weights` are read, or receive the gradient of these images.
    auto run = [&](const RowBand& band, std::size_t own, std::int64_t first, void* weights) {
      const Convolution& c = *band.convolution;
      void* source = p.array(args, p.problem.source,
                             crop_offset(p.problem) + first * s.source.strides[0] + band.source);
      void* destination =
          p.array(args, p.problem.destination, first * s.destination.strides[0] + band.destination);
      void *source_at = source, *destination_at = destination;
      if (!c.in_place(Tensor::source)) {
        source_at = p.at(args, own);
        if (s.kind != ConvKind::backward_data) c.pack(Tensor::source, source, source_at);
      }
      if (!c.in_place(Tensor::destination)) {
        destination_at = p.at(args, own + p.own_destination);
        if (s.kind != ConvKind::forward) c.pack(Tensor::destination, destination, destination_at);
      }
      c.run(source_at, weights, destination_at, p.at(args, own + p.own_scratch));
      if (s.kind == ConvKind::forward && destination_at != destination)
        c.unpack(Tensor::destination, destination_at, destination);
      if (s.kind == ConvKind::backward_data && source_at != source)
        c.unpack(Tensor::source, source_at, source);
    };
    for (std::int64_t task = begin; task < end; ++task) {
      std::size_t own = p.own + static_cast<std::size_t>(task) * p.own_stride;
      const RowBand& band = p.bands[static_cast<std::size_t>(task % bands)];
      std::int64_t first = task / bands * p.chunk;
      if (s.kind != ConvKind::backward_weights) {
        run(band, own, first,
            p.weights_given ? const_cast<void*>(args.form) : p.at(args, p.weights));
        continue;
      }
      std::size_t sums =
          p.weights + static_cast<std::size_t>(task) * (p.levels + 1) * p.weights_stride;
      // Computes the gradient of 2^level leaves in buffer `to`, and that of the second half in the
      // next buffer.
      auto gradient = [&](auto&& self, std::int64_t leaf, std::size_t level,
                          std::size_t to) -> void {
        float* sum = p.floats_at(args, sums + to * p.weights_stride);
        if (level == 0) return run(band, own, first + leaf * images, sum);
        self(self, leaf, level - 1, to);
        self(self, leaf + (std::int64_t{1} << (level - 1)), level - 1, to + 1);
        add_to(sum, p.floats_at(args, sums + (to + 1) * p.weights_stride), n);
      };
      gradient(gradient, 0, p.levels, 0);
    }
  };
  return stage;
}

// Sums the chunks' gradients: an even number by halves, an odd number in order.
Stage sum_weights_stage(const ConvSchedule& p) {
  return single_stage([p](const RoutineArgs& args) {
    std::size_t n = p.convolution->bytes(Tensor::weights) / sizeof(float);
    auto at = [&](std::int64_t chunk) {
      std::size_t buffer = static_cast<std::size_t>(chunk) * (p.levels + 1);
      return p.floats_at(args, p.weights + buffer * p.weights_stride);
    };
    auto sum = [&](auto&& self, std::int64_t begin, std::int64_t count) -> void {
      if (count % 2 == 0) {
        self(self, begin, count / 2);
        self(self, begin + count / 2, count / 2);
        return add_to(at(begin), at(begin + count / 2), n);
      }
      for (std::int64_t c = 1; c < count; ++c) add_to(at(begin), at(begin + c), n);
    };
    sum(sum, 0, p.chunks);
    p.convolution->unpack(Tensor::weights, at(0), p.array(args, p.problem.weights));
  });
}

// A few images would leave cores idle, so each image is cut along its first spatial dimension. A
// band of result rows is a convolution of the source rows that it reads, which are contiguous in
// channels-last layout. Nothing is computed twice. All bands must use the same weight layout.
void cut_rows(ConvSchedule& p, const ConvSpec& whole, double flops) {
  constexpr std::int64_t kFewChunks = 4, kMostTasks = 8, kLeastRows = 7;
  const Convolution& c = *p.convolution;
  // The rows of a band are contiguous for a single image only.
  if (whole.kind != ConvKind::forward || p.chunks >= kFewChunks || whole.strides.empty() ||
      whole.source.dims[0] > 1)
    return;
  if (!c.in_place(Tensor::source) || !c.in_place(Tensor::destination)) return;
  const std::int64_t rows = whole.destination.dims[2], stride = whole.strides[0];
  const std::int64_t count =
      std::min({rows / kLeastRows, kMostTasks / p.chunks, tasks_for(flops) / p.chunks});
  if (count < 2) return;
  const std::int64_t each = (rows + count - 1) / count;
  std::vector<RowBand> bands;
  for (std::int64_t row = 0; row < rows; row += each) {
    ConvSpec s = whole;
    s.destination.dims[2] = std::min(each, rows - row);
    const std::int64_t begin = row * stride - s.pad_low[0];
    const std::int64_t end = begin + (s.destination.dims[2] - 1) * stride +
                             ops::dilated(s.weights.dims[3], s.dilations[0]);
    const std::int64_t first = std::max<std::int64_t>(0, begin),
                       last = std::min(end, whole.source.dims[2]);
    if (last <= first) return;
    s.source.dims[2] = last - first;
    s.pad_low[0] = first - begin;
    s.pad_high[0] = end - last;
    auto convolution = Convolution::make(s);
    if (!convolution || !convolution->fast() || !convolution->in_place(Tensor::source) ||
        !convolution->in_place(Tensor::destination) || !convolution->same_weights(c))
      return;
    bands.push_back(
        {std::move(convolution), first * s.source.strides[2], row * s.destination.strides[2]});
  }
  p.bands = std::move(bands);
}

// Whether the pixels of the result follow each other, with adjacent channels.
bool dense_pixels(const Layout& l) {
  std::int64_t next = l.dims[1];
  for (std::size_t i = l.dims.size(); i-- > 2; next *= l.dims[i])
    if (l.dims[i] > 1 && l.strides[i] != next) return false;
  return l.strides[1] == 1 && (l.dims[0] == 1 || l.strides[0] == next);
}

// Divides the pieces evenly among tasks; each task has its own planes. A piece is a panel.
std::shared_ptr<const Routine> pixels_routine(const ConvProblem& problem,
                                              const std::shared_ptr<const ConvPixels>& pixels,
                                              double flops) {
  const std::int64_t tasks =
      std::min(pixels->pieces(), tasks_for(flops, machine::kConvolutionTask));
  ScratchPlan own;
  own.add(pixels->scratch_bytes());
  ScratchPlan scratch;
  const std::size_t packed = scratch.add(pixels->packed_bytes()), stride = own.size(),
                    planes = scratch.add(stride * static_cast<std::size_t>(tasks));
  auto routine = std::make_shared<Routine>();
  routine->name = "convolution";
  routine->scratch_bytes = scratch.size();
  const std::int64_t crop = crop_offset(problem);
  const auto weights_at = [packed](const RoutineArgs& args) {
    return args.form ? static_cast<const float*>(args.form) : ConvSchedule::floats_at(args, packed);
  };
  // The routine in panels, which runs after the stages `before`.
  const auto panels = [=, result = problem.spec.destination,
                       bytes = routine->scratch_bytes](const std::vector<Stage>& before) {
    auto maker = std::make_shared<PanelMaker>();
    const std::int64_t columns = result.dims[1], width = result.dims.back();
    maker->rows = product(result.dims) / columns;
    maker->columns = maker->column_block = columns;
    for (std::int64_t i = 0; i < pixels->pieces(); ++i)
      maker->panel_rows = std::max(maker->panel_rows, pixels->rows(i).count * width);
    maker->before = before;
    maker->scratch_bytes = bytes;
    maker->tasks = tasks;
    maker->run = [=](const RoutineArgs& args, std::int64_t task, const PanelMaker::Place& place,
                     const PanelMaker::Made& made) {
      const std::int64_t end = pixels->pieces() * (task + 1) / tasks;
      for (std::int64_t piece = pixels->pieces() * task / tasks; piece < end; ++piece) {
        const ConvPixels::Rows rows = pixels->rows(piece);
        const Panel panel{rows.first * width, 0, rows.count * width, columns};
        // The address at which the whole result would begin.
        auto* to = reinterpret_cast<float*>(reinterpret_cast<std::uintptr_t>(place(panel)) -
                                            static_cast<std::uintptr_t>(panel.row * columns) *
                                                sizeof(float));
        pixels->run(static_cast<const float*>(args.inputs[0]) + crop, weights_at(args), to,
                    ConvSchedule::floats_at(args, planes + static_cast<std::size_t>(task) * stride),
                    piece, piece + 1);
        made(panel);
      }
    };
    return std::shared_ptr<const PanelMaker>(std::move(maker));
  };
  Stage stage;
  stage.tasks = tasks;
  stage.run = [=](const RoutineArgs& args, std::int64_t begin, std::int64_t end) {
    auto start = [&](std::int64_t task) { return pixels->pieces() * task / tasks; };
    pixels->run(static_cast<const float*>(args.inputs[0]) + crop, weights_at(args),
                static_cast<float*>(args.outputs[0]),
                ConvSchedule::floats_at(args, planes + static_cast<std::size_t>(begin) * stride),
                start(begin), start(end));
  };
  routine->seconds = machine::kConvolutionCall + flops / machine::kProductFlops;
  routine->stages.push_back(std::move(stage));
  const bool in_panels = dense_pixels(problem.spec.destination);
  if (in_panels) routine->in_panels = [panels] { return panels({}); };
  auto form = std::make_shared<OperandForm>();
  form->key = "pixels " + text_of(problem.spec);
  form->bytes = pixels->packed_bytes();
  form->make = [pixels](const void* weights, void* to, std::int64_t, std::int64_t) {
    pixels->pack(static_cast<const float*>(weights), static_cast<float*>(to));
  };
  form->reader = std::make_shared<const Routine>(*routine);
  routine->form_operand = 1;
  routine->operand_form = [form = std::shared_ptr<const OperandForm>(std::move(form))] {
    return form;
  };
  const Stage pack = single_stage([pixels, packed](const RoutineArgs& args) {
    pixels->pack(static_cast<const float*>(args.inputs[1]), ConvSchedule::floats_at(args, packed));
  });
  routine->stages.insert(routine->stages.begin(), pack);
  if (in_panels) routine->in_panels = [panels, pack] { return panels({pack}); };
  return routine;
}

// Whether oneDNN computes this depthwise convolution with adjacent channels. Measured by
// bench/conv_bench on Zen 5 with AVX-512, with layers of MobileNet and EfficientNet, our loops take
// 0.7 to 1 times oneDNN's time if the images fit a cache, and 0.9 to 1.3 times if they are limited
// by memory; this does not count the pass of the epilogue, which panels save. Gradients of strided
// convolutions take 1.2 to 1.5 times, since each remainder writes every other pixel. bfloat16 was
// not compared on processors that multiply it.
bool depthwise_by_library(const ConvSpec& s, DType dtype) {
  if (dtype == DType::bfloat16) return onednn::multiplies_bfloat16();
  return dtype == DType::float32 && s.kind == ConvKind::backward_data && !all_equal(s.strides, 1);
}

}  // namespace

std::shared_ptr<const Routine> own_convolution(const ConvProblem& problem, DType dtype,
                                               double flops, bool always) {
  const ConvSpec& s = problem.spec;
  if (always || !depthwise_by_library(s, dtype))
    if (auto channels = channels_routine(problem, dtype, flops)) return channels;
  if (dtype == DType::float32)
    if (auto pixels = ConvPixels::make(s)) return pixels_routine(problem, pixels, flops);
  if (auto product = product_routine(problem, dtype, flops, always)) return product;
  return gradient_routine(problem, dtype, flops, always);
}

namespace {

std::shared_ptr<const Routine> conv_routine(const CallArgs& a) {
  DType dtype = a.inputs[0].dtype;
  if (dtype != DType::float32 && dtype != DType::float64 && dtype != DType::bfloat16 &&
      dtype != DType::float16)
    return nullptr;
  ops::ConvDims d = ops::conv_dims(a.attrs);
  std::optional<ConvProblem> problem = recognise(a, d);
  if (!problem) return nullptr;

  ConvSchedule p;
  p.problem = *problem;
  p.dtype = dtype;
  p.counts = {a.inputs[0].shape.count(), a.inputs[1].shape.count(), a.outputs[0].shape.count()};
  double flops = a.op.cost(a.inputs, a.outputs, a.attrs).flops;
  if (!all_equal(d.lhs_dilation, 1)) flops /= static_cast<double>(product(d.lhs_dilation));
  ConvSpec& s = p.problem.spec;

  if (auto own = own_convolution(p.problem, dtype, flops)) return own;
  if (dtype == DType::float64) return nullptr;
  std::int64_t batch = s.source.dims[0];
  bool gradient = s.kind == ConvKind::backward_weights;
  if (gradient) {
    const GradientTree tree = gradient_tree(s, flops);
    p.chunk = tree.chunk, p.chunks = tree.chunks;
    p.leaves = tree.leaves, p.levels = tree.levels;
  } else {
    p.chunk = dividing_chunk(batch, tasks_for(flops, machine::kConvolutionTask));
    p.chunks = batch / p.chunk;
  }
  ConvSpec leaf = s;
  leaf.source.dims[0] = leaf.destination.dims[0] = p.chunk / p.leaves;
  // Use bfloat16 directly if the processor supports it and oneDNN has a kernel for it.
  if (dtype == DType::bfloat16 && onednn::multiplies_bfloat16()) {
    leaf.dtype = s.dtype = DType::bfloat16;
    p.convolution = Convolution::make(leaf);
    if (p.convolution && !p.convolution->fast()) p.convolution = nullptr;
  }
  const bool as_it_is = p.convolution != nullptr;
  if (!as_it_is) {
    leaf.dtype = s.dtype = DType::float32;
    p.convolution = Convolution::make(leaf);
  }
  if (!p.convolution) return nullptr;
  const Convolution& c = *p.convolution;
  p.bands = {{p.convolution}};
  cut_rows(p, leaf, flops);

  auto routine = std::make_shared<Routine>();
  routine->name = "convolution";
  ScratchPlan scratch;
  p.weights_stride = (c.bytes(Tensor::weights) + 63) / 64 * 64;
  std::size_t sums = gradient ? static_cast<std::size_t>(p.chunks) * (p.levels + 1) : 1;
  p.weights = scratch.add(p.weights_stride * sums);
  if (p.problem.reversed)
    p.reversed = scratch.add(static_cast<std::size_t>(p.counts[1]) * size_of(s.dtype));
  for (int i = 0; i < 3; ++i) {
    p.widened[i] = dtype != DType::float32 && (!as_it_is || (gradient && i == p.problem.weights));
    if (p.widened[i])
      p.wide[i] = scratch.add(static_cast<std::size_t>(p.counts[i]) * sizeof(float));
  }
  ScratchPlan own;
  if (!c.in_place(Tensor::source)) own.add(c.bytes(Tensor::source));
  p.own_destination = own.size();
  if (!c.in_place(Tensor::destination)) own.add(c.bytes(Tensor::destination));
  p.own_scratch = own.size();
  std::size_t most = 0;
  for (const RowBand& band : p.bands) most = std::max(most, band.convolution->scratch_bytes());
  own.add(most);
  p.own_stride = own.size();
  p.own = scratch.add(p.own_stride * static_cast<std::size_t>(p.chunks) * p.bands.size());
  routine->scratch_bytes = scratch.size();

  routine->seconds = machine::kConvolutionCall +
                     flops / (as_it_is ? machine::kProductFlops16 : machine::kProductFlops);
  const auto stages_of = [dtype, gradient](const ConvSchedule& q) {
    std::vector<Stage> stages;
    for (int i = 0; i < 2; ++i)
      if (q.widened[i] && !(q.weights_given && i == q.problem.weights))
        stages.push_back(
            widening_stage(dtype, q.counts[i], [i, at = q.wide[i]](const RoutineArgs& args) {
              return Widening{args.inputs[i], ConvSchedule::floats_at(args, at)};
            }));
    if (!gradient && !q.weights_given) stages.push_back(pack_weights_stage(q));
    stages.push_back(run_stage(q));
    if (gradient) stages.push_back(sum_weights_stage(q));
    if (q.widened[2])
      stages.push_back(
          narrowing_stage(dtype, q.counts[2], [at = q.wide[2]](const RoutineArgs& args) {
            return Narrowing{ConvSchedule::floats_at(args, at), args.outputs[0]};
          }));
    return stages;
  };
  if (!gradient) {
    auto reader = std::make_shared<Routine>(*routine);
    const std::shared_ptr<OperandForm> form = library_form(p, leaf);
    ConvSchedule given = p;
    given.weights_given = true;
    reader->stages = stages_of(given);
    form->reader = std::move(reader);
    routine->form_operand = p.problem.weights;
    routine->operand_form = [form] { return form; };
  }
  routine->stages = stages_of(p);
  return routine;
}

}  // namespace
}  // namespace tessera::inline v0::codegen

namespace tessera::inline v0::ops {

std::shared_ptr<const Routine> convolution_call(const CallArgs& a) {
  return codegen::conv_routine(a);
}

}  // namespace tessera::inline v0::ops
