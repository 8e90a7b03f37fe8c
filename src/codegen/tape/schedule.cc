#include "codegen/tape/schedule.h"

#include "base/machine.h"
#include "codegen/tape/lives.h"

#include <algorithm>
#include <functional>
#include <limits>
#include <optional>
#include <queue>

namespace tessera::inline v0::tape {

namespace {

PhaseKey key_of(const Step& s) {
  if (s.is_collective()) return {PhaseKey::Kind::collective, 0};
  if (s.inner) return {PhaseKey::Kind::together, s.mask};
  return {PhaseKey::Kind::work, s.mask};
}

// List scheduling within a round: a phase continues as long as a step of its kind is ready.
class Phases {
 public:
  Phases(const TapeContext& ctx, const DraftTape& draft, const StepGraph& graph,
         const StepOrder& order, const std::vector<int>& rounds)
      : ctx_(ctx),
        draft_(draft),
        graph_(graph),
        rounds_(rounds),
        rank_(order.steps.size()),
        waiting_(order.steps.size()),
        phase_of_(order.steps.size(), -1),
        at_(order.steps) {
    for (std::size_t k = 0; k < at_.size(); ++k) rank_[at_[k]] = k;
    later_.resize(
        rounds.empty() ? 0 : std::size_t(*std::max_element(rounds.begin(), rounds.end()) + 1));
    for (std::size_t i = 0; i < rank_.size(); ++i) {
      waiting_[i] = graph.before[i].size();
      if (waiting_[i] == 0) later_[static_cast<std::size_t>(rounds[i])].push_back(rank_[i]);
    }
  }

  Outline run() {
    for (round_ = 0; round_ < later_.size(); ++round_) {
      for (std::size_t k : later_[round_]) ready_[key_of(draft_.steps[at_[k]])].push(k);
      if (ctx_.between) beside();
      while (const PhaseKey* key = next()) phase(PhaseKey(*key));
    }
    if (done_ < rank_.size())
      throw InternalError("planner: steps depend on one another in a circle");
    return std::move(outline_);
  }

 private:
  using Heap = std::priority_queue<std::size_t, std::vector<std::size_t>, std::greater<>>;

  // Starts the round's communication with other processes before the work that does not depend on
  // it, and completes it after that work, if this saves time.
  void beside() {
    const PhaseKey collectives{PhaseKey::Kind::collective, 0};
    double exchanged = 0;
    bool between = false;
    for (std::size_t k : later_[round_]) {
      const Step& s = draft_.steps[at_[k]];
      if (!s.is_collective()) continue;
      exchanged += seconds_of(s, collectives);
      between = between || exchanges(ctx_, s);
    }
    if (!between) return;
    const double costs = ctx_.options.bytes_worth_a_phase == 0 ? 0 : machine::kOverlapCost;
    const double hidden =
        std::min(std::max(exchanged, machine::kLeastExchange), seconds_of_free_work());
    if (hidden <= costs) return;
    outline_.seconds_beside += hidden - costs;
    const std::size_t first = outline_.phases.size();
    while (const PhaseKey* key = next(PhaseKey::Kind::work)) phase(PhaseKey(*key));
    outline_.phases[first].begins = static_cast<int>(outline_.phases.size() - first);
    phase(collectives);
  }
  // The time of this round's work that depends on none of its communication, per process.
  double seconds_of_free_work() const {
    std::vector<StepNumber> free;
    const auto add = [&](StepNumber i) {
      if (key_of(draft_.steps[i]).kind == PhaseKey::Kind::work) free.push_back(i);
    };
    for (std::size_t k : later_[round_]) add(at_[k]);
    std::map<StepNumber, std::size_t> waiting;
    double seconds = 0;
    for (std::size_t f = 0; f < free.size(); ++f) {
      const Step& s = draft_.steps[free[f]];
      seconds += seconds_of(s, key_of(s));
      for (StepNumber u : graph_.users[free[f]])
        if (static_cast<std::size_t>(rounds_[u]) == round_ &&
            --waiting.try_emplace(u, waiting_[u]).first->second == 0)
          add(u);
    }
    return seconds;
  }
  double seconds_of(const Step& s, const PhaseKey& key) const {
    return s.seconds * static_cast<double>(instances_of(*draft_.tape, key)) /
           ctx_.options.together.count;
  }

  // Chooses communication first, since all other ready steps wait for it; then the step of lowest
  // rank.
  const PhaseKey* next(std::optional<PhaseKey::Kind> only = {}) const {
    const PhaseKey* best = nullptr;
    for (const auto& [key, heap] : ready_) {
      if (heap.empty() || (only && key.kind != *only)) continue;
      if (key.kind == PhaseKey::Kind::collective) return &key;
      if (!best || heap.top() < ready_.at(*best).top()) best = &key;
    }
    return best;
  }

