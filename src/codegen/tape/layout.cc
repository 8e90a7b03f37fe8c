// Assigns memory by liveness: values that are not live at the same time may share memory.
#include "codegen/tape/lives.h"

#include <algorithm>
#include <map>
#include <set>

namespace tessera::inline v0::tape {

namespace {

// A best-fit allocator over a range that grows as needed.
class Allocator {
 public:
  std::int64_t take(std::int64_t bytes) {
    bytes = taken(bytes);
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
    bytes = taken(bytes);
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

}  // namespace

Layout lay_out(const Tape& tape, const Lives& lives) {
  const auto n = static_cast<std::size_t>(lives.positions());
  Layout layout;
  layout.offsets.resize(tape.slots.size());
  std::vector<std::vector<std::size_t>> starts(n), ends(n);
  for (std::size_t s = 0; s < tape.slots.size(); ++s) {
    const Life& l = lives.places()[s];
    if (tape.slots[s].space != Space::arena || l.first < 0) continue;
    starts[static_cast<std::size_t>(l.one_phase ? l.exact_first : l.first)].push_back(s);
    ends[static_cast<std::size_t>(l.one_phase ? l.exact_last : l.last)].push_back(s);
  }
  // A worker runs all steps of a phase for one device before it turns to the next device.
  Allocator arena, local;
  for (std::size_t t = 0; t < n; ++t) {
    const auto each = [&](const std::vector<std::size_t>& slots, auto&& f) {
      for (std::size_t s : slots) {
        const Slot& slot = tape.slots[s];
        if (lives.places()[s].one_phase)
          f(local, layout.offsets[s], slot.bytes);
        else
          f(arena, layout.offsets[s], slot.bytes * tape.stored(slot));
      }
    };
    each(starts[t], [](Allocator& from, std::int64_t& offset, std::int64_t bytes) {
      offset = from.take(bytes);
    });
    each(ends[t], [](Allocator& from, std::int64_t offset, std::int64_t bytes) {
      from.give(offset, bytes);
    });
  }
  layout.arena = arena.end();
  layout.local = local.end();
  return layout;
}

std::int64_t bytes_of(const TapeContext& ctx, const DraftTape& draft,
                      const std::vector<PhaseOutline>& phases) {
  const Tape& tape = *draft.tape;
  Lives lives(tape);
  std::int64_t workers = 1;
  for (const PhaseOutline& p : phases) {
    const bool collective = p.key.kind == PhaseKey::Kind::collective;
    const std::int64_t instances = instances_of(tape, p.key);
    workers = std::max(workers, instances);
    lives.begin(p.key.mask, instances, collective, p.steps.size(), p.begins);
    for (StepNumber i : p.steps) lives.step(draft.steps[i]);
  }
  // All processes must choose the same order, so the number of this process's workers is ignored.
  if (ctx.apart == 0 && !ctx.others) workers = std::min<std::int64_t>(workers, ctx.options.workers);
  const Layout layout = lay_out(tape, lives);
  return layout.arena + workers * layout.local;
}

}  // namespace tessera::inline v0::tape
