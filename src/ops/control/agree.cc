#include "ops/control/agree.h"

#include "ir/nested.h"
#include "ir/op.h"

#include <algorithm>

namespace tessera::inline v0::ops {

namespace {

using Sets = std::vector<AxisSet>;

bool no_axes(const Values& operands, const Program& p) {
  return std::all_of(operands.begin(), operands.end(),
                     [](const Value& v) { return v.type().varying.empty(); }) &&
         std::all_of(p.inputs.begin(), p.inputs.end(),
                     [&](Var v) { return p.types[v].varying.empty(); }) &&
         std::all_of(p.outputs.begin(), p.outputs.end(),
                     [&](Var v) { return p.types[v].varying.empty(); });
}

Sets input_sets(const Program& p) {
  Sets sets;
  for (Var v : p.inputs) sets.push_back(p.types[v].varying);
  return sets;
}
Sets output_sets(const Program& p) {
  Sets sets;
  for (Var v : p.outputs) sets.push_back(p.types[v].varying);
  return sets;
}

// Retypes a region's body: what varies over axes of an enclosing region outside varies over them
// inside, too.
Attrs region_for(const Attrs& attrs, const Values& operands) {
  Attrs again = attrs;
  for (const auto& [name, value] : attrs)
    if (const auto* body = std::get_if<ProgramPtr>(&value)) {
      Sets in = input_sets(**body);
      for (std::size_t i = 0; i < in.size(); ++i) in[i] = in[i] | operands[i].type().varying;
      again.set(name, retyped(*body, in));
    }
  return again;
}

// Copies the equations of `p` into a program whose inputs vary over more axes. Casts may have
// become redundant, and nested control flow must be made to agree again.
Values replayed(Builder& b, const Program& p, const Values& inputs) {
  Values env(p.types.size());
  for (std::size_t i = 0; i < inputs.size(); ++i) env[p.inputs[i]] = inputs[i];
  for (const Equation& eqn : p.equations) {
    Values in;
    for (Var v : eqn.inputs) in.push_back(env[v]);
    Equation again = eqn;
    Values out;
    if (eqn.op->forwards && eqn.op->vary) {  // a cast: its axes may be present already
      out.push_back(b.vary_over(in[0], p.types[eqn.outputs[0]].varying));
    } else if (std::optional<Flow> flow = flow_of(eqn); flow && eqn.op->with_flow) {
      agree_flow(b, *flow, in);
      again.attrs = eqn.op->with_flow(eqn.attrs, *flow);
    } else if (flow && flow->kind == Flow::Kind::region) {
      again.attrs = region_for(eqn.attrs, in);
    }
    if (out.empty()) out = b.copy(again, in);
    for (std::size_t i = 0; i < out.size(); ++i) env[eqn.outputs[i]] = out[i];
  }
  Values outputs;
  for (Var v : p.outputs) outputs.push_back(env[v]);
  return outputs;
}

bool grow(AxisSet& set, const AxisSet& by) {
  AxisSet all = set | by;
  bool grew = !(all == set);
  set = std::move(all);
  return grew;
}

}  // namespace

ProgramPtr retyped(const ProgramPtr& p, const Sets& inputs, const Sets& outputs) {
  bool same = inputs == input_sets(*p);
  for (std::size_t i = 0; i < outputs.size(); ++i) {
    AxisSet all = p->types[p->outputs[i]].varying | outputs[i];
    same = same && all == p->types[p->outputs[i]].varying;
  }
  if (same) return p;
  Builder b(p->name);
  Values in;
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    Type type = p->types[p->inputs[i]];
    type.varying = inputs[i];
    in.push_back(b.input(std::move(type)));
  }
  Values out = replayed(b, *p, in);
  for (std::size_t i = 0; i < outputs.size(); ++i) out[i] = b.vary_over(out[i], outputs[i]);
  return b.finish(out);
}

