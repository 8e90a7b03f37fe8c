#include "codegen/plan/context.h"

#include <algorithm>
#include <map>
#include <set>
#include <tuple>

namespace tessera::inline v0::tapes {
namespace {

std::int64_t aligned(std::int64_t n) { return (n + 63) / 64 * 64; }

// Best fit over a growing range.
class Allocator {
 public:
  std::int64_t take(std::int64_t bytes) {
    bytes = std::max<std::int64_t>(64, aligned(bytes));
    auto fit = by_size_.lower_bound({bytes, 0});
    if (fit != by_size_.end()) {
      auto [size, offset] = *fit;
      remove(offset, size);
      if (size > bytes) insert(offset + bytes, size - bytes);
      return offset;
    }
    // Extend the free block at the end, if there is one.
    std::int64_t offset = end_;
    if (!by_offset_.empty()) {
      auto last = std::prev(by_offset_.end());
      if (last->first + last->second == end_) {
        offset = last->first;
        remove(last->first, last->second);
      }
    }
    end_ = offset + bytes;
    return offset;
  }
  void give(std::int64_t offset, std::int64_t bytes) {
    bytes = std::max<std::int64_t>(64, aligned(bytes));
    auto next = by_offset_.lower_bound(offset);
    if (next != by_offset_.end() && offset + bytes == next->first) {
      bytes += next->second;
      remove(next->first, next->second);
    }
    auto before = by_offset_.lower_bound(offset);
    if (before != by_offset_.begin()) {
      --before;
      if (before->first + before->second == offset) {
        std::int64_t start = before->first, size = before->second;
        remove(start, size);
        offset = start;
        bytes += size;
      }
    }
    insert(offset, bytes);
  }
  std::int64_t end() const { return end_; }

