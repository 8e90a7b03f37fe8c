// Assigns each step to a round: a phase of communication and the work that follows it.
#include "codegen/tape/schedule.h"

#include <algorithm>

namespace tessera::inline v0::tape {

namespace {

class Rounds {
 public:
  Rounds(const DraftTape& draft, const StepGraph& graph, const StepOrder& order, const Held& held)
      : draft_(draft),
        graph_(graph),
        late_(order.late),
        most_(held.bytes),
        early_(held.round_ahead ? 1 : 0),
        round_(draft.steps.size()),
        first_(draft.steps.size()),
        waits_(order.late) {}

  std::vector<int> run(const std::vector<StepNumber>& order) {
    for (StepNumber i : order) {
      // Communication comes before the work of its round. Round 0 has none; it holds work that
      // depends on no communication.
      int at = std::max(late_[i] ? 0 : from_, communicates(i));
      for (StepNumber p : graph_.before[i]) at = std::max(at, round_[p] + communicates(i));
      if (late_[i]) {
        round_[i] = first_[i] = at;  // provisional: `fetch` sets it relative to its reader
        continue;
      }
      round_[i] = fetch(i, at);
      if (communicates(i) && add(held_, round_[i], bytes(draft_.steps[i].inputs)) >= most_)
        from_ = std::max(from_, round_[i]);
    }
    return std::move(round_);
  }

 private:
  int communicates(std::size_t i) const { return draft_.steps[i].is_collective() ? 1 : 0; }
  std::int64_t bytes(const std::vector<Ref>& refs) const {
    std::int64_t sum = 0;
    for (const Ref& r : refs) {
      const Slot& s = draft_.tape->slots[static_cast<std::size_t>(r.slot)];
      sum += s.bytes * draft_.tape->stored(s);
    }
    return sum;
  }
  static std::int64_t add(std::vector<std::int64_t>& sums, int round, std::int64_t bytes) {
    const auto at = static_cast<std::size_t>(round);
    if (sums.size() <= at) sums.resize(at + 1);
    return sums[at] += bytes;
  }

  // Assigns rounds to the late steps that step `i` waits for: the latest possible round, which is
  // that of `i` unless `i` communicates, and one round earlier if `early_` is set. If their results
  // exceed what that round may hold, `i` itself moves to the next round. Returns the round of `i`.
  int fetch(std::size_t i, int at) {
    std::int64_t sum = 0;
    for (StepNumber p : graph_.before[i])
      if (waits_[p]) sum += bytes(draft_.steps[p].outputs);
    if (sum == 0) return at;
    const auto own = [&] { return std::max(0, at - communicates(i) - early_); };
    const std::int64_t there = add(ahead_, own(), 0);
    if (there > 0 && sum > most_ - std::min(most_, there)) from_ = std::max(from_, ++at);
    for (StepNumber p : graph_.before[i])
      if (waits_[p]) settle(p, own());
    add(ahead_, own(), sum);
    return at;
  }
  // A late step that already has a round may have to move to an earlier one for another reader.
  void settle(std::size_t late, int round) {
    std::vector<std::pair<std::size_t, int>> all{{late, round}};
    while (!all.empty()) {
      const auto [i, at] = all.back();
      all.pop_back();
      if (!late_[i] || (!waits_[i] && round_[i] <= std::max(first_[i], at))) continue;
      round_[i] = std::max(first_[i], at);
      waits_[i] = false;
      for (StepNumber p : graph_.before[i]) all.emplace_back(p, round_[i] - communicates(i));
    }
  }

  const DraftTape& draft_;
  const StepGraph& graph_;
  const std::vector<bool>& late_;
  const std::int64_t most_;
  const int early_;
  std::vector<int> round_, first_;  // first_: the earliest round of a late step
  std::vector<bool> waits_;         // late steps that have no round yet
  // bytes by round: operands that wait, results that are early
  std::vector<std::int64_t> held_, ahead_;
  int from_ = 0;  // the least round for the steps that follow
};

}  // namespace

std::vector<int> rounds_of(const DraftTape& draft, const StepGraph& graph, const StepOrder& order,
                           const Held& held) {
  return Rounds(draft, graph, order, held).run(order.steps);
}

bool exchanges(const TapeContext& ctx, const Step& step) {
  if (!step.is_collective()) return false;
  const std::vector<int>& axes = step.collective().axes;
  return std::any_of(axes.begin(), axes.end(), [&](int a) { return ctx.between >> a & 1; });
}

void put_off(const TapeContext& ctx, const DraftTape& draft, const StepGraph& graph,
             const StepOrder& order, std::vector<int>& rounds) {
  // For each step, the first round in which a collective or a step with collectives inside depends
  // on it, directly or through other work; and the rounds that communicate with other processes.
  constexpr int kNever = std::numeric_limits<int>::max();
  std::vector<int> waited(rounds.size(), kNever);
  std::vector<bool> exchanged;
  for (auto i = order.steps.rbegin(); i != order.steps.rend(); ++i) {
    const Step& step = draft.steps[*i];
    if (exchanges(ctx, step)) {
      exchanged.resize(std::max(exchanged.size(), static_cast<std::size_t>(rounds[*i]) + 1));
      exchanged[static_cast<std::size_t>(rounds[*i])] = true;
    }
    for (StepNumber u : graph.users[*i]) {
      const Step& user = draft.steps[u];
      const bool stays = user.is_collective() || user.inner;
      waited[*i] = std::min(waited[*i], stays ? rounds[u] : waited[u]);
    }
  }
  for (std::size_t i = 0; i < rounds.size(); ++i) {
    const Step& step = draft.steps[i];
    if (step.is_collective() || step.inner || rounds[i] + 1 >= waited[i]) continue;
    const auto next = static_cast<std::size_t>(rounds[i]) + 1;
    if (next < exchanged.size() && exchanged[next]) ++rounds[i];
  }
}

}  // namespace tessera::inline v0::tape
