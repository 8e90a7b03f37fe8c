// Collectives: loops over memory that all devices can read. Whoever runs the loop, sums are those of
// the tree that reduce.h draws over the devices' order, so that they are the same for any number of
// processes. What other processes read is laid out for them first (distributed/processes.h).
#include "base/hash.h"
#include "distributed/processes.h"
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
  /// By process, where what it laid out for this step begins; empty where nobody else takes part.
  std::span<const std::byte* const> laid;

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
    if (!col.owner.empty()) {
      std::int64_t number = 0;
      for (std::size_t a = 0; a < tape.axes.size(); ++a)
        if (col.laid >> a & 1) number = number * tape.axes[a].size + c.at[a];
      const auto i = static_cast<std::size_t>(number);
      if (const std::byte* other = laid[static_cast<std::size_t>(col.owner[i])])
        return other + col.number[i] * laid_bytes();
    }
    return address(tape, frame, 0, step.inputs[0], c);
  }
  // Of one operand, as it is laid out.
  std::int64_t laid_bytes() const { return (col.count * size_of(col.dtype) + 63) / 64 * 64; }
  void lay_out(std::byte* to) const {
    Coords c;
    const std::int64_t bytes = col.count * size_of(col.dtype);
    std::int64_t k = 0;
    for_instances(tape, col.laid, c, [&](std::int64_t) {
      if (bytes)
        std::memcpy(to + k * laid_bytes(), address(tape, frame, 0, step.inputs[0], c),
                    static_cast<std::size_t>(bytes));
      ++k;
    });
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

// By step: by process, where what it laid out begins, null for this one.
using LaidOut = std::vector<std::vector<const std::byte*>>;

void run_here(const Tape& tape, const Frame& frame, const Phase& phase, bool spread,
              const LaidOut& laid) {
  const auto work = [&](std::size_t s) {
    const Step& step = phase.steps[s];
    Work w{tape, frame, step, *step.collective, {}};
    if (!laid.empty()) w.laid = laid[s];
    return w;
  };
  if (!spread || phase.seconds < kWorthSpreading || worker_count() == 1) {
    for (std::size_t s = 0; s < phase.steps.size(); ++s) {
      profiler::Scope scope(phase.steps[s].name, "collective", profiler::kCollectives);
      const Work w = work(s);
      const std::int64_t tasks = w.tasks_each(), n = w.results();
      for (std::int64_t i = 0; i < n; ++i)
        for (std::int64_t t = 0; t < tasks; ++t) w.run(i, t);
    }
    return;
  }
  // All tasks of all collectives in one loop; `first[s]` is where those of step s begin.
  InlineVector<std::int64_t, 32> first;
  std::int64_t total = 0;
  for (std::size_t s = 0; s < phase.steps.size(); ++s) {
    first.push_back(total);
    const Work w = work(s);
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
      const Work w = work(s);
      const std::int64_t tasks = w.tasks_each();
      w.run((t - first[s]) / tasks, (t - first[s]) % tasks);
    }
  });
}

// The collective of a phase that others are told of: the first one that they take part in.
const Step& named_step(const Phase& phase) {
  for (const Step& s : phase.steps)
    if (!s.collective->owner.empty()) return s;
  throw InternalError("a phase between processes without a collective");
}

}  // namespace

void run_collectives(const Tape& tape, const Frame& frame, const Phase& phase, bool spread) {
  if (!phase.between) return run_here(tape, frame, phase, spread, {});
  const Between& between = *phase.between;
  const Step& named = named_step(phase);
  std::size_t signature = tape.signature;
  mix(signature, &phase - tape.phases.data());
  const processes::Subject subject{signature, tape.name, named.name, named.loc};
  const processes::Traffic traffic{between.bytes, between.from, between.to};
  processes::Round round(subject, traffic);
  const auto self = static_cast<std::size_t>(processes::rank());
  for (std::size_t s = 0; s < phase.steps.size(); ++s) {
    const Step& step = phase.steps[s];
    if (!step.collective->owner.empty())
      Work{tape, frame, step, *step.collective, {}}.lay_out(round.own() + between.offsets[s][self]);
  }
  round.post();
  LaidOut laid(phase.steps.size(), std::vector<const std::byte*>(between.bytes.size()));
  for (const int r : between.from) {
    const std::byte* begin = round.of(r);
    for (std::size_t s = 0; s < laid.size(); ++s)
      laid[s][static_cast<std::size_t>(r)] = begin + between.offsets[s][static_cast<std::size_t>(r)];
  }
  run_here(tape, frame, phase, spread, laid);
  round.finish();
}

}  // namespace tessera::inline v0::runtime
