// Derivatives of cond: each branch is transformed, and the branches are then made to return the
// same types.
#include "ir/collective_attrs.h"
#include "ir/interpret.h"
#include "ir/nested.h"
#include "ops/build.h"
#include "ops/control/cond_rules.h"
#include "ops/control/nested.h"

#include <algorithm>
#include <memory>

namespace tessera::inline v0::ops {

const Equation* find_collective(const Programs& programs, std::string_view axis) {
  for (const ProgramPtr& p : programs)
    for (const Equation& eqn : p->equations) {
      if (eqn.op->lowering == Lowering::collective && eqn.op->inputs > 0) {
        const auto& axes = CollectiveAttrs(eqn.attrs).axes;
        if (axis.empty() || std::find(axes.begin(), axes.end(), axis) != axes.end()) return &eqn;
      }
      if (hides(eqn, axis)) continue;
      const Equation* inside = nullptr;
      if (any_nested(eqn.attrs, [&](const ProgramPtr& q) {
            return (inside = find_collective({q}, axis)) != nullptr;
          }))
        return inside;
    }
  return nullptr;
}

namespace {

Attrs split_attrs(Programs branches) {
  const bool split = find_collective(branches, "");
  return CondAttrs::make(std::move(branches), split);
}

}  // namespace

JvpBoth cond_jvp(const JvpBothArgs& a) {
  const Programs& branches = CondAttrs(a.attrs).branches;
  std::size_t results = branches[0]->outputs.size();
  std::vector<bool> nonzero_in, nonzero_out(results);
  Values operands(a.inputs.begin() + 1, a.inputs.end());
  for (std::size_t i = 1; i < a.inputs.size(); ++i) {
    nonzero_in.push_back(a.tangents[i].has_value());
    if (a.tangents[i]) operands.push_back(*a.tangents[i]);
  }
  for (const ProgramPtr& branch : branches) {
    JvpProgram jvp = jvp_program(*branch, nonzero_in);
    for (std::size_t i = 0; i < results; ++i) nonzero_out[i] = nonzero_out[i] || jvp.nonzero_out[i];
  }
  Programs both;
  for (const ProgramPtr& branch : branches)
    both.push_back(jvp_program(*branch, nonzero_in, nonzero_out).program);
  Values out = cond(a.inputs[0], both, operands, CondAttrs(a.attrs).split);
  JvpBoth r;
  r.outputs.assign(out.begin(), out.begin() + static_cast<std::ptrdiff_t>(results));
  std::size_t next = results;
  for (bool nonzero : nonzero_out)
    r.tangents.push_back(nonzero ? MaybeValue(out[next++]) : MaybeValue());
  return r;
}

namespace {

// Leaves the whole equation to the unknown side.
PartialEvalResult all_unknown(const PartialEvalArgs& a, std::size_t results) {
  PartialEvalResult r;
  r.outputs.resize(results);
  r.op = &a.op;
  r.attrs = a.attrs;
  for (const MaybeValue& v : a.inputs)
    if (v) r.residuals.push_back(*v);
  std::size_t residuals = 0, unknowns = 0;
  for (const MaybeValue& v : a.inputs)
    r.input_order.push_back(v ? residuals++ : r.residuals.size() + unknowns++);
  return r;
}

// Slots for the residuals of all branches: branches share a slot of the same type, and a residual
// that is an operand needs no slot.
struct Slots {
  std::vector<Type> types;
  std::vector<std::size_t> forwarded;  // the known operands that are residuals
  struct Place {
    bool forward;
    std::size_t at;  // in `forwarded` or `types`
  };
  std::vector<std::vector<Place>> places;  // for each branch and each of its residuals

