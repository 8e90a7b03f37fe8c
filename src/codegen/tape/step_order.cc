// The order of steps that needs the least memory.
#include "codegen/tape/schedule.h"

#include <algorithm>
#include <functional>
#include <numeric>
#include <queue>
#include <span>

namespace tessera::inline v0::tape {

namespace {

// Late steps are collectives whose results need more memory than their operands, where the caller's
// arrays count nothing, and work on the caller's arrays that only such a collective reads.
std::vector<bool> late_steps(const DraftTape& draft, const StepGraph& graph) {
  const std::size_t n = draft.steps.size();
  const auto& slots = draft.tape->slots;
  const auto all_operands = [&](std::size_t i, const std::vector<bool>& producers) {
    return std::all_of(draft.steps[i].inputs.begin(), draft.steps[i].inputs.end(),
                       [&](const Ref& r) {
                         const int p = draft.producer[static_cast<std::size_t>(r.slot)];
                         if (p >= 0) return bool{producers[static_cast<std::size_t>(p)]};
                         const Space space = slots[static_cast<std::size_t>(r.slot)].space;
                         return space == Space::argument || space == Space::constant;
                       });
  };
  const auto fresh = [&](std::size_t i) {
    return std::all_of(draft.steps[i].outputs.begin(), draft.steps[i].outputs.end(),
                       [&](const Ref& r) {
                         const Slot& s = slots[static_cast<std::size_t>(r.slot)];
                         return s.space == Space::arena && s.over < 0;
                       });
  };
  std::vector<bool> prepares(n), late(n);
  for (std::size_t i = 0; i < n; ++i)
    prepares[i] = !draft.steps[i].is_collective() && !draft.steps[i].control() &&
                  graph.users[i].size() == 1 && fresh(i) && all_operands(i, prepares);
  for (std::size_t i = n; i-- > 0;)
    prepares[i] = prepares[i] && graph.users[i][0] > i &&
                  (draft.steps[graph.users[i][0]].is_collective() || prepares[graph.users[i][0]]);
  const auto bytes = [&](const std::vector<Ref>& refs) {
    std::int64_t sum = 0;
    for (const Ref& r : refs) {
      const Slot& s = slots[static_cast<std::size_t>(r.slot)];
      const int p = draft.producer[static_cast<std::size_t>(r.slot)];
      const bool waits = p < 0 ? s.space != Space::arena : prepares[static_cast<std::size_t>(p)];
      if (!waits) sum += s.bytes * draft.tape->stored(s);
    }
    return sum;
  };
  for (std::size_t i = 0; i < n; ++i)
    late[i] = draft.steps[i].is_collective() && !graph.users[i].empty() && fresh(i) &&
              bytes(draft.steps[i].outputs) > bytes(draft.steps[i].inputs);
  for (std::size_t i = n; i-- > 0;)
    if (prepares[i]) late[i] = late[graph.users[i][0]];
  return late;
}

class MemoryOrder {
 public:
  MemoryOrder(const TapeContext& ctx, const DraftTape& draft, const StepGraph& graph)
      : draft_(draft),
        tape_(*draft.tape),
        graph_(graph),
        readers_(tape_.slots.size()),
        kind_(tape_.slots.size(), Kind::other),
        waiting_(draft.steps.size()),
        done_(draft.steps.size()) {
    order_.late = late_steps(draft, graph);
    for (std::size_t s = 0; s < kind_.size(); ++s)
      if (tape_.slots[s].space == Space::arena) kind_[s] = Kind::temporary;
    if (&draft == &ctx.drafts.front())  // bodies are not given arrays
      for (const Argument& a : tape_.arguments)
        if (a.input < ctx.options.donated.size() && ctx.options.donated[a.input])
          kind_[static_cast<std::size_t>(a.slot)] = Kind::donated;
    first_read_.push_back(0);
    for (std::size_t i = 0; i < draft.steps.size(); ++i) {
      waiting_[i] = graph.before[i].size();
      const auto first = static_cast<std::ptrdiff_t>(reads_.size());
      for (const Ref& r : draft.steps[i].inputs) reads_.push_back(tape_.place(r.slot));
      std::sort(reads_.begin() + first, reads_.end());
      reads_.erase(std::unique(reads_.begin() + first, reads_.end()), reads_.end());
      first_read_.push_back(reads_.size());
      for (int place : places_read(i)) {
        ++readers_[static_cast<std::size_t>(place)].left;
        readers_[static_cast<std::size_t>(place)].sum += i;
      }
    }
  }

