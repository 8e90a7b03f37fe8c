// Splits a program by dataflow into the part that depends on known inputs only, and the rest.
//
// A value crosses from the known to the unknown program in one of three ways: as a residual (an
// output of the known program, an input of the unknown one); recomputed because it is as cheap as a
// constant; or recomputed because a remat policy does not save it.
#include "ir/interpret.h"
#include "ir/op.h"
#include "ir/policy.h"
#include "ops/control/effects.h"
#include "transform/at_equation.h"
#include "transform/dead_code.h"

#include <algorithm>

namespace tessera::inline v0 {

namespace {

constexpr std::int64_t kSmallConstant = 16;  // elements

class Splitter {
 public:
  Splitter(const Program& p, const std::vector<bool>& unknown_in, const RematPolicy* policy)
      : p_(p),
        policy_(policy),
        known_(p.name),
        unknown_(p.name),
        known_of_(p.types.size()),
        unknown_of_(p.types.size()) {
    for (std::size_t i = 0; i < p.inputs.size(); ++i) {
      Var v = p.inputs[i];
      if (unknown_in[i])
        unknown_of_[v] = unknown_.input(p.types[v]);
      else
        known_of_[v] = known_.input(p.types[v]);
    }
    unknown_inputs_ = unknown_.so_far().inputs.size();
  }

  PartialEvaluation run(const std::vector<bool>& force_unknown_out) {
    for (const Equation& eqn : p_.equations) visit(eqn);

    PartialEvaluation split;
    Values known_out, unknown_out;
    for (std::size_t i = 0; i < p_.outputs.size(); ++i) {
      Var v = p_.outputs[i];
      bool unknown = !known_of_[v] || (!force_unknown_out.empty() && force_unknown_out[i]);
      split.unknown_out.push_back(unknown);
      if (unknown)
        unknown_out.push_back(across(v));
      else
        known_out.push_back(*known_of_[v]);
    }

    // Residuals come first; those that are not needed are dropped.
    std::shared_ptr<Program> rest = unknown_.finish(unknown_out);
    std::rotate(rest->inputs.begin(),
                rest->inputs.begin() + static_cast<std::ptrdiff_t>(unknown_inputs_),
                rest->inputs.end());
    rest = dead_code(*rest);
    std::vector<bool> used = used_inputs(*rest);
    std::vector<Var> inputs;
    for (std::size_t i = 0; i < rest->inputs.size(); ++i) {
      bool residual = i < residuals_.size();
      if (residual && !used[i]) continue;
      inputs.push_back(rest->inputs[i]);
      if (!residual) continue;
      known_out.push_back(residuals_[i]);
      ++split.residuals;
    }
    rest->inputs = std::move(inputs);
    split.unknown = prune(*rest);
    split.known = dead_code(*known_.finish(known_out));
    return split;
  }

 private:
  void visit(const Equation& eqn) {
    std::size_t unknown = 0;
    for (Var v : eqn.inputs) unknown += known_of_[v] ? 0 : 1;
    if (unknown == 0) {
      Values in;
      for (Var v : eqn.inputs) in.push_back(*known_of_[v]);
      Values out = known_.copy(eqn, in);
      for (std::size_t i = 0; i < out.size(); ++i) known_of_[eqn.outputs[i]] = out[i];
    } else if (eqn.op->partial_eval && unknown < eqn.inputs.size()) {
      split(eqn);
    } else {
      Values in;
      for (Var v : eqn.inputs) in.push_back(across(v));
      Values out = unknown_.copy(eqn, in);
      for (std::size_t i = 0; i < out.size(); ++i) unknown_of_[eqn.outputs[i]] = out[i];
    }
  }

