#include "spmd/partition/body_writer.h"

#include "ir/collective_attrs.h"
#include "ir/nested.h"
#include "ops/build.h"
#include "ops/control/host_call.h"
#include "ops/local.h"

#include <algorithm>

namespace tessera::inline v0::spmd {

namespace {

bool is_zero(const Equation& eqn) {
  const Literal* value = eqn.op->literal ? eqn.op->literal(eqn.attrs) : nullptr;
  return value && value->shape.empty() &&
         std::all_of(value->bytes->begin(), value->bytes->end(),
                     [](std::byte b) { return b == std::byte{0}; });
}

// For each variable, how often it is read by outputs and by equations that outputs need. `reader`
// receives the first such equation.
std::vector<std::uint32_t> reads_of(const Program& p, std::vector<std::uint32_t>& reader) {
  std::vector<std::uint32_t> reads(p.types.size());
  reader.assign(p.types.size(), PlacementTable::none);
  for (Var v : p.outputs) ++reads[v];
  for (std::size_t k = p.equations.size(); k-- > 0;) {
    const Equation& eqn = p.equations[k];
    if (std::any_of(eqn.outputs.begin(), eqn.outputs.end(), [&](Var v) { return reads[v] > 0; }) ||
        has_effects(eqn))
      for (Var v : eqn.inputs) {
        ++reads[v];
        reader[v] = static_cast<std::uint32_t>(k);
      }
  }
  return reads;
}

}  // namespace

// Restores the weak type of the whole, which an op's own rule may drop.
Value BodyWriter::like(const Type& type, Value part) {
  return part.type().weak == type.weak ? part : ops::convert(part, type.dtype, type.weak);
}

BodyWriter::Id BodyWriter::lies(std::size_t scope, Var v) const {
  return work_.placements.divided(work_.where.of(v, scope),
                                  work_.where.program(scope).types[v].shape);
}

BodyWriter::Id BodyWriter::lies_output(std::size_t scope, std::size_t i) const {
  const Program& p = work_.where.program(scope);
  return work_.placements.divided(work_.where.operand(scope, p.equations.size(), i),
                                  p.types[p.outputs[i]].shape);
}

std::vector<BodyWriter::Slot> BodyWriter::walk(std::size_t scope, std::span<const Slot> inputs) {
  const Program& p = work_.where.program(scope);
  Frame f{p, scope, std::vector<Slot>(p.types.size(), kNoSlot), {}, {}, {}};
  f.reads = reads_of(p, f.reader);
  for (std::size_t i = 0; scope == 0 && i < p.outputs.size(); ++i)
    if (f.reads[p.outputs[i]] == 1)
      f.ends.emplace(p.outputs[i], work_.placements.id(work_.where.output(i)));
  for (std::size_t i = 0; i < inputs.size(); ++i) f.slots[p.inputs[i]] = inputs[i];
  for (std::size_t k = 0; k < p.equations.size(); ++k) {
    const Equation& eqn = p.equations[k];
    if (std::any_of(eqn.outputs.begin(), eqn.outputs.end(),
                    [&](Var v) { return f.reads[v] > 0; }) ||
        has_effects(eqn))
      equation(f, k, eqn);
  }
  std::vector<Slot> outputs;
  for (Var v : p.outputs) outputs.push_back(f.slots[v]);
  return outputs;
}

void BodyWriter::equation(Frame& f, std::size_t k, const Equation& eqn) {
  const At at_equation(*this, eqn);
  if (eqn.op->flow) return flow(f, k, eqn, eqn.op->flow(eqn.attrs));
  if (eqn.op->constrains) {
    // Readers see only the placement that the user requested.
    const Id id = lies(f.scope, eqn.outputs[0]);
    const Slot x = f.slots[eqn.inputs[0]];
    f.slots[eqn.outputs[0]] = held_[x].made_by ? x : add(*held_[x].type, id, at(x, id));
    return;
  }
  if (is_made_anywhere(f, eqn)) return make_anywhere(f, eqn);
  if (eqn.op->effect && ops::takes_shards(eqn.attrs)) return on_each_device(f, eqn);
  plain(f, k, eqn);
}

bool BodyWriter::is_made_anywhere(const Frame& f, const Equation& eqn) const {
  const auto is_scalar = [&](Var v) { return f.program.types[v].shape.empty(); };
  return eqn.outputs.size() == 1 && !is_scalar(eqn.outputs[0]) && eqn.op->cheap &&
         eqn.op->sharding && !eqn.op->literal &&
         std::all_of(eqn.inputs.begin(), eqn.inputs.end(), is_scalar);
}

void BodyWriter::make_anywhere(Frame& f, const Equation& eqn) {
  Held& h = held_.emplace_back();
  h.type = &f.program.types[eqn.outputs[0]];
  h.made_by = &eqn;
  h.rule = &work_.rules.of(f.program, eqn);
  for (Var v : eqn.inputs) h.made_of.push_back(f.slots[v]);
  h.zero = eqn.op->rearranges && eqn.inputs.size() == 1 && held_[h.made_of[0]].zero;
  f.slots[eqn.outputs[0]] = static_cast<Slot>(held_.size()) - 1;
}

// Follows `v` through ops that have a transpose but no `linear` rule, which are linear in all their
// inexact operands together, as long as each result is read once.
void BodyWriter::find_sum(const Frame& f, Var v, ResultState& result) const {
  for (int steps = 0; steps < 8; ++steps) {
    if (f.reads[v] != 1 || f.reader[v] == PlacementTable::none) return;
    const Equation& eqn = f.program.equations[f.reader[v]];
    if (!eqn.op->transpose || eqn.op->linear || eqn.op->flow || eqn.outputs.size() != 1 ||
        f.program.types[eqn.outputs[0]].dtype != f.program.types[v].dtype)
      return;
    bool alone = true;
    AtomSet over;
    for (Var u : eqn.inputs) {
      if (u == v || !is_inexact(f.program.types[u].dtype)) continue;
      alone = false;
      if (f.slots[u] == kNoSlot) return;
      const Held& h = held_[f.slots[u]];
      if (h.free) {
        result.sum_over_any = true;
        return;
      }
      AtomSet partial;
      for (const Copy& c : h.copies) {
        const Placement& p = work_.placements[c.at];
        if (p.combiner == Combiner::add) partial |= p.unreduced;
      }
      if (partial.empty() || (!over.empty() && over != partial)) return;
      over = partial;
    }
    if (!alone) {
      result.sum_over = over;
      return;
    }
    v = eqn.outputs[0];
  }
}

void BodyWriter::plain(Frame& f, std::size_t k, const Equation& eqn) {
  if (eqn.inputs.empty() && eqn.op->literal) {
    const Type& type = f.program.types[eqn.outputs[0]];
    const Slot slot = add(type, work_.placements.replicated(type.shape.rank()),
                          b_.emit(*eqn.op, {}, eqn.attrs)[0]);
    held_[slot].zero = is_zero(eqn);
    f.slots[eqn.outputs[0]] = slot;
    return;
  }
  std::vector<OperandState> operands(eqn.inputs.size());
  for (std::size_t i = 0; i < operands.size(); ++i) {
    const Var v = eqn.inputs[i];
    const Held& h = held_[f.slots[v]];
    operands[i].wished =
        work_.placements.divided(work_.where.operand(f.scope, k, i), h.type->shape);
    for (const Copy& c : h.copies) operands[i].copies.push_back(c.at);
    operands[i].anywhere = h.made_by != nullptr;
    operands[i].zero = h.zero;
    operands[i].read_once = f.reads[v] == 1;
    if (operands[i].anywhere) operands[i].copies.clear();
  }
  std::vector<ResultState> wanted;
  for (Var v : eqn.outputs) {
    wanted.emplace_back();
    if (f.reads[v] > 0) {
      const auto end = f.ends.find(v);
      wanted.back().wanted = end == f.ends.end() ? lies(f.scope, v) : end->second;
    }
    if (is_inexact(f.program.types[v].dtype)) find_sum(f, v, wanted.back());
  }
  const DivisionRule& rule = work_.rules.of(f.program, eqn);
  const DivisionChoice& choice = ways_->divider.choose(rule, operands, wanted);
  Values parts;
  for (std::size_t i = 0; i < operands.size(); ++i)
    parts.push_back(at(f.slots[eqn.inputs[i]], choice.operands[i]));
  if (eqn.op->effect) parts[0] = on_one_device(f.scope, parts[0]);
  Values results = emit(eqn, rule, choice.division, choice.operands, choice.results, parts);
  for (std::size_t i = 0; i < results.size(); ++i) {
    const Type& type = f.program.types[eqn.outputs[i]];
    if (eqn.op->effect && f.reads[eqn.outputs[i]] > 0)
      results[i] = from_one_device(f.scope, results[i]);
    f.slots[eqn.outputs[i]] = add(type, choice.results[i], like(type, results[i]));
  }
  if (eqn.op->exchange == Exchange::combine)
    find_own_sum(eqn, parts[0], held_[f.slots[eqn.outputs[0]]]);
}

// The axes of the scope along which the partitioner divides, and the number of devices along them.
std::pair<Strings, std::int64_t> BodyWriter::automatic_axes(std::size_t scope) const {
  AtomSet atoms;
  const AtomSet barred = work_.where.barred(scope);
  Strings axes;
  for (std::size_t a = 0; a < work_.mesh.atom_mesh().axes.size(); ++a) {
    if (barred.contains(static_cast<Atom>(a))) continue;
    atoms.insert(static_cast<Atom>(a));
    axes.push_back(work_.mesh.atom_mesh().axes[a]);
  }
  return {axes, axes.empty() ? 1 : work_.mesh.size(atoms)};
}

// Each device runs the effect, with the shards of the operands that it holds.
void BodyWriter::on_each_device(Frame& f, const Equation& eqn) {
  Values parts;
  std::vector<Spec> specs;
  for (const Var v : eqn.inputs) {
    const Id id = lies(f.scope, v);
    parts.push_back(at(f.slots[v], id));
    specs.push_back(work_.placements.spec(id));
  }
  ops::tell_placed(eqn.attrs, work_.mesh.mesh(), specs);
  if (const auto [axes, devices] = automatic_axes(f.scope); !axes.empty()) {
    Value& device = parts[ops::kDeviceOperand];
    const Value count = ops::scalar(b_, DType::int32, static_cast<double>(devices));
    device = ops::add(ops::mul(device, count), ops::part_number(b_, axes, devices));
  }
  const Values results = b_.emit(*eqn.op, parts, eqn.attrs);
  for (std::size_t i = 0; i < results.size(); ++i) {
    const Type& type = f.program.types[eqn.outputs[i]];
    f.slots[eqn.outputs[i]] = add(type, work_.placements.replicated(type.shape.rank()), results[i]);
  }
}

// All devices execute the effect's equation, but only the first one along the automatic axes acts.
Value BodyWriter::on_one_device(std::size_t scope, Value holds) {
  const auto [axes, devices] = automatic_axes(scope);
  if (axes.empty()) return holds;
  return ops::and_(holds, ops::is_first(b_, axes, devices));
}

// The result of the effect on the device that acts, for all devices.
Value BodyWriter::from_one_device(std::size_t scope, Value result) {
  const auto [axes, devices] = automatic_axes(scope);
  if (axes.empty()) return result;
  const std::size_t first = b_.so_far().equations.size();
  const Value all = ops::all_gather_invariant(result, axes, devices, 0, false);
  Ints start(static_cast<std::size_t>(all.rank()), 0), limit = all.shape().to_vector();
  limit[0] = 1;
  const Value one =
      ops::reshape(ops::slice(all, start, limit, Ints(start.size(), 1)), result.shape());
  note_emitted(first);
  return one;
}

Values BodyWriter::emit(const Equation& eqn, const DivisionRule& rule, const Division& division,
                        std::span<const Id> operands, std::span<const Id> results, Values parts) {
  const bool whole =
      std::all_of(division.begin(), division.end(), [](const Atoms& a) { return a.empty(); });
  fill_up(rule, division, parts);
  Values out;
  const std::size_t first = b_.so_far().equations.size();
  if (whole || !eqn.op->local) {
    out = b_.emit(*eqn.op, parts, eqn.attrs);
  } else {
    std::vector<Type> in_types, out_types;
    std::vector<Shape> shapes;
    std::vector<Spec> in_specs, out_specs;
    for (std::size_t i = 0; i < rule.tensors.size(); ++i) {
      const bool operand = i < rule.operands;
      const Id id = operand ? operands[i] : results[i - rule.operands];
      (operand ? in_types : out_types).push_back(rule.tensors[i].type);
      (operand ? in_specs : out_specs).push_back(work_.placements.spec(id));
      if (!operand)
        shapes.push_back(work_.mesh.local_shape(rule.tensors[i].type.shape, work_.placements[id]));
    }
    LocalArgs args{b_,    *eqn.op, eqn.attrs, in_types,  out_types,
                   parts, shapes,  in_specs,  out_specs, work_.mesh.atom_mesh(),
                   {}};
    for (std::size_t f = 0; f < division.size(); ++f)
      for (Atom a : division[f])
        if (rule.factors[f].reduces) {
          args.partial.push_back(work_.mesh.atom_mesh().axes[a]);
          args.partial_size *= work_.mesh.size(a);
        }
    out = eqn.op->local(args);
  }
  note_emitted(first);
  for (std::size_t i = 0; i < out.size(); ++i) {
    const Type& type = rule.tensors[rule.operands + i].type;
    const Placement& p = work_.placements[results[i]];
    if (!(out[i].shape() == work_.mesh.local_shape(type.shape, p)) || out[i].dtype() != type.dtype)
      throw InternalError("'" + eqn.op->name + "' on parts gives " + to_string(out[i].type()) +
                          " for " + to_string(type) + " at " + work_.mesh.to_string(p));
  }
  return out;
}

// Records collectives of the user's own regions and those emitted by an op's own rule.
void BodyWriter::note_emitted(std::size_t first) {
  const std::deque<Type>& types = b_.so_far().types;
  const std::vector<Equation>& equations = b_.so_far().equations;
  for (std::size_t k = first; k < equations.size(); ++k) {
    const Equation& e = equations[k];
    MoveKind kind = MoveKind::permute;
    switch (e.op->exchange) {
      case Exchange::none: continue;
      case Exchange::combine: kind = MoveKind::all_reduce; break;
      case Exchange::combine_scatter: kind = MoveKind::reduce_scatter; break;
      case Exchange::gather: kind = MoveKind::all_gather; break;
      case Exchange::all_to_all: kind = MoveKind::all_to_all; break;
      case Exchange::permute:
      case Exchange::broadcast: break;
    }
    const Type &in = types[e.inputs[0]], &out = types[e.outputs[0]];
    const auto& axes = CollectiveAttrs(e.attrs).axes;
    Placement p = Placement::replicated(in.shape.rank());
    work_.causes.push_back(
        {kind, axes, now_ ? now_->op->shown() : "output", b_.loc, Type(in.dtype, in.shape), p, p,
         received_bytes(kind, work_.mesh.mesh().size_of(axes), in.bytes(), out.bytes()), times_,
         in_while_, now_});
  }
}

}  // namespace tessera::inline v0::spmd
