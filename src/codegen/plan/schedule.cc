#include "codegen/plan/schedule.h"

#include "codegen/plan/lives.h"

#include <algorithm>
#include <functional>
#include <limits>
#include <queue>

namespace tessera::inline v0::tapes {
namespace {

PhaseKey key_of(const Step& s) {
  if (s.kind == Step::Kind::collective) return {PhaseKey::Kind::collective, 0};
  if (s.inner) return {PhaseKey::Kind::together, s.mask};
  return {PhaseKey::Kind::work, s.mask};
}

// List scheduling within a round: a phase goes on as long as a step of its kind is ready.
class Phases {
 public:
  Phases(const Draft& draft, const StepGraph& graph, const StepOrder& order,
         const std::vector<int>& rounds)
      : draft_(draft),
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

  std::vector<PhaseOutline> run() {
    for (round_ = 0; round_ < later_.size(); ++round_) {
      for (std::size_t k : later_[round_]) ready_[key_of(draft_.steps[at_[k]])].push(k);
      while (const PhaseKey* key = next()) phase(PhaseKey(*key));
    }
    if (done_ < rank_.size())
      throw InternalError("planner: steps depend on one another in a circle");
    return std::move(phases_);
  }

 private:
  using Heap = std::priority_queue<std::size_t, std::vector<std::size_t>, std::greater<>>;

  // Communication, which all that is ready waits for; then what comes first.
  const PhaseKey* next() const {
    const PhaseKey* best = nullptr;
    for (const auto& [key, heap] : ready_) {
      if (heap.empty()) continue;
      if (key.kind == PhaseKey::Kind::collective) return &key;
      if (!best || heap.top() < ready_.at(*best).top()) best = &key;
    }
    return best;
  }

  void phase(const PhaseKey key) {
    const int number = static_cast<int>(phases_.size());
    phases_.push_back({key, {}});
    std::vector<std::size_t> next;  // ready, but only for a later phase
    Heap& heap = ready_[key];
    while (!heap.empty()) {
      const std::size_t k = heap.top();
      const StepNumber i = at_[k];
      heap.pop();
      const bool later = std::any_of(graph_.behind[i].begin(), graph_.behind[i].end(),
                                     [&](StepNumber p) { return phase_of_[p] == number; }) ||
                         (key.kind == PhaseKey::Kind::together && !phases_.back().steps.empty());
      if (later) {
        next.push_back(k);
        continue;
      }
      phase_of_[i] = number;
      phases_.back().steps.push_back(i);
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

  const Draft& draft_;
  const StepGraph& graph_;
  const std::vector<int>& rounds_;
  std::vector<std::size_t> rank_, waiting_;
  std::vector<int> phase_of_;
  const std::vector<StepNumber>& at_;  // by rank
  std::size_t round_ = 0, done_ = 0;
  std::vector<std::vector<std::size_t>> later_;  // by round: ranks of what is ready for it
  std::map<PhaseKey, Heap> ready_;               // by rank
  std::vector<PhaseOutline> phases_;
};

void write(Draft& draft, const std::vector<PhaseOutline>& outlines) {
  Tape& tape = *draft.tape;
  for (const PhaseOutline& outline : outlines) {
    Phase phase;
    phase.mask = outline.key.mask;
    phase.collective = outline.key.kind == PhaseKey::Kind::collective;
    phase.instances = instances_of(tape, outline.key);
    for (StepNumber i : outline.steps) {
      phase.seconds += draft.steps[i].seconds * static_cast<double>(phase.instances);
      phase.steps.push_back(std::move(draft.steps[i]));
    }
    tape.seconds += phase.seconds;
    tape.phases.push_back(std::move(phase));
  }
  draft.steps.clear();
}

}  // namespace

std::atomic<std::int64_t> bytes_worth_a_phase{std::int64_t{1} << 20};

std::int64_t instances_of(const Tape& tape, const PhaseKey& key) {
  return key.kind == PhaseKey::Kind::collective ? 1 : tape.instances(key.mask);
}

std::vector<PhaseOutline> phases_of(const Draft& draft, const StepGraph& graph,
                                    const StepOrder& order, const std::vector<int>& rounds) {
  return Phases(draft, graph, order, rounds).run();
}

// Three ways to go, and the one that takes the least memory: as the program has it, as memory would
// have it, and that with communication early enough that little waits for it. More rounds are more
// phases, and what is temporary in one phase only has one place a worker instead of one a device.
void schedule(PlanContext& ctx, Draft& draft) {
  const StepGraph graph(draft);
  std::vector<PhaseOutline> best;
  std::vector<int> last_rounds;
  std::int64_t least = 0;
  const auto consider = [&](const StepOrder& order, std::int64_t bytes, double worth) {
    const std::vector<int> rounds = rounds_of(draft, graph, order, bytes);
    if (bytes != kUnbounded && rounds == last_rounds) return;
    std::vector<PhaseOutline> outline = phases_of(draft, graph, order, rounds);
    const std::int64_t most = bytes_of(ctx, draft, outline);
    if (best.empty() || static_cast<double>(most) < worth * static_cast<double>(least)) {
      best = std::move(outline);
      least = most;
    }
    last_rounds = rounds;
  };
  const StepOrder given = program_order(draft);
  consider(given, kUnbounded, 1);
  const StepOrder order = memory_order(ctx, draft, graph);
  if (order.steps != given.steps || order.late != given.late) consider(order, kUnbounded, 1);
  const std::int64_t bytes = bytes_worth_a_phase;
  consider(order, bytes, bytes == 0 ? std::numeric_limits<double>::infinity() : 15.0 / 16);
  write(draft, best);
}

}  // namespace tessera::inline v0::tapes