  void split(const Equation& eqn) {
    MaybeValues in;
    std::vector<Type> types;
    Values rest_in;
    for (Var v : eqn.inputs) {
      in.push_back(known_of_[v]);
      types.push_back(p_.types[v]);
    }
    PartialEvalResult r;
    {
      AtEquation at(known_, eqn);
      r = eqn.op->partial_eval({known_, *eqn.op, eqn.attrs, in, types});
    }
    for (const Value& v : r.residuals) rest_in.push_back(across_known(v.var));
    for (Var v : eqn.inputs)
      if (!known_of_[v]) rest_in.push_back(*unknown_of_[v]);
    if (!r.input_order.empty()) {
      Values ordered;
      for (std::size_t k : r.input_order) ordered.push_back(rest_in.at(k));
      rest_in = std::move(ordered);
    }
    Values rest_out;
    if (r.op) {
      AtEquation at(unknown_, eqn);
      rest_out = unknown_.emit(*r.op, rest_in, r.attrs);
    }
    std::size_t next = 0;
    for (std::size_t i = 0; i < eqn.outputs.size(); ++i) {
      if (r.outputs.at(i)) {
        known_of_[eqn.outputs[i]] = r.outputs[i];
      } else {
        unknown_of_[eqn.outputs[i]] =
            rest_out.at(r.taken_outputs.empty() ? next : r.taken_outputs.at(next));
        ++next;
      }
    }
  }

  // Variable `v` of the program as a value of the unknown program.
  Value across(Var v) { return known_of_[v] ? across_known(known_of_[v]->var) : *unknown_of_[v]; }

  // Returns variable `root` of the known program as a value of the unknown one. An explicit stack
  // replaces recursion over the recomputed equations.
  Value across_known(Var root) {
    learn();
    std::vector<Var> stack{root};
    while (!stack.empty()) {
      Var v = stack.back();
      if (moved_[v]) {
        stack.pop_back();
        continue;
      }
      const std::size_t made_by = known_.producer_index(v);
      if (made_by == Builder::kInput || !again_[made_by]) {
        moved_[v] = unknown_.input(known_.type(v));
        residuals_.push_back({&known_, v});
        stack.pop_back();
        continue;
      }
      const Equation& eqn = known_.so_far().equations[made_by];
      bool ready = true;
      for (Var in : eqn.inputs)
        if (!moved_[in]) {
          stack.push_back(in);
          ready = false;
        }
      if (!ready) continue;
      Values in;
      for (Var i : eqn.inputs) in.push_back(*moved_[i]);
      // Side effects are not repeated.
      Values out = unknown_.copy(ops::without_effects(eqn), in);
      for (std::size_t i = 0; i < out.size(); ++i) moved_[eqn.outputs[i]] = out[i];
    }
    return *moved_[root];
  }

  // Records the known equations added since the last call.
  void learn() {
    const Program& known = known_.so_far();
    moved_.resize(known.types.size());
    for (std::size_t e = again_.size(); e < known.equations.size(); ++e) {
      const Equation& eqn = known.equations[e];
      bool cheap = is_cheap(eqn);
      cheap_.push_back(cheap);
      // The results of side effects are kept, because side effects are not repeated.
      again_.push_back(cheap || (policy_ && !eqn.op->effect && !ops::needs_effects(eqn) &&
                                 !policy_->saveable(eqn, known)));
    }
  }

  bool is_cheap(const Equation& eqn) const {
    if (eqn.op->literal) return known_.type(eqn.outputs[0]).shape.count() <= kSmallConstant;
    return eqn.op->recomputed && std::all_of(eqn.inputs.begin(), eqn.inputs.end(), [&](Var v) {
             const std::size_t made_by = known_.producer_index(v);
             return made_by != Builder::kInput && cheap_[made_by];
           });
  }

  const Program& p_;
  const RematPolicy* policy_;
  Builder known_, unknown_;
  MaybeValues known_of_, unknown_of_;  // for each variable of p
  std::size_t unknown_inputs_ = 0;
  Values residuals_;
  MaybeValues moved_;  // for each variable of the known program, its value in the unknown one
  // For each equation of the known program.
  std::vector<bool> cheap_, again_;
};

}  // namespace

PartialEvaluation partial_eval(const Program& p, const std::vector<bool>& unknown_in,
                               const std::vector<bool>& force_unknown_out) {
  return Splitter(p, unknown_in, nullptr).run(force_unknown_out);
}

PartialEvaluation partial_eval_saving(const Program& p, const std::vector<bool>& unknown_in,
                                      const RematPolicy& policy) {
  return Splitter(p, unknown_in, &policy).run({});
}

}  // namespace tessera::inline v0
