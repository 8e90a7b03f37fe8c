#include "spmd/partition/divide.h"

#include "base/hash.h"
#include "base/machine.h"
#include "spmd/partition/divide_options.h"
#include "spmd/partition/move_cost.h"

#include <algorithm>
#include <limits>
#include <optional>

namespace tessera::inline v0::spmd {

namespace {

using Id = PlacementTable::Id;

constexpr std::size_t kMostTried = 4096;

class DivisionSearch {
 public:
  DivisionSearch(PlacementTable& placements, Routes& routes, const DivisionRule& rule,
                 std::span<const OperandState> operands, std::span<const ResultState> results)
      : placements_(placements),
        mesh_(placements.mesh()),
        routes_(routes),
        rule_(rule),
        operands_(operands),
        results_(results),
        options_(division_options(placements, rule, operands, results)),
        work_(rule.cost.flops / machine::kProductFlops +
              rule.cost.bytes / machine::kMemoryBandwidth) {}

  DivisionChoice run() {
    find_sums();
    std::size_t ways = 1;
    for (const auto& o : options_.factors) ways = std::min(ways * o.size(), kMostTried + 1);
    if (ways <= kMostTried)
      try_all();
    else
      try_one_by_one();
    if (!found_) throw InternalError("the work of '" + rule_.op->name + "' cannot be divided");
    return std::move(best_);
  }

 private:
  // Finds operands that may stay partial sums, all over the same atoms.
  void find_sums() {
    partial_.assign(operands_.size(), false);
    bool once = true;
    for (std::size_t i = 0; i < operands_.size(); ++i) {
      const OperandState& o = operands_[i];
      partial_[i] = o.zero && is_inexact(rule_.tensors[i].type.dtype);
      for (Id id : o.copies) {
        const Placement& p = placements_[id];
        if (o.zero || p.unreduced.empty() || p.combiner != Combiner::add) continue;
        if (!sum_over_.empty() && sum_over_ != p.unreduced) {
          sum_over_ = {};
          return;
        }
        sum_over_ = p.unreduced;
        partial_[i] = true;
        once = once && o.read_once;
      }
    }
    if (sum_over_.empty()) return;
    if (rule_.sums(partial_)) {
      sums_ = true;
      sums_first_ = once;
      return;
    }
    // Retry without the zero operands, because an op may be linear in only one operand at a time.
    for (std::size_t i = 0; i < operands_.size(); ++i)
      if (operands_[i].zero) partial_[i] = false;
    sums_ = rule_.sums(partial_);
    sums_first_ = once;
  }

  void try_all() {
    std::vector<std::size_t> at(options_.atoms.size(), 0);
    for (;;) {
      consider(at);
      std::size_t i = at.size();
      while (i > 0 && ++at[i - 1] == options_.factors[i - 1].size()) at[--i] = 0;
      if (i == 0) return;
    }
  }

  void try_one_by_one() {
    std::vector<std::size_t> at;
    for (const auto& o : options_.factors) at.push_back(o.size() - 1);
    consider(at);
    for (std::size_t i = 0; i < at.size(); ++i) {
      std::size_t kept = at[i];
      for (std::size_t k = 0; k + 1 < options_.factors[i].size(); ++k) {
        at[i] = k;
        if (consider(at)) kept = k;
      }
      at[i] = kept;
    }
  }

  // Returns whether this division is the best so far.
  bool consider(const std::vector<std::size_t>& at) {
    Division division(rule_.factors.size());
    for (std::size_t i = 0; i < at.size(); ++i)
      if (const int f = options_.factors[i][at[i]]; f >= 0)
        division[static_cast<std::size_t>(f)].push_back(options_.atoms[i]);
    for (std::size_t f = 0; f < division.size(); ++f)
      if (division[f].size() > 1) division[f] = in_order(f, AtomSet(division[f]));
    if (!fits(mesh_, rule_, division) || !options_.asks_for(mesh_, rule_, division)) return false;
    bool better = false;
    if (sums_ && sums_first_) better = price(division, true) || better;
    better = price(division, false) || better;
    if (sums_ && !sums_first_) better = price(division, true) || better;
    return better;
  }

  // The atoms in the order in which the largest value has them along the factor.
  Atoms in_order(std::size_t factor, AtomSet atoms) const {
    Atoms order;
    for (const DivisionOptions::Run& run : options_.runs[factor])
      for (Atom a : run.atoms)
        if (atoms.contains(a)) {
          order.push_back(a);
          atoms.erase(a);
        }
    for (Atom a : atoms.atoms()) order.push_back(a);
    return order;
  }

  // Chooses the placement that operand i is resharded to: in parts, whose edges are fetched, or
  // whole along the dimensions that windows read, if that is cheaper. Returns false if neither is
  // reachable.
  bool bring(std::size_t i, const Division& division, bool sums, DivisionChoice& choice,
             MoveCost& cost) {
    Placement parts = part_of(mesh_, rule_, i, division), whole = parts;
    bool windows = false;
    for (std::size_t d = 0; d < whole.dims.size(); ++d)
      if (!whole.dims[d].empty() && rule_.window_of(i, d) >= 0) {
        whole.dims[d] = {};
        windows = true;
      }
    if (sums && partial_[i]) parts.unreduced = whole.unreduced = sum_over_;
    const Id in_parts = placements_.id(std::move(parts));
    std::optional<MoveCost> least = cost_to(i, in_parts);
    Id best = in_parts;
    if (least) least->add(fetching_cost(mesh_, rule_, i, division, routes_));
    if (windows) {
      const Id in_whole = placements_.id(std::move(whole));
      const std::optional<MoveCost> other = cost_to(i, in_whole);
      if (other && (!least || other->seconds < least->seconds)) {
        least = other;
        best = in_whole;
      }
    }
    if (!least) return false;
    cost.add(*least);
    choice.operands.push_back(best);
    return true;
  }

