// Removes operations that return their operand and merges pairs of operations into one, by the ops'
// simplify rules.
#include "ir/builder.h"
#include "ir/op.h"
#include "transform/scalars.h"
#include "transform/simplify.h"

#include <numeric>

namespace tessera::inline v0 {

namespace {

class Canceller : public Surroundings {
 public:
  explicit Canceller(const Program& p)
      : q_(std::make_shared<Program>(p)), scalars_(p.types.size()), made_by_(p.types.size()) {}

  ProgramPtr run() {
    std::vector<Var> same(q_->types.size());
    std::iota(same.begin(), same.end(), Var{0});
    bool changed = false;
    for (Equation& eqn : q_->equations) {
      for (Var& v : eqn.inputs) v = same[v];
      for (Var v : eqn.outputs) made_by_[v] = &eqn;
      scalars_.learn(eqn);
      if (!eqn.op->simplify) continue;
      op_ = eqn.op;
      Simplified s = eqn.op->simplify({eqn, *this});
      const Var out = eqn.outputs[0];
      if (s.same && q_->types[*s.same] == q_->types[out]) {
        same[out] = *s.same;
        changed = true;
      } else if (s.operand) {
        eqn.inputs = {*s.operand};
        eqn.attrs = std::move(s.attrs);
        changed = true;
      }
    }
    if (!changed) return nullptr;
    for (Var& v : q_->outputs) v = same[v];
    return prune(*q_);
  }

  const Type& type(Var v) const override { return q_->types[v]; }
  const Equation* same_op(Var v) const override {
    return made_by_[v] && made_by_[v]->op == op_ ? made_by_[v] : nullptr;
  }
  bool is(Var v, double number) const override { return scalars_.is(v, number); }

 private:
  std::shared_ptr<Program> q_;
  Scalars scalars_;
  std::vector<const Equation*> made_by_;
  const Op* op_ = nullptr;  // of the equation being simplified
};

}  // namespace

ProgramPtr cancel(const ProgramPtr& p) {
  ProgramPtr q = Canceller(*p).run();
  return q ? q : p;
}

}  // namespace tessera::inline v0