  void phase(const PhaseKey key) {
    std::vector<PhaseOutline>& phases = outline_.phases;
    const int number = static_cast<int>(phases.size());
    phases.push_back({key, {}});
    std::vector<std::size_t> next;  // ready, but only for a later phase
    Heap& heap = ready_[key];
    while (!heap.empty()) {
      const std::size_t k = heap.top();
      const StepNumber i = at_[k];
      heap.pop();
      const bool later = std::any_of(graph_.behind[i].begin(), graph_.behind[i].end(),
                                     [&](StepNumber p) { return phase_of_[p] == number; }) ||
                         (key.kind == PhaseKey::Kind::together && !phases.back().steps.empty());
      if (later) {
        next.push_back(k);
        continue;
      }
      phase_of_[i] = number;
      phases.back().steps.push_back(i);
      ++done_;
      for (StepNumber u : graph_.users[i])
        if (--waiting_[u] == 0) release(u);
    }
    for (std::size_t k : next) heap.push(k);
  }
  void release(StepNumber i) {
    const auto round = static_cast<std::size_t>(rounds_[i]);
    if (round == round_)
      ready_[key_of(draft_.steps[i])].push(rank_[i]);
    else
      later_[round].push_back(rank_[i]);
  }

  const TapeContext& ctx_;
  const DraftTape& draft_;
  const StepGraph& graph_;
  const std::vector<int>& rounds_;
  std::vector<std::size_t> rank_, waiting_;
  std::vector<int> phase_of_;
  const std::vector<StepNumber>& at_;  // by rank
  std::size_t round_ = 0, done_ = 0;
  std::vector<std::vector<std::size_t>> later_;  // by round: ranks of steps that are ready for it
  std::map<PhaseKey, Heap> ready_;               // by rank
  Outline outline_;
};

void write(DraftTape& draft, const std::vector<PhaseOutline>& outlines) {
  Tape& tape = *draft.tape;
  for (const PhaseOutline& outline : outlines) {
    Phase phase;
    phase.mask = outline.key.mask;
    phase.collective = outline.key.kind == PhaseKey::Kind::collective;
    phase.instances = instances_of(tape, outline.key);
    phase.begins = outline.begins;
    for (StepNumber i : outline.steps) {
      phase.seconds += draft.steps[i].seconds * static_cast<double>(phase.instances);
      phase.work.flops += draft.steps[i].work.flops;
      phase.work.bytes += draft.steps[i].work.bytes;
      phase.steps.push_back(std::move(draft.steps[i]));
    }
    tape.seconds += phase.seconds;
    tape.phases.push_back(std::move(phase));
  }
  draft.steps.clear();
  draft.after.clear();
}

}  // namespace

std::int64_t instances_of(const Tape& tape, const PhaseKey& key) {
  return key.kind == PhaseKey::Kind::collective ? 1 : tape.instances(key.mask);
}

Outline phases_of(const TapeContext& ctx, const DraftTape& draft, const StepGraph& graph,
                  const StepOrder& order, const std::vector<int>& rounds) {
  return Phases(ctx, draft, graph, order, rounds).run();
}

// Tries three schedules and keeps the one that needs the least memory: the program's order, the
// memory order, and the memory order with early communication, so that little memory waits for it.
// More rounds mean more phases, but a temporary that lives in one phase needs memory per worker
// instead of per device. With other processes, more rounds also leave work to overlap with
// communication, even more if gathers come a round ahead; the time saved is worth a quarter more
// memory.
void schedule(TapeContext& ctx, DraftTape& draft) {
  const StepGraph graph(draft);
  Outline best;
  std::vector<int> last_rounds;
  std::int64_t least = 0;
  const auto consider = [&](const StepOrder& order, const Held& held, double worth) {
    std::vector<int> rounds = rounds_of(draft, graph, order, held);
    if (ctx.between) put_off(ctx, draft, graph, order, rounds);
    if (held != Held{} && rounds == last_rounds) return;
    Outline outline = phases_of(ctx, draft, graph, order, rounds);
    const std::int64_t most = bytes_of(ctx, draft, outline.phases);
    if (outline.seconds_beside != best.seconds_beside && !best.phases.empty())
      worth = outline.seconds_beside > best.seconds_beside ? machine::kMemoryForTime
                                                           : 1 / machine::kMemoryForTime;
    if (best.phases.empty() || static_cast<double>(most) < worth * static_cast<double>(least)) {
      best = std::move(outline);
      least = most;
    }
    last_rounds = rounds;
  };
  const StepOrder given = program_order(draft);
  consider(given, {}, 1);
  const StepOrder order = memory_order(ctx, draft, graph);
  if (order.steps != given.steps || order.late != given.late) consider(order, {}, 1);
  const std::int64_t bytes = ctx.options.bytes_worth_a_phase;
  consider(order, {bytes}, bytes == 0 ? std::numeric_limits<double>::infinity() : 15.0 / 16);
  if (ctx.between) consider(order, {bytes, true}, 1);
  write(draft, best.phases);
}

}  // namespace tessera::inline v0::tape