  StepOrder run() {
    const std::size_t n = draft_.steps.size();
    for (std::size_t i = 0; i < n; ++i)
      if (!order_.late[i]) demand(i);
    for (std::size_t i = 0; i < n; ++i) demand(i);
    return std::move(order_);
  }

 private:
  enum class Kind : std::uint8_t { other, temporary, donated };
  // The readers that have not run yet: their number, and the sum of their indices. When one is
  // left, the sum is its index.
  struct Readers {
    std::size_t left = 0, sum = 0;
  };

  std::span<const int> places_read(std::size_t i) const {
    return std::span(reads_).subspan(first_read_[i], first_read_[i + 1] - first_read_[i]);
  }

  std::int64_t bytes(int place) const {
    const Slot& s = tape_.slots[static_cast<std::size_t>(place)];
    return s.bytes * tape_.stored(s);
  }

  // Whether running the step now leaves no more memory in use than before. The memory of a donated
  // argument is available to a result only after its last reader has run.
  bool frees(std::size_t i) const {
    std::int64_t taken = 0, freed = 0;
    InlineVector<int, 4> kept;
    for (const Ref& r : draft_.steps[i].outputs) {
      const int place = tape_.place(r.slot);
      if (place != r.slot)
        kept.push_back(place);
      else if (kind_[static_cast<std::size_t>(place)] == Kind::temporary)
        taken += bytes(place);
    }
    for (int place : places_read(i)) {
      const Kind kind = kind_[static_cast<std::size_t>(place)];
      const bool last = readers_[static_cast<std::size_t>(place)].left == 1;
      if (kind == Kind::donated && !last) return false;
      if (kind == Kind::temporary && last &&
          std::find(kept.begin(), kept.end(), place) == kept.end())
        freed += bytes(place);
    }
    return freed > 0 && freed >= taken;
  }

  void consider(std::size_t i) {
    if (!done_[i] && waiting_[i] == 0 && !order_.late[i] && frees(i)) soon_.push(i);
  }

  void emit(std::size_t i) {
    done_[i] = true;
    order_.steps.push_back(static_cast<StepNumber>(i));
    for (StepNumber u : graph_.users[i])
      if (--waiting_[u] == 0) consider(u);
    for (int place : places_read(i)) {
      Readers& r = readers_[static_cast<std::size_t>(place)];
      r.sum -= i;
      if (--r.left == 1) consider(r.sum);
    }
  }

  // Emits the step after everything it depends on, then every ready step that needs no extra
  // memory.
  void demand(std::size_t i) {
    // A step, and how many of its dependencies have been visited.
    std::vector<std::pair<std::size_t, std::size_t>> stack{{i, 0}};
    while (!stack.empty()) {
      auto& [at, next] = stack.back();
      const auto& before = graph_.before[at];
      while (!done_[at] && next < before.size() && done_[before[next]]) ++next;
      if (!done_[at] && next < before.size()) {
        stack.emplace_back(before[next], 0);
        continue;
      }
      const std::size_t ready = at;
      stack.pop_back();
      if (!done_[ready]) emit(ready);
    }
    while (!soon_.empty()) {
      const std::size_t next = soon_.top();
      soon_.pop();
      if (!done_[next]) emit(next);
    }
  }

  const DraftTape& draft_;
  const Tape& tape_;
  const StepGraph& graph_;
  std::vector<int> reads_;  // the places that each step reads, without duplicates, step by step
  std::vector<std::size_t> first_read_;  // by step: where its places begin in reads_
  std::vector<Readers> readers_;         // by place
  std::vector<Kind> kind_;               // by place
  std::vector<std::size_t> waiting_;
  std::vector<bool> done_;
  std::priority_queue<std::size_t, std::vector<std::size_t>, std::greater<>> soon_;
  StepOrder order_;
};

}  // namespace

StepOrder program_order(const DraftTape& draft) {
  StepOrder order{std::vector<StepNumber>(draft.steps.size()),
                  std::vector<bool>(draft.steps.size())};
  std::iota(order.steps.begin(), order.steps.end(), StepNumber{0});
  return order;
}

StepOrder memory_order(const TapeContext& ctx, const DraftTape& draft, const StepGraph& graph) {
  return MemoryOrder(ctx, draft, graph).run();
}

}  // namespace tessera::inline v0::tape
