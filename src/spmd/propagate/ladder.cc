#include "spmd/propagate/ladder.h"

#include <algorithm>
#include <bit>

namespace tessera::inline v0::spmd {

std::size_t Ladder::Waiting::up(std::size_t from) const {
  std::size_t word = from >> 6;
  if (word >= words_.size()) return none;
  std::uint64_t bits = words_[word] & ~std::uint64_t{0} << (from & 63);
  while (bits == 0)
    if (++word == words_.size())
      return none;
    else
      bits = words_[word];
  return (word << 6) + static_cast<std::size_t>(std::countr_zero(bits));
}

std::size_t Ladder::Waiting::down(std::size_t from) const {
  std::size_t word = from >> 6;
  if (words_.empty()) return none;
  std::uint64_t bits = words_[word] & ~std::uint64_t{0} >> (63 - (from & 63));
  while (bits == 0)
    if (word-- == 0)
      return none;
    else
      bits = words_[word];
  return (word << 6) + 63 - static_cast<std::size_t>(std::countl_zero(bits));
}

Ladder::Ladder(Propagation::State& state)
    : s_(state),
      memo_(s_.mesh, s_.table, s_.graph.rules),
      waiting_{Waiting(s_.graph.nodes.size()), Waiting(s_.graph.nodes.size())} {}

void Ladder::climb(bool hide) {
  int last = 0;
  for (const ValueGraph::Hidden& h : s_.graph.hidden) last = std::max(last, h.priority);
  if (!hide)
    for (int p = 1; p <= last; ++p) reveal(p);
  for (int priority = 0; priority <= last; ++priority) {
    if (hide && priority > 0) reveal(priority);
    for (rung_ = 1; rung_ <= CutRule::rungs; ++rung_) rung();
  }
  s_.effort.questions = memo_.size();
}

// Reveals the dimensions of one priority with the axes requested for them. Axes of dimensions that
// are still hidden stay barred.
void Ladder::reveal(int priority) {
  for (const ValueGraph::Hidden& h : s_.graph.hidden) {
    if (h.priority != priority) continue;
    Draft d = s_.table[s_.drafts[h.value]];
    d.barred -= AtomSet(h.atoms);
    Atoms& dim = d.placement.dims[static_cast<std::size_t>(h.dim)];
    if (dim.empty()) dim = h.atoms;
    if (h.open) d.closed &= ~(std::uint64_t{1} << h.dim);
    change(h.value, s_.table.id(std::move(d)));
  }
}

// A node whose directions are the same as at the previous rung need not be visited again.
void Ladder::rung() {
  const ValueGraph& g = s_.graph;
  for (std::size_t k = 0; k < g.nodes.size(); ++k) {
    const ValueGraph::Node& n = g.nodes[k];
    const CutRule& rule = g.rules[n.rule];
    const int before = rung_ == 1 ? 0 : rule.mode(rung_ - 1, n.read_once);
    if (rule.mode(rung_, n.read_once) == before) continue;
    for (Waiting& w : waiting_) w.add(k);
  }
  for (bool changed = true; changed;) {
    settle(Strategy::basic);
    changed = settle(Strategy::aggressive);
  }
}

bool Ladder::settle(Strategy strategy) {
  Waiting& w = waiting_[static_cast<std::size_t>(strategy)];
  bool changed = false;
  const std::size_t nodes = s_.graph.nodes.size();
  for (bool any = nodes > 0; any;) {
    any = false;
    for (std::size_t k = w.up(0); k != Waiting::none; k = w.up(k + 1)) {
      w.remove(k);
      changed |= visit(k, strategy);
      any = true;
    }
    for (std::size_t k = w.down(nodes - 1); k != Waiting::none && any;) {
      w.remove(k);
      changed |= visit(k, strategy);
      k = k == 0 ? Waiting::none : w.down(k - 1);
    }
  }
  return changed;
}

void Ladder::change(std::uint32_t value, DraftTable::Id draft) {
  s_.drafts[value] = draft;
  const ValueGraph& g = s_.graph;
  for (std::uint32_t i = g.starts[value]; i < g.starts[value + 1]; ++i)
    for (Waiting& w : waiting_) w.add(g.around[i]);
}

bool Ladder::visit(std::size_t k, Strategy strategy) {
  ++s_.effort.visits;
  const ValueGraph& g = s_.graph;
  const ValueGraph::Node& n = g.nodes[k];
  const int mode = g.rules[n.rule].mode(rung_, n.read_once);
  if (mode == 0) return false;
  before_.clear();
  bool cut = false;
  for (std::uint32_t i = n.first; i < n.first + n.count; ++i) {
    before_.push_back(s_.drafts[g.ends[i]]);
    cut = cut || s_.table.is_cut(before_.back());
  }
  if (!cut) return false;
  const std::span<const DraftTable::Id> after = memo_.ask(n.rule, mode, strategy, before_);
  bool changed = false;
  for (std::size_t i = 0; i < after.size(); ++i) {
    const std::uint32_t value = g.ends[n.first + i];
    // If the node has a value twice, it grows in one position at a time.
    if (after[i] == before_[i] || s_.drafts[value] != before_[i]) continue;
    s_.log.push_back({value, static_cast<std::uint32_t>(k), s_.last[value], before_[i], after[i],
                      static_cast<std::uint8_t>(rung_), strategy == Strategy::aggressive});
    s_.last[value] = static_cast<std::uint32_t>(s_.log.size()) - 1;
    change(value, after[i]);
    changed = true;
  }
  return changed;
}

}  // namespace tessera::inline v0::spmd
