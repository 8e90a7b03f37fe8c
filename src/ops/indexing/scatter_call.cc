// The routine of scatters. Windows are applied one after another in the order of the index vectors.
// Work is divided into tasks only so that every element of the result still sees its updates in
// that order: by batching dimensions; by columns of the windows, if these are wide or the result
// has few window positions; or by slabs of the result, where each task skips windows outside its
// slab.
#include "ops/combine.h"
#include "ops/indexing/indexing.h"
#include "ops/indexing/scatter_rules.h"
#include "ops/stages.h"

#include <algorithm>
#include <cstring>
#include <utility>

namespace tessera::inline v0::ops {

namespace {

/// A loop over one dimension of the updates, with strides in elements; `index` is the stride in the
/// indices.
struct Loop {
  std::int64_t extent, update, operand, index = 0;
};

struct Component {
  std::int64_t offset;  // of the component in an index vector, in the indices
  std::int64_t last;    // greatest start
  std::int64_t stride;  // in the operand
};

struct ScatterSchedule {
  std::vector<Loop> batch;   // over index vectors, in order, collapsed; `operand` is not 0 for
                             // batching dimensions
  std::vector<Loop> window;  // within a window, collapsed
  std::vector<Component> components;
  DType index = DType::int32;
  bool clip = false;
  bool overlap = false;  // windows at different positions may share elements
  bool ordered = false;  // `batch` contains window dimensions too, which must be run in order
  std::int64_t operand_count = 0;
};

/// Merges neighbouring loops that are contiguous in every array; at least one loop remains.
std::vector<Loop> collapsed(const std::vector<Loop>& loops) {
  std::vector<Loop> out;
  for (const Loop& l : loops) {
    if (l.extent == 1) continue;
    bool joins = !out.empty() && out.back().update == l.extent * l.update &&
                 out.back().operand == l.extent * l.operand &&
                 out.back().index == l.extent * l.index;
    if (joins)
      out.back() = {out.back().extent * l.extent, l.update, l.operand, l.index};
    else
      out.push_back(l);
  }
  if (out.empty()) out.push_back({1, 1, 1, 0});
  return out;
}

/// out[i] = combine(out[i], update[i]). Sums are written with vectors, because not every compiler
/// vectorises the loop.
template <Combiner how, class T>
void combine_adjacent(const T* update, T* out, std::int64_t count) {
  std::int64_t i = 0;
  if constexpr (how == Combiner::add && std::is_arithmetic_v<T> && sizeof(T) >= 4) {
    typedef T Vector __attribute__((vector_size(16), aligned(alignof(T)), may_alias));
    constexpr std::int64_t kVectors = 4, kLanes = 16 / static_cast<std::int64_t>(sizeof(T));
    for (; i + kVectors * kLanes <= count; i += kVectors * kLanes) {
      auto* to = reinterpret_cast<Vector*>(out + i);
      const auto* from = reinterpret_cast<const Vector*>(update + i);
#pragma GCC unroll 4
      for (std::int64_t k = 0; k < kVectors; ++k) to[k] = to[k] + from[k];
    }
  }
  for (; i < count; ++i) out[i] = ops::combine<how>(out[i], update[i]);
}

template <Combiner how, class T>
void apply(const std::vector<Loop>& loops, std::size_t level, const T* update, T* out) {
  const Loop& l = loops[level];
  if (level + 1 < loops.size()) {
    for (std::int64_t i = 0; i < l.extent; ++i)
      apply<how>(loops, level + 1, update + i * l.update, out + i * l.operand);
  } else if (l.update == 1 && l.operand == 1) {
    combine_adjacent<how>(update, out, l.extent);
  } else {
    for (std::int64_t i = 0; i < l.extent; ++i)
      out[i * l.operand] = ops::combine<how>(out[i * l.operand], update[i * l.update]);
  }
}

std::int64_t index_at(DType dtype, const void* p, std::int64_t i) {
  if (dtype == DType::int32) return static_cast<const std::int32_t*>(p)[i];
  if (dtype == DType::int64) return static_cast<const std::int64_t*>(p)[i];
  return read_index(HostArray(dtype, Shape{}, const_cast<void*>(p)), i);
}

/// The work of one task: the index vectors with first batch dimension in [from, to), of these the
/// windows that start in [first, last) of the operand, and of each window the loops `window` at the
/// given offsets.
struct Share {
  std::vector<Loop> window;
  std::int64_t update_offset, operand_offset, from, to, first, last;
};

/// Prefetches a row, or the beginning of a long one. The hardware prefetcher continues with the
/// rest once it sees that lines are read in order.
inline void prefetch(const void* row, std::int64_t bytes) {
  constexpr std::int64_t kLine = 64, kMost = 4096;
  for (std::int64_t i = 0; i < std::min(bytes, kMost); i += kLine)
    __builtin_prefetch(static_cast<const std::byte*>(row) + i);
}

/// Combines windows with the operand two steps late, so that the memory of the next windows is
/// prefetched meanwhile. Windows are short and at arbitrary places, so the hardware cannot prefetch
/// them.
template <Combiner how, class T>
class DelayedWindows {
 public:
  explicit DelayedWindows(const std::vector<Loop>& window)
      : window_(window),
        adjacent_(window.back().update == 1 && window.back().operand == 1
                      ? window.back().extent * static_cast<std::int64_t>(sizeof(T))
                      : 1) {}
  ~DelayedWindows() {
    finish(waiting_[0]);
    finish(waiting_[1]);
  }
  DelayedWindows(const DelayedWindows&) = delete;
  DelayedWindows& operator=(const DelayedWindows&) = delete;

