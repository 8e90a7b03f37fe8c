#include "codegen/tape/lower.h"

#include "base/warning.h"
#include "codegen/calls/calls.h"
#include "codegen/fuse/stretches.h"
#include "codegen/fuse/traits.h"
#include "codegen/kernel/kernel.h"
#include "codegen/nest/nest.h"
#include "codegen/tape/operands.h"
#include "codegen/tape/step_work.h"
#include "ir/collective_attrs.h"
#include "ir/nested.h"

#include <algorithm>
#include <cmath>

namespace tessera::inline v0::tape {

Lowerer::Lowerer(TapeContext& ctx, DraftTape& draft, const Level& level, const Updates& updates,
                 const std::vector<int>& ties, const Scope& scope, Mask inner, bool top)
    : SlotTable(ctx, draft),
      level_(level),
      flat_(*level.flat),
      updates_(updates),
      ties_(ties),
      scope_(scope),
      inner_(inner),
      top_(top),
      ref_(flat_.types.size()),
      assembled_(flat_.types.size(), -1) {}

std::size_t Lowerer::add(Step step) {
  std::size_t i = draft_.steps.size();
  if (const auto* copy = std::get_if<CopyStep>(&step.kind))
    step.work.bytes = 2 * static_cast<double>(copy->box.bytes());
  for (const Ref& r : step.outputs)
    draft_.producer[static_cast<std::size_t>(r.slot)] = static_cast<int>(i);
  draft_.steps.push_back(std::move(step));
  draft_.after.push_back(after_);
  return i;
}

// Waits only for steps that already exist, so that no cycle can arise.
void Lowerer::hold(const std::vector<std::size_t>& equations) {
  after_.clear();
  int last = -1;
  for (std::size_t i : equations) {
    const int h = level_.hold[i];
    if (h < 0 || h == last) continue;
    last = h;
    for (Var v : level_.holds[static_cast<std::size_t>(h)])
      if (ref_[v].slot >= 0)
        if (int p = draft_.producer[static_cast<std::size_t>(ref_[v].slot)]; p >= 0)
          after_.push_back(static_cast<std::size_t>(p));
  }
}

Ref Lowerer::new_value(Var v, Mask mask) {
  const Type& t = flat_.types[v];
  ref_[v] = Ref{slot(Space::arena, mask, t.bytes(), t.dtype)};
  at(ref_[v].slot).same = mask & ~level_.differs[v];
  return ref_[v];
}

Mask Lowerer::active(std::size_t equation) const {
  const Scope& s = level_.scopes[static_cast<std::size_t>(level_.scope[equation])];
  return s.all() & ~(scope_.all() & ~inner_);
}

Ref Lowerer::dense(Var v) {
  if (ref_[v].slot >= 0) return ref_[v];
  if (assembled_[v] >= 0) return ref_[v] = assemble(v);
  // Only an input of the top-level program has no location yet.
  if (!top_ || v >= flat_.inputs.size()) throw InternalError("planner: a variable without a value");
  Argument a;
  a.input = v;
  a.type = flat_.types[v];
  return ref_[v] = argument(std::move(a), 0, flat_.types[v].bytes(), flat_.types[v].dtype);
}

Ref Lowerer::copy_of(const Ref& from, Mask mask, const Type& type, Space space) {
  Ref out{slot(space, mask, type.bytes(), type.dtype)};
  copy(from, out, mask, type);
  return out;
}

void Lowerer::copy(const Ref& from, const Ref& to, Mask mask, const Type& type) {
  Step step;
  step.name = "copy";
  step.mask = mask;
  const std::int64_t e = size_of(type.dtype), n = type.shape.count();
  step.kind = CopyStep{BoxCopy(Shape{n}, Shape{e}, Shape{e}, e)};
  step.seconds = 1e-7 + 2e-10 * static_cast<double>(type.bytes());
  step.inputs = {from};
  step.outputs = {to};
  add(std::move(step));
}

Ref Lowerer::axis_index(const std::vector<int>& axes) {
  if (auto it = axis_indices_.find(axes); it != axis_indices_.end()) return it->second;
  Mask own = 0;
  for (int a : axes) own |= Mask{1} << a;
  const Mask fixed = scope_.all() & ~inner_;
  Ref r;
  if (own & fixed) {
    hidden.push_back(axes);
    Argument a;
    a.input = flat_.inputs.size() + hidden.size() - 1;
    a.type = Type(DType::int32, {});
    r = argument(a, own & ~fixed, 4, DType::int32);
  } else {
    r = numbers_along(axes);
  }
  axis_indices_[axes] = r;
  return r;
}

void Lowerer::run(const std::vector<Mask>* results) {
  if (!top_)
    for (std::size_t i = 0; i < flat_.inputs.size(); ++i) {
      const Type& t = flat_.types[flat_.inputs[i]];
      Argument a;
      a.input = i;
      a.type = t;
      const Mask mask = level_.mask[flat_.inputs[i]];
      ref_[flat_.inputs[i]] = argument(std::move(a), mask, t.bytes(), t.dtype);
      at(ref_[flat_.inputs[i]].slot).same = mask & ~level_.differs[flat_.inputs[i]];
    }
  if (ctx_.options.evaluate) {
    for (std::size_t i = 0; i < flat_.equations.size(); ++i) {
      hold({i});
      lower_single(i);
    }
  } else {
    // The rematerialised equations of a checkpointed region do not fuse with the original ones.
    // Equations before and after a loop or branch with effects do not fuse either, so that effects
    // keep their order.
    std::map<std::tuple<Mask, int, int>, int> numbers;
    std::vector<int> classes(flat_.types.size());
    int acts = 0;
    for (std::size_t i = 0; i < flat_.equations.size(); ++i) {
      const Equation& eqn = flat_.equations[i];
      if (eqn.op->flow && has_effects(eqn)) ++acts;
      for (Var v : eqn.outputs)
        classes[v] = numbers
                         .try_emplace({level_.mask[v], level_.hold[i], acts},
                                      static_cast<int>(numbers.size()))
                         .first->second;
    }
    codegen::Overwriting overwriting{{}, updates_.after};
    std::size_t last = flat_.equations.size();
    for (std::size_t i = 0; i < flat_.equations.size(); ++i) {
      overwriting.apart.push_back(updates_.any(i));
      if (!has_effects(flat_.equations[i])) continue;
      if (last < i) overwriting.after[i].push_back(last);
      last = i;
    }
    std::vector<Cluster> clusters = codegen::fuse(flat_, classes, overwriting);
    codegen::read_stretches(flat_, clusters);
    for (const Cluster& c : clusters) {
      hold(c.equations);
      lower_cluster(c);
    }
  }
  after_.clear();
  place_results(results);
}

void Lowerer::lower_cluster(const Cluster& c) {
  if (c.kind == Cluster::Kind::single) {
    for (std::size_t i : c.equations) lower_single(i);
    return;
  }
  if (c.equations.size() == 1) {
    const Equation& eqn = flat_.equations[c.equations[0]];
    if (eqn.op->literal) return lower_single(c.equations[0]);
    if (lower_alias(eqn)) return;
  }
  Step step;
  RoutineStep kernel;
  const Equation& last = flat_.equations[c.equations.back()];
  step.name = in_scope(last, c.program->name);
  step.loc = last.loc;
  for (Var v : c.outputs) step.mask |= level_.mask[v];
  for (std::size_t i = 0; i < c.inputs.size(); ++i) {
    step.inputs.push_back(dense(c.inputs[i]));
    if (!c.offsets.empty()) step.inputs.back().offset += c.offsets[i];
    kernel.input_types.push_back(c.program->type(c.program->inputs[i]));
  }
  for (Var v : c.outputs) {
    step.outputs.push_back(new_value(v, step.mask));
    kernel.output_types.push_back(flat_.types[v]);
  }
  step.kind = std::move(kernel);
  step.work = work_of(c);
  ctx_.kernels.push_back({c.program, &draft_, add(std::move(step))});
}

// An equation that does the work of several devices counts as shared equally among them.
Cost Lowerer::work_of(const Cluster& c) const {
  Cost work;
  double devices = 1;
  for (std::size_t i : c.equations) {
    const auto of = static_cast<double>(level_.works_for[i]);
    work.flops += std::round(cost_of(flat_, flat_.equations[i]).flops / of);
    devices = std::max(devices, of);
  }
  work.bytes = std::round(bytes_of_kernel(*c.program) / devices);
  return work;
}

// A kernel that consists of one equation.
Cluster Lowerer::alone(std::size_t i) const {
  const Equation& eqn = flat_.equations[i];
  Cluster c;
  c.kind = Cluster::Kind::kernel;
  c.equations = {i};
  auto p = std::make_shared<Program>();
  p->name = eqn.op->name;
  Equation copy = eqn;
  for (Var& v : copy.inputs) {
    auto it = std::find(c.inputs.begin(), c.inputs.end(), v);
    Var inside = static_cast<Var>(it - c.inputs.begin());
    if (it == c.inputs.end()) {
      c.inputs.push_back(v);
      p->types.push_back(flat_.types[v]);
      p->inputs.push_back(inside);
    }
    v = inside;
  }
  for (Var& v : copy.outputs) {
    c.outputs.push_back(v);
    p->types.push_back(flat_.types[v]);
    v = static_cast<Var>(p->types.size() - 1);
    p->outputs.push_back(v);
  }
  p->equations.push_back(std::move(copy));
  c.program = std::move(p);
  return c;
}

// The equation over one input for each operand.
ProgramPtr Lowerer::over_operands(const Equation& eqn) const {
  auto p = std::make_shared<Program>();
  p->name = eqn.op->name;
  Equation copy = eqn;
  const auto add = [&](Var& v) {
    p->types.push_back(flat_.types[v]);
    return v = static_cast<Var>(p->types.size() - 1);
  };
  for (Var& v : copy.inputs) p->inputs.push_back(add(v));
  for (Var& v : copy.outputs) p->outputs.push_back(add(v));
  p->equations.push_back(std::move(copy));
  return p;
}

void Lowerer::lower_single(std::size_t i) {
  const Equation& eqn = flat_.equations[i];
  const Scope& scope = level_.scopes[static_cast<std::size_t>(level_.scope[i])];
  if (eqn.op == &block_op()) return lower_block(eqn);
  if (eqn.op == &assemble_op()) {
    assembled_[eqn.outputs[0]] = static_cast<int>(assemblies_.size());
    assemblies_.push_back(
        {eqn.inputs[0], static_cast<int>(eqn.attrs.i("region")), eqn.attrs.get<Spec>("spec")});
    return;
  }
  if (eqn.op->literal) {
    const Literal& l = *eqn.op->literal(eqn.attrs);
    ref_[eqn.outputs[0]] = constant(0, Type(l.dtype, l.shape), l.bytes->data());
    return;
  }
  if (eqn.op->position) {
    std::vector<int> axes;
    for (const auto& n : CollectiveAttrs(eqn.attrs).axes) axes.push_back(scope.at(n));
    ref_[eqn.outputs[0]] = axis_index(axes);
    return;
  }
  if (lower_alias(eqn)) return;
  if (eqn.op->lowering == Lowering::control) return lower_control(eqn, i);
  if (eqn.op->lowering == Lowering::collective) return lower_collective(eqn, scope);
  if (!ctx_.options.evaluate && codegen::is_emitted(eqn) && !updates_.any(i) &&
      !codegen::prefers_call(flat_, eqn))
    return lower_cluster(alone(i));
  lower_evaluate(eqn, i);
}

bool Lowerer::lower_alias(const Equation& eqn) {
  if (!eqn.op->forwards) return false;
  for (std::size_t i = 0; i < eqn.outputs.size(); ++i) ref_[eqn.outputs[i]] = dense(eqn.inputs[i]);
  return true;
}

namespace {

// Evaluators are references for tests and orders of magnitude slower than compiled ops.
void warn_of_evaluator(const Equation& eqn, const std::vector<Type>& operands) {
  std::string types;
  for (const Type& t : operands) types += (types.empty() ? "" : ", ") + to_string(t);
  warn(Message(eqn.op->name)
           .problem("operands of types " + types + " have no compiled form, and run slowly")
           .rule("what runs element by element costs a hundred times a kernel")
           .from(eqn.loc)
           .advice("split the operands into smaller ones"));
}

}  // namespace

void Lowerer::lower_evaluate(const Equation& eqn, std::size_t i) {
  Step step;
  OpStep types;
  step.name = in_scope(eqn, shown_name(eqn));
  step.loc = eqn.loc;
  for (Var v : eqn.outputs) step.mask |= level_.mask[v];
  double bytes = 0;
  for (Var v : eqn.inputs) {
    step.inputs.push_back(dense(v));
    types.input_types.push_back(flat_.types[v]);
    bytes += static_cast<double>(flat_.types[v].bytes());
  }
  bool over = false;
  for (std::size_t k = 0; k < eqn.outputs.size(); ++k) {
    const Var v = eqn.outputs[k];
    const int j = takes(eqn, k);
    over = over || j >= 0;
    step.outputs.push_back(
        j < 0 ? new_value(v, step.mask)
              : value_over(eqn, k, step.mask, step.inputs[static_cast<std::size_t>(j)]));
    types.output_types.push_back(flat_.types[v]);
    bytes += static_cast<double>(flat_.types[v].bytes());
  }
  std::shared_ptr<const Routine> routine;
  if (!ctx_.options.evaluate &&
      (over || eqn.op->lowering == Lowering::called || codegen::prefers_call(flat_, eqn)))
    routine = codegen::prepare_call(*eqn.op, eqn.attrs, types.input_types, types.output_types);
  if (routine) {
    step.seconds = routine->seconds;
    step.kind = RoutineStep{std::move(types), std::move(routine)};
  } else {
    if (!eqn.op->evaluate)
      throw InternalError("op '" + eqn.op->name + "' has neither a routine nor an evaluator");
    if (!ctx_.options.evaluate) warn_of_evaluator(eqn, types.input_types);
    step.kind = EvaluateStep{std::move(types), eqn.op, eqn.attrs};
    step.seconds = 5e-7 + 1e-9 * bytes + 1e-8 * cost_of(flat_, eqn).flops;
  }
  const auto devices = static_cast<double>(level_.works_for[i]);
  step.work = {std::round(cost_of(flat_, eqn).flops / devices),
               std::round(bytes_alone(flat_, eqn) / devices)};
  const double seconds = step.seconds;
  const bool updates = std::holds_alternative<RoutineStep>(step.kind) &&
                       codegen::is_emitted_update(eqn, flat_.types[eqn.outputs[0]].dtype);
  const std::size_t added = add(std::move(step));
  if (updates) ctx_.updates.push_back({over_operands(eqn), &draft_, added, seconds});
  wait_for_readers(eqn, added);
  keep_order(eqn, added);
}

// Keeps steps with effects in program order.
void Lowerer::keep_order(const Equation& eqn, std::size_t step) {
  if (!has_effects(eqn)) return;
  if (acted_) draft_.after[step].push_back(*acted_);
  acted_ = step;
}

Lowered lower(TapeContext& ctx, const Program& p, const Inputs& arguments,
              const std::vector<Mask>* results, const Scope& scope, Mask inner, bool top,
              const std::vector<int>& ties) {
  Level level = flatten(ctx, p, arguments, scope, inner, top);
  if (!ctx.options.evaluate) read_through_views(level);
  const Updates updates =
      ctx.options.evaluate
          ? Updates(level.flat->equations.size())
          : plan_updates(level, ties, top ? ctx.options.donated : std::vector<bool>{});
  ctx.drafts.emplace_back();
  DraftTape& draft = ctx.drafts.back();
  draft.tape->name = p.name;
  draft.tape->received = level.received;
  draft.tape->along = level.along;
  draft.fixed = scope.all() & ~inner;
  ctx.draft_of[draft.tape.get()] = &draft;
  Lowerer l(ctx, draft, level, updates, ties, scope, inner, top);
  l.run(results);
  return {&draft, std::move(l.hidden)};
}

}  // namespace tessera::inline v0::tape
