#include "codegen/plan/context.h"

#include <functional>
#include <queue>

namespace tessera::inline v0::tapes {
namespace {

// Steps that may share a phase have the same key.
struct Key {
  enum class Kind { work, collective, together } kind = Kind::work;
  Mask mask = 0;
  auto operator<=>(const Key&) const = default;
};
Key key_of(const Step& s) {
  if (s.kind == Step::Kind::collective) return {Key::Kind::collective, 0};
  if (s.inner) return {Key::Kind::together, s.mask};
  return {Key::Kind::work, s.mask};
}

using Heap = std::priority_queue<std::size_t, std::vector<std::size_t>, std::greater<>>;

}  // namespace

// List scheduling: a phase goes on as long as a step of its kind is ready, in program order;
// collectives wait until nothing else is ready, so that those of one round meet in one phase.
void schedule(PlanContext& ctx, Draft& draft) {
  const std::size_t n = draft.steps.size();
  std::vector<std::vector<std::size_t>> users(n);
  std::vector<int> waiting(n);
  // A step that reads what other instances of the producer wrote has to wait for the end of the
  // producer's phase.
  std::vector<std::vector<std::size_t>> behind(n);
  for (std::size_t i = 0; i < n; ++i) {
    for (std::size_t p : draft.steps[i].after) {
      users[p].push_back(i);
      ++waiting[i];
    }
    for (const Ref& r : draft.steps[i].inputs) {
      int p = draft.producer[static_cast<std::size_t>(r.slot)];
      if (p < 0 || static_cast<std::size_t>(p) == i) continue;
      const Step& producer = draft.steps[static_cast<std::size_t>(p)];
      users[static_cast<std::size_t>(p)].push_back(i);
      ++waiting[i];
      const bool parts = producer.kind == Step::Kind::copy &&
                         producer.mask != draft.tape->slots[static_cast<std::size_t>(r.slot)].mask;
      if (r.absorbed || parts) behind[i].push_back(static_cast<std::size_t>(p));
    }
  }

  // A step that writes over a value comes after its other readers, and where these read other
  // instances than their own, after their phase.
  std::vector<std::vector<std::pair<std::size_t, bool>>> readers(draft.tape->slots.size());
  for (std::size_t i = 0; i < n; ++i)
    for (const Ref& r : draft.steps[i].inputs)
      readers[static_cast<std::size_t>(r.slot)].emplace_back(i, r.absorbed != 0);
  for (std::size_t i = 0; i < n; ++i)
    for (const Ref& out : draft.steps[i].outputs) {
      const int over = draft.tape->slots[static_cast<std::size_t>(out.slot)].over;
      if (over < 0) continue;
      auto wait = [&](std::size_t before) {
        if (before == i) return;
        users[before].push_back(i);
        ++waiting[i];
      };
      if (int p = draft.producer[static_cast<std::size_t>(over)]; p >= 0)
        wait(static_cast<std::size_t>(p));
      for (auto [reader, others] : readers[static_cast<std::size_t>(over)]) {
        wait(reader);
        if (others && reader != i) behind[i].push_back(reader);
      }
    }

  std::map<Key, Heap> ready;
  for (std::size_t i = 0; i < n; ++i)
    if (waiting[i] == 0) ready[key_of(draft.steps[i])].push(i);
  std::vector<int> phase_of(n, -1);
  Tape& tape = *draft.tape;
  std::size_t done = 0;
  while (done < n) {
    // The kind of work whose first step comes first in the program; collectives last.
    const Key* best = nullptr;
    for (const auto& [key, heap] : ready) {
      if (heap.empty()) continue;
      if (!best || (best->kind == Key::Kind::collective && key.kind != Key::Kind::collective) ||
          (key.kind != Key::Kind::collective && heap.top() < ready.at(*best).top()))
        best = &key;
    }
    if (!best) throw InternalError("planner: steps depend on one another in a circle");
    const Key key = *best;
    Phase phase;
    phase.mask = key.mask;
    phase.collective = key.kind == Key::Kind::collective;
    phase.instances = phase.collective ? 1 : ctx.instances(key.mask);
    const int number = static_cast<int>(tape.phases.size());
    std::vector<std::size_t> members, next;  // `next`: ready, but only for a later phase
    while (!ready[key].empty()) {
      std::size_t i = ready[key].top();
      ready[key].pop();
      bool later = false;
      for (std::size_t p : behind[i]) later = later || phase_of[p] == number;
      if (later || (key.kind == Key::Kind::together && !members.empty())) {
        next.push_back(i);
        continue;
      }
      phase_of[i] = number;
      members.push_back(i);
      for (std::size_t u : users[i])
        if (--waiting[u] == 0) {
          const Key k = key_of(draft.steps[u]);
          // Collectives of a phase run at once.
          if (k == key && phase.collective)
            next.push_back(u);
          else
            ready[k].push(u);
        }
    }
    for (std::size_t i : next) ready[key_of(draft.steps[i])].push(i);
    for (std::size_t i : members) {
      phase.seconds += draft.steps[i].seconds * static_cast<double>(phase.instances);
      phase.steps.push_back(std::move(draft.steps[i]));
    }
    done += members.size();
    tape.seconds += phase.seconds;
    tape.phases.push_back(std::move(phase));
  }
  draft.steps.clear();
}

}  // namespace tessera::inline v0::tapes