  void add(const T* update, T* out) {
    prefetch(update, adjacent_);
    prefetch(out, adjacent_);
    finish(waiting_[0]);
    waiting_[0] = std::exchange(waiting_[1], {update, out});
  }

 private:
  struct Window {
    const T* update = nullptr;
    T* out = nullptr;
  };
  void finish(const Window& w) {
    if (w.out) apply<how>(window_, 0, w.update, w.out);
  }

  const std::vector<Loop>& window_;
  const std::int64_t adjacent_;  // bytes that are contiguous from the start of a window
  Window waiting_[2];
};

template <Combiner how, class T>
void run(const ScatterSchedule& p, const Share& s, const RoutineArgs& a) {
  const T* updates = static_cast<const T*>(a.inputs[2]) + s.update_offset;
  T* out = static_cast<T*>(a.outputs[0]) + s.operand_offset;
  const bool single = s.window.size() == 1 && s.window[0].extent == 1;
  // The last batch dimension is the inner loop; the others count like an odometer.
  std::size_t outer = p.batch.size() - 1;
  auto begin = [&](std::size_t d) { return d == 0 ? s.from : 0; };
  auto end = [&](std::size_t d) { return d == 0 ? s.to : p.batch[d].extent; };
  if (s.from >= s.to) return;
  InlineVector<std::int64_t, 8> at;
  for (std::size_t d = 0; d < outer; ++d) at.push_back(begin(d));
  const Loop& inner = p.batch[outer];
  DelayedWindows<how, T> windows(s.window);
  for (;;) {
    std::int64_t first = begin(outer), update = first * inner.update,
                 operand = first * inner.operand, vector = first * inner.index;
    for (std::size_t d = 0; d < outer; ++d) {
      update += at[d] * p.batch[d].update;
      operand += at[d] * p.batch[d].operand;
      vector += at[d] * p.batch[d].index;
    }
    for (std::int64_t i = first; i < end(outer); ++i) {
      bool inside = true;
      std::int64_t place = operand;
      for (const Component& c : p.components) {
        std::int64_t start = index_at(p.index, a.inputs[1], vector + c.offset);
        std::int64_t moved = std::clamp<std::int64_t>(start, 0, c.last);
        inside = inside && (p.clip || start == moved);
        place += moved * c.stride;
      }
      if (inside && place >= s.first && place < s.last) {
        if (single)
          out[place] = ops::combine<how>(out[place], updates[update]);
        else
          windows.add(updates + update, out + place);
      }
      update += inner.update;
      operand += inner.operand;
      vector += inner.index;
    }
    std::size_t d = outer;
    for (;; --d) {
      if (d == 0) return;
      if (++at[d - 1] < end(d - 1)) break;
      at[d - 1] = begin(d - 1);
    }
  }
}

// The case of single elements with one index component: the loop only reads an index, compares it
// and combines, so the processor can have many updates in flight.
template <Combiner how, class T, class I>
void run_elements(const ScatterSchedule& p, const RoutineArgs& a) {
  const Loop& l = p.batch[0];
  const Component& c = p.components[0];
  const I* at = static_cast<const I*>(a.inputs[1]) + c.offset;
  const T* updates = static_cast<const T*>(a.inputs[2]);
  T* out = static_cast<T*>(a.outputs[0]);
  for (std::int64_t i = 0; i < l.extent; ++i) {
    std::int64_t start = at[i * l.index];
    if (p.clip) start = std::clamp<std::int64_t>(start, 0, c.last);
    if (static_cast<std::uint64_t>(start) > static_cast<std::uint64_t>(c.last)) continue;
    T& to = out[start * c.stride];
    to = ops::combine<how>(to, updates[i * l.update]);
  }
}

// The same for a slab of the result, the positions [first, last): the updates of other slabs belong
// to other tasks. Which slab an update belongs to cannot be predicted, so a branch for it would be
// mispredicted often. Instead, a block of indices is first filtered into lists without a branch.
template <Combiner how, class T, class I>
void run_elements_of_slab(const ScatterSchedule& p, const RoutineArgs& a, std::int64_t first,
                          std::int64_t last) {
  constexpr std::int64_t kBlock = 1024;
  const Loop l = p.batch[0];
  const Component c = p.components[0];
  const I* at = static_cast<const I*>(a.inputs[1]) + c.offset;
  const T* updates = static_cast<const T*>(a.inputs[2]);
  T* out = static_cast<T*>(a.outputs[0]);
  const auto size = static_cast<std::uint64_t>(last - first);
  const bool clip = p.clip;
  std::int64_t places[kBlock], sources[kBlock];
  for (std::int64_t begin = 0; begin < l.extent; begin += kBlock) {
    const std::int64_t end = std::min(l.extent, begin + kBlock);
    std::size_t found = 0;
    for (std::int64_t i = begin; i < end; ++i) {
      std::int64_t start = at[i * l.index];
      if (clip) start = std::clamp<std::int64_t>(start, 0, c.last);
      places[found] = start;
      sources[found] = i;
      found += static_cast<std::uint64_t>(start - first) < size;
    }
    for (std::size_t k = 0; k < found; ++k) {
      T& to = out[places[k] * c.stride];
      to = ops::combine<how>(to, updates[sources[k] * l.update]);
    }
  }
}

// The loops of one combiner and one type of elements.
struct ScatterLoops {
  using Elements = void (*)(const ScatterSchedule& p, const RoutineArgs& a);
  using ElementsOfSlab = void (*)(const ScatterSchedule& p, const RoutineArgs& a,
                                  std::int64_t first, std::int64_t last);
  // By the type of the indices: int32 and int64.
  struct OfIndex {
    Elements all;
    ElementsOfSlab of_slab;
  };

