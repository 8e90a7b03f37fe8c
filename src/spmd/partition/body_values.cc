// Values of a per-device program, and their resharding to the placements that readers need.
#include "ir/collective_attrs.h"
#include "ops/build.h"
#include "ops/local.h"
#include "spmd/partition/body_writer.h"
#include "spmd/reshard/emit.h"

#include <algorithm>

namespace tessera::inline v0::spmd {

BodyWriter::Slot BodyWriter::add(const Type& whole, Id at, Value part) {
  Held& h = held_.emplace_back();
  h.type = &whole;
  hold(h, at, part);
  return static_cast<Slot>(held_.size()) - 1;
}

BodyWriter::Slot BodyWriter::input(const Type& whole, Id at) {
  Type part(whole.dtype, work_.mesh.local_shape(whole.shape, work_.placements[at]), whole.weak);
  part.varying = whole.varying | work_.placements.axes(at);
  return add(whole, at, b_.input(std::move(part)));
}

Value BodyWriter::at(Slot slot, Id id) {
  Held& h = held_[slot];
  for (const Copy& c : h.copies)
    if (c.at == id) {
      own_sums_.erase(c.value.var);
      return c.value;
    }
  const Placement& to = work_.placements[id];
  const auto is_partial = [&](const Copy& c) { return ways_->routes.leads(c.at, id); };
  if (!to.unreduced.empty() && std::none_of(h.copies.begin(), h.copies.end(), is_partial)) {
    // If there is a copy that is partial along some of the axes, it has to become partial only
    // along the others.
    Placement more = to;
    more.unreduced = {};
    for (const Copy& c : h.copies) {
      const Placement& p = work_.placements[c.at];
      if (p.combiner == to.combiner && (p.unreduced & to.unreduced).size() > more.unreduced.size())
        more.unreduced = p.unreduced & to.unreduced;
    }
    if (more.unreduced.empty()) more.combiner = Combiner::add;
    const AtomSet missing = to.unreduced - more.unreduced;
    if (to.combiner == Combiner::add && !h.zero)
      return hold(h, id, as_terms(slot, more, missing, id));
    const Value reduced = at(slot, work_.placements.id(std::move(more)));
    if (h.zero) return reduced;
    // The largest and the smallest of equal values is that value.
    if (to.combiner == Combiner::max || to.combiner == Combiner::min)
      return hold(h, id, b_.vary_over(reduced, work_.placements.axes(id)));
    throw InternalError("no copy of " + to_string(*h.type) + " leads to " +
                        work_.mesh.to_string(to));
  }
  if (h.made_by) return make(slot, id);
  if (h.type->shape.count() == 0) return hold(h, id, without_elements(h, id));
  const Reshard* plan = nullptr;
  const Copy* from = nullptr;
  for (const Copy& c : h.copies) {
    if (!ways_->routes.leads(c.at, id)) continue;
    const Reshard& one = ways_->routes.route(*h.type, c.at, id);
    if (plan && (one.seconds > plan->seconds ||
                 (one.seconds == plan->seconds && one.collectives() >= plan->collectives())))
      continue;
    plan = &one;
    from = &c;
  }
  if (!plan)
    throw InternalError("no copy of " + to_string(*h.type) + " leads to " +
                        work_.mesh.to_string(to));
  // Types follow from placements: devices may hold equal parts by chance, but these are typed as
  // varying, and equal partial results must still be added.
  if (const std::optional<Value> sum = summed_at_once(h, *from, *plan)) return hold(h, id, *sum);
  own_sums_.erase(from->value.var);
  Value part = b_.vary_over(from->value, work_.placements.axes(from->at));
  note(*plan, *h.type);
  return hold(h, id, emit_reshard(b_, work_.mesh, *plan, part));
}

// Makes the value a partial sum over the atoms. If a copy is cut along some of them, its slices are
// the terms: each device has its own slice and zeros elsewhere. Along the other atoms the first
// device has the value, and the others have zeros.
Value BodyWriter::as_terms(Slot slot, const Placement& reduced, AtomSet atoms, Id id) {
  const Held& h = held_[slot];
  std::vector<Atoms> slices(reduced.dims.size());
  AtomSet sliced;
  for (const Copy& c : h.copies) {
    const Placement& p = work_.placements[c.at];
    if (p.unreduced != reduced.unreduced || !work_.mesh.divides(h.type->shape, p)) continue;
    std::vector<Atoms> further(p.dims.size());
    AtomSet all;
    bool fits = true;
    for (std::size_t d = 0; fits && d < p.dims.size(); ++d) {
      const Atoms &cut = p.dims[d], &kept = reduced.dims[d];
      fits = cut.size() >= kept.size() && std::equal(kept.begin(), kept.end(), cut.begin());
      if (fits) further[d] = Atoms(cut.begin() + kept.size(), cut.end());
      all |= AtomSet(further[d]);
    }
    if (!fits || !atoms.includes(all) || all.size() <= sliced.size()) continue;
    slices = std::move(further);
    sliced = all;
  }
  Placement cut = reduced;
  Values starts;
  for (std::size_t d = 0; d < slices.size(); ++d)
    for (const Atom a : slices[d]) cut.dims[d].push_back(a);
  Value terms = at(slot, work_.placements.id(std::move(cut)));
  if (!sliced.empty()) {
    const Type block(h.type->dtype, work_.mesh.local_shape(h.type->shape, reduced));
    for (std::size_t d = 0; d < slices.size(); ++d) {
      Strings axes;
      for (const Atom a : slices[d]) axes.push_back(work_.mesh.atom_mesh().axes[a]);
      starts.push_back(ops::part_start(b_, DType::int32, axes, work_.mesh.size(slices[d]),
                                       terms.shape()[static_cast<int>(d)]));
    }
    const AxisSet& varying = work_.placements.axes(id);
    terms = ops::dynamic_update_slice(b_.vary_over(like(*h.type, ops::zeros(b_, block)), varying),
                                      b_.vary_over(terms, varying), starts);
  }
  const AtomSet rest = atoms - sliced;
  return rest.empty() ? terms : as_partial(terms, rest);
}

Value BodyWriter::make(Slot slot, Id id) {
  Held& h = held_[slot];
  const At at_equation(*this, *h.made_by);
  const DivisionRule& rule = *h.rule;
  const Placement& to = work_.placements[id];
  Division division(rule.factors.size());
  for_each_cut(work_.mesh, rule, rule.operands, to,
               [&](std::size_t f, Atom a) { division[f].push_back(a); });
  const Id whole = work_.placements.replicated(h.type->shape.rank());
  const bool there =
      fits(work_.mesh, rule, division) && part_of(work_.mesh, rule, rule.operands, division) == to;
  if (!there && id != whole) {
    const Value all = at(slot, whole);
    const Reshard& plan = ways_->routes.route(*h.type, whole, id);
    return hold(h, id, emit_reshard(b_, work_.mesh, plan, all));
  }
  Values parts;
  std::vector<Id> operands;
  for (Slot s : h.made_of) {
    operands.push_back(work_.placements.replicated(0));
    parts.push_back(at(s, operands.back()));
  }
  Value part = emit(*h.made_by, rule, division, operands, std::span(&id, 1), parts)[0];
  return hold(h, id, like(*h.type, part));
}

void BodyWriter::find_own_sum(const Equation& eqn, Value operand, const Held& result) {
  const Copy& c = result.copies[0];
  const Placement& p = work_.placements[c.at];
  if (p.unreduced.empty() || p.combiner != eqn.op->combiner || work_.causes.empty()) return;
  // Groups number members along the collective's own axes.
  if (CollectiveAttrs(eqn.attrs).grouped()) return;
  own_sums_.emplace(c.value.var, OwnSum{operand, &eqn, work_.causes.size() - 1});
}

// A collective of the user's program has reduced a value along its own axes, and the value is still
// partial over others. If nothing has read it yet, one collective does both reductions.
std::optional<Value> BodyWriter::summed_at_once(Held& h, const Copy& from, const Reshard& plan) {
  const auto found = own_sums_.find(from.value.var);
  if (found == own_sums_.end() || plan.moves.size() != 1 ||
      plan.moves[0].kind != MoveKind::all_reduce)
    return std::nullopt;
  const OwnSum own = found->second;
  const Id partial = from.at;
  own_sums_.erase(found);
  const auto& manual = CollectiveAttrs(own.by->attrs).axes;
  const Strings others = work_.mesh.names(plan.moves[0].atoms.atoms());
  Strings all;
  for (const std::string& axis : work_.mesh.mesh().axes)
    if (std::find(manual.begin(), manual.end(), axis) != manual.end() ||
        std::find(others.begin(), others.end(), axis) != others.end())
      all.push_back(axis);
  CollectiveCause& cause = work_.causes[own.cause];
  const AtLocation at_sum(b_, cause.loc);
  const Attrs attrs =
      CollectiveAttrs::with_axes(own.by->attrs, all, work_.mesh.mesh().size_of(all));
  const Value operand = b_.vary_over(own.operand, work_.placements.axes(from.at));
  const Value sum = b_.emit(*own.by->op, std::span(&operand, 1), attrs)[0];
  cause.axes = all;
  cause.whole = *h.type;
  cause.from = plan.from;
  cause.to = plan.to();
  cause.bytes = received_bytes(MoveKind::all_reduce, work_.mesh.mesh().size_of(all),
                               operand.type().bytes(), sum.type().bytes());
  h.copies.erase(std::find_if(h.copies.begin(), h.copies.end(),
                              [&](const Copy& c) { return c.at == partial; }));
  return sum;
}

// An empty value needs no communication. Its part also varies over the axes of enclosing regions.
Value BodyWriter::without_elements(const Held& h, Id id) {
  const Copy& c = h.copies[0];
  AxisSet varying = c.value.type().varying;
  for (const std::string& axis : work_.placements.axes(c.at)) varying.erase(axis);
  const Value none = ops::zeros(
      b_, Type(h.type->dtype, work_.mesh.local_shape(h.type->shape, work_.placements[id])));
  return b_.vary_over(like(*h.type, none), varying | work_.placements.axes(id));
}

void BodyWriter::note(const Reshard& plan, const Type& whole) {
  const Placement* before = &plan.from;
  for (const Move& m : plan.moves) {
    if (m.kind != MoveKind::slice)
      work_.causes.push_back({m.kind, work_.mesh.names(m.atoms.atoms()),
                              now_ ? now_->op->shown() : "output", b_.loc, whole, *before, m.after,
                              m.bytes, times_, in_while_, now_});
    before = &m.after;
  }
}

}  // namespace tessera::inline v0::spmd
