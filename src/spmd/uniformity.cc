#include "spmd/uniformity.h"

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

// Adds b's sets to a's from `at` on; whether that changed any.
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

std::vector<NestedProgram> of_while(const Equation& eqn, const std::vector<AxisSet>& operands) {
  const ProgramPtr &cond = eqn.attrs.program("cond"), &body = eqn.attrs.program("body");
  std::size_t nc = static_cast<std::size_t>(eqn.attrs.i("cond_consts")),
              nb = static_cast<std::size_t>(eqn.attrs.i("body_consts"));
  std::size_t carry = operands.size() - nc - nb;
  std::vector<AxisSet> in_cond = joined(pick(operands, 0, nc), pick(operands, nc + nb, carry));
  std::vector<AxisSet> in_body = pick(operands, nc, nb + carry);
  AxisSet predicate;
  for (bool changed = true; changed;) {
    predicate = output_uniformity(*cond, in_cond)[0];
    std::vector<AxisSet> out = output_uniformity(*body, in_body);
    for (AxisSet& s : out) s |= predicate;  // devices leave the loop at different times
    changed = grow(in_body, nb, carry, out);
    grow(in_cond, nc, carry, out);
  }
  return {{cond, in_cond, predicate}, {body, in_body, predicate}};
}

std::vector<NestedProgram> of_scan(const Equation& eqn, const std::vector<AxisSet>& operands) {
  const ProgramPtr& body = eqn.attrs.program("body");
  std::size_t consts = static_cast<std::size_t>(eqn.attrs.i("consts")),
              carry = static_cast<std::size_t>(eqn.attrs.i("carry"));
  std::vector<AxisSet> in = operands;
  while (grow(in, consts, carry, output_uniformity(*body, in))) {
  }
  return {{body, in, {}}};
}

std::vector<NestedProgram> of_cond(const Equation& eqn, const std::vector<AxisSet>& operands) {
  std::vector<NestedProgram> nested;
  std::vector<AxisSet> in = pick(operands, 1, operands.size() - 1);
  for (const ProgramPtr& branch : eqn.attrs.get<Programs>("branches"))
    nested.push_back({branch, in, operands[0]});
  return nested;
}

// A call: its one program takes the equation's operands.
const ProgramPtr* called(const Equation& eqn) {
  const ProgramPtr* only = nullptr;
  for (const auto& [name, value] : eqn.attrs)
    if (const ProgramPtr* p = std::get_if<ProgramPtr>(&value); p && *p) {
      if (name == "body") return (*p)->inputs.size() == eqn.inputs.size() ? p : nullptr;
      only = p;
    }
  return only && (*only)->inputs.size() == eqn.inputs.size() &&
                 (*only)->outputs.size() == eqn.outputs.size()
             ? only
             : nullptr;
}

std::vector<AxisSet> results(const Equation& eqn, const std::vector<AxisSet>& operands) {
  const std::string& name = eqn.op->name;
  if (name == "while") {
    std::vector<NestedProgram> nested = of_while(eqn, operands);
    std::size_t carry = eqn.outputs.size();
    return pick(nested[1].inputs, nested[1].inputs.size() - carry, carry);
  }
  if (name == "shard_map") return nonuniform_of(*eqn.op, eqn.attrs, operands);
  std::vector<NestedProgram> nested = nested_programs(eqn, operands);
  if (nested.empty()) return nonuniform_of(*eqn.op, eqn.attrs, operands);
  std::vector<AxisSet> out(eqn.outputs.size());
  for (const NestedProgram& n : nested) {
    grow(out, 0, out.size(), output_uniformity(*n.program, n.inputs));
    for (AxisSet& s : out) s |= n.predicate;
  }
  if (name == "scan" && eqn.attrs.i("length") == 0)  // the carry comes out as it went in
    for (std::int64_t i = 0; i < eqn.attrs.i("carry"); ++i)
      out[static_cast<std::size_t>(i)] |=
          operands[static_cast<std::size_t>(eqn.attrs.i("consts") + i)];
  return out;
}

}  // namespace

std::vector<NestedProgram> nested_programs(const Equation& eqn,
                                           const std::vector<AxisSet>& operands) {
  const std::string& name = eqn.op->name;
  if (name == "cond") return of_cond(eqn, operands);
  if (name == "while") return of_while(eqn, operands);
  if (name == "scan") return of_scan(eqn, operands);
  if (name == "shard_map") return {};
  if (const ProgramPtr* body = called(eqn)) return {{*body, operands, {}}};
  return {};
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
  // Always to the first operand that varies: the walk goes strictly upwards, so it ends.
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
