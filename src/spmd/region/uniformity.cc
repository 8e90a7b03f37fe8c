#include "spmd/region/uniformity.h"

#include "ir/nested.h"
#include "ir/op.h"

#include <algorithm>

namespace tessera::inline v0::spmd {

namespace {

std::vector<AxisSet> pick(const std::vector<AxisSet>& from, std::size_t begin, std::size_t count) {
  return {from.begin() + static_cast<std::ptrdiff_t>(begin),
          from.begin() + static_cast<std::ptrdiff_t>(begin + count)};
}

std::vector<AxisSet> joined(std::vector<AxisSet> a, const std::vector<AxisSet>& b) {
  a.insert(a.end(), b.begin(), b.end());
  return a;
}

// Merges b's sets into a's, starting at `at`; returns whether any set changed.
bool grow(std::vector<AxisSet>& a, std::size_t at, std::size_t count,
          const std::vector<AxisSet>& b) {
  bool changed = false;
  for (std::size_t i = 0; i < count; ++i) {
    AxisSet before = a[at + i];
    a[at + i] |= b[i];
    changed = changed || !(before == a[at + i]);
  }
  return changed;
}

// A carry varies if its initial value does, if an iteration makes it vary, or if devices leave the
// loop at different times.
std::vector<NestedProgram> of_loop(const Flow& f, const std::vector<AxisSet>& operands) {
  const bool tested = f.kind == Flow::Kind::loop;
  std::vector<AxisSet> in_body = pick(operands, f.cond_consts, operands.size() - f.cond_consts);
  std::vector<AxisSet> in_cond = pick(operands, 0, f.cond_consts);
  if (tested) in_cond = joined(in_cond, pick(in_body, f.consts, f.carry));
  AxisSet predicate;
  for (bool changed = true; changed;) {
    if (tested) predicate = output_uniformity(*f.condition(), in_cond)[0];
    std::vector<AxisSet> out = output_uniformity(*f.body(), in_body);
    for (AxisSet& s : out) s |= predicate;
    changed = grow(in_body, f.consts, f.carry, out);
    if (tested) grow(in_cond, f.cond_consts, f.carry, out);
  }
  if (!tested) return {{f.body(), in_body, {}}};
  return {{f.condition(), in_cond, predicate}, {f.body(), in_body, predicate}};
}

std::vector<NestedProgram> of_branches(const Flow& f, const std::vector<AxisSet>& operands) {
  std::vector<NestedProgram> nested;
  std::vector<AxisSet> in = pick(operands, 1, operands.size() - 1);
  for (const ProgramPtr& branch : f.programs) nested.push_back({branch, in, operands[0]});
  return nested;
}

std::vector<NestedProgram> nested_programs(const Flow& f, const std::vector<AxisSet>& operands) {
  switch (f.kind) {
    case Flow::Kind::call: return {{f.body(), operands, {}}};
    case Flow::Kind::branch: return of_branches(f, operands);
    case Flow::Kind::scan:
    case Flow::Kind::loop: return of_loop(f, operands);
    case Flow::Kind::region: return {};  // its inputs are blocks of the operands
  }
  return {};
}

std::vector<AxisSet> results(const Equation& eqn, const std::vector<AxisSet>& operands) {
  const std::optional<Flow> flow = flow_of(eqn);
  if (!flow || flow->kind == Flow::Kind::region) return nonuniform_of(*eqn.op, eqn.attrs, operands);
  const std::vector<NestedProgram> nested = nested_programs(*flow, operands);
  if (flow->kind == Flow::Kind::loop) return pick(nested[1].inputs, flow->consts, flow->carry);
  std::vector<AxisSet> out(eqn.outputs.size());
  for (const NestedProgram& n : nested) {
    grow(out, 0, out.size(), output_uniformity(*n.program, n.inputs));
    for (AxisSet& s : out) s |= n.predicate;
  }
  if (flow->length == 0)  // the carry is returned unchanged
    for (std::size_t i = 0; i < flow->carry; ++i) out[i] |= operands[flow->carry_operand(i)];
  return out;
}

}  // namespace

std::vector<NestedProgram> nested_programs(const Equation& eqn,
                                           const std::vector<AxisSet>& operands) {
  const std::optional<Flow> flow = flow_of(eqn);
  return flow ? nested_programs(*flow, operands) : std::vector<NestedProgram>{};
}

std::vector<AxisSet> uniformity(const Program& p, const std::vector<AxisSet>& inputs) {
  std::vector<AxisSet> of(p.types.size());
  for (std::size_t i = 0; i < p.inputs.size(); ++i) of[p.inputs[i]] = inputs[i];
  std::vector<AxisSet> operands;
  for (const Equation& eqn : p.equations) {
    operands.clear();
    for (Var v : eqn.inputs) operands.push_back(of[v]);
    std::vector<AxisSet> out = results(eqn, operands);
    for (std::size_t i = 0; i < eqn.outputs.size(); ++i)
      of[eqn.outputs[i]] = i < out.size() ? out[i] : out.back();
  }
  return of;
}

std::vector<AxisSet> output_uniformity(const Program& p, const std::vector<AxisSet>& inputs) {
  std::vector<AxisSet> of = uniformity(p, inputs), out;
  for (Var v : p.outputs) out.push_back(of[v]);
  return out;
}

VaryingSource why_varying(const Program& p, const std::vector<AxisSet>& varying, Var v,
                          std::string_view axis) {
  constexpr std::size_t none = VaryingSource::npos;
  std::vector<std::size_t> definition(p.types.size(), none);
  for (std::size_t k = 0; k < p.equations.size(); ++k)
    for (Var o : p.equations[k].outputs) definition[o] = k;
  // Always follows the first varying operand. Definitions come before uses, so the walk terminates.
  SourceLoc first_use;
  for (;;) {
    std::size_t k = definition[v];
    if (k == none) {
      auto at = std::find(p.inputs.begin(), p.inputs.end(), v);
      return {none, static_cast<std::size_t>(at - p.inputs.begin()), first_use};
    }
    const Equation& eqn = p.equations[k];
    auto from = std::find_if(eqn.inputs.begin(), eqn.inputs.end(),
                             [&](Var u) { return varying[u].contains(axis); });
    if (from == eqn.inputs.end()) return {k, none, eqn.loc};
    if (eqn.loc) first_use = eqn.loc;
    v = *from;
  }
}

}  // namespace tessera::inline v0::spmd
