#include "spmd/reshard/search.h"

#include "spmd/reshard/expand.h"

#include <algorithm>
#include <functional>
#include <queue>
#include <tuple>

namespace tessera::inline v0::spmd {

namespace {

// Limits on the number of moves tried: with estimates, exactly with likely moves, and exactly with
// all moves.
constexpr int kMostGuessed = 3000, kMostExpanded = 10000, kMostTriedOfAll = 200000;
constexpr std::size_t kNone = static_cast<std::size_t>(-1);

// A* search with lexicographic costs. If links differ, rounding may make the lower bound
// inconsistent in the last bit, so a state may be expanded again.
class ReshardSearch final : public Expander {
 public:
  /// With `guesses`, quickly finds some sequence; otherwise finds the cheapest.
  ReshardSearch(const SearchQuestion& question, const SearchSpace& space, bool guesses)
      : Expander(question, space),
        space_(space),
        guesses_(guesses),
        most_(guesses        ? kMostGuessed
              : space.full() ? kMostTriedOfAll
                             : kMostExpanded) {}

  /// The last node of the cheapest sequence that costs less than `bound`, or kNone.
  std::size_t run(const PackedState& start, const std::optional<PlanCost>& bound) {
    bound_ = bound;
    table_.assign(256, kNone);
    arrive(MoveKind::slice, start, {});
    while (!open_.empty() && tried_ < most_) {
      const Entry e = open_.top();
      open_.pop();
      if (nodes_[e.node].cost < e.cost) continue;
      if (too_dear(e.expected) && !guesses_) return kNone;
      const PackedState state = nodes_[e.node].state;
      if (is_goal(state)) return e.node;
      from_ = e.node;
      cost_ = e.cost;
      expand(state);
    }
    return kNone;
  }
  std::vector<Step> steps_to(std::size_t end) const {
    std::vector<Step> steps;
    for (std::size_t n = end; nodes_[n].parent != kNone; n = nodes_[n].parent)
      steps.push_back({nodes_[n].kind, space_.placement(nodes_[n].state)});
    std::reverse(steps.begin(), steps.end());
    return steps;
  }

 private:
  struct Node {
    PackedState state;
    PlanCost cost;
    std::size_t parent;
    MoveKind kind;
  };
  struct Entry {
    PlanCost expected, cost;
    std::size_t node;
    bool operator>(const Entry& o) const {
      return std::tie(expected, node) > std::tie(o.expected, o.node);
    }
  };

  bool too_dear(const PlanCost& c) const { return bound_ && !(c < *bound_); }
  bool is_goal(PackedState s) const {
    s.phase = 0;
    return s == space_.goal();
  }

  void arrive(MoveKind kind, const PackedState& s, const PlanCost& move) override {
    ++tried_;
    const PlanCost cost = cost_ + move;
    if (too_dear(cost)) return;
    std::size_t& at = slot(s);
    if (at != kNone && !(cost < nodes_[at].cost)) return;
    const OpenState open = space_.opened(s);
    PlanCost expected = cost + space_.left(open);
    if (too_dear(expected)) return;
    if (guesses_) expected = cost + space_.guess(open);
    const std::size_t n = at == kNone ? nodes_.size() : at;
    if (at == kNone) {
      at = n;
      nodes_.emplace_back();
    }
    nodes_[n] = {s, cost, from_, kind};
    open_.push({expected, cost, n});
    if (2 * nodes_.size() < table_.size()) return;
    table_.assign(4 * table_.size(), kNone);
    for (std::size_t k = 0; k < nodes_.size(); ++k) slot(nodes_[k].state) = k;
  }
  std::size_t& slot(const PackedState& s) {
    std::size_t i = s.hash() & (table_.size() - 1);
    while (table_[i] != kNone && !(nodes_[table_[i]].state == s)) i = (i + 1) & (table_.size() - 1);
    return table_[i];
  }

  const SearchSpace& space_;
  const bool guesses_;
  const int most_;
  std::optional<PlanCost> bound_;
  std::vector<Node> nodes_;
  std::vector<std::size_t> table_;  // hash table of indices into nodes_
  std::priority_queue<Entry, std::vector<Entry>, std::greater<>> open_;
  int tried_ = 0;
  std::size_t from_ = kNone;  // the node being expanded
  PlanCost cost_;
};

}  // namespace

std::optional<std::vector<Step>> cheapest_steps(const SearchQuestion& question,
                                                const std::vector<std::vector<Step>>& known) {
  const SearchSpace atoms(question, false);
  std::optional<std::vector<Step>> best;
  std::optional<PlanCost> bound;
  for (const auto& steps : known) {
    const std::optional<PlanCost> cost = atoms.cost_of(steps);
    if (!cost || (bound && !(*cost < *bound))) continue;
    best = steps;
    bound = cost;
  }
  const auto search = [&](const SearchSpace& space, bool guesses) {
    if (!space.fits()) return;
    ReshardSearch search(question, space, guesses);
    const std::size_t end = search.run(space.start(), bound);
    if (end == kNone) return;
    best = search.steps_to(end);
    bound = atoms.cost_of(*best);
  };
  // A search over runs of atoms has fewer units and is often complete. Its result bounds the search
  // over atoms.
  if (!atoms.full()) {
    const SearchSpace runs(question, true);
    if (!runs.full()) search(runs, true);
    search(runs, false);
    search(atoms, true);
  }
  search(atoms, false);
  return best;
}

}  // namespace tessera::inline v0::spmd
