#include "transform/replace_equations.h"

#include "base/message.h"
#include "ir/op.h"
#include "transform/at_equation.h"

#include <numeric>
#include <optional>

namespace tessera::inline v0 {

namespace {

class Replacer {
 public:
  explicit Replacer(const Program& p) : q_(std::make_shared<Program>(p)), instead_(p.types.size()) {
    std::iota(instead_.begin(), instead_.end(), Var{0});
    q_->equations.clear();
  }

  void keep(Equation eqn) {
    for (Var& v : eqn.inputs) v = instead_[v];
    q_->equations.push_back(std::move(eqn));
  }

  void replace(const Equation& eqn, const Program& parts) {
    std::vector<Var> env(parts.types.size());
    for (std::size_t i = 0; i < parts.inputs.size(); ++i)
      env[parts.inputs[i]] = instead_[eqn.inputs[i]];
    for (Equation part : parts.equations) {
      for (Var& v : part.inputs) v = env[v];
      for (Var& v : part.outputs) {
        q_->types.push_back(parts.types[v]);
        env[v] = static_cast<Var>(q_->types.size() - 1);
        v = env[v];
      }
      q_->equations.push_back(std::move(part));
    }
    for (std::size_t i = 0; i < eqn.outputs.size(); ++i) {
      const Type &want = q_->types[eqn.outputs[i]], &got = parts.types[parts.outputs.at(i)];
      if (!(want == got))
        throw InternalError("the parts of '" + eqn.op->name + "' give " + to_string(got) +
                            " for a result " + to_string(want));
      instead_[eqn.outputs[i]] = env[parts.outputs[i]];
    }
  }

  ProgramPtr finish() {
    for (Var& v : q_->outputs) v = instead_[v];
    return q_;
  }

 private:
  std::shared_ptr<Program> q_;
  std::vector<Var> instead_;  // for each variable of the program
};

}  // namespace

ProgramPtr replace_equations(const ProgramPtr& p, const PartsOf& parts_of) {
  std::optional<Replacer> r;
  for (std::size_t k = 0; k < p->equations.size(); ++k) {
    const Equation& eqn = p->equations[k];
    const std::shared_ptr<Program> parts = parts_of(*p, eqn);
    if (parts && !r) {
      r.emplace(*p);
      for (std::size_t i = 0; i < k; ++i) r->keep(p->equations[i]);
    }
    if (parts)
      r->replace(eqn, *parts);
    else if (r)
      r->keep(eqn);
  }
  return r ? r->finish() : p;
}

std::shared_ptr<Program> parts_for(
    const Program& p, const Equation& eqn,
    const std::function<std::optional<Values>(Builder& b, const Values& operands)>& write) {
  Builder b;
  AtEquation at(b, eqn);
  Values in;
  for (const Var v : eqn.inputs) in.push_back(b.input(p.types[v]));
  std::optional<Values> out = write(b, in);
  if (!out) return nullptr;
  // The parts may track which results a varying operand flows into, although the op does not.
  for (std::size_t i = 0; i < out->size(); ++i)
    (*out)[i] = b.vary_over((*out)[i], p.types[eqn.outputs[i]].varying);
  return b.finish(*out);
}

}  // namespace tessera::inline v0
