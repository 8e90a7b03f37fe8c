// Emits loops, branches, calls and regions of a per-device program.
#include "ir/op.h"
#include "ops/build.h"
#include "ops/control/agree.h"
#include "spmd/partition/body_writer.h"
#include "spmd/region/shard_map.h"

#include <algorithm>
#include <utility>

namespace tessera::inline v0::spmd {

ProgramPtr BodyWriter::nested(std::size_t scope, std::span<const Id> inputs,
                              std::span<const Id> outputs, std::int64_t times, bool in_while) {
  const Program& p = work_.where.program(scope);
  Builder b(p.name);
  BodyWriter inside(work_, b, times, in_while);
  inside.ways_ = ways_;
  std::vector<Slot> in;
  for (std::size_t i = 0; i < inputs.size(); ++i)
    in.push_back(inside.input(p.types[p.inputs[i]], inputs[i]));
  const std::vector<Slot> out = inside.walk(scope, in);
  inside.now_ = now_;
  Values results;
  for (std::size_t i = 0; i < out.size(); ++i) results.push_back(inside.at(out[i], outputs[i]));
  return b.finish_pruned(results);
}

// Walks the program as if it were inlined.
void BodyWriter::inlined(Frame& f, std::size_t k, const Equation& eqn) {
  std::vector<Slot> in;
  for (Var v : eqn.inputs) in.push_back(f.slots[v]);
  const std::vector<Slot> out = walk(work_.where.nested(f.scope, k)[0], in);
  for (std::size_t i = 0; i < out.size(); ++i) f.slots[eqn.outputs[i]] = out[i];
}

// Walks the body as if it were inlined, on blocks that the region's specs determine. Dimensions are
// first cut by the region's manual axes, then by the others.
void BodyWriter::region(Frame& f, std::size_t k, const Equation& eqn) {
  const ShardMap s(eqn.attrs);
  const std::size_t scope = work_.where.nested(f.scope, k)[0];
  const Program& body = work_.where.program(scope);
  const auto around = [&](const Spec& spec, Id block) {
    Placement inside = work_.placements[block];
    Placement p = work_.mesh.placement(spec, inside.rank());
    for (std::size_t d = 0; d < p.dims.size(); ++d)
      for (Atom a : inside.dims[d]) p.dims[d].push_back(a);
    p.unreduced = inside.unreduced;
    p.combiner = inside.combiner;
    return work_.placements.id(std::move(p));
  };
  // Two blocks of 7 rows, each in parts of 4 and 3, are not four equal parts of 14 rows. Dimensions
  // that both kinds of axes partition are therefore cut evenly.
  const auto evened = [&](const Spec& spec, Id block, const Shape& shape) {
    Placement inside = work_.placements[block];
    const Placement manual = work_.mesh.placement(spec, inside.rank());
    for (std::size_t d = 0; d < inside.dims.size(); ++d)
      while (!manual.dims[d].empty() && !inside.dims[d].empty() &&
             shape[d] % work_.mesh.size(inside.dims[d]) != 0)
        inside.dims[d].pop_back();
    return work_.placements.id(std::move(inside));
  };
  std::vector<Slot> in;
  for (std::size_t i = 0; i < eqn.inputs.size(); ++i) {
    const Id block =
        evened(s.in_specs[i], lies(scope, body.inputs[i]), body.types[body.inputs[i]].shape);
    const Value part = at(f.slots[eqn.inputs[i]], around(s.in_specs[i], block));
    in.push_back(add(body.types[body.inputs[i]], block, b_.vary_over(part, s.in_specs[i].axes())));
  }
  // Types track axes of size 1, but placements do not.
  AxisSet alone;
  for (const std::string& axis : s.mesh.axes)
    if (s.mesh.size_of(axis) == 1) alone.insert(axis);
  Ways* const around_it = std::exchange(ways_, &work_.ways(work_.where.barred(scope)));
  const std::vector<Slot> out = walk(scope, in);
  const auto leaves = [&](std::size_t i, Id block) {
    return evened(s.out_specs[i], block, body.types[body.outputs[i]].shape) == block;
  };
  for (std::size_t i = 0; i < out.size(); ++i) {
    const Held& h = held_[out[i]];
    if (h.made_by || std::none_of(h.copies.begin(), h.copies.end(),
                                  [&](const Copy& c) { return leaves(i, c.at); }))
      at(out[i], evened(s.out_specs[i], lies_output(scope, i), body.types[body.outputs[i]].shape));
  }
  ways_ = around_it;
  for (std::size_t i = 0; i < out.size(); ++i) {
    Held whole;
    whole.type = &f.program.types[eqn.outputs[i]];
    for (const Copy& c : held_[out[i]].copies) {
      if (!leaves(i, c.at)) continue;
      Strings lone;
      for (const std::string& axis : c.value.type().varying)
        if (alone.contains(axis)) lone.push_back(axis);
      whole.copies.push_back(
          {around(s.out_specs[i], c.at),
           lone.empty() ? c.value : ops::all_gather_invariant(c.value, lone, 1, 0, true)});
    }
    f.slots[eqn.outputs[i]] = static_cast<Slot>(held_.size());
    held_.push_back(std::move(whole));
  }
}

// Inputs and outputs of nested programs have the placements that propagation chose there, and
// operands are resharded to these. A stacked array has the placement of its rows with an
// unpartitioned leading dimension.
void BodyWriter::flow(Frame& f, std::size_t k, const Equation& eqn, const Flow& flow) {
  if (flow.kind == Flow::Kind::call && !eqn.op->with_flow) return inlined(f, k, eqn);
  if (flow.kind == Flow::Kind::region) return region(f, k, eqn);

  const auto scopes = work_.where.nested(f.scope, k);
  const std::size_t body = scopes.back();
  const Program& inside = work_.where.program(body);
  const std::size_t rows = flow.cond_consts + flow.consts + flow.carry;
  auto stacked = [&](Id row) {
    Placement p = work_.placements[row];
    p.dims.insert(p.dims.begin(), Atoms{});
    return work_.placements.id(std::move(p));
  };
  // For each operand of the body or of each branch.
  std::vector<Id> in, out;
  for (Var v : inside.inputs) in.push_back(lies(body, v));
  std::vector<Id> operands, results;
  switch (flow.kind) {
    case Flow::Kind::call:
      operands = in;
      for (std::size_t i = 0; i < eqn.outputs.size(); ++i) out.push_back(lies_output(body, i));
      results = out;
      break;
    case Flow::Kind::branch:
      operands = in;
      operands.insert(operands.begin(), work_.placements.replicated(0));
      for (Var v : eqn.outputs) out.push_back(lies(f.scope, v));
      keep_chosen_sums(f, eqn, scopes, in, out);
      results = out;
      break;
    case Flow::Kind::scan:
    case Flow::Kind::loop:
      keep_sums(flow, scopes, in);
      for (std::size_t i = 0; i < flow.cond_consts; ++i)
        operands.push_back(lies(scopes[0], flow.condition()->inputs[i]));
      for (std::size_t i = 0; i < in.size(); ++i)
        operands.push_back(flow.cond_consts + i < rows ? in[i] : stacked(in[i]));
      for (std::size_t i = 0; i < inside.outputs.size(); ++i) {
        const bool carried = i < flow.carry;
        out.push_back(carried ? in[flow.consts + i] : lies_output(body, i));
        results.push_back(carried ? out.back() : stacked(out.back()));
      }
      break;
    case Flow::Kind::region: break;
  }
  Values parts;
  for (std::size_t i = 0; i < operands.size(); ++i)
    parts.push_back(at(f.slots[eqn.inputs[i]], operands[i]));

  Flow divided = flow;
  const std::int64_t times = flow.kind == Flow::Kind::scan ? times_ * flow.length : times_;
  const bool in_while = in_while_ || flow.kind == Flow::Kind::loop;
  if (flow.kind == Flow::Kind::loop) {
    std::vector<Id> tested(operands.begin(),
                           operands.begin() + static_cast<std::ptrdiff_t>(flow.cond_consts));
    tested.insert(tested.end(), in.begin() + static_cast<std::ptrdiff_t>(flow.consts), in.end());
    const Id holds = work_.placements.replicated(0);
    divided.programs[0] = nested(scopes[0], tested, std::span(&holds, 1), times, in_while);
    divided.programs[1] = nested(body, in, out, times, in_while);
  } else {
    for (std::size_t i = 0; i < scopes.size(); ++i)
      divided.programs[i] = nested(scopes[i], in, out, times, in_while);
  }
  if (flow.kind == Flow::Kind::call)
    for (std::size_t i = 0; i < parts.size(); ++i)
      parts[i] = b_.vary_over(parts[i], work_.placements.axes(in[i]));
  else
    ops::agree_flow(b_, divided, parts);
  const Values made = b_.emit(*eqn.op, parts, eqn.op->with_flow(eqn.attrs, divided));
  for (std::size_t i = 0; i < made.size(); ++i)
    f.slots[eqn.outputs[i]] = add(f.program.types[eqn.outputs[i]], results[i], made[i]);
}

}  // namespace tessera::inline v0::spmd
