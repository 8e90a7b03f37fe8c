// Keeps sums partial across control flow. If each iteration of a loop only adds partial results to
// a carry, the carry stays partial and is reduced once after the loop. Branch results that are
// added to such a carry stay partial, too.
#include "ops/build.h"
#include "ops/local.h"
#include "spmd/partition/body_writer.h"

#include <algorithm>

namespace tessera::inline v0::spmd {

namespace {

// Whether the carry passes from one equation to the next, each its only reader, until the body
// returns it, and no equation on this path rules out that the carry is a sum.
bool only_grows(const Program& body, Var carry, Var next) {
  std::vector<std::uint32_t> reads(body.types.size());
  for (const Equation& eqn : body.equations)
    for (Var v : eqn.inputs) ++reads[v];
  for (Var v : body.outputs) ++reads[v];
  if (!is_inexact(body.types[carry].dtype)) return false;
  Var at = carry;
  for (const Equation& eqn : body.equations) {
    if (at == next) break;
    if (std::find(eqn.inputs.begin(), eqn.inputs.end(), at) == eqn.inputs.end()) continue;
    if (reads[at] != 1) return false;
    if (eqn.op->flow) {  // a nested loop may carry it
      const Flow inner = eqn.op->flow(eqn.attrs);
      if (!inner.repeats()) return false;
      std::size_t k = 0;
      while (k < inner.carry && eqn.inputs[inner.carry_operand(k)] != at) ++k;
      if (k == inner.carry) return false;
      at = eqn.outputs[k];
      continue;
    }
    if (eqn.outputs.size() != 1 || !(eqn.op->transpose || eqn.op->constrains)) return false;
    at = eqn.outputs[0];
  }
  return at == next && next != carry && reads[next] == 1;
}

}  // namespace

Value BodyWriter::as_partial(Value part, AtomSet atoms) {
  Strings axes;
  for (Atom a : atoms.atoms()) axes.push_back(work_.mesh.atom_mesh().axes[a]);
  Value first = ops::is_first(b_, axes, work_.mesh.size(atoms));
  return ops::select(ops::everywhere(first, part.shape()), part, ops::zeros_like(part));
}

std::vector<BodyWriter::Id> BodyWriter::come_out(std::size_t scope, std::span<const Id> inputs,
                                                 const std::vector<bool>& free) {
  const std::tuple question(scope, std::vector<Id>(inputs.begin(), inputs.end()), free);
  if (const auto known = work_.trials.find(question); known != work_.trials.end())
    return known->second;
  const std::size_t causes = work_.causes.size();
  const Program& p = work_.where.program(scope);
  Builder scratch(p.name);
  BodyWriter inside(work_, scratch, times_, in_while_);
  inside.ways_ = ways_;
  std::vector<Slot> in;
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    in.push_back(inside.input(p.types[p.inputs[i]], inputs[i]));
    inside.held_[in.back()].zero = inside.held_[in.back()].free = free[i];
  }
  std::vector<Id> out;
  for (Slot s : inside.walk(scope, in)) {
    const Held& h = inside.held_[s];
    out.push_back(h.copies.empty() ? PlacementTable::none : h.copies[0].at);
  }
  work_.causes.resize(causes);
  work_.trials.emplace(question, out);
  return out;
}

// Finds by fixed point which carries can stay partial sums: write the body once with no constraint
// to see over which axes each carry comes out partial, then rewrite with those as inputs until
// inputs and outputs agree.
void BodyWriter::keep_sums(const Flow& flow, std::span<const std::uint32_t> scopes,
                           std::vector<Id>& inputs) {
  const Program& body = work_.where.program(scopes.back());
  const std::size_t first = flow.consts;
  std::vector<bool> candidates(inputs.size(), false), none(inputs.size(), false);
  for (std::size_t i = 0; i < flow.carry; ++i) {
    bool grows = only_grows(body, body.inputs[first + i], body.outputs[i]);
    if (flow.kind == Flow::Kind::loop) {
      const Program& test = *flow.condition();
      const Var tested = test.inputs[flow.cond_consts + i];
      for (const Equation& eqn : test.equations)
        grows =
            grows && std::find(eqn.inputs.begin(), eqn.inputs.end(), tested) == eqn.inputs.end();
    }
    candidates[first + i] = grows;
  }
  if (std::find(candidates.begin(), candidates.end(), true) == candidates.end()) return;
  std::vector<Id> kept = inputs;
  std::vector<Id> out = come_out(scopes.back(), inputs, candidates);
  for (std::size_t i = 0; i < flow.carry; ++i) {
    if (!candidates[first + i] || out[i] == PlacementTable::none) continue;
    const Placement& p = work_.placements[out[i]];
    Placement whole = work_.placements[inputs[first + i]];
    if (p.unreduced.empty() || p.combiner != Combiner::add || p.dims != whole.dims) continue;
    kept[first + i] = out[i];
  }
  for (bool settled = false; !settled;) {
    if (kept == inputs) return;
    settled = true;
    out = come_out(scopes.back(), kept, none);
    for (std::size_t i = 0; i < flow.carry; ++i)
      if (kept[first + i] != inputs[first + i] && out[i] != kept[first + i]) {
        kept[first + i] = inputs[first + i];
        settled = false;
      }
  }
  inputs = std::move(kept);
}

// If a branch produces partial results and the others a whole value or none, the result stays
// partial if it is only added to a partial sum, which avoids a reduction in each iteration of an
// enclosing loop. Otherwise it is reduced inside the branch, which may not run at all.
void BodyWriter::keep_chosen_sums(const Frame& f, const Equation& eqn,
                                  std::span<const std::uint32_t> scopes, std::span<const Id> inputs,
                                  std::vector<Id>& outputs) {
  std::vector<std::vector<Id>> out;  // by branch, computed once
  for (std::size_t i = 0; i < outputs.size(); ++i) {
    const Var v = eqn.outputs[i];
    ResultState sum;
    if (is_inexact(f.program.types[v].dtype)) find_sum(f, v, sum);
    if (!sum.sum_over_any && sum.sum_over.empty()) continue;
    if (out.empty())
      for (const std::uint32_t scope : scopes)
        out.push_back(come_out(scope, inputs, std::vector<bool>(inputs.size(), false)));
    Placement kept = work_.placements[outputs[i]];
    AtomSet over = sum.sum_over;
    bool any = false, agree = kept.unreduced.empty();
    for (const std::vector<Id>& branch : out) {
      if (branch[i] == PlacementTable::none) continue;  // materialised at its readers
      const Placement& p = work_.placements[branch[i]];
      if (p.unreduced.empty()) continue;
      agree = agree && p.combiner == Combiner::add && p.dims == kept.dims &&
              (over.empty() || over == p.unreduced);
      over = p.unreduced;
      any = true;
    }
    if (!any || !agree) continue;
    kept.unreduced = over;
    outputs[i] = work_.placements.id(std::move(kept));
  }
}

}  // namespace tessera::inline v0::spmd
