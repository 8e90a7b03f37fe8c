#include "spmd/propagate/growth.h"

#include <algorithm>
#include <limits>

namespace tessera::inline v0::spmd {

namespace {
bool receives(const CutRule& rule, Toward toward, std::size_t tensor) {
  switch (toward) {
    case Toward::none: return false;
    case Toward::results: return tensor >= rule.operands();
    case Toward::operands: return tensor < rule.operands();
    case Toward::all: return true;
  }
  return false;
}
bool gives(const CutRule& rule, Toward toward, std::size_t tensor) {
  switch (toward) {
    case Toward::none: return false;
    case Toward::results: return tensor < rule.operands();
    case Toward::operands: return tensor >= rule.operands();
    case Toward::all: return true;
  }
  return false;
}
}  // namespace

Atoms Growth::common(const Projection& p, std::size_t factor, Toward toward) {
  const CutRule& rule = p.rule();
  Atoms all;
  for (;;) {
    const std::size_t i = all.size();
    bool found = false, given = false;
    Atom next = 0;
    for (std::size_t t = 0; t < rule.tensors().size(); ++t) {
      const Atoms& axes = p.axes(t, factor);
      if (axes.size() <= i) continue;
      if (found && axes[i] != next) return all;
      found = true;
      next = axes[i];
      given = given || gives(rule, toward, t);
    }
    if (!given) return all;
    all.push_back(next);
  }
}

void Growth::basic(int mode) {
  const CutRule& rule = projection_.rule();
  const std::size_t tensors = rule.tensors().size();
  for (std::size_t f = 0; f < rule.factors().size(); ++f) {
    const Toward toward = rule.toward(mode, f);
    if (toward == Toward::none) continue;
    const Atoms wanted = common(projection_, f, toward);
    if (wanted.empty()) continue;
    // A value that lacks the factor competes for axes only through factors that could take them at
    // this rung. For example, the rows of weights that are contracted do not prevent a batch
    // dimension from reaching the results.
    AtomSet others;
    for (std::size_t t = 0; t < tensors; ++t) {
      if (rule.place(t, f)) {
        others |= projection_.cut(t) - AtomSet(projection_.axes(t, f));
        continue;
      }
      for (std::size_t g = 0; g < rule.factors().size(); ++g)
        if (rule.toward(mode, g) != Toward::none) others |= AtomSet(projection_.axes(t, g));
    }
    std::size_t n = 0;
    while (n < wanted.size() && !others.contains(wanted[n])) ++n;
    for (std::size_t t = 0; t < tensors; ++t)
      if (rule.place(t, f) && projection_.axes(t, f).size() < n)
        n = std::min(n, projection_.room(t, f, wanted));
    const Atoms agreed(wanted.begin(), wanted.begin() + n);
    for (std::size_t t = 0; t < tensors; ++t)
      if (rule.place(t, f) && receives(rule, toward, t) &&
          projection_.axes(t, f).size() < agreed.size())
        projection_.grow(t, f, agreed, false);
  }
}

void Growth::extend(std::size_t tensor, std::size_t factor, const Atoms& wanted,
                    std::size_t limit) {
  Atoms axes = projection_.axes(tensor, factor);
  limit = std::min(limit, wanted.size());
  if (axes.size() >= limit || !projection_.begins(tensor, factor)) return;
  const AtomSet others = projection_.cut(tensor) - AtomSet(axes);
  const std::size_t before = axes.size();
  limit = std::min(limit, projection_.room(tensor, factor, wanted));
  while (axes.size() < limit && !others.contains(wanted[axes.size()]))
    axes.push_back(wanted[axes.size()]);
  if (axes.size() > before) projection_.grow(tensor, factor, axes, true);
}

void Growth::aggressive(int mode) {
  const CutRule& rule = projection_.rule();
  const std::size_t tensors = rule.tensors().size(), operands = rule.operands();
  claims_.clear();
  for (std::size_t f = 0; f < rule.factors().size(); ++f) {
    const Toward toward = rule.toward(mode, f);
    if (toward == Toward::none) continue;
    Claim c{f, common(projection_, f, toward), 0, tensors};
    if (c.axes.empty()) continue;
    for (std::size_t t = tensors; t-- > 0;) {
      if (!rule.place(t, f) || projection_.axes(t, f).empty()) continue;
      c.weight = std::max(c.weight, rule.tensors()[t].elements);
      c.first = t;
    }
    if (rule.alike()) c.weight = projection_.size(c.axes);
    claims_.push_back(c);
  }
  std::stable_sort(claims_.begin(), claims_.end(), [](const Claim& a, const Claim& b) {
    return a.weight != b.weight ? a.weight > b.weight : a.first < b.first;
  });
  // Results come first: if all values have the same dimensions, an operand gets no more axes of
  // another operand than the results get.
  const bool sideways = !rule.alike() || operands == tensors;
  for (std::size_t k = 0; k < tensors; ++k) {
    const std::size_t t = (k + operands) % tensors;
    for (const Claim& c : claims_) {
      if (!rule.place(t, c.factor) || !receives(rule, rule.toward(mode, c.factor), t)) continue;
      std::size_t limit = sideways || t >= operands ? std::numeric_limits<std::size_t>::max() : 0;
      for (std::size_t r = operands; limit == 0 && r < tensors; ++r)
        limit = projection_.axes(r, c.factor).size();
      if (limit > 0) extend(t, c.factor, c.axes, limit);
    }
  }
}

bool Growth::apply(const CutRule& rule, int mode, Strategy strategy,
                   std::span<const Draft* const> before) {
  after_.clear();
  projection_.read(rule, before);
  strategy == Strategy::basic ? basic(mode) : aggressive(mode);
  for (std::size_t t = 0; t < before.size(); ++t) {
    if (!projection_.grew(t)) continue;
    Grown g{t, *before[t]};
    if (projection_.write(t, g.draft)) after_.push_back(std::move(g));
  }
  return !after_.empty();
}

}  // namespace tessera::inline v0::spmd