  std::optional<MoveCost> cost_to(std::size_t i, Id to) {
    if (operands_[i].anywhere || operands_[i].zero) return MoveCost{};
    const Reshard* plan = nullptr;
    for (Id from : operands_[i].copies) {
      if (!routes_.leads(from, to)) continue;
      const Reshard& one = routes_.route(rule_.tensors[i].type, from, to);
      if (!plan || one.seconds < plan->seconds) plan = &one;
    }
    if (!plan) return std::nullopt;
    return MoveCost{plan->seconds, plan->collectives()};
  }

  // The wanted placement; without the partial results if `from` has them along fewer axes, because
  // becoming partial is free.
  Id reachable(const Placement& from, Id wanted) {
    if (routes_.leads(placements_.id(from), wanted)) return wanted;
    Placement to = placements_[wanted];
    to.unreduced = from.combiner == to.combiner ? to.unreduced & from.unreduced : AtomSet();
    if (to.unreduced.empty()) to.combiner = Combiner::add;
    return placements_.id(std::move(to));
  }

  bool price(const Division& division, bool sums) {
    AtomSet cut, reduced;
    Combiner how = Combiner::add;
    for (std::size_t f = 0; f < division.size(); ++f) {
      cut |= AtomSet(division[f]);
      if (!rule_.factors[f].reduces || division[f].empty()) continue;
      reduced |= AtomSet(division[f]);
      how = rule_.factors[f].combiner;
    }
    if (sums && (cut.intersects(sum_over_) || (!reduced.empty() && how != Combiner::add)))
      return false;
    double seconds =
        work_ * padding_of(mesh_, rule_, division) / static_cast<double>(mesh_.size(cut));
    int collectives = 0;
    auto add = [&](const Reshard& plan) {
      seconds += plan.seconds;
      collectives += plan.collectives();
    };
    DivisionChoice choice{division, {}, {}};
    MoveCost inner = settling_cost(mesh_, rule_, division, routes_);
    for (std::size_t i = 0; i < operands_.size(); ++i)
      if (!bring(i, division, sums, choice, inner)) return false;
    seconds += inner.seconds;
    collectives += inner.collectives;
    // Moves of results may turn out to be unnecessary, so they are compared separately.
    const double before = seconds;
    for (std::size_t i = 0; i < results_.size(); ++i) {
      Placement p = part_of(mesh_, rule_, rule_.operands + i, division);
      p.unreduced = reduced;
      if (sums) p.unreduced |= sum_over_;
      p.combiner = reduced.empty() ? Combiner::add : how;
      choice.results.push_back(placements_.id(p));
      const ResultState& r = results_[i];
      if (r.wanted == PlacementTable::none) continue;
      if (!p.unreduced.empty() && p.combiner == Combiner::add &&
          (r.sum_over_any || r.sum_over == p.unreduced))
        p.unreduced = {};  // it will be reduced as part of the sum
      add(routes_.route(rule_.tensors[rule_.operands + i].type, placements_.id(p),
                        reachable(p, r.wanted)));
    }
    const double close = 1e-9 * seconds_;
    if (found_ && seconds > seconds_ - close &&
        (seconds > seconds_ + close || collectives > collectives_ ||
         (collectives == collectives_ && (before >= before_ - close || sums != best_sums_))))
      return false;
    found_ = true;
    seconds_ = seconds;
    before_ = before;
    best_sums_ = sums;
    collectives_ = collectives;
    best_ = std::move(choice);
    return true;
  }

  PlacementTable& placements_;
  const AtomMesh& mesh_;
  Routes& routes_;
  const DivisionRule& rule_;
  std::span<const OperandState> operands_;
  std::span<const ResultState> results_;

  const DivisionOptions options_;
  AtomSet sum_over_;
  std::vector<bool> partial_;
  bool sums_ = false, sums_first_ = false;

  double work_;  // seconds for the undivided work
  bool found_ = false;
  double seconds_ = 0, before_ = 0;  // in total, and without moves of results
  bool best_sums_ = false;
  int collectives_ = 0;
  DivisionChoice best_;
};

}  // namespace

const DivisionChoice& Divider::choose(const DivisionRule& rule,
                                      std::span<const OperandState> operands,
                                      std::span<const ResultState> results) {
  std::vector<std::uint32_t> key{rule.number};
  for (const OperandState& o : operands) {
    key.push_back(static_cast<std::uint32_t>(o.copies.size()) * 8 + (o.anywhere ? 4u : 0u) +
                  (o.zero ? 2u : 0u) + (o.read_once ? 1u : 0u));
    key.push_back(o.wished);
    key.insert(key.end(), o.copies.begin(), o.copies.end());
  }
  for (const ResultState& r : results) {
    key.push_back(r.wanted);
    key.push_back(r.sum_over_any);
    key.push_back(static_cast<std::uint32_t>(r.sum_over.bits()));
    key.push_back(static_cast<std::uint32_t>(r.sum_over.bits() >> 32));
  }
  std::size_t h = 0;
  mix(h, key);
  const auto same = [&](const Known& k) { return k.key == key; };
  const auto make = [&] {
    return Known{std::move(key),
                 DivisionSearch(placements_, routes_, rule, operands, results).run()};
  };
  return known_[known_.id(h, same, make)].choice;
}

}  // namespace tessera::inline v0::spmd
