// Values of a per-device program, brought to where they are read.
#include "ops/build.h"
#include "spmd/body_writer.h"
#include "spmd/reshard_emit.h"

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
    if (c.at == id) return c.value;
  const Placement& to = work_.placements[id];
  const auto is_partial = [&](const Copy& c) { return ways_->routes.leads(c.at, id); };
  if (!to.unreduced.empty() && std::none_of(h.copies.begin(), h.copies.end(), is_partial)) {
    if (to.combiner != Combiner::add)
      throw InternalError("no copy of " + to_string(*h.type) + " leads to " +
                          work_.mesh.to_string(to));
    Placement whole = to;
    whole.unreduced = {};
    const Value all = at(slot, work_.placements.id(std::move(whole)));
    if (h.zero) return all;
    return hold(h, id, as_partial(all, to.unreduced));
  }
  if (h.made_by) return make(slot, id);
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
  // Devices may hold the same by chance; their parts are typed as what they stand for, and equal
  // partial results still add up.
  Value part = b_.vary_over(from->value, work_.placements.axes(from->at));
  note(*plan, *h.type);
  return hold(h, id, emit_reshard(b_, work_.mesh, *plan, part));
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
