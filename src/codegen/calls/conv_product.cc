#include "codegen/calls/conv_product.h"

#include "base/machine.h"
#include "codegen/calls/conv_parts.h"
#include "codegen/kernel/isa.h"
#include "codegen/matrix/convolution.h"
#include "codegen/matrix/product.h"

#include <algorithm>
#include <utility>
#include <vector>

namespace tessera::inline v0::codegen {
namespace {

using matrix::ConvAxis;
using matrix::ConvShape;
using onednn::ConvKind;
using onednn::ConvSpec;

// A part of the result (conv_parts.h).
struct ConvPass {
  ConvShape shape;
  std::shared_ptr<const matrix::Convolution> convolution;
  std::int64_t destination = 0;  // offset of the first output in elements
  std::size_t packed = 0;        // offset of the packed weights among those of a group
  std::size_t turned = 0;  // in scratch, of the source with adjacent channels, if there is one
};

struct ProductPlan {
  std::vector<ConvPass> passes;
  std::int64_t groups = 1, crop = 0, size = 4;
  std::int64_t source_group, weights_group, destination_group;  // distances in elements
  std::size_t scratch_group = 0;                                // in bytes
  /// The size in bytes of a group's packed weights, and their offset in scratch, unless they are
  /// given as a packed form.
  std::size_t packed_group = 0, packed = 0;
  bool weights_given = false;
  int source = 0, destination = 2;
};

// With a single tap, rows that are skipped are treated as if they did not exist.
void skip_rows(ConvAxis& a) {
  if (a.taps.size() != 1 || a.taps[0].offset != 0 || (a.out - 1) * a.step >= a.in) return;
  a.in = a.out;
  a.source *= a.step;
  a.step = 1;
}

// A window of one point over images whose pixels are adjacent, in the source and in the result: the
// weights times the image is a product whose rows are channels, and nothing is transposed. Fewer
// pixels would leave lanes empty.
std::shared_ptr<Routine> image_product(const ConvShape& s, const ProductPlan& plan, double flops) {
  constexpr std::int64_t kLeastPanels = 4, kColumns = 8, kLeastRows = 8;
  std::int64_t pixels = 1;
  for (int i = 2; i >= 0; --i) {
    const ConvAxis& a = s.axes[i];
    if (a.taps.size() != 1 || a.taps[0].offset != 0 || a.in != a.out || a.step != 1) return nullptr;
    if (a.out > 1 && (a.source != pixels || a.destination != pixels)) return nullptr;
    pixels *= a.out;
  }
  const std::int64_t width = matrix::kTileVectors * matrix::lanes_of(s.dtype);
  if (s.source_channel == 1 || pixels < kLeastPanels * width) return nullptr;
  const std::int64_t images = s.batch * plan.groups,
                     tasks = tasks_for(flops, machine::kConvolutionTask),
                     pieces = std::clamp<std::int64_t>(
                         tasks / images, 1, std::max<std::int64_t>(1, pixels / (kColumns * width))),
                     columns = (pixels / pieces + width - 1) / width * width,
                     column_pieces = (pixels + columns - 1) / columns,
                     row_pieces = std::clamp<std::int64_t>(
                         tasks / (images * column_pieces), 1,
                         std::max<std::int64_t>(1, s.outputs / (kLeastRows * matrix::most_rows()))),
                     rows = (s.outputs + row_pieces - 1) / row_pieces;
  matrix::Problem problem{s.dtype,
                          {s.dtype},
                          s.outputs,
                          pixels,
                          s.inputs,
                          {s.weights_input, s.weights_output},
                          {s.source_channel, 1},
                          rows,
                          columns};
  auto product = std::make_shared<const matrix::Product>(problem);
  auto routine = std::make_shared<Routine>();
  routine->name = "convolution";
  Stage run;
  const std::int64_t of_image = column_pieces * ((s.outputs + rows - 1) / rows);
  run.tasks = images * of_image;
  run.run = [=](const RoutineArgs& args, std::int64_t begin, std::int64_t end) {
    for (std::int64_t task = begin; task < end; ++task) {
      const std::int64_t image = task / of_image / plan.groups,
                         group = task / of_image % plan.groups,
                         column = task % of_image % column_pieces * columns,
                         row = task % of_image / column_pieces * rows;
      const auto* a = static_cast<const char*>(args.inputs[1]) +
                      (group * plan.weights_group + row * s.weights_output) * plan.size;
      const auto* b =
          static_cast<const char*>(args.inputs[0]) +
          (plan.crop + group * plan.source_group + image * s.source_image + column) * plan.size;
      auto* c = static_cast<char*>(args.outputs[0]) +
                (group * plan.destination_group + image * s.destination_image +
                 row * s.destination_channel + column) *
                    plan.size;
      product->run({a, b, c, s.destination_channel, std::min(rows, s.outputs - row),
                    std::min(columns, pixels - column), s.inputs});
    }
  };
  routine->stages.push_back(std::move(run));
  return routine;
}

// The convolution in panels of pixels. `before` packs the weights at the beginning of scratch
// memory, unless they are given as a packed form.
std::shared_ptr<const PanelMaker> panels_of(const ConvShape& shape, std::int64_t tasks,
                                            std::int64_t crop, std::vector<Stage> before,
                                            std::size_t scratch, bool weights_given) {
  const auto size = static_cast<std::int64_t>(size_of(shape.dtype));
  const auto convolution = std::make_shared<const matrix::Convolution>(shape, tasks, weights_given,
                                                                       machine::kProductPanel);
  auto maker = std::make_shared<PanelMaker>();
  maker->rows = shape.batch * shape.axes[0].out * shape.axes[1].out * shape.axes[2].out;
  maker->columns = shape.outputs;
  maker->column_block = convolution->panel_columns();
  maker->panel_rows = convolution->panel_rows();
  maker->before = std::move(before);
  maker->scratch_bytes = scratch;
  maker->tasks = convolution->tasks();
  maker->run = [=](const RoutineArgs& args, std::int64_t task, const PanelMaker::Place& place,
                   const PanelMaker::Made& made) {
    convolution->run_in_panels(static_cast<const char*>(args.inputs[0]) + crop * size,
                               args.inputs[1], weights_given ? args.form : args.scratch, task,
                               place, made);
  };
  return maker;
}

// Whether our products are faster than oneDNN including the copies that it needs, by
// bench/conv_bench on Zen 5. The result does not depend on the batch, so that devices that divide a
// batch compute the same bits.
//
// oneDNN computes these classes:
//  - grouped convolutions (0.99 to 1.05 times), and few output channels, which leave most of a tile
//    empty;
//  - few input channels where windows are copied (3 times), since runs of copied rows are short;
//  - gradients of strided convolutions over large images whose pixels are adjacent: each remainder
//    writes every other pixel (1.1 to 2 times);
//  - windows of several points in images whose pixels are adjacent (up to 1.1 times), since both
//    sides copy them;
//  - with AVX-512, windows of several points over large images with many channels on both sides:
//    ours take 1.05 times, and U-Net as a whole 1.05 times. With fewer channels the kernel behind a
//    convolution takes more of the time, and joins ours (row cnn/one: 0.87 times).
bool quicker_than_library(const ConvProblem& p, const ConvShape& s) {
  constexpr std::int64_t kFewChannels = 16, kManyChannels = 64, kFewPixels = 64,
                         kStridedPixels = 196;
  const ConvSpec& spec = p.spec;
  if (spec.weights.dims[0] > 1 || s.outputs < kFewChannels) return false;
  const bool forward = spec.kind == ConvKind::forward, unstrided = all_equal(spec.strides, 1),
             channels_last = s.source_channel == 1 && s.destination_channel == 1;
  const bool windows =
      channels_last && matrix::Convolution::reads_windows(conv_parts(p, s.dtype).at(0).shape);
  if (s.inputs < kFewChannels) return forward && windows;
  std::int64_t window = 1, read = 1, written = 1;
  for (const ConvAxis& a : s.axes) window *= a.window, read *= a.in, written *= a.out;
  if (!forward && !unstrided)
    return channels_last || read <= (window == 1 ? kFewPixels : kStridedPixels);
  if (window == 1) return true;
  if (!channels_last) return false;
  if (host_isa().avx512)
    return (windows && std::min(s.inputs, s.outputs) < kManyChannels) ||
           (forward && written <= kFewPixels);
  return windows || s.inputs >= kManyChannels;
}

}  // namespace

namespace {

// `form`: the routine reads packed weights, and sets all other members of the form; null if it
// packs them itself.
std::shared_ptr<Routine> routine_of_passes(const ConvProblem& problem, DType dtype, double flops,
                                           OperandForm* form) {
  const ConvSpec& s = problem.spec;
  const bool forward = s.kind == ConvKind::forward;
  ProductPlan plan;
  plan.size = static_cast<std::int64_t>(size_of(dtype));
  plan.groups = s.weights.dims[0];
  plan.weights_given = form != nullptr;
  const onednn::Layout &from = forward ? s.source : s.destination,
                       &to = forward ? s.destination : s.source;
  plan.source_group = conv_shape(s, dtype).inputs * from.strides[1];
  plan.destination_group = conv_shape(s, dtype).outputs * to.strides[1];
  plan.weights_group = s.weights.strides[0];
  if (forward) plan.crop = crop_offset(problem);

  const double seconds =
      machine::kConvolutionCall +
      flops / (dtype == DType::float64 ? machine::kProductFlops64 : machine::kProductFlops);
  const std::int64_t most = tasks_for(flops, machine::kConvolutionTask);
  ScratchPlan scratch, packed;
  const std::vector<ConvPart> parts = conv_parts(problem, dtype);
  const auto all = static_cast<std::int64_t>(parts.size());
  for (const ConvPart& part : parts) {
    ConvShape shape = part.shape;
    ConvPass pass;
    pass.destination = part.destination;
    skip_rows(shape.axes[0]);
    skip_rows(shape.axes[1]);
    if (all == 1)
      if (auto routine = image_product(shape, plan, flops)) {
        routine->seconds = seconds;
        return routine;
      }
    const std::int64_t tasks = std::max<std::int64_t>(1, most / (all * plan.groups));
    pass.shape = shape;
    pass.convolution =
        std::make_shared<const matrix::Convolution>(shape, tasks, plan.weights_given);
    pass.packed = packed.add(pass.convolution->packed_bytes());
    pass.turned = scratch.add(pass.convolution->turned_bytes());
    plan.passes.push_back(std::move(pass));
  }
  plan.scratch_group = scratch.size();
  plan.packed_group = packed.size();
  plan.packed = scratch.size() * static_cast<std::size_t>(plan.groups);
  if (!forward) plan.source = 0;

  auto routine = std::make_shared<Routine>();
  routine->name = "convolution";
  const std::size_t all_packed = packed.size() * static_cast<std::size_t>(plan.groups);
  routine->scratch_bytes = plan.packed + (form ? 0 : all_packed);
  auto shared = std::make_shared<const ProductPlan>(std::move(plan));
  // Calls f(pass, group, task) for the tasks [begin, end); `count` gives the number of tasks of a
  // pass.
  auto each = [shared](auto count, std::int64_t begin, std::int64_t end, auto f) {
    std::int64_t first = 0;
    for (const ConvPass& pass : shared->passes)
      for (std::int64_t group = 0; group < shared->groups; ++group) {
        const std::int64_t tasks = count(pass);
        for (std::int64_t t = std::max(begin, first); t < std::min(end, first + tasks); ++t)
          f(pass, group, t - first);
        first += tasks;
      }
  };
  auto packed_in = [shared](void* all, const ConvPass& pass, std::int64_t group) {
    return static_cast<char*>(all) + pass.packed +
           static_cast<std::size_t>(group) * shared->packed_group;
  };
  auto packed_at = [shared, packed_in](const RoutineArgs& args, const ConvPass& pass,
                                       std::int64_t group) {
    void* const all = shared->weights_given ? const_cast<void*>(args.form)
                                            : static_cast<char*>(args.scratch) + shared->packed;
    return packed_in(all, pass, group);
  };
  auto turned_at = [shared](const RoutineArgs& args, const ConvPass& pass, std::int64_t group) {
    return static_cast<char*>(args.scratch) + pass.turned +
           static_cast<std::size_t>(group) * shared->scratch_group;
  };
  auto weights_at = [shared](const RoutineArgs& args, std::int64_t group) {
    return static_cast<const char*>(args.inputs[1]) + group * shared->weights_group * shared->size;
  };
  auto source_at = [shared](const RoutineArgs& args, std::int64_t group) {
    return static_cast<const char*>(args.inputs[0]) +
           (shared->crop + group * shared->source_group) * shared->size;
  };
  Stage pack, run;
  auto weights_tasks = [](const ConvPass& pass) { return pass.convolution->pack_tasks(); };
  // Transposes images after packing the weights.
  auto pack_tasks = [batch = problem.spec.source.dims[0],
                     given = form != nullptr](const ConvPass& pass) {
    return (given ? 0 : pass.convolution->pack_tasks()) +
           (pass.convolution->turned_bytes() ? batch : 0);
  };
  auto run_tasks = [](const ConvPass& pass) { return pass.convolution->tasks(); };
  pack.tasks = run.tasks = 0;
  for (const ConvPass& pass : shared->passes) {
    pack.tasks += shared->groups * pack_tasks(pass);
    run.tasks += shared->groups * run_tasks(pass);
  }
  pack.run = [=](const RoutineArgs& args, std::int64_t begin, std::int64_t end) {
    each(pack_tasks, begin, end, [&](const ConvPass& pass, std::int64_t group, std::int64_t task) {
      const std::int64_t image =
          task - (shared->weights_given ? 0 : pass.convolution->pack_tasks());
      if (image < 0)
        pass.convolution->pack(weights_at(args, group), packed_at(args, pass, group), task);
      else
        pass.convolution->turn(source_at(args, group), turned_at(args, pass, group), image);
    });
  };
  run.run = [=](const RoutineArgs& args, std::int64_t begin, std::int64_t end) {
    each(run_tasks, begin, end, [&](const ConvPass& pass, std::int64_t group, std::int64_t task) {
      auto* out = static_cast<char*>(args.outputs[0]) +
                  (pass.destination + group * shared->destination_group) * shared->size;
      pass.convolution->run(
          source_at(args, group),
          pass.convolution->turned_bytes() ? turned_at(args, pass, group) : nullptr,
          weights_at(args, group), packed_at(args, pass, group), out, task);
    });
  };
  if (pack.tasks) routine->stages.push_back(std::move(pack));
  if (all == 1 && shared->groups == 1 && shared->passes[0].convolution->in_panels())
    routine->in_panels = [=, tasks = most, before = routine->stages,
                          scratch = routine->scratch_bytes] {
      return panels_of(shared->passes[0].shape, tasks, shared->crop, before, scratch,
                       shared->weights_given);
    };
  routine->stages.push_back(std::move(run));
  routine->seconds = seconds;
  if (!form) {
    routine->form_operand = 1;
    routine->operand_form = [problem, dtype, flops] {
      auto made = std::make_shared<OperandForm>();
      made->reader = routine_of_passes(problem, dtype, flops, made.get());
      return made;
    };
    return routine;
  }
  form->key =
      "convolution " + std::to_string(shared->groups) + " " + std::to_string(shared->weights_group);
  form->tasks = 0;
  for (const ConvPass& pass : shared->passes) {
    form->key += "; " + pass.convolution->packed_key();
    form->tasks += shared->groups * pass.convolution->pack_tasks();
  }
  form->bytes = all_packed;
  form->make = [=](const void* weights, void* to, std::int64_t begin, std::int64_t end) {
    each(weights_tasks, begin, end,
         [&](const ConvPass& pass, std::int64_t group, std::int64_t task) {
           pass.convolution->pack(
               static_cast<const char*>(weights) + group * shared->weights_group * shared->size,
               packed_in(to, pass, group), task);
         });
  };
  return routine;
}

}  // namespace

std::shared_ptr<const Routine> product_routine(const ConvProblem& problem, DType dtype,
                                               double flops, bool always) {
  const ConvSpec& s = problem.spec;
  if ((dtype != DType::float32 && dtype != DType::float64) || s.kind == ConvKind::backward_weights)
    return nullptr;
  // The library has no float64.
  if (!always && dtype == DType::float32 && !quicker_than_library(problem, conv_shape(s, dtype)))
    return nullptr;
  return routine_of_passes(problem, dtype, flops, nullptr);
}

}  // namespace tessera::inline v0::codegen
