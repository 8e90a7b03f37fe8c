#include "codegen/calls/conv_channels.h"

#include "base/machine.h"
#include "codegen/calls/conv_channels_loops.h"
#include "codegen/calls/conv_parts.h"
#include "codegen/calls/internal.h"
#include "codegen/matrix/product.h"

#include <algorithm>
#include <cstring>
#include <utility>
#include <vector>

namespace tessera::inline v0::codegen {
namespace {

using matrix::ConvAxis;
using matrix::ConvShape;
using matrix::ConvTap;

// Neighbouring outputs of a row that have the same taps.
struct Columns {
  std::int64_t first, count;
  std::int64_t first_tap, taps;
  std::int64_t next = 0, next_weights = 0;  // see ChannelStrip
};

// One part of the result (conv_parts.h), in rows of pixels.
struct ChannelPart {
  ConvShape shape;
  std::int64_t destination = 0;
  std::vector<ChannelTap> taps;  // along a row, in bytes
  std::vector<Columns> columns;
  std::int64_t rows = 0;
};

struct ChannelPlan {
  std::vector<ChannelPart> parts;
  std::int64_t channels = 0, size = 0, crop = 0, rows = 0;
  std::int64_t rows_together = 1;  // whose source is in a cache
  std::int64_t weights_step = 0;   // from one window position to the next, in elements
  bool packs = false;
  ChannelLoop loop = nullptr;
};

bool reads_inside(const ConvAxis& a, const ConvTap& tap, std::int64_t output) {
  const std::int64_t at = output * a.step + tap.offset;
  return at >= 0 && at < a.in;
}

// Offsets of taps are ascending or descending, so those inside the source follow each other.
Columns columns_at(const ConvAxis& a, std::int64_t x) {
  Columns c{x, 1, 0, 0};
  const auto count = static_cast<std::int64_t>(a.taps.size());
  for (std::int64_t k = 0; k < count; ++k)
    if (reads_inside(a, a.taps[static_cast<std::size_t>(k)], x)) {
      if (!c.taps) c.first_tap = k;
      ++c.taps;
    }
  return c;
}

// Finds the columns, and the taps of each, with what they read for its first output.
void find_columns(ChannelPart& part, std::int64_t size, std::int64_t weights) {
  const ConvAxis& a = part.shape.axes[2];
  for (std::int64_t x = 0; x < a.out; ++x) {
    const Columns c = columns_at(a, x);
    if (!part.columns.empty() && part.columns.back().first_tap == c.first_tap &&
        part.columns.back().taps == c.taps)
      ++part.columns.back().count;
    else
      part.columns.push_back(c);
  }
  for (Columns& c : part.columns) {
    const auto first = a.taps.begin() + c.first_tap;
    c.first_tap = static_cast<std::int64_t>(part.taps.size());
    for (auto tap = first; tap != first + c.taps; ++tap)
      part.taps.push_back(
          {(c.first * a.step + tap->offset) * a.source * size, tap->window * weights * size});
    c.next = c.next_weights = 0;
    const ChannelTap* taps = part.taps.data() + c.first_tap;
    if (c.taps < 2) continue;
    c.next = taps[1].source - taps[0].source;
    c.next_weights = taps[1].weights - taps[0].weights;
    for (std::int64_t k = 1; k < c.taps; ++k)
      if (taps[k].source - taps[k - 1].source != c.next ||
          taps[k].weights - taps[k - 1].weights != c.next_weights)
        c.next = 0;
  }
}

// The addresses of the operands, and the one at which the whole result would begin.
struct Arrays {
  const char *source, *weights;
  char* destination;
};

// The rows of the window that a row of the result reads, and the row's address.
struct RowWork {
  std::size_t first, count;  // of the rows of the window
  char* to;
};
struct RowsWork {
  std::vector<ChannelRow> windows;
  std::vector<RowWork> rows;
};

void add_row(const ChannelPlan& p, const ChannelPart& part, const Arrays& arrays, std::int64_t row,
             RowsWork& work) {
  const ConvShape& s = part.shape;
  const ConvAxis* a = s.axes;
  const std::int64_t y = row % a[1].out, z = row / a[1].out % a[0].out,
                     image = row / (a[1].out * a[0].out), window_row = a[2].window * p.weights_step,
                     to = part.destination + image * s.destination_image + z * a[0].destination +
                          y * a[1].destination;
  RowWork made{work.windows.size(), 0, arrays.destination + to * p.size};
  for (const ConvTap& tap_z : a[0].taps)
    for (const ConvTap& tap_y : a[1].taps) {
      if (!reads_inside(a[0], tap_z, z) || !reads_inside(a[1], tap_y, y)) continue;
      const std::int64_t from = image * s.source_image +
                                (z * a[0].step + tap_z.offset) * a[0].source +
                                (y * a[1].step + tap_y.offset) * a[1].source,
                         weights = (tap_z.window * a[1].window + tap_y.window) * window_row;
      work.windows.push_back({arrays.source + from * p.size, arrays.weights + weights * p.size});
      ++made.count;
    }
  work.rows.push_back(made);
}

// Computes rows [begin, end), all of them for some channels before the next channels, so that the
// rows of the source that the next row of the result reads again are still in the nearest cache.
void run_rows(const ChannelPlan& p, const ChannelPart& part, const Arrays& arrays,
              std::int64_t begin, std::int64_t end, RowsWork& work) {
  constexpr std::int64_t kChannelBytes = 512;
  const ConvAxis& a = part.shape.axes[2];
  work.windows.clear();
  work.rows.clear();
  for (std::int64_t row = begin; row < end; ++row) add_row(p, part, arrays, row, work);
  ChannelStrip strip{};
  strip.step = a.step * a.source * p.size;
  strip.to_step = a.destination * p.size;
  strip.channels = p.channels;
  const std::int64_t together = kChannelBytes / p.size;
  for (strip.begin = 0; strip.begin < p.channels; strip.begin = strip.end) {
    strip.end = std::min(p.channels, strip.begin + together);
    // A small remainder of channels is computed together with the channels before it.
    if (p.channels - strip.end < together / 4) strip.end = p.channels;
    for (const RowWork& row : work.rows)
      for (const Columns& c : part.columns) {
        strip.rows = work.windows.data() + row.first;
        strip.row_count = static_cast<std::int64_t>(row.count);
        strip.taps = part.taps.data() + c.first_tap;
        strip.tap_count = c.taps;
        strip.next = c.next;
        strip.next_weights = c.next_weights;
        strip.to = row.to + c.first * strip.to_step;
        strip.count = c.count;
        p.loop(strip);
      }
  }
}

// Packs the weights so that the channels of a window position are adjacent.
void pack_weights(const ChannelPlan& p, const ConvShape& s, std::int64_t group, const char* from,
                  char* to) {
  const ConvAxis* a = s.axes;
  for (std::int64_t z = 0; z < a[0].window; ++z)
    for (std::int64_t y = 0; y < a[1].window; ++y)
      for (std::int64_t x = 0; x < a[2].window; ++x)
        for (std::int64_t c = 0; c < p.channels; ++c, to += p.size)
          std::memcpy(
              to,
              from + (z * a[0].weights + y * a[1].weights + x * a[2].weights + c * group) * p.size,
              static_cast<std::size_t>(p.size));
}

// Whether the window positions of all channels follow each other in memory.
bool packed_already(const ConvShape& s, std::int64_t group, std::int64_t channels) {
  std::int64_t next = channels;
  for (int i = 2; i >= 0; --i) {
    const ConvAxis& a = s.axes[i];
    if (a.window > 1 && a.weights != next) return false;
    next *= a.window;
  }
  return group == 1;
}

std::shared_ptr<const ChannelPlan> plan_of(const ConvProblem& problem, DType dtype) {
  const onednn::ConvSpec& s = problem.spec;
  const std::int64_t groups = s.weights.dims[0];
  if (s.kind == onednn::ConvKind::backward_weights || groups == 1 || s.weights.dims[1] != 1 ||
      s.weights.dims[2] != 1 || s.source.strides[1] != 1 || s.destination.strides[1] != 1)
    return nullptr;
  auto p = std::make_shared<ChannelPlan>();
  p->channels = groups;
  p->size = static_cast<std::int64_t>(size_of(dtype));
  p->weights_step = groups;
  p->loop = channel_loop(dtype, groups);
  if (!p->loop) return nullptr;
  if (s.kind == onednn::ConvKind::forward) p->crop = crop_offset(problem);
  for (ConvPart& part : conv_parts(problem, dtype)) {
    ChannelPart made;
    made.shape = part.shape;
    made.destination = part.destination;
    const ConvAxis* a = made.shape.axes;
    // Longer sums are divided into chunks, which only the other routines do.
    if (static_cast<std::int64_t>(a[0].taps.size() * a[1].taps.size() * a[2].taps.size()) >
        machine::kProductChunk)
      return nullptr;
    find_columns(made, p->size, p->weights_step);
    made.rows = made.shape.batch * a[0].out * a[1].out;
    p->rows += made.rows;
    p->rows_together =
        std::max<std::int64_t>(1, machine::kProductPanel / (a[2].out * groups * p->size));
    p->packs = !packed_already(made.shape, s.weights.strides[0], groups);
    p->parts.push_back(std::move(made));
  }
  return p;
}

// Whether the pixels of the result follow each other.
bool dense(const ChannelPlan& p) {
  if (p.parts.size() != 1) return false;
  const ConvShape& s = p.parts[0].shape;
  std::int64_t next = p.channels;
  for (int i = 2; i >= 0; --i) {
    if (s.axes[i].out > 1 && s.axes[i].destination != next) return false;
    next *= s.axes[i].out;
  }
  return s.batch == 1 || s.destination_image == next;
}

std::shared_ptr<const PanelMaker> panels_of(const std::shared_ptr<const ChannelPlan>& p,
                                            std::int64_t tasks, std::vector<Stage> before,
                                            std::size_t scratch) {
  const ChannelPart& part = p->parts[0];
  const std::int64_t pixels = part.shape.axes[2].out, of_row = pixels * p->channels * p->size,
                     rows = p->rows_together;
  auto maker = std::make_shared<PanelMaker>();
  maker->rows = part.rows * pixels;
  maker->columns = maker->column_block = p->channels;
  maker->panel_rows = rows * pixels;
  maker->before = std::move(before);
  maker->scratch_bytes = scratch;
  maker->tasks = tasks;
  maker->run = [=](const RoutineArgs& args, std::int64_t task, const PanelMaker::Place& place,
                   const PanelMaker::Made& made) {
    const ChannelPart& only = p->parts[0];
    RowsWork work;
    Arrays arrays{static_cast<const char*>(args.inputs[0]) + p->crop * p->size,
                  static_cast<const char*>(p->packs ? args.scratch : args.inputs[1]), nullptr};
    const std::int64_t end = only.rows * (task + 1) / tasks;
    for (std::int64_t row = only.rows * task / tasks; row < end; row += rows) {
      const std::int64_t some = std::min(rows, end - row);
      const Panel panel{row * pixels, 0, some * pixels, p->channels};
      arrays.destination = reinterpret_cast<char*>(reinterpret_cast<std::uintptr_t>(place(panel)) -
                                                   static_cast<std::uintptr_t>(row * of_row));
      run_rows(*p, only, arrays, row, row + some, work);
      made(panel);
    }
  };
  return maker;
}

}  // namespace

std::shared_ptr<const Routine> channels_routine(const ConvProblem& problem, DType dtype,
                                                double flops) {
  const std::shared_ptr<const ChannelPlan> plan = plan_of(problem, dtype);
  if (!plan || plan->parts.empty()) return nullptr;
  auto routine = std::make_shared<Routine>();
  routine->name = "convolution";
  if (plan->packs) {
    const ConvShape shape = plan->parts[0].shape;
    std::int64_t window = 1;
    for (const ConvAxis& a : shape.axes) window *= a.window;
    routine->scratch_bytes = static_cast<std::size_t>(window * plan->channels * plan->size);
    routine->stages.push_back(single_stage(
        [plan, shape, group = problem.spec.weights.strides[0]](const RoutineArgs& args) {
          pack_weights(*plan, shape, group, static_cast<const char*>(args.inputs[1]),
                       static_cast<char*>(args.scratch));
        }));
  }
  // A multiplication in a depthwise convolution takes about four times as long as one in a matrix
  // product, since each element that is read is used in only a few of them.
  constexpr double kSlower = 4;
  // Neighbouring tasks both read the rows at their border, so the number of small tasks is limited
  // to the needs of a few workers.
  constexpr std::int64_t kFewTasks = 16;
  const std::int64_t few =
      std::min(kFewTasks, tasks_for(kSlower * flops, machine::kConvolutionTask));
  const std::int64_t tasks =
      std::min(plan->rows, std::max(few, tasks_for(flops, machine::kConvolutionTask)));
  if (dense(*plan))
    routine->in_panels = [plan, tasks, before = routine->stages, scratch = routine->scratch_bytes] {
      return panels_of(plan, tasks, before, scratch);
    };
  Stage stage;
  stage.tasks = tasks;
  stage.run = [plan, tasks](const RoutineArgs& args, std::int64_t begin, std::int64_t end) {
    const ChannelPlan& p = *plan;
    RowsWork work;
    const Arrays arrays{static_cast<const char*>(args.inputs[0]) + p.crop * p.size,
                        static_cast<const char*>(p.packs ? args.scratch : args.inputs[1]),
                        static_cast<char*>(args.outputs[0])};
    const std::int64_t first = p.rows * begin / tasks, last = p.rows * end / tasks;
    std::int64_t before = 0;
    for (const ChannelPart& part : p.parts) {
      const std::int64_t stop = std::min(part.rows, last - before);
      for (std::int64_t row = std::max<std::int64_t>(0, first - before); row < stop;
           row += p.rows_together)
        run_rows(p, part, arrays, row, std::min(stop, row + p.rows_together), work);
      before += part.rows;
    }
  };
  routine->stages.push_back(std::move(stage));
  routine->seconds = machine::kConvolutionCall + kSlower * flops / machine::kProductFlops;
  return routine;
}

}  // namespace tessera::inline v0::codegen
