// Replaces branches in the bodies of loops by selections between the results of all branches, if
// these are a few instructions. An iteration is then one kernel, and the branches need no tapes of
// their own.
#include "ir/nested.h"
#include "ir/op.h"
#include "ops/build.h"
#include "transform/map_nested.h"
#include "transform/replace_equations.h"
#include "transform/simplify.h"

#include <algorithm>

namespace tessera::inline v0 {

namespace {

constexpr std::size_t kMostEquations = 32;
constexpr std::int64_t kMostElements = 64;

bool is_small(const Type& t) { return t.shape.count() <= kMostElements; }

// Whether a branch is cheap enough to compute even if another one is taken.
bool is_small(const Program& branch) {
  return branch.equations.size() <= kMostEquations && !has_effects(branch) &&
         std::all_of(branch.outputs.begin(), branch.outputs.end(),
                     [&](Var v) { return is_small(branch.type(v)); }) &&
         std::all_of(branch.equations.begin(), branch.equations.end(), [&](const Equation& e) {
           return e.op->lowering == Lowering::emitted && e.op->cheap && !flow_of(e) &&
                  is_small(branch.type(e.outputs.at(0)));
         });
}

// The results of the branch that operand 0, clamped into range, selects.
std::shared_ptr<Program> selection(const Program& p, const Equation& eqn) {
  const std::optional<Flow> flow = flow_of(eqn);
  if (!flow || flow->kind != Flow::Kind::branch) return nullptr;
  const Programs& branches = flow->programs;
  if (!std::all_of(branches.begin(), branches.end(),
                   [](const ProgramPtr& branch) { return is_small(*branch); }))
    return nullptr;
  const auto write = [&](Builder& b, const Values& operands) -> std::optional<Values> {
    const Values passed(operands.begin() + 1, operands.end());
    Values chosen = b.inline_program(*branches.back(), passed);
    for (std::size_t k = branches.size() - 1; k-- > 0;) {
      const Values these = b.inline_program(*branches[k], passed);
      const Value is_this = ops::le(
          operands[0], ops::constant(b, scalar_literal(DType::int32, static_cast<double>(k))));
      for (std::size_t i = 0; i < chosen.size(); ++i)
        chosen[i] =
            ops::select(ops::broadcast_in_dim(is_this, chosen[i].shape(), {}), these[i], chosen[i]);
    }
    for (std::size_t i = 0; i < chosen.size(); ++i)
      if (!(chosen[i].type() == p.type(eqn.outputs[i]))) return std::nullopt;
    return chosen;
  };
  return parts_for(p, eqn, write);
}

}  // namespace

ProgramPtr select_branches(const ProgramPtr& p) {
  std::shared_ptr<Program> q;
  for (std::size_t i = 0; i < p->equations.size(); ++i) {
    const std::optional<Flow> flow = flow_of(p->equations[i]);
    if (!flow || !flow->repeats()) continue;
    bool changed = false;
    Attrs attrs = map_nested(
        p->equations[i].attrs,
        [](const ProgramPtr& body) { return replace_equations(body, selection); }, changed);
    if (!changed) continue;
    if (!q) q = std::make_shared<Program>(*p);
    q->equations[i].attrs = std::move(attrs);
  }
  return q ? ProgramPtr(q) : p;
}

}  // namespace tessera::inline v0