  void add_branch(const PartialEvaluation& split) {
    const Program& known = *split.known;
    std::vector<bool> taken(types.size());
    places.emplace_back();
    for (std::size_t k = known.outputs.size() - split.residuals; k < known.outputs.size(); ++k) {
      Var v = known.outputs[k];
      std::size_t input = 0;
      while (input < known.inputs.size() && known.inputs[input] != v) ++input;
      if (input < known.inputs.size()) {
        std::size_t at = 0;
        while (at < forwarded.size() && forwarded[at] != input) ++at;
        if (at == forwarded.size()) forwarded.push_back(input);
        places.back().push_back({true, at});
        continue;
      }
      const Type& type = known.types[v];
      std::size_t at = 0;
      while (at < types.size() &&
             (taken[at] || types[at].dtype != type.dtype || !(types[at].shape == type.shape)))
        ++at;
      if (at == types.size()) {
        types.push_back(type);
        taken.push_back(false);
      }
      taken[at] = true;
      places.back().push_back({false, at});
    }
  }
};

}  // namespace

PartialEvalResult cond_partial_eval(const PartialEvalArgs& a) {
  const Programs& branches = CondAttrs(a.attrs).branches;
  std::size_t results = branches[0]->outputs.size();
  if (!a.inputs[0]) return all_unknown(a, results);
  std::vector<bool> unknown_in, unknown_out(results);
  Values known_operands;
  for (std::size_t i = 1; i < a.inputs.size(); ++i) {
    unknown_in.push_back(!a.inputs[i]);
    if (a.inputs[i]) known_operands.push_back(*a.inputs[i]);
  }
  for (const ProgramPtr& branch : branches) {
    PartialEvaluation split = partial_eval(*branch, unknown_in);
    for (std::size_t i = 0; i < results; ++i)
      unknown_out[i] = unknown_out[i] || split.unknown_out[i];
  }
  std::vector<PartialEvaluation> splits;
  Slots slots;
  for (const ProgramPtr& branch : branches) {
    splits.push_back(partial_eval(*branch, unknown_in, unknown_out));
    slots.add_branch(splits.back());
  }

  Programs known, unknown;
  for (std::size_t k = 0; k < splits.size(); ++k) {
    const PartialEvaluation& split = splits[k];
    Builder b(branches[k]->name);
    Values in;
    for (Var v : split.known->inputs) in.push_back(b.input(split.known->types[v]));
    Values out = b.inline_program(*split.known, in);
    std::size_t outs = out.size() - split.residuals;
    MaybeValues filled(slots.types.size());
    for (std::size_t i = 0; i < split.residuals; ++i)
      if (!slots.places[k][i].forward) filled[slots.places[k][i].at] = out[outs + i];
    out.resize(outs);
    for (std::size_t i = 0; i < filled.size(); ++i)
      out.push_back(filled[i] ? *filled[i] : zeros(b, slots.types[i]));
    known.push_back(b.finish_pruned(out));

    Builder u(branches[k]->name);
    Values slot_values, forwarded;
    for (const Type& type : slots.types) slot_values.push_back(u.input(type));
    for (std::size_t i : slots.forwarded) forwarded.push_back(u.input(known_operands[i].type()));
    Values rest;
    for (std::size_t i = 0; i < split.residuals; ++i) {
      auto [forward, at] = slots.places[k][i];
      rest.push_back(forward ? forwarded[at] : slot_values[at]);
    }
    for (std::size_t i = split.residuals; i < split.unknown->inputs.size(); ++i)
      rest.push_back(u.input(split.unknown->types[split.unknown->inputs[i]]));
    unknown.push_back(u.finish(u.inline_program(*split.unknown, rest)));
  }

  Values out;
  const bool acts =
      std::any_of(known.begin(), known.end(), [](const ProgramPtr& p) { return has_effects(*p); });
  if (!known[0]->outputs.empty() || acts)
    out = cond(*a.inputs[0], known, known_operands, CondAttrs(a.attrs).split);
  PartialEvalResult r;
  std::size_t next = 0;
  for (bool u : unknown_out) r.outputs.push_back(u ? MaybeValue() : MaybeValue(out[next++]));
  r.op = &a.op;
  r.attrs = split_attrs(unknown);
  r.residuals.push_back(*a.inputs[0]);
  for (; next < out.size(); ++next) r.residuals.push_back(out[next]);
  for (std::size_t i : slots.forwarded) r.residuals.push_back(known_operands[i]);
  return r;
}

MaybeValues cond_transpose(const TransposeArgs& a) {
  const Programs& branches = CondAttrs(a.attrs).branches;
  if (!a.inputs[0]) throw InternalError("a cond is not linear in its index");
  std::vector<bool> linear(a.linear.begin() + 1, a.linear.end());
  Values operands;
  for (std::size_t i = 1; i < a.inputs.size(); ++i)
    if (a.inputs[i]) operands.push_back(*a.inputs[i]);
  for (const MaybeValue& ct : a.cotangents)
    if (ct) operands.push_back(*ct);

  std::vector<std::unique_ptr<Builder>> builders;
  std::vector<MaybeValues> cts;
  std::vector<bool> present(linear.size());
  for (const ProgramPtr& branch : branches) {
    Builder& b = *builders.emplace_back(std::make_unique<Builder>(branch->name));
    MaybeValues in(linear.size()), out_cts(branch->outputs.size());
    for (std::size_t i = 0; i < in.size(); ++i)
      if (!linear[i]) in[i] = b.input(branch->types[branch->inputs[i]]);
    for (std::size_t i = 0; i < out_cts.size(); ++i)
      if (a.cotangents[i]) out_cts[i] = b.input(branch->types[branch->outputs[i]]);
    cts.push_back(transpose_inline(b, *branch, in, linear, out_cts));
    for (std::size_t i = 0; i < present.size(); ++i) present[i] = present[i] || cts.back()[i];
  }
  Programs transposed;
  for (std::size_t k = 0; k < branches.size(); ++k) {
    Values out;
    for (std::size_t i = 0; i < present.size(); ++i)
      if (present[i]) out.push_back(cts[k][i] ? *cts[k][i] : zeros(*builders[k], a.types[i + 1]));
    transposed.push_back(builders[k]->finish_pruned(out));
  }
  MaybeValues r(a.inputs.size());
  if (transposed[0]->outputs.empty()) return r;
  Values out = cond(*a.inputs[0], transposed, operands, find_collective(transposed, ""));
  std::size_t next = 0;
  for (std::size_t i = 0; i < present.size(); ++i)
    if (present[i]) r[i + 1] = out[next++];
  return r;
}

}  // namespace tessera::inline v0::ops
