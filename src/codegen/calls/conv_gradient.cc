#include "codegen/calls/conv_gradient.h"

#include "base/machine.h"
#include "codegen/calls/add.h"
#include "codegen/calls/conv_parts.h"
#include "codegen/kernel/isa.h"
#include "codegen/kernel/reduce_shape.h"
#include "codegen/matrix/weights_gradient.h"

#include <algorithm>
#include <utility>
#include <vector>

namespace tessera::inline v0::codegen {

using matrix::WeightsGradient;
using onednn::ConvKind;
using onednn::ConvSpec;

GradientTree gradient_tree(const ConvSpec& s, double flops) {
  constexpr std::int64_t kMostImages = 8, kMostChunks = 8, kLeastPoints = 16;
  constexpr std::int64_t kMostBytes = 64 << 20;  // of all chunks' sums
  GradientTree tree;
  const std::int64_t batch = s.source.dims[0], weights = product(s.weights.dims);
  const double image = flops / static_cast<double>(batch),
               enough = std::max(machine::kGradientLeaf,
                                 machine::kGradientLeafPerWeight * static_cast<double>(weights));
  std::int64_t leaf = 1;
  while (leaf < kMostImages && static_cast<double>(leaf) * image < enough) leaf *= 2;
  const std::int64_t points =
      product(Ints(s.destination.dims.begin() + 2, s.destination.dims.end()));
  int depth = points >= kLeastPoints ? halvings(batch, leaf) : 0;
  const std::int64_t most = std::min(
      {kMostChunks, tasks_for(flops), std::max<std::int64_t>(1, kMostBytes / (4 * weights))});
  if (depth == 0) tree.chunks = batch / dividing_chunk(batch, batch > leaf ? most : 1);
  if (tree.chunks > 2 * kMostChunks) tree.chunks = 1;
  while (depth > 0 && 2 * tree.chunks <= most) tree.chunks *= 2, --depth;
  tree.chunk = batch / tree.chunks;
  tree.levels = static_cast<std::size_t>(depth);
  tree.leaves = std::int64_t{1} << depth;
  return tree;
}

namespace {

struct GradientPlan {
  GradientTree tree;
  std::shared_ptr<const WeightsGradient> gradient;  // of a leaf
  std::int64_t groups = 1;
  // Distances in elements: of groups, of images, and of the first element of the source.
  std::int64_t source_group = 0, destination_group = 0, weights_group = 0;
  std::int64_t source_image = 0, destination_image = 0, crop = 0;
  DType dtype = DType::float32;      // of the sums
  std::size_t sums = 0, stride = 0;  // in scratch
  bool in_result = false;            // the first sums are the result
  // By array: 16-bit floats that are widened to float32 in scratch, and where.
  bool widened = false;
  std::size_t wide[3] = {};