 private:
  void insert(std::int64_t offset, std::int64_t size) {
    by_offset_[offset] = size;
    by_size_.insert({size, offset});
  }
  void remove(std::int64_t offset, std::int64_t size) {
    by_offset_.erase(offset);
    by_size_.erase({size, offset});
  }
  std::map<std::int64_t, std::int64_t> by_offset_;
  std::set<std::pair<std::int64_t, std::int64_t>> by_size_;
  std::int64_t end_ = 0;
};

struct Life {
  std::int64_t first = -1, last = -1;  // positions of steps
  int phase = -1;                      // where it is defined
  bool one_phase = true;
  std::int64_t exact_first = -1, exact_last = -1;  // steps as one instance sees them
  int last_phase = -1;
};

// Whether the value of slot `from` is no longer read when slot `to` is written, where both are in
// the same memory instance by instance.
bool dead_before(const Tape& tape, const std::vector<std::int64_t>& phase_starts, const Life& from,
                 int from_slot, const Life& to, int to_slot) {
  if (from.last < to.first) return true;
  if (from.last_phase != to.phase) return false;
  const Phase& phase = tape.phases[static_cast<std::size_t>(to.phase)];
  if (phase.collective) return false;
  if (phase.instances > 1 && (tape.slots[static_cast<std::size_t>(from_slot)].mask != phase.mask ||
                              tape.slots[static_cast<std::size_t>(to_slot)].mask != phase.mask))
    return false;
  if (from.exact_last != to.exact_first) return from.exact_last < to.exact_first;
  // The same step: where it reads each element before it writes it.
  const Step& step = phase.steps[static_cast<std::size_t>(
      to.exact_first - phase_starts[static_cast<std::size_t>(to.phase)])];
  int reads = 0;
  for (const Ref& r : step.inputs) reads += r.slot == from_slot;
  if (reads != 1) return false;
  auto fits = [&](int in, std::size_t out) {
    const Ref &a = step.inputs[static_cast<std::size_t>(in)], &b = step.outputs[out];
    return a.slot == from_slot && b.slot == to_slot && a.offset == 0 && a.cut.empty() &&
           a.absorbed == 0;
  };
  for (std::size_t k = 0; k < step.tied.size(); ++k)
    if (step.tied[k] >= 0 && fits(step.tied[k], k)) return true;
  if (step.routine)
    for (auto [in, out] : step.routine->in_place)
      if (fits(in, static_cast<std::size_t>(out))) return true;
  return false;
}

// Results that may be written where a donated argument was. Arguments are looked for among those of
// the result's own form, so that a program of thousands of arrays is planned in as many steps.
void plan_donation(const PlanContext& ctx, Tape& tape, const std::vector<Life>& life) {
  constexpr std::size_t kMostTried = 256;
  const std::vector<bool>& donated = ctx.options.donated;
  if (std::find(donated.begin(), donated.end(), true) == donated.end()) return;
  std::vector<int> arguments_of(donated.size());
  for (const Argument& a : tape.arguments)
    if (a.input < donated.size()) ++arguments_of[a.input];
  std::vector<bool> is_result(tape.arguments.size());
  for (const Result& r : tape.results)
    if (r.argument >= 0) is_result[static_cast<std::size_t>(r.argument)] = true;
  using Form = std::tuple<std::int64_t, Mask, DType>;
  auto form_of = [&](int slot) {
    const Slot& s = tape.slots[static_cast<std::size_t>(slot)];
    return Form{s.bytes, s.mask, s.dtype};
  };
  std::map<Form, std::vector<std::size_t>> free;
  for (std::size_t i = 0; i < tape.arguments.size(); ++i) {
    const Argument& a = tape.arguments[i];
    if (a.input < donated.size() && donated[a.input] && !a.uniform && !is_result[i] &&
        arguments_of[a.input] == 1)
      free[form_of(a.slot)].push_back(i);
  }
  std::vector<std::int64_t> phase_starts{0};
  for (const Phase& p : tape.phases)
    phase_starts.push_back(phase_starts.back() + static_cast<std::int64_t>(p.steps.size()));
  auto fits = [&](const Argument& a, const Result& r) {
    if ((a.region < 0) != (r.region < 0) || a.spec != r.spec || !(a.type.shape == r.type.shape))
      return false;
    if (a.region >= 0 && ctx.regions[static_cast<std::size_t>(a.region)].mesh->devices !=
                             ctx.regions[static_cast<std::size_t>(r.region)].mesh->devices)
      return false;
    const int place = tape.place(r.slot);
    return dead_before(tape, phase_starts, life[static_cast<std::size_t>(a.slot)], a.slot,
                       life[static_cast<std::size_t>(place)], place);
  };
  for (Result& r : tape.results) {
    if (r.slot < 0 || !tape.slots[static_cast<std::size_t>(r.slot)].stored.empty()) continue;
    auto same = free.find(form_of(r.slot));
    if (same == free.end()) continue;
    std::vector<std::size_t>& candidates = same->second;
    for (std::size_t k = 0; k < std::min(candidates.size(), kMostTried); ++k)
      if (fits(tape.arguments[candidates[k]], r)) {
        r.reuse = static_cast<int>(candidates[k]);
        candidates.erase(candidates.begin() + static_cast<std::ptrdiff_t>(k));
        break;
      }
  }
}

}  // namespace

void assign_memory(PlanContext& ctx, Draft& draft) {
  Tape& tape = *draft.tape;
  tape.axes = ctx.axes;
  tape.regions = ctx.regions;
  std::vector<Life> life(tape.slots.size());

  // Scratch.
  for (Phase& phase : tape.phases)
    for (Step& step : phase.steps) {
      std::int64_t bytes = 0;
      if (step.routine && step.routine->scratch_bytes) {
        bytes = static_cast<std::int64_t>(step.routine->scratch_bytes);
        Slot s;
        s.space = Space::arena;
        s.mask = step.mask;
        std::int64_t stride = 1;
        for (std::size_t a = ctx.axes.size(); a-- > 0;)
          if (step.mask >> a & 1) {
            s.instance.push_back({static_cast<int>(a), stride});
            stride *= ctx.axes[a].size;
          }
        step.scratch = Ref{static_cast<int>(tape.slots.size())};
        tape.slots.push_back(s);
        life.emplace_back();
      }
      for (const auto& body : step.bodies)
        bytes = step.kind == Step::Kind::while_ ? bytes + aligned(body->frame_bytes)
                                                : std::max(bytes, body->frame_bytes);
      if (step.scratch.slot >= 0)
        tape.slots[static_cast<std::size_t>(step.scratch.slot)].bytes =
            aligned(std::max<std::int64_t>(bytes, 64));
    }

  // Lifetimes.
  std::int64_t position = 0;
  for (std::size_t p = 0; p < tape.phases.size(); ++p) {
    const Phase& phase = tape.phases[p];
    const std::int64_t begin = position,
                       end = position + static_cast<std::int64_t>(phase.steps.size()) - 1;
    const bool at_once = phase.collective || phase.instances > 1;
    for (const Step& step : phase.steps) {
      auto touch = [&](const Ref& r) {
        if (r.slot < 0) return;
        const auto place = static_cast<std::size_t>(tape.place(r.slot));
        Life& l = life[place];
        if (l.first < 0) {
          l.first = at_once ? begin : position;
          l.phase = static_cast<int>(p);
        }
        l.last = std::max(l.last, at_once ? end : position);
        if (l.exact_first < 0) l.exact_first = position;
        l.exact_last = position;
        l.last_phase = static_cast<int>(p);
        const Slot& s = tape.slots[place];
        if (l.phase != static_cast<int>(p) || !at_once || phase.collective ||
            s.mask != phase.mask || r.absorbed)
          l.one_phase = false;
      };
      for (const Ref& r : step.inputs) touch(r);
      for (const Ref& r : step.outputs) touch(r);
      for (const Ref& r : step.spare) touch(r);
      touch(step.flag);
      touch(step.scratch);
      ++position;
    }
  }

  if (&draft == &ctx.drafts.front()) plan_donation(ctx, tape, life);  // bodies get no arrays

  std::vector<std::vector<int>> starts(static_cast<std::size_t>(position)),
      ends(static_cast<std::size_t>(position));
  std::vector<std::vector<int>> local(tape.phases.size());
  for (std::size_t i = 0; i < tape.slots.size(); ++i) {
    Slot& s = tape.slots[i];
    if (s.space != Space::arena || life[i].first < 0) continue;
    tape.temporaries += aligned(s.bytes * tape.stored(s));
    if (life[i].one_phase) {
      s.space = Space::local;
      local[static_cast<std::size_t>(life[i].phase)].push_back(static_cast<int>(i));
      continue;
    }
    starts[static_cast<std::size_t>(life[i].first)].push_back(static_cast<int>(i));
    ends[static_cast<std::size_t>(life[i].last)].push_back(static_cast<int>(i));
  }

  Allocator arena;
  for (std::size_t t = 0; t < starts.size(); ++t) {
    for (int i : starts[t]) {
      Slot& s = tape.slots[static_cast<std::size_t>(i)];
      s.offset = arena.take(s.bytes * tape.stored(s));
    }
    for (int i : ends[t]) {
      const Slot& s = tape.slots[static_cast<std::size_t>(i)];
      arena.give(s.offset, s.bytes * tape.stored(s));
    }
  }
  tape.arena_bytes = arena.end();

  // A worker runs all steps of a phase for one device before it takes the next one.
  position = 0;
  std::int64_t most = 1;
  for (std::size_t p = 0; p < tape.phases.size(); ++p) {
    const Phase& phase = tape.phases[p];
    if (!phase.collective) most = std::max(most, phase.instances);
    if (!local[p].empty()) {
      std::map<std::int64_t, std::vector<int>> begin, end;
      // Inside a phase lifetimes are step by step.
      std::map<int, std::pair<std::int64_t, std::int64_t>> exact;
      std::int64_t t = 0;
      for (const Step& step : phase.steps) {
        auto touch = [&](const Ref& r) {
          if (r.slot < 0) return;
          const int place = tape.place(r.slot);
          if (tape.slots[static_cast<std::size_t>(place)].space != Space::local) return;
          auto [it, fresh] = exact.try_emplace(place, t, t);
          it->second.second = t;
        };
        for (const Ref& r : step.inputs) touch(r);
        for (const Ref& r : step.outputs) touch(r);
        for (const Ref& r : step.spare) touch(r);
        touch(step.flag);
        touch(step.scratch);
        ++t;
      }
      for (const auto& [slot, when] : exact) {
        begin[when.first].push_back(slot);
        end[when.second].push_back(slot);
      }
      Allocator a;
      for (t = 0; t < static_cast<std::int64_t>(phase.steps.size()); ++t) {
        for (int i : begin[t])
          tape.slots[static_cast<std::size_t>(i)].offset =
              a.take(tape.slots[static_cast<std::size_t>(i)].bytes);
        for (int i : end[t])
          a.give(tape.slots[static_cast<std::size_t>(i)].offset,
                 tape.slots[static_cast<std::size_t>(i)].bytes);
      }
      tape.local_bytes = std::max(tape.local_bytes, a.end());
    }
  }
  for (std::size_t i = 0; i < tape.slots.size(); ++i)
    if (tape.slots[i].over >= 0) {
      const Slot& at = tape.slots[static_cast<std::size_t>(tape.place(static_cast<int>(i)))];
      tape.slots[i].space = at.space;
      tape.slots[i].offset = at.offset;
    }
  tape.workers = std::min<std::int64_t>(most, std::max(1, ctx.options.workers));
  tape.frame_bytes = aligned(tape.table * static_cast<std::int64_t>(sizeof(void*))) +
                     tape.arena_bytes + tape.workers * tape.local_bytes;
}

}  // namespace tessera::inline v0::tapes