  void (*run)(const ScatterSchedule& p, const Share& s, const RoutineArgs& a);
  OfIndex at_int32, at_int64;
};
ScatterLoops scatter_loops_of(Combiner how, DType dtype) {
  return with_combined(how, dtype, [](auto h, auto tag) {
    using T = decltype(tag);
    return ScatterLoops{
        run<h.value, T>,
        {run_elements<h.value, T, std::int32_t>, run_elements_of_slab<h.value, T, std::int32_t>},
        {run_elements<h.value, T, std::int64_t>, run_elements_of_slab<h.value, T, std::int64_t>}};
  });
}

// Updates of single elements of an operand of `bytes` bytes, which is copied first.
std::vector<Stage> elements_stages(const ScatterSchedule& p, const ScatterLoops& loops,
                                   std::int64_t bytes) {
  bool single = p.window.size() == 1 && p.window[0].extent == 1 && p.components.size() == 1 &&
                p.batch.size() == 1 && p.batch[0].operand == 0;
  if (!single || (p.index != DType::int32 && p.index != DType::int64)) return {};
  const auto f = p.index == DType::int32 ? loops.at_int32 : loops.at_int64;
  // Every task reads all indices, so there are few slabs.
  constexpr std::int64_t kUpdates = 1 << 17, kMostSlabs = 4;
  const std::int64_t slabs = std::clamp<std::int64_t>(p.batch[0].extent / kUpdates, 1, kMostSlabs);
  const std::int64_t count = p.operand_count;
  if (slabs == 1 || count != p.components[0].last + 1)
    return {copy_stage(bytes), single_stage([p, f](const RoutineArgs& a) { f.all(p, a); })};
  // A task copies its slab itself, so that the slab is in its core's cache when it is updated.
  Stage stage;
  stage.tasks = slabs;
  stage.run = [=](const RoutineArgs& a, std::int64_t b, std::int64_t e) {
    const std::int64_t first = count * b / slabs, last = count * e / slabs;
    copy_part(a, first * (bytes / count), last * (bytes / count));
    f.of_slab(p, a, first, last);
  };
  return {stage};
}

Stage windows_stage(const ScatterSchedule& p, const ScatterLoops& loops) {
  std::int64_t vectors = 1, elements = 1;
  for (const Loop& l : p.batch) vectors *= l.extent;
  for (const Loop& l : p.window) elements *= l.extent;
  constexpr std::int64_t kWorth = 1 << 15;  // elements that are worth a task
  const std::int64_t most = std::clamp<std::int64_t>(vectors * elements / kWorth, 1, 16);
  const std::int64_t extent = p.batch[0].extent, all = p.operand_count;
  auto widest = std::max_element(p.window.begin(), p.window.end(),
                                 [](const Loop& x, const Loop& y) { return x.extent < y.extent; });
  Stage stage;
  std::function<Share(std::int64_t, std::int64_t)> share;
  if (p.batch[0].operand != 0 && vectors > 1 && !p.ordered) {
    stage.tasks = std::min(most, extent);
    share = [=, n = stage.tasks](std::int64_t b, std::int64_t e) {
      return Share{p.window, 0, 0, extent * b / n, extent * e / n, 0, all};
    };
  } else if (!p.overlap &&
             (widest->extent >= 1024 || (widest->extent >= 128 && all / elements < 4 * most))) {
    auto level = static_cast<std::size_t>(widest - p.window.begin());
    stage.tasks = std::clamp<std::int64_t>(widest->extent / 256, 1, most);
    share = [=, n = stage.tasks, columns = widest->extent](std::int64_t b, std::int64_t e) {
      std::int64_t from = columns * b / n;
      Share s{p.window, from * p.window[level].update, from * p.window[level].operand, 0, extent, 0,
              all};
      s.window[level].extent = columns * e / n - from;
      return s;
    };
  } else {
    // Narrow rows stay whole, because memory is read fastest in long runs. Each slab reads all
    // indices, but the rows outweigh that.
    stage.tasks = p.overlap ? 1 : std::min(most, std::max<std::int64_t>(4, elements / 64));
    share = [=, n = stage.tasks](std::int64_t b, std::int64_t e) {
      return Share{p.window, 0, 0, 0, extent, all * b / n, all * e / n};
    };
  }
  stage.run = [p, share, f = loops.run](const RoutineArgs& a, std::int64_t b, std::int64_t e) {
    f(p, share(b, e), a);
  };
  return stage;
}

}  // namespace

std::shared_ptr<const Routine> scatter_call(const CallArgs& a) {
  const Shape &x = a.inputs[0].shape, &indices = a.inputs[1].shape, &updates = a.inputs[2].shape;
  auto routine = std::make_shared<Routine>();
  routine->name = a.op.name;
  routine->in_place = {{0, 0}};
  if (updates.count() == 0) {
    routine->stages = {copy_stage(a.inputs[0].bytes())};
    return routine;
  }
  WindowDimsOf w = window_dims_of(scatter_dims(a.attrs), updates.rank(), x.rank(), indices.rank());
  Shape xs = x.strides(), is = indices.strides(), us = updates.strides();
  ScatterSchedule p;
  p.index = a.inputs[1].dtype;
  p.clip = a.attrs.str("mode") == "clip";
  p.operand_count = x.count();
  std::vector<Loop> batch, window;
  std::vector<Loop> in_order(updates.size());  // for each dimension of the updates
  for (std::size_t b = 0; b < w.batch.size(); ++b) {
    auto u = static_cast<std::size_t>(w.batch[b]);
    batch.push_back({updates[u], us[u], 0, is[static_cast<std::size_t>(w.indices_batch[b])]});
  }
  for (std::size_t k = 0; k < w.operand_batching.size(); ++k)
    batch[static_cast<std::size_t>(w.operand_batching_at[k])].operand +=
        xs[static_cast<std::size_t>(w.operand_batching[k])];
  Shape size;
  size.resize(x.size(), 1);
  bool windows_first = false;
  for (std::size_t k = 0; k < w.window.size(); ++k) {
    auto u = static_cast<std::size_t>(w.window[k]),
         d = static_cast<std::size_t>(w.operand_window[k]);
    window.push_back({updates[u], us[u], xs[d]});
    size[d] = updates[u];
    for (std::int64_t b : w.batch)
      windows_first = windows_first || (w.window[k] < b && updates[u] > 1);
    p.overlap = p.overlap ||
                (contains(w.index_map, w.operand_window[k]) && updates[u] > 1 && updates[u] < x[d]);
  }
  for (std::size_t b = 0; b < w.batch.size(); ++b)
    in_order[static_cast<std::size_t>(w.batch[b])] = batch[b];
  for (std::size_t k = 0; k < w.window.size(); ++k)
    in_order[static_cast<std::size_t>(w.window[k])] = window[k];
  // If windows may overlap, window dimensions before the batch dimensions affect the order of
  // updates. They become loops around the index vectors, and the indices are read again in each
  // iteration.
  p.ordered = windows_first && p.overlap && !a.attrs.flag("unique");
  if (p.ordered) {
    auto inner = in_order.begin() + (w.batch.empty() ? 0 : w.batch.back() + 1);
    batch.assign(in_order.begin(), inner);
    window.assign(inner, in_order.end());
  }
  p.batch = collapsed(batch);
  p.window = collapsed(window);
  for (std::size_t k = 0; k < w.index_map.size(); ++k) {
    auto d = static_cast<std::size_t>(w.index_map[k]);
    std::int64_t step =
        w.vector_dim < indices.rank() ? is[static_cast<std::size_t>(w.vector_dim)] : 0;
    p.components.push_back({static_cast<std::int64_t>(k) * step, x[d] - size[d], xs[d]});
  }
  double vectors = 1;
  for (const Loop& l : p.batch) vectors *= static_cast<double>(l.extent);
  routine->seconds = 1e-10 * static_cast<double>(a.inputs[0].bytes()) + 5e-9 * vectors +
                     1e-9 * static_cast<double>(updates.count());
  const ScatterLoops loops = scatter_loops_of(a.op.combiner, a.inputs[0].dtype);
  routine->stages = elements_stages(p, loops, a.inputs[0].bytes());
  if (routine->stages.empty())
    routine->stages = {copy_stage(a.inputs[0].bytes()), windows_stage(p, loops)};
  return routine;
}

}  // namespace tessera::inline v0::ops
