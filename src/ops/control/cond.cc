// cond: runs one of several programs, selected by an index.
#include "ir/interpret.h"
#include "ir/nested.h"
#include "ir/op.h"
#include "ops/batching.h"
#include "ops/build.h"
#include "ops/control/agree.h"
#include "ops/control/cond_rules.h"
#include "ops/control/effects.h"
#include "ops/control/nested.h"

#include <algorithm>
#include <cstring>

namespace tessera::inline v0::ops {

Values cond(Value index, const Programs& branches, std::span<const Value> operands) {
  return cond(index, branches, operands, false);
}

Values cond(Value index, const Programs& branches, std::span<const Value> operands, bool split) {
  Values inputs{index};
  inputs.insert(inputs.end(), operands.begin(), operands.end());
  Programs agreed = branches;
  for (const ProgramPtr& branch : branches)
    if (branch->inputs.size() != operands.size() ||
        branch->outputs.size() != branches[0]->outputs.size())
      return index.builder->emit("cond", inputs, CondAttrs::make(branches));  // infer rejects them
  agree_cond(*index.builder, agreed, inputs);
  return index.builder->emit("cond", inputs, CondAttrs::make(std::move(agreed), split));
}

namespace {

std::vector<Type> cond_infer(const InferArgs& a) {
  const Programs& branches = CondAttrs(a.attrs).branches;
  if (branches.empty()) throw InternalError("a cond has at least one branch");
  check_same(a, "the index", Type(DType::int32, {}), a.inputs[0]);
  std::vector<Type> results = branches[0]->output_types();
  for (std::size_t k = 0; k < branches.size(); ++k) {
    check_inputs(a, "branch " + std::to_string(k), *branches[k], a.inputs.subspan(1));
    std::vector<Type> types = branches[k]->output_types();
    if (types.size() != results.size())
      Message("cond")
          .problem("branch 0 gives " + std::to_string(results.size()) + " results and branch " +
                   std::to_string(k) + " gives " + std::to_string(types.size()))
          .rule("all branches give the same results")
          .from(a.loc)
          .raise<TreeError>();
    for (std::size_t i = 0; i < types.size(); ++i) {
      check_same(a, "result " + std::to_string(i) + " of branches 0 and " + std::to_string(k),
                 results[i], types[i]);
      results[i].weak = results[i].weak && types[i].weak;
    }
  }
  return results;
}

std::vector<AxisSet> cond_vary(const VaryArgs& a) {
  std::vector<AxisSet> results;
  for (const ProgramPtr& branch : CondAttrs(a.attrs).branches) {
    std::vector<AxisSet> out = vary_through(*branch, {a.inputs.begin() + 1, a.inputs.end()});
    results.resize(out.size());
    for (std::size_t i = 0; i < out.size(); ++i) results[i] |= out[i];
  }
  for (AxisSet& s : results) s |= a.inputs[0];
  return results;
}

void cond_evaluate(const EvalArgs& a) {
  const Programs& branches = CondAttrs(a.attrs).branches;
  std::int64_t last = static_cast<std::int64_t>(branches.size()) - 1;
  std::int64_t k = std::clamp<std::int64_t>(*a.inputs[0].data<std::int32_t>(), 0, last);
  std::vector<HostArray> out =
      evaluate(*branches[static_cast<std::size_t>(k)], a.inputs.subspan(1));
  for (std::size_t i = 0; i < out.size(); ++i)
    std::memcpy(a.outputs[i].bytes, out[i].bytes, static_cast<std::size_t>(out[i].size_bytes()));
}

// Members that take another branch have no residuals for the linear part of this branch, and their
// cotangents do not belong to it.
void check_split(const BatchArgs& a, const Programs& branches) {
  if (!CondAttrs(a.attrs).split || a.axis_name.empty()) return;
  const Equation* found = find_collective(branches, a.axis_name);
  if (!found) return;
  Message m("vmap");
  m.problem("a derivative is taken inside, through a " + found->op->shown() + " over '" +
            a.axis_name + "' in a branch that each member chooses by itself")
      .rule(
          "a collective has a derivative where all members come by it, or where the derivative is "
          "taken of the whole map")
      .from(found->loc ? found->loc : a.b.loc)
      .advice("take the derivative outside of vmap, choose the branch by a psum or pmax over '" +
              a.axis_name + "', or move the collective out of it")
      .raise<CollectiveError>();
}

// Runs a branch for all members, but its side effects only for the members that take it.
BatchResult branch_batch(const BatchArgs& a, std::size_t k) {
  const Programs& branches = CondAttrs(a.attrs).branches;
  if (!has_effects(*branches[k]))
    return batch_inline(a.b, *branches[k], a.inputs.subspan(1), a.dims.subspan(1), a.size,
                        a.axis_name);
  const Value last = full_like(a.inputs[0], static_cast<double>(branches.size() - 1));
  const Value index = clamp(zeros_like(last), a.inputs[0], last);
  Values in(a.inputs.begin(), a.inputs.end());
  in[0] = eq(index, full_like(index, static_cast<double>(k)));
  return batch_inline(a.b, *guarded(*branches[k]), in, a.dims, a.size, a.axis_name);
}

// If the index is stacked, every branch runs and the results are selected; otherwise one branch
// runs over the stack.
BatchResult cond_batch(const BatchArgs& a) {
  const Programs& branches = CondAttrs(a.attrs).branches;
  std::size_t results = branches[0]->outputs.size();
  BatchResult r;
  if (a.dims[0] == kUnbatched) {
    std::vector<int> dims(a.dims.begin() + 1, a.dims.end());
    std::vector<bool> stacked(results);
    for (const ProgramPtr& branch : branches) {
      BatchProgram p = batch_program(*branch, dims, a.size, a.axis_name);
      for (std::size_t i = 0; i < results; ++i) stacked[i] = stacked[i] || p.batched_out[i];
    }
    Programs batched;
    for (const ProgramPtr& branch : branches)
      batched.push_back(batch_program(*branch, dims, a.size, a.axis_name, stacked).program);
    r.outputs = cond(a.inputs[0], batched, a.inputs.subspan(1), CondAttrs(a.attrs).split);
    for (bool s : stacked) r.dims.push_back(s ? 0 : kUnbatched);
    return r;
  }
  check_split(a, branches);
  for (std::size_t k = branches.size(); k-- > 0;) {
    BatchResult one = branch_batch(a, k);
    for (std::size_t i = 0; i < results; ++i)
      one.outputs[i] = stacked_at(one.outputs[i], one.dims[i], 0, a.size);
    if (r.outputs.empty()) {
      r.outputs = one.outputs;
      continue;
    }
    Value limit = full_like(a.inputs[0], static_cast<double>(k));
    Value chosen = le(a.inputs[0], limit);
    for (std::size_t i = 0; i < results; ++i)
      r.outputs[i] = select(broadcast_in_dim(chosen, one.outputs[i].shape(), {0}), one.outputs[i],
                            r.outputs[i]);
  }
  r.dims.assign(results, 0);
  return r;
}

std::vector<OpExample> cond_examples() {
  Type vector(DType::float32, {3});
  auto branch = [&](int kind) {
    Builder b("branch");
    Value x = b.input(vector), y = b.input(vector);
    Values out{kind == 0 ? mul(x, y) : kind == 1 ? mul(x, x) : add(x, neg(y))};
    return ProgramPtr(b.finish(out));
  };
  return {{{Type(DType::int32, {}), vector, vector},
           CondAttrs::make({branch(0), branch(1), branch(2)})}};
}

}  // namespace

void register_cond(Registry& r) {
  Op op;
  op.name = "cond";
  op.doc =
      "Runs branches[index](operands...), the index clamped into range. All branches take the same "
      "operands and give results of "
      "the same dtypes and shapes.";
  op.stablehlo = "case";
  op.attrs = {{CondAttrs::kBranches, AttrKind::programs, "(operands...) -> results, each of them"},
              {CondAttrs::kSplit, AttrKind::boolean,
               "there where the branches are the linear part of others, with collectives"}};
  op.outputs = -1;
  op.cheap = false;
  op.lowering = Lowering::control;
  op.infer = cond_infer;
  op.jvp_both = cond_jvp;
  op.partial_eval = cond_partial_eval;
  op.transpose = cond_transpose;
  op.batch = cond_batch;
  op.vary = cond_vary;
  op.flow = [](const Attrs& attrs) {
    return Flow{.kind = Flow::Kind::branch, .programs = CondAttrs(attrs).branches};
  };
  op.with_flow = [](const Attrs& attrs, const Flow& f) {
    Attrs changed = attrs;
    changed.set(CondAttrs::kBranches, f.programs);
    return changed;
  };
  op.evaluate = cond_evaluate;
  // The cost of the most expensive branch.
  op.cost = [](std::span<const Type>, std::span<const Type>, const Attrs& attrs) {
    Cost most;
    for (const ProgramPtr& branch : CondAttrs(attrs).branches) {
      Cost c = cost_of(*branch);
      most = {std::max(most.flops, c.flops), std::max(most.bytes, c.bytes)};
    }
    return most;
  };
  op.waived = {{"jvp", "jvp_both makes primals and tangents in one branch"},
               {"sharding", "the partitioner walks the branches"},
               {"updates", "its branches may do different things to a state"},
               {"emit", "the executor runs the branch"}};
  op.examples = cond_examples;
  r.add(std::move(op));
}

}  // namespace tessera::inline v0::ops