  std::int64_t size() const { return static_cast<std::int64_t>(size_of(dtype)); }
  const char* operand(const RoutineArgs& args, int i) const {
    return widened ? static_cast<const char*>(args.scratch) + wide[i]
                   : static_cast<const char*>(args.inputs[i]);
  }
  char* result(const RoutineArgs& args) const {
    return widened ? static_cast<char*>(args.scratch) + wide[2]
                   : static_cast<char*>(args.outputs[0]);
  }
  // The sums of a chunk: those of level `level` wait while the next half is computed.
  char* sums_of(const RoutineArgs& args, std::int64_t chunk, std::int64_t group,
                std::size_t level = 0) const {
    std::size_t i = static_cast<std::size_t>(chunk * groups + group) * (tree.levels + 1) + level;
    if (in_result && i == 0) return result(args);
    return static_cast<char*>(args.scratch) + sums + (i - in_result) * stride;
  }
  void add(char* to, const char* from, WeightsGradient::Rows rows) const {
    const std::int64_t n = gradient->columns(), at = rows.first * n * size();
    to += at, from += at;
    if (dtype == DType::float64)
      add_rows(reinterpret_cast<double*>(to), rows.count * n, reinterpret_cast<const double*>(from),
               1, rows.count * n);
    else
      add_to(reinterpret_cast<float*>(to), reinterpret_cast<const float*>(from),
             static_cast<std::size_t>(rows.count * n));
  }
};

// Sums the leaves of a chunk for each task, or some rows of them.
Stage leaves_stage(const std::shared_ptr<const GradientPlan>& plan) {
  Stage stage;
  const std::int64_t pieces = plan->gradient->pieces();
  stage.tasks = plan->tree.chunks * plan->groups * pieces;
  stage.run = [plan, pieces](const RoutineArgs& args, std::int64_t begin, std::int64_t end) {
    const GradientPlan& p = *plan;
    const std::int64_t images = p.tree.chunk / p.tree.leaves;
    for (std::int64_t task = begin; task < end; ++task) {
      const std::int64_t piece = task % pieces, group = task / pieces % p.groups,
                         chunk = task / pieces / p.groups;
      const std::vector<WeightsGradient::Rows> rows = p.gradient->rows_of(piece);
      // Computes the gradient of 2^level leaves in sums `to`, and that of the second half in the
      // next sums.
      auto gradient = [&](auto&& self, std::int64_t leaf, std::size_t level,
                          std::size_t to) -> void {
        char* const sums = p.sums_of(args, chunk, group, to);
        if (level == 0) {
          const std::int64_t image = chunk * p.tree.chunk + leaf * images;
          p.gradient->run(
              p.operand(args, 0) +
                  (p.crop + group * p.source_group + image * p.source_image) * p.size(),
              p.operand(args, 1) +
                  (group * p.destination_group + image * p.destination_image) * p.size(),
              sums, piece);
          return;
        }
        self(self, leaf, level - 1, to);
        self(self, leaf + (std::int64_t{1} << (level - 1)), level - 1, to + 1);
        for (const WeightsGradient::Rows& r : rows)
          p.add(sums, p.sums_of(args, chunk, group, to + 1), r);
      };
      gradient(gradient, 0, p.tree.levels, 0);
    }
  };
  return stage;
}

// Sums the chunks, some rows of the sums in each task, and writes the weights.
Stage chunks_stage(const std::shared_ptr<const GradientPlan>& plan) {
  constexpr std::int64_t kElements = 1 << 16;
  const std::int64_t all = plan->gradient->rows(),
                     work = all * plan->gradient->columns() * plan->tree.chunks,
                     pieces = std::clamp<std::int64_t>(work / kElements, 1,
                                                       std::min<std::int64_t>(all, 16));
  Stage stage;
  stage.tasks = plan->groups * pieces;
  stage.run = [plan, all, pieces](const RoutineArgs& args, std::int64_t begin, std::int64_t end) {
    const GradientPlan& p = *plan;
    for (std::int64_t task = begin; task < end; ++task) {
      const std::int64_t group = task / pieces, piece = task % pieces, first = all * piece / pieces;
      const WeightsGradient::Rows rows{first, all * (piece + 1) / pieces - first};
      auto at = [&](std::int64_t chunk) { return p.sums_of(args, chunk, group); };
      auto sum = [&](auto&& self, std::int64_t from, std::int64_t count) -> void {
        if (count % 2 == 0) {
          self(self, from, count / 2);
          self(self, from + count / 2, count / 2);
          return p.add(at(from), at(from + count / 2), rows);
        }
        for (std::int64_t c = 1; c < count; ++c) p.add(at(from), at(from + c), rows);
      };
      sum(sum, 0, p.tree.chunks);
      if (!p.in_result)
        p.gradient->write(at(0), p.result(args) + group * p.weights_group * p.size(), rows);
    }
  };
  return stage;
}

// The elements from the first one of a layout to the last.
std::int64_t reach(const onednn::Layout& l) {
  std::int64_t last = 0;
  for (std::size_t i = 0; i < l.dims.size(); ++i) last += (l.dims[i] - 1) * l.strides[i];
  return last + 1;
}

// Whether our loops take less time than oneDNN; by bench/conv_bench on Zen 5 (the table in
// codegen/README.md).
//
// oneDNN computes these classes:
//  - few channels in a group, above all depthwise convolutions, which leave most of a tile empty;
//  - windows of one point, where each operand is read a few times only, so that copies and passes
//    over the sums matter: ours are faster only with AVX-512, adjacent channels and no strides.
bool gradient_is_quicker(const ConvProblem& p, const matrix::ConvShape& s) {
  constexpr std::int64_t kFewChannels = 8;
  if (p.spec.weights.dims[0] > 1 && (s.inputs < kFewChannels || s.outputs < kFewChannels))
    return false;
  // The library has no float64.
  if (s.dtype == DType::float64) return true;
  std::int64_t window = 1;
  for (const matrix::ConvAxis& a : s.axes) window *= a.window;
  const bool channels_last = s.source_channel == 1 && s.destination_channel == 1;
  return window > 1 || (host_isa().avx512 && channels_last && all_equal(p.spec.strides, 1));
}

}  // namespace

std::shared_ptr<const Routine> gradient_routine(const ConvProblem& problem, DType dtype,
                                                double flops, bool always) {
  const ConvSpec& s = problem.spec;
  if (s.kind != ConvKind::backward_weights) return nullptr;
  auto plan = std::make_shared<GradientPlan>();
  GradientPlan& p = *plan;
  p.widened = dtype == DType::bfloat16 || dtype == DType::float16;
  p.dtype = p.widened ? DType::float32 : dtype;
  if (p.dtype != DType::float32 && p.dtype != DType::float64) return nullptr;
  ConvProblem forward = problem;
  forward.spec.kind = ConvKind::forward;
  const matrix::ConvShape shape = conv_parts(forward, p.dtype).at(0).shape;
  if (!always && dtype == DType::bfloat16 && onednn::multiplies_bfloat16()) return nullptr;
  if (!always && !gradient_is_quicker(problem, shape)) return nullptr;

  p.tree = gradient_tree(s, flops);
  p.groups = s.weights.dims[0];
  p.source_group = shape.inputs * s.source.strides[1];
  p.destination_group = shape.outputs * s.destination.strides[1];
  p.weights_group = s.weights.strides[0];
  p.source_image = shape.source_image;
  p.destination_image = shape.destination_image;
  p.crop = crop_offset(problem);
  p.gradient = std::make_shared<const WeightsGradient>(
      shape, p.tree.chunk / p.tree.leaves, tasks_for(flops) / (p.tree.chunks * p.groups));
  p.in_result = p.groups == 1 && p.gradient->are_sums();

  auto routine = std::make_shared<Routine>();
  routine->name = "convolution";
  ScratchPlan scratch;
  const std::int64_t elements = p.gradient->rows() * p.gradient->columns();
  p.stride = static_cast<std::size_t>((elements * p.size() + 63) / 64 * 64);
  p.sums = scratch.add(
      p.stride *
      (static_cast<std::size_t>(p.tree.chunks * p.groups) * (p.tree.levels + 1) - p.in_result));
  const std::int64_t counts[] = {p.crop + reach(s.source), reach(s.destination), reach(s.weights)};
  if (p.widened)
    for (int i = 0; i < 3; ++i)
      p.wide[i] = scratch.add(static_cast<std::size_t>(counts[i]) * sizeof(float));
  routine->scratch_bytes = scratch.size();
  routine->seconds =
      machine::kConvolutionCall +
      flops / (p.dtype == DType::float64 ? machine::kProductFlops64 : machine::kProductFlops);
  if (p.widened)
    for (int i = 0; i < 2; ++i)
      routine->stages.push_back(
          widening_stage(dtype, counts[i], [i, at = p.wide[i]](const RoutineArgs& args) {
            return Widening{args.inputs[i],
                            reinterpret_cast<float*>(static_cast<char*>(args.scratch) + at)};
          }));
  routine->stages.push_back(leaves_stage(plan));
  if (p.tree.chunks > 1 || !p.in_result) routine->stages.push_back(chunks_stage(plan));
  if (p.widened)
    routine->stages.push_back(
        narrowing_stage(dtype, counts[2], [at = p.wide[2]](const RoutineArgs& args) {
          return Narrowing{
              reinterpret_cast<const float*>(static_cast<const char*>(args.scratch) + at),
              args.outputs[0]};
        }));
  return routine;
}

}  // namespace tessera::inline v0::codegen
