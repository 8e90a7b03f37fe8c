// while: a loop that runs while a condition on its carry holds.
#include "ir/interpret.h"
#include "ir/nested.h"
#include "ir/op.h"
#include "ops/batching.h"
#include "ops/build.h"
#include "ops/control/agree.h"
#include "ops/control/effects.h"
#include "ops/control/nested.h"
#include "ops/control/while_rules.h"

#include <cstring>

namespace tessera::inline v0::ops {

Values while_(ProgramPtr cond, ProgramPtr body, std::span<const Value> cond_consts,
              std::span<const Value> body_consts, std::span<const Value> init) {
  if (init.empty()) throw InternalError("a while without a carry never ends or never starts");
  Values inputs(cond_consts.begin(), cond_consts.end());
  inputs.insert(inputs.end(), body_consts.begin(), body_consts.end());
  inputs.insert(inputs.end(), init.begin(), init.end());
  agree_while(*init[0].builder, cond, body, inputs, cond_consts.size(), body_consts.size());
  return init[0].builder->emit(
      "while", inputs,
      WhileLayout::make(std::move(cond), std::move(body), cond_consts.size(), body_consts.size()));
}

namespace {

std::vector<Type> while_infer(const InferArgs& a) {
  check_counts(a, {WhileLayout::kCondConsts, WhileLayout::kBodyConsts});
  WhileLayout w(a.attrs);
  check_inputs(a, "predicate", *w.cond, w.for_cond<Type>(a.inputs));
  check_inputs(a, "body", *w.body, w.for_body<Type>(a.inputs));
  if (w.cond->outputs.size() != 1) throw InternalError("the predicate of a while has one result");
  check_same(a, "the predicate's result", Type(DType::boolean, {}),
             w.cond->types[w.cond->outputs[0]]);
  std::vector<Type> results = w.body->output_types();
  if (a.inputs.size() != w.first_carry + w.carry)
    throw InternalError("the body of a while gives another number of carries");
  for (std::size_t i = 0; i < w.carry; ++i)
    check_same(a, "carry " + std::to_string(i), a.inputs[w.first_carry + i], results[i]);
  return results;
}

// If the predicate varies, so does the number of iterations, and with it every carry.
std::vector<AxisSet> while_vary(const VaryArgs& a) {
  WhileLayout w(a.attrs);
  std::vector<AxisSet> in(a.inputs.begin(), a.inputs.end());
  for (;;) {
    AxisSet predicate = vary_through(*w.cond, w.for_cond<AxisSet>(in))[0];
    std::vector<AxisSet> out = vary_through(*w.body, w.for_body<AxisSet>(in));
    bool grew = false;
    for (std::size_t i = 0; i < w.carry; ++i) {
      AxisSet all = in[w.first_carry + i] | out[i] | predicate;
      grew = grew || !(all == in[w.first_carry + i]);
      in[w.first_carry + i] = out[i] = std::move(all);
    }
    if (!grew) return out;
  }
}

void while_evaluate(const EvalArgs& a) {
  WhileLayout w(a.attrs);
  std::vector<HostArray> in(a.inputs.begin(), a.inputs.end());
  while (*evaluate(*w.cond, w.for_cond<HostArray>(in))[0].data<bool>()) {
    std::vector<HostArray> out = evaluate(*w.body, w.for_body<HostArray>(in));
    for (std::size_t i = 0; i < w.carry; ++i) in[w.first_carry + i] = out[i];
  }
  for (std::size_t i = 0; i < w.carry; ++i)
    std::memcpy(a.outputs[i].bytes, in[w.first_carry + i].bytes,
                static_cast<std::size_t>(a.outputs[i].size_bytes()));
}

JvpBoth while_jvp(const JvpBothArgs& a) {
  WhileLayout w(a.attrs);
  std::vector<bool> nonzero(a.inputs.size());
  for (std::size_t i = w.cond_consts; i < nonzero.size(); ++i)
    nonzero[i] = a.tangents[i].has_value();
  JvpProgram jvp;
  for (bool grew = true; grew;) {
    std::vector<bool> instantiate(nonzero.begin() + static_cast<std::ptrdiff_t>(w.first_carry),
                                  nonzero.end());
    jvp = jvp_program(*w.body, w.for_body<bool>(nonzero), instantiate);
    grew = false;
    for (std::size_t i = 0; i < w.carry; ++i)
      if (jvp.nonzero_out[i] && !nonzero[w.first_carry + i])
        nonzero[w.first_carry + i] = grew = true;
  }

  // The body's inputs are consts, carry, then the tangents of both; the loop needs the tangents of
  // the consts next to the consts, and those of the carry next to the carry.
  Values cond_consts(a.inputs.begin(),
                     a.inputs.begin() + static_cast<std::ptrdiff_t>(w.cond_consts)),
      groups[2];
  std::vector<std::size_t> order;
  std::size_t count = w.body_consts + w.carry;
  std::vector<std::size_t> tangent_at(count);
  for (std::size_t i = 0, next = count; i < count; ++i)
    if (nonzero[w.cond_consts + i]) tangent_at[i] = next++;
  for (int g = 0; g < 2; ++g) {
    std::size_t from = g == 0 ? 0 : w.body_consts, to = g == 0 ? w.body_consts : count;
    for (std::size_t i = from; i < to; ++i) {
      groups[g].push_back(a.inputs[w.cond_consts + i]);
      order.push_back(i);
    }
    for (std::size_t i = from; i < to; ++i) {
      std::size_t operand = w.cond_consts + i;
      if (!nonzero[operand]) continue;
      groups[g].push_back(a.tangents[operand] ? *a.tangents[operand]
                                              : zeros(a.b, a.inputs[operand].type()));
      order.push_back(tangent_at[i]);
    }
  }
  // The condition receives the tangents too, and ignores them.
  Builder c(w.cond->name);
  Values seen;
  for (Var v : w.cond->inputs) seen.push_back(c.input(w.cond->types[v]));
  for (std::size_t i = 0; i < w.carry; ++i)
    if (nonzero[w.first_carry + i]) c.input(a.inputs[w.first_carry + i].type());
  ProgramPtr cond = c.finish(c.inline_program(*w.cond, seen));

  ProgramPtr body = reordered(*jvp.program, order, iota_positions(jvp.program->outputs.size()));
  Values out = while_(cond, body, cond_consts, groups[0], groups[1]);
  JvpBoth result;
  result.outputs.assign(out.begin(), out.begin() + static_cast<std::ptrdiff_t>(w.carry));
  std::size_t next = w.carry;
  for (std::size_t i = 0; i < w.carry; ++i)
    result.tangents.push_back(nonzero[w.first_carry + i] ? MaybeValue(out[next++]) : MaybeValue());
  return result;
}

// The number of iterations is unknown, so residuals cannot be stacked: the known carries get a loop
// of their own, and the loop of the unknown carries recomputes the known ones.
PartialEvalResult while_partial_eval(const PartialEvalArgs& a) {
  WhileLayout w(a.attrs);
  std::vector<bool> unknown(a.inputs.size());
  for (std::size_t i = 0; i < unknown.size(); ++i) unknown[i] = !a.inputs[i];
  PartialEvaluation cond, body;
  for (bool grew = true; grew;) {
    grew = false;
    cond = partial_eval(*w.cond, w.for_cond<bool>(unknown));
    std::vector<bool> force(unknown.begin() + static_cast<std::ptrdiff_t>(w.first_carry),
                            unknown.end());
    body = partial_eval(*w.body, w.for_body<bool>(unknown), force);
    for (std::size_t i = 0; i < w.carry; ++i)
      if ((cond.unknown_out[0] || body.unknown_out[i]) && !unknown[w.first_carry + i])
        unknown[w.first_carry + i] = grew = true;
  }

  PartialEvalResult r;
  r.outputs.resize(w.carry);
  std::vector<std::size_t> kept;
  for (std::size_t i = 0; i < w.carry; ++i) {
    if (unknown[w.first_carry + i])
      r.taken_outputs.push_back(i);
    else
      kept.push_back(i);
  }
  if (!kept.empty()) {
    auto without_residuals = [](const PartialEvaluation& split) {
      return reordered(*split.known, iota_positions(split.known->inputs.size()),
                       iota_positions(split.known->outputs.size() - split.residuals));
    };
    Values groups[3];
    for (std::size_t i = 0; i < unknown.size(); ++i)
      if (!unknown[i])
        groups[i < w.cond_consts ? 0 : i < w.first_carry ? 1 : 2].push_back(*a.inputs[i]);
    Values out = while_(without_residuals(cond), prune(*without_residuals(body)), groups[0],
                        groups[1], groups[2]);
    for (std::size_t k = 0; k < kept.size(); ++k) r.outputs[kept[k]] = out[k];
  }
  if (r.taken_outputs.empty()) return r;
  r.op = &a.op;
  r.attrs = a.attrs;
  if (!kept.empty()) {  // the first loop has had the side effects
    r.attrs.set(WhileLayout::kCond, without_effects(w.cond));
    r.attrs.set(WhileLayout::kBody, without_effects(w.body));
  }
  std::size_t unknowns = 0;
  for (const MaybeValue& v : a.inputs)
    if (v) r.residuals.push_back(*v);
  std::size_t residuals = 0;
  for (const MaybeValue& v : a.inputs)
    r.input_order.push_back(v ? residuals++ : r.residuals.size() + unknowns++);
  return r;
}

MaybeValues while_transpose(const TransposeArgs& a) {
  Message("while_loop")
      .problem("reverse-mode differentiation needs a number of steps that is known beforehand")
      .rule(
          "the backward pass replays the steps in reverse, so each step's values must have a place "
          "to be kept")
      .from(a.b.loc)
      .advice("try scan, or fori_loop with static bounds")
      .raise<TraceError>();
}

BatchResult while_batch(const BatchArgs& a) {
  WhileLayout w(a.attrs);
  Values in(a.inputs.begin(), a.inputs.end());
  std::vector<int> dims(a.dims.begin(), a.dims.end());
  auto stack_carry = [&](std::size_t i) {
    in[i] = stacked_at(in[i], dims[i], 0, a.size);
    dims[i] = 0;
  };
  for (std::size_t i = w.first_carry; i < in.size(); ++i)
    if (dims[i] != kUnbatched) stack_carry(i);
  BatchProgram cond, body;
  for (bool grew = true; grew;) {
    grew = false;
    std::vector<bool> force;
    for (std::size_t i = 0; i < w.carry; ++i)
      force.push_back(dims[w.first_carry + i] != kUnbatched);
    cond = batch_program(*w.cond, w.for_cond<int>(dims), a.size, a.axis_name);
    body = batch_program(*w.body, w.for_body<int>(dims), a.size, a.axis_name, force);
    for (std::size_t i = 0; i < w.carry; ++i) {
      // If each lane has its own predicate, each lane stops at its own iteration.
      if (!(cond.batched_out[0] || body.batched_out[i]) || dims[w.first_carry + i] != kUnbatched)
        continue;
      stack_carry(w.first_carry + i);
      grew = true;
    }
  }

  BatchResult result;
  for (std::size_t i = 0; i < w.carry; ++i) result.dims.push_back(dims[w.first_carry + i]);
  std::span<const Value> all(in);
  auto cond_consts = all.subspan(0, w.cond_consts),
       body_consts = all.subspan(w.cond_consts, w.body_consts);
  auto init = all.subspan(w.first_carry);
  if (!cond.batched_out[0]) {
    result.outputs = while_(cond.program, body.program, cond_consts, body_consts, init);
    return result;
  }

  // Runs while any lane's predicate holds; a lane that has stopped keeps its carry and has no side
  // effects.
  Builder any(w.cond->name);
  Values seen;
  for (Var v : cond.program->inputs) seen.push_back(any.input(cond.program->types[v]));
  Values some{reduce_or(any.inline_program(*cond.program, seen)[0], {0})};
  Builder step(w.body->name);
  Values cond_in, body_in;
  for (const Value& v : cond_consts) cond_in.push_back(step.input(v.type()));
  for (const Value& v : body_consts) body_in.push_back(step.input(v.type()));
  for (const Value& v : init) {
    Value c = step.input(v.type());
    cond_in.push_back(c);
    body_in.push_back(c);
  }
  // The condition's side effects already took place when the loop evaluated it.
  Value runs = step.inline_program(*without_effects(cond.program), cond_in)[0];
  Values next;
  if (has_effects(*w.body)) {
    std::vector<int> lanes = w.for_body<int>(dims);
    lanes.insert(lanes.begin(), 0);
    body_in.insert(body_in.begin(), runs);
    next = step.inline_program(*batch_program(*guarded(*w.body), lanes, a.size, a.axis_name,
                                              std::vector<bool>(w.carry, true))
                                    .program,
                               body_in);
    body_in.erase(body_in.begin());
  } else {
    next = step.inline_program(*body.program, body_in);
  }
  for (std::size_t i = 0; i < w.carry; ++i)
    next[i] =
        select(broadcast_in_dim(runs, next[i].shape(), {0}), next[i], body_in[w.body_consts + i]);
  result.outputs =
      while_(any.finish(some), step.finish(next), cond_consts, all.subspan(0, w.first_carry), init);
  return result;
}

std::vector<OpExample> while_examples() {
  Type scalar(DType::float32, {}), counter(DType::int32, {});
  Builder c("cond");
  Value limit = c.input(counter), n = c.input(counter);
  c.input(scalar);
  Values go{lt(n, limit)};
  ProgramPtr cond = c.finish(go);
  Builder b("body");
  Value w = b.input(scalar), i = b.input(counter), x = b.input(scalar);
  Values next{add(i, ops::scalar(b, DType::int32, 1)), mul(mul(x, x), w)};
  ProgramPtr body = b.finish(next);
  return {{{counter, scalar, counter, scalar}, WhileLayout::make(cond, body, 1, 1)}};
}

}  // namespace

void register_while(Registry& r) {
  Op op;
  op.name = "while";
  op.doc =
      "Runs body(body consts, carry) -> carry while cond(cond consts, carry) is true, and gives "
      "the last carry, which keeps its "
      "dtype and shape. It has a forward-mode derivative only: the number of steps is not known "
      "beforehand.";
  op.stablehlo = "while";
  op.attrs = {
      {WhileLayout::kCond, AttrKind::program, "(cond consts, carry) -> boolean scalar"},
      {WhileLayout::kBody, AttrKind::program, "(body consts, carry) -> carry"},
      {WhileLayout::kCondConsts, AttrKind::integer, "how many operands only cond sees"},
      {WhileLayout::kBodyConsts, AttrKind::integer, "how many operands only the body sees"}};
  op.outputs = -1;
  op.cheap = false;
  op.lowering = Lowering::control;
  op.infer = while_infer;
  op.jvp_both = while_jvp;
  op.partial_eval = while_partial_eval;
  op.transpose = while_transpose;
  op.batch = while_batch;
  op.vary = while_vary;
  op.updates = [](const UpdateArgs& a) -> std::vector<std::size_t> {
    // A carry is an update of its initial value.
    return {WhileLayout(a.attrs).first_carry + a.output};
  };
  op.flow = [](const Attrs& attrs) {
    const WhileLayout w(attrs);
    return Flow{.kind = Flow::Kind::loop,
                .programs = {w.cond, w.body},
                .cond_consts = w.cond_consts,
                .consts = w.body_consts,
                .carry = w.carry};
  };
  op.with_flow = [](const Attrs&, const Flow& f) {
    return WhileLayout::make(f.condition(), f.body(), f.cond_consts, f.consts);
  };
  op.evaluate = while_evaluate;
  // The cost of one iteration, because their number is unknown.
  op.cost = [](std::span<const Type>, std::span<const Type>, const Attrs& attrs) {
    const WhileLayout w(attrs);
    Cost c = cost_of(*w.cond), d = cost_of(*w.body);
    return Cost{c.flops + d.flops, c.bytes + d.bytes};
  };
  op.waived = {{"jvp", "jvp_both makes primals and tangents in one loop"},
               {"sharding", "the partitioner walks the body"},
               {"emit", "the executor runs the body"}};
  op.examples = while_examples;
  r.add(std::move(op));
}

}  // namespace tessera::inline v0::ops