void agree_scan(Builder& b, ProgramPtr& body, Values& operands, std::size_t consts,
                std::size_t carry) {
  if (no_axes(operands, *body)) return;
  Sets in = input_sets(*body);
  for (std::size_t i = 0; i < in.size(); ++i) grow(in[i], operands[i].type().varying);
  // Each iteration continues from the body of the previous one; otherwise nested loops would be
  // retyped 2^depth times.
  for (bool grew = true; grew;) {
    grew = false;
    body = retyped(body, in);
    Sets out = output_sets(*body);
    for (std::size_t i = 0; i < carry; ++i) grew = grow(in[consts + i], out[i]) || grew;
  }
  auto first = in.begin() + static_cast<std::ptrdiff_t>(consts);
  body = retyped(body, in, Sets(first, first + static_cast<std::ptrdiff_t>(carry)));
  for (std::size_t i = 0; i < in.size(); ++i) operands[i] = b.vary_over(operands[i], in[i]);
}

void agree_while(Builder& b, ProgramPtr& cond, ProgramPtr& body, Values& operands,
                 std::size_t cond_consts, std::size_t body_consts) {
  if (no_axes(operands, *body) && no_axes({}, *cond)) return;
  std::size_t first = cond_consts + body_consts;
  Sets in;
  for (const Value& v : operands) in.push_back(v.type().varying);
  Sets of_cond = input_sets(*cond), of_body = input_sets(*body);
  for (std::size_t i = 0; i < of_cond.size(); ++i)
    grow(in[i < cond_consts ? i : i + body_consts], of_cond[i]);
  for (std::size_t i = 0; i < of_body.size(); ++i) grow(in[i + cond_consts], of_body[i]);
  auto place = [&] {
    of_cond.assign(in.begin(), in.begin() + static_cast<std::ptrdiff_t>(cond_consts));
    of_cond.insert(of_cond.end(), in.begin() + static_cast<std::ptrdiff_t>(first), in.end());
    of_body.assign(in.begin() + static_cast<std::ptrdiff_t>(cond_consts), in.end());
  };
  for (bool grew = true; grew;) {
    grew = false;
    place();
    cond = retyped(cond, of_cond);
    body = retyped(body, of_body);
    AxisSet predicate = output_sets(*cond)[0];
    Sets out = output_sets(*body);
    for (std::size_t i = 0; i < out.size(); ++i)
      grew = grow(in[first + i], out[i] | predicate) || grew;
  }
  place();
  cond = retyped(cond, of_cond);
  body = retyped(body, of_body, Sets(in.begin() + static_cast<std::ptrdiff_t>(first), in.end()));
  for (std::size_t i = 0; i < in.size(); ++i) operands[i] = b.vary_over(operands[i], in[i]);
}

void agree_cond(Builder& b, Programs& branches, Values& operands) {
  bool none = true;
  for (const ProgramPtr& branch : branches) none = none && no_axes(operands, *branch);
  if (none) return;
  // Devices may take different branches, so all results and all operands vary over the index's
  // axes.
  const AxisSet index = operands[0].type().varying;
  Sets in(operands.size() - 1, index), out(branches[0]->outputs.size(), index);
  for (std::size_t i = 0; i < in.size(); ++i) {
    grow(in[i], operands[i + 1].type().varying);
    for (const ProgramPtr& branch : branches) grow(in[i], branch->types[branch->inputs[i]].varying);
  }
  for (ProgramPtr& branch : branches) {
    branch = retyped(branch, in);
    Sets own = output_sets(*branch);
    for (std::size_t i = 0; i < out.size(); ++i) grow(out[i], own[i]);
  }
  for (ProgramPtr& branch : branches) branch = retyped(branch, in, out);
  for (std::size_t i = 0; i < in.size(); ++i) operands[i + 1] = b.vary_over(operands[i + 1], in[i]);
}

void agree_flow(Builder& b, Flow& flow, Values& operands) {
  switch (flow.kind) {
    case Flow::Kind::scan:
      return agree_scan(b, flow.programs[0], operands, flow.consts, flow.carry);
    case Flow::Kind::loop:
      return agree_while(b, flow.programs[0], flow.programs[1], operands, flow.cond_consts,
                         flow.consts);
    case Flow::Kind::branch: return agree_cond(b, flow.programs, operands);
    case Flow::Kind::call: {
      Sets in = input_sets(*flow.body());
      for (std::size_t i = 0; i < in.size(); ++i) {
        grow(in[i], operands[i].type().varying);
        operands[i] = b.vary_over(operands[i], in[i]);
      }
      flow.programs[0] = retyped(flow.programs[0], in);
      return;
    }
    case Flow::Kind::region: return;
  }
}

}  // namespace tessera::inline v0::ops
