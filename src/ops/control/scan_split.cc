// Partial evaluation of a scan: one loop over the known values, and one over the rest, which reads
// the residuals of the first.
#include "ir/interpret.h"
#include "ir/nested.h"
#include "ops/build.h"
#include "ops/control/nested.h"
#include "ops/control/scan_rules.h"

namespace tessera::inline v0::ops {

namespace {

// How a residual of the known body reaches the unknown loop.
enum class Road {
  constant,  // loop-invariant: passed as a const
  forward,   // already one of the xs
  stacked,   // stacked, one row per iteration
};

// The known body, with loop-invariant residuals hoisted out of the loop.
struct Hoisted {
  std::vector<Road> roads;             // for each residual
  Values constants;                    // the values of the Road::constant ones, in order
  std::vector<std::size_t> forwarded;  // the inputs of the body for Road::forward, in order
  ProgramPtr body;      // (known consts, extra consts, ...) -> (known outputs, stacked residuals)
  Values extra_consts;  // values that are computed before the loop
};

Hoisted hoist(Builder& b, const Program& known, std::size_t consts, std::size_t carry,
              std::size_t known_outs, std::span<const Value> const_values) {
  std::vector<bool> invariant(known.types.size());
  constexpr std::size_t kNone = static_cast<std::size_t>(-1);
  std::vector<std::size_t> input_at(known.types.size(), kNone);
  for (std::size_t i = 0; i < known.inputs.size(); ++i) {
    input_at[known.inputs[i]] = i;
    invariant[known.inputs[i]] = i < consts;
  }
  auto outside = std::make_shared<Program>();
  outside->types = known.types;
  outside->inputs.assign(known.inputs.begin(),
                         known.inputs.begin() + static_cast<std::ptrdiff_t>(consts));
  for (const Equation& eqn : known.equations) {
    bool all = !has_effects(eqn);
    for (Var v : eqn.inputs) all = all && invariant[v];
    if (!all) continue;
    for (Var v : eqn.outputs) invariant[v] = true;
    outside->equations.push_back(eqn);
  }

  Hoisted h;
  auto body = std::make_shared<Program>(known);
  std::vector<Var> replaced(known.types.size());
  for (Var v = 0; v < replaced.size(); ++v) replaced[v] = v;
  std::vector<Var> stacked, extra;
  std::vector<std::size_t> extra_at;  // the constant that each extra const holds
  for (std::size_t k = known_outs; k < known.outputs.size(); ++k) {
    Var v = known.outputs[k];
    if (invariant[v]) {
      h.roads.push_back(Road::constant);
      outside->outputs.push_back(v);
      if (input_at[v] == kNone && replaced[v] == v) {
        replaced[v] = static_cast<Var>(body->types.size());
        body->types.push_back(known.types[v]);
        extra.push_back(replaced[v]);
        extra_at.push_back(outside->outputs.size() - 1);
      }
    } else if (input_at[v] != kNone && input_at[v] >= consts + carry) {
      h.roads.push_back(Road::forward);
      h.forwarded.push_back(input_at[v]);
    } else {
      h.roads.push_back(Road::stacked);
      stacked.push_back(v);
    }
  }
  h.constants = b.inline_program(*prune(*outside), const_values);
  for (std::size_t k : extra_at) h.extra_consts.push_back(h.constants[k]);

  for (Equation& eqn : body->equations)
    for (Var& v : eqn.inputs) v = replaced[v];
  body->outputs.resize(known_outs);
  for (Var& v : body->outputs) v = replaced[v];
  body->outputs.insert(body->outputs.end(), stacked.begin(), stacked.end());
  body->inputs.insert(body->inputs.begin() + static_cast<std::ptrdiff_t>(consts), extra.begin(),
                      extra.end());
  h.body = prune(*body);
  return h;
}

}  // namespace

PartialEvalResult scan_partial_eval(const PartialEvalArgs& a) {
  ScanLayout s(a.attrs);
  std::vector<bool> unknown(a.inputs.size()), force(s.carry + s.ys);
  for (std::size_t i = 0; i < unknown.size(); ++i) unknown[i] = !a.inputs[i];
  PartialEvaluation split;
  const auto settle = [&] {
    for (bool grew = true; grew;) {
      for (std::size_t i = 0; i < s.carry; ++i) force[i] = unknown[s.consts + i];
      split = partial_eval(*s.body, unknown, force);
      grew = false;
      for (std::size_t i = 0; i < s.carry; ++i)
        if (split.unknown_out[i] && !unknown[s.consts + i]) unknown[s.consts + i] = grew = true;
    }
  };
  settle();
  if (ProgramPtr body = constants_out_of_branches(s.body, s.consts, unknown); body != s.body) {
    s.body = std::move(body);
    settle();
  }

  // The known loop. A known x-input of the body is the whole array outside the loop.
  Values known_in[3];
  for (std::size_t i = 0; i < a.inputs.size(); ++i)
    if (!unknown[i]) known_in[i < s.consts ? 0 : i < s.first_x() ? 1 : 2].push_back(*a.inputs[i]);
  std::size_t known_outs = 0;
  for (bool u : split.unknown_out) known_outs += u ? 0 : 1;
  Hoisted h =
      hoist(a.known, *split.known, known_in[0].size(), known_in[1].size(), known_outs, known_in[0]);
  Values loop_consts = known_in[0];
  loop_consts.insert(loop_consts.end(), h.extra_consts.begin(), h.extra_consts.end());
  Values known_out;
  if (!h.body->outputs.empty() || has_effects(*h.body))
    known_out = scan(h.body, loop_consts, known_in[1], known_in[2], s.length, s.reverse, a.known);

  PartialEvalResult r;
  std::size_t next = 0;
  for (bool u : split.unknown_out)
    r.outputs.push_back(u ? MaybeValue() : MaybeValue(known_out[next++]));

  // The unknown loop. Its operands by group, as positions in (residuals, unknown inputs) and among
  // the body's inputs.
  struct Operand {
    std::size_t residual;  // position among r.residuals, if it is one
    bool is_residual;
    std::size_t unknown;  // otherwise, position among the unknown inputs
    std::size_t body;     // position among the inputs of split.unknown
  };
  std::vector<Operand> groups[3];
  std::size_t constant = 0, forward = 0;
  for (std::size_t k = 0; k < h.roads.size(); ++k) {
    Value v;
    switch (h.roads[k]) {
      case Road::constant: v = h.constants[constant++]; break;
      case Road::forward:
        v = known_in[2][h.forwarded[forward++] - known_in[0].size() - known_in[1].size()];
        break;
      case Road::stacked: v = known_out[next++]; break;
    }
    groups[h.roads[k] == Road::constant ? 0 : 2].push_back({r.residuals.size(), true, 0, k});
    r.residuals.push_back(v);
  }
  std::size_t unknowns = 0, body_at = h.roads.size();
  for (std::size_t i = 0; i < a.inputs.size(); ++i) {
    if (!unknown[i]) continue;
    Operand o{0, a.inputs[i].has_value(), 0, body_at++};
    if (o.is_residual) {  // a carry that is known only at the start
      o.residual = r.residuals.size();
      r.residuals.push_back(*a.inputs[i]);
    } else {
      o.unknown = unknowns++;
    }
    groups[i < s.consts ? 0 : i < s.first_x() ? 1 : 2].push_back(o);
  }
  std::vector<std::size_t> body_order;
  for (const auto& group : groups)
    for (const Operand& o : group) {
      r.input_order.push_back(o.is_residual ? o.residual : r.residuals.size() + o.unknown);
      body_order.push_back(o.body);
    }
  r.op = &a.op;
  r.attrs = ScanLayout::make(
      reordered(*split.unknown, body_order, iota_positions(split.unknown->outputs.size())),
      groups[0].size(), groups[1].size(), s.length, s.reverse);
  return r;
}

}  // namespace tessera::inline v0::ops
