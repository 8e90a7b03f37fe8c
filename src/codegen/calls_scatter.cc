// Scatters. Windows are applied one after the other in the order of the index vectors; tasks share the work only where each
// element of the result still sees its updates in that order: by dimensions that batch, by columns of the windows, or by
// slabs of the result, each task passing over what is not its own.
#include "codegen/calls_internal.h"
#include "ops/combine.h"
#include "ops/indexing.h"

#include <algorithm>
#include <cstring>

namespace tessera::inline v0::codegen {

namespace {

using ops::Combine;

/// A loop over one dimension of the updates; strides in elements.
struct Loop {
  std::int64_t extent, update, operand;
};

struct Component {
  std::int64_t offset;  // of the component in an index vector, in the indices
  std::int64_t last;    // greatest start
  std::int64_t stride;  // in the operand
};

struct Plan {
  std::vector<Loop> batch;    // in order; `operand` is the stride of dimensions that walk together
  std::vector<std::int64_t> batch_index;  // strides of the same dimensions in the indices
  std::vector<Loop> window;   // outermost first, collapsed; never empty
  std::vector<Component> components;
  DType index = DType::int32;
  bool clip = false;
  bool overlap = false;       // windows at different places may share elements
  std::int64_t operand_count = 0;
};

enum class Cut { none, batch, columns, slabs };

/// Window dimensions as few loops: neighbours that lie behind each other in both arrays become one.
std::vector<Loop> collapsed(const std::vector<Loop>& loops) {
  std::vector<Loop> out;
  for (const Loop& l : loops) {
    if (l.extent == 1) continue;
    if (!out.empty() && out.back().update == l.extent * l.update && out.back().operand == l.extent * l.operand)
      out.back() = {out.back().extent * l.extent, l.update, l.operand};
    else
      out.push_back(l);
  }
  if (out.empty()) out.push_back({1, 1, 1});
  return out;
}

template <Combine how, class T>
void apply(const std::vector<Loop>& loops, std::size_t level, const T* update, T* out) {
  const Loop& l = loops[level];
  if (level + 1 < loops.size()) {
    for (std::int64_t i = 0; i < l.extent; ++i) apply<how>(loops, level + 1, update + i * l.update, out + i * l.operand);
  } else if (l.update == 1 && l.operand == 1) {
    for (std::int64_t i = 0; i < l.extent; ++i) out[i] = ops::combine<how>(out[i], update[i]);
  } else {
    for (std::int64_t i = 0; i < l.extent; ++i) out[i * l.operand] = ops::combine<how>(out[i * l.operand], update[i * l.update]);
  }
}

std::int64_t index_at(DType dtype, const void* p, std::int64_t i) {
  if (dtype == DType::int32) return static_cast<const std::int32_t*>(p)[i];
  if (dtype == DType::int64) return static_cast<const std::int64_t*>(p)[i];
  return ops::read_index(HostArray(dtype, Shape{}, const_cast<void*>(p)), i);
}

/// All windows in order, of those with a place in [first, last) of the operand and the first batch dimension in [from, to).
template <Combine how, class T>
void run(const Plan& p, const std::vector<Loop>& window, std::int64_t update_offset, std::int64_t operand_offset, std::int64_t from, std::int64_t to,
         std::int64_t first, std::int64_t last, const RoutineArgs& a) {
  const T* updates = static_cast<const T*>(a.inputs[2]) + update_offset;
  T* out = static_cast<T*>(a.outputs[0]) + operand_offset;
  std::size_t rank = p.batch.size();
  InlineVector<std::int64_t, 8> at(rank, 0);
  if (rank) at[0] = from;
  if (rank && from >= to) return;
  for (std::size_t d = 1; d < rank; ++d)
    if (p.batch[d].extent == 0) return;
  for (;;) {
    std::int64_t update = 0, operand = 0, vector = 0;
    for (std::size_t d = 0; d < rank; ++d) {
      update += at[d] * p.batch[d].update;
      operand += at[d] * p.batch[d].operand;
      vector += at[d] * p.batch_index[d];
    }
    bool inside = true;
    for (const Component& c : p.components) {
      std::int64_t start = index_at(p.index, a.inputs[1], vector + c.offset);
      inside = inside && (p.clip || (start >= 0 && start <= c.last));
      operand += std::clamp<std::int64_t>(start, 0, c.last) * c.stride;
    }
    if (inside && operand >= first && operand < last) apply<how>(window, 0, updates + update, out + operand);
    std::size_t d = rank;
    for (;; --d) {
      if (d == 0) return;
      if (++at[d - 1] < (d == 1 ? to : p.batch[d - 1].extent)) break;
      at[d - 1] = d == 1 ? from : 0;
    }
  }
}

template <Combine how, class T>
Stage scatter_stage(const Plan& p) {
  std::int64_t vectors = 1, elements = 1;
  for (const Loop& l : p.batch) vectors *= l.extent;
  for (const Loop& l : p.window) elements *= l.extent;
  constexpr std::int64_t kWorth = 1 << 15;  // elements that are worth a task of their own
  const std::int64_t most = std::clamp<std::int64_t>(vectors * elements / kWorth, 1, 16);
  auto widest = std::max_element(p.window.begin(), p.window.end(), [](const Loop& x, const Loop& y) { return x.extent < y.extent; });
  Cut cut = most == 1                                                        ? Cut::none
            : !p.batch.empty() && p.batch[0].operand != 0 && p.batch[0].extent > 1 ? Cut::batch
            : p.overlap                                                      ? Cut::none
            : widest->extent >= 128                                          ? Cut::columns
                                                                             : Cut::slabs;
  const std::int64_t all = p.operand_count;
  const std::int64_t first_extent = p.batch.empty() ? 1 : p.batch[0].extent;
  Stage s;
  if (cut == Cut::none || cut == Cut::slabs) {
    // Each slab reads all indices, so there are few.
    s.tasks = cut == Cut::none ? 1 : std::min<std::int64_t>(most, 4);
    s.run = [p, all, first_extent, tasks = s.tasks](const RoutineArgs& a, std::int64_t begin, std::int64_t end) {
      run<how, T>(p, p.window, 0, 0, 0, first_extent, all * begin / tasks, end == tasks ? std::max<std::int64_t>(all, 1) : all * end / tasks, a);
    };
  } else if (cut == Cut::batch) {
    s.tasks = std::min(most, first_extent);
    s.run = [p, all, first_extent, tasks = s.tasks](const RoutineArgs& a, std::int64_t begin, std::int64_t end) {
      run<how, T>(p, p.window, 0, 0, first_extent * begin / tasks, first_extent * end / tasks, 0, all, a);
    };
  } else {
    auto level = static_cast<std::size_t>(widest - p.window.begin());
    std::int64_t chunks = std::min(most, widest->extent / 64), extent = widest->extent;
    s.tasks = chunks;
    s.run = [p, all, first_extent, level, chunks, extent](const RoutineArgs& a, std::int64_t begin, std::int64_t end) {
      std::int64_t from = extent * begin / chunks, to = extent * end / chunks;
      std::vector<Loop> window = p.window;
      window[level].extent = to - from;
      run<how, T>(p, window, from * window[level].update, from * window[level].operand, 0, first_extent, 0, all, a);
    };
  }
  return s;
}

Stage copy_stage(std::int64_t bytes) {
  constexpr std::int64_t kChunk = 1 << 20;
  Stage s;
  s.tasks = (bytes + kChunk - 1) / kChunk;
  s.run = [bytes](const RoutineArgs& a, std::int64_t begin, std::int64_t end) {
    if (a.inputs[0] == a.outputs[0]) return;
    std::int64_t from = begin * kChunk, to = std::min(bytes, end * kChunk);
    std::memcpy(static_cast<char*>(a.outputs[0]) + from, static_cast<const char*>(a.inputs[0]) + from, static_cast<std::size_t>(to - from));
  };
  return s;
}

}  // namespace

std::shared_ptr<const Routine> scatter_call(const CallArgs& a) {
  const Shape &x = a.inputs[0].shape, &indices = a.inputs[1].shape, &updates = a.inputs[2].shape;
  if (x.count() == 0 || updates.count() == 0) return nullptr;
  ops::WindowDimsOf w = ops::window_dims_of(ops::scatter_dims(a.attrs), updates.rank(), x.rank(), indices.rank());
  Shape xs = x.strides(), is = indices.strides(), us = updates.strides();
  Plan p;
  p.index = a.inputs[1].dtype;
  p.clip = a.attrs.str("mode") == "clip";
  p.operand_count = x.count();
  for (std::size_t b = 0; b < w.batch.size(); ++b) {
    auto u = static_cast<std::size_t>(w.batch[b]);
    p.batch.push_back({updates[u], us[u], 0});
    p.batch_index.push_back(is[static_cast<std::size_t>(w.indices_batch[b])]);
  }
  for (std::size_t k = 0; k < w.operand_batching.size(); ++k)
    p.batch[static_cast<std::size_t>(w.operand_batching_at[k])].operand += xs[static_cast<std::size_t>(w.operand_batching[k])];
  std::vector<Loop> window;
  Shape size;
  size.resize(x.size(), 1);
  bool windows_first = false;
  for (std::size_t k = 0; k < w.window.size(); ++k) {
    auto u = static_cast<std::size_t>(w.window[k]), d = static_cast<std::size_t>(w.operand_window[k]);
    window.push_back({updates[u], us[u], xs[d]});
    size[d] = updates[u];
    for (std::int64_t b : w.batch) windows_first = windows_first || (w.window[k] < b && updates[u] > 1);
    p.overlap = p.overlap || (ops::contains(w.index_map, w.operand_window[k]) && updates[u] > 1 && updates[u] < x[d]);
  }
  // With windows that may overlap, their own dimensions in front decide the order of updates: that is left to the evaluator.
  if (windows_first && p.overlap && !a.attrs.flag("unique")) return nullptr;
  p.window = collapsed(window);
  for (std::size_t k = 0; k < w.index_map.size(); ++k) {
    auto d = static_cast<std::size_t>(w.index_map[k]);
    std::int64_t step = w.vector_dim < indices.rank() ? is[static_cast<std::size_t>(w.vector_dim)] : 0;
    p.components.push_back({static_cast<std::int64_t>(k) * step, x[d] - size[d], xs[d]});
  }
  Combine how = a.op.name == "scatter"       ? Combine::replace
                : a.op.name == "scatter_add" ? Combine::add
                : a.op.name == "scatter_mul" ? Combine::mul
                : a.op.name == "scatter_min" ? Combine::min
                                             : Combine::max;
  auto routine = std::make_shared<Routine>();
  routine->name = a.op.name;
  routine->seconds = 1e-10 * static_cast<double>(a.inputs[0].bytes()) + 2e-9 * static_cast<double>(updates.count());
  routine->stages.push_back(copy_stage(a.inputs[0].bytes()));
  ops::with_combine(how, [&](auto h) {
    dispatch(a.inputs[0].dtype, [&](auto tag) { routine->stages.push_back(scatter_stage<h.value, decltype(tag)>(p)); });
  });
  return routine;
}

}  // namespace tessera::inline v0::codegen
