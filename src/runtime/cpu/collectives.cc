// Collectives between devices of one process: loops over memory that all of them can read. Whoever
// runs the loop, sums are those of the tree that reduce.h draws over the devices' order.
#include "runtime/cpu/execute.h"
#include "runtime/cpu/reduce.h"
#include "runtime/pool.h"
#include "runtime/profiler.h"

#include <algorithm>
#include <cstring>

namespace tessera::inline v0::runtime {

using namespace tapes;

namespace {

constexpr std::int64_t kChunk = 1 << 16;  // elements of a reduction that are one task

Reduction reduction_of(Combiner how) {
  switch (how) {
    case Combiner::add: return Reduction::sum;
    case Combiner::max: return Reduction::max;
    case Combiner::min: return Reduction::min;
    default:
      throw InternalError("devices' values are not combined by " + std::string(name_of(how)));
  }
}

// One collective with its operands' addresses resolved for one result.
struct Work {
  const Tape& tape;
  const Frame& frame;
  const Step& step;
  const Collective& col;

  const Slot& slot() const { return tape.slots[static_cast<std::size_t>(step.outputs[0].slot)]; }
  // How many results: one a device, or one a group.
  std::int64_t results() const { return tape.stored(slot()); }
  Coords coords(std::int64_t result) const {
    Coords c;
    const Slot& s = slot();
    set_instance(tape, step.mask,
                 s.stored.empty() ? result : s.computed[static_cast<std::size_t>(result)], c);
    return c;
  }
  std::int64_t self(const Coords& c) const {
    std::int64_t k = 0;
    for (std::size_t i = 0; i < col.axes.size(); ++i) k = k * col.sizes[i] + c.at[col.axes[i]];
    return k;
  }
  const std::byte* operand(Coords c, std::int64_t device) const {
    for (std::size_t i = col.axes.size(); i-- > 0;) {
      c.at[col.axes[i]] = device % col.sizes[i];
      device /= col.sizes[i];
    }
    return address(tape, frame, 0, step.inputs[0], c);
  }
  std::byte* result(const Coords& c) const { return address(tape, frame, 0, step.outputs[0], c); }
  const std::vector<std::int64_t>& group(std::int64_t device) const {
    return col.groups[static_cast<std::size_t>(col.place[static_cast<std::size_t>(device)].first)];
  }

  std::int64_t tasks_each() const {
    switch (col.exchange) {
      case Exchange::combine: return std::max<std::int64_t>(1, (col.count + kChunk - 1) / kChunk);
      case Exchange::gather: return static_cast<std::int64_t>(col.groups[0].size());
      default: return 1;
    }
  }

  void run(std::int64_t instance, std::int64_t task) const {
    const Coords c = coords(instance);
    const std::int64_t me = self(c);
    const auto& members = group(me);
    const std::int64_t n = static_cast<std::int64_t>(members.size());
    const std::int64_t e = size_of(col.dtype);
    std::byte* out = result(c);
    switch (col.exchange) {
      case Exchange::none: return;
      case Exchange::combine: {
        InlineVector<const std::byte*, 16> in;
        const std::int64_t begin = task * kChunk, count = std::min(kChunk, col.count - begin);
        for (std::int64_t d : members) in.push_back(operand(c, d) + begin * e);
        reduce(reduction_of(col.combiner), col.dtype, {in.data(), in.size()}, out + begin * e,
               count);
        return;
      }
      case Exchange::combine_scatter: {
        InlineVector<const std::byte*, 16> in, row;
        for (std::int64_t d : members) in.push_back(operand(c, d));
        row = in;
        const std::int64_t place = col.place[static_cast<std::size_t>(me)].second,
                           bytes = col.run * e;
        for (std::int64_t o = 0; o < col.outer; ++o) {
          for (std::size_t j = 0; j < in.size(); ++j) row[j] = in[j] + (o * n + place) * bytes;
          reduce(reduction_of(col.combiner), col.dtype, {row.data(), row.size()}, out + o * bytes,
                 col.run);
        }
        return;
      }
      case Exchange::gather: {
        const std::byte* in = operand(c, members[static_cast<std::size_t>(task)]);
        const std::size_t bytes = static_cast<std::size_t>(col.run * e);
        for (std::int64_t o = 0; bytes && o < col.outer; ++o)
          std::memcpy(out + (static_cast<std::size_t>(o * n + task)) * bytes,
                      in + static_cast<std::size_t>(o) * bytes, bytes);
        return;
      }
      case Exchange::all_to_all: {
        const std::int64_t place = col.place[static_cast<std::size_t>(me)].second;
        for (std::int64_t j = 0; j < n; ++j)
          col.box.run(operand(c, members[static_cast<std::size_t>(j)]) + place * col.from_chunk,
                      out + j * col.to_chunk);
        return;
      }
      case Exchange::permute:
      case Exchange::broadcast: {
        const std::int64_t from = col.source[static_cast<std::size_t>(me)];
        const std::size_t bytes = static_cast<std::size_t>(col.count * e);
        if (bytes == 0) return;
        if (from < 0)
          std::memset(out, 0, bytes);
        else
          std::memcpy(out, operand(c, from), bytes);
        return;
      }
    }
  }
};

}  // namespace

void run_collectives(const Tape& tape, const Frame& frame, const Phase& phase, bool spread) {
  if (!spread || phase.seconds < kWorthSpreading || worker_count() == 1) {
    for (const Step& step : phase.steps) {
      profiler::Scope scope(step.name, "collective", profiler::kCollectives);
      Work w{tape, frame, step, *step.collective};
      const std::int64_t tasks = w.tasks_each(), n = w.results();
      for (std::int64_t i = 0; i < n; ++i)
        for (std::int64_t t = 0; t < tasks; ++t) w.run(i, t);
    }
    return;
  }
  // All tasks of all collectives in one loop; `first[s]` is where those of step s begin.
  InlineVector<std::int64_t, 32> first;
  std::int64_t total = 0;
  for (const Step& step : phase.steps) {
    first.push_back(total);
    const Work w{tape, frame, step, *step.collective};
    total += w.results() * w.tasks_each();
  }
  profiler::Scope scope(phase.steps.size() == 1 ? phase.steps[0].name : "collectives", "collective",
                        profiler::kCollectives);
  const std::int64_t pieces = std::min<std::int64_t>(total, std::int64_t{8} * worker_count());
  parallel_for(pieces, [&](std::int64_t p) {
    const std::int64_t begin = total * p / pieces, end = total * (p + 1) / pieces;
    std::size_t s = static_cast<std::size_t>(std::upper_bound(first.begin(), first.end(), begin) -
                                             first.begin()) -
                    1;
    for (std::int64_t t = begin; t < end; ++t) {
      while (s + 1 < first.size() && t >= first[s + 1]) ++s;
      Work w{tape, frame, phase.steps[s], *phase.steps[s].collective};
      const std::int64_t tasks = w.tasks_each();
      w.run((t - first[s]) / tasks, (t - first[s]) % tasks);
    }
  });
}

}  // namespace tessera::inline v0::runtime
