// Operations that give back what they got.
#include "ir/builder.h"
#include "ir/op.h"
#include "transform/scalars.h"
#include "transform/simplify.h"

#include <numeric>

namespace tessera::inline v0 {

namespace {

// Whether every value of `from` survives a conversion to `to` and back.
bool holds_exactly(DType to, DType from) {
  auto integer_bits = [](DType d) { return 8 * size_of(d) - (is_signed_integer(d) ? 1 : 0); };
  auto significand = [](DType d) {
    return d == DType::float64 ? 53 : d == DType::float32 ? 24 : d == DType::float16 ? 11 : 8;
  };
  if (is_floating(from)) return is_floating(to) && size_of(to) > size_of(from);
  if (from == DType::boolean) return true;
  if (is_floating(to)) return to != DType::float16 && integer_bits(from) <= significand(to);
  if (to == DType::boolean) return false;
  return size_of(to) >= size_of(from);  // integers wrap, and wrap back
}

class Canceller {
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
      if (eqn.outputs.size() != 1) continue;
      Var out = eqn.outputs[0];
      Var kept = given_back(eqn);
      if (kept != out && q_->types[kept] == q_->types[out]) {
        same[out] = kept;
        changed = true;
      } else if (shorten(eqn)) {
        changed = true;
      }
    }
    if (!changed) return nullptr;
    for (Var& v : q_->outputs) v = same[v];
    return prune(*q_);
  }

 private:
  const Equation* maker(Var v, std::string_view op) const {
    return made_by_[v] && made_by_[v]->op->name == op ? made_by_[v] : nullptr;
  }

  // The variable that the equation's result is equal to, bit for bit; the result itself where there
  // is none.
  Var given_back(const Equation& eqn) const {
    const std::string& op = eqn.op->name;
    Var out = eqn.outputs[0];
    if (eqn.inputs.empty()) return out;
    Var x = eqn.inputs[0];
    bool floating = is_floating(q_->types[out].dtype);
    if (eqn.inputs.size() == 2) {
      Var y = eqn.inputs[1];
      if (op == "mul") return scalars_.is(y, 1) ? x : scalars_.is(x, 1) ? y : out;
      if (op == "div") return scalars_.is(y, 1) ? x : out;
      if (op == "sub") return scalars_.is(y, 0) ? x : out;
      if (op == "add") {
        double zero = floating ? -0.0 : 0.0;
        return scalars_.is(y, zero) ? x : scalars_.is(x, zero) ? y : out;
      }
      if (op == "or" || op == "xor") return scalars_.is(y, 0) ? x : scalars_.is(x, 0) ? y : out;
      return out;
    }
    if (op == "neg")
      if (const Equation* inner = maker(x, "neg")) return inner->inputs[0];
    if (op == "reverse")
      if (const Equation* inner = maker(x, "reverse"))
        if (inner->attrs == eqn.attrs) return inner->inputs[0];
    if (op == "transpose") {
      const Ints& outer = eqn.attrs.ints("permutation");
      bool identity = true;
      for (std::size_t i = 0; i < outer.size(); ++i)
        identity = identity && outer[i] == static_cast<std::int64_t>(i);
      if (identity) return x;
      if (const Equation* inner = maker(x, "transpose")) {
        const Ints& first = inner->attrs.ints("permutation");
        for (std::size_t i = 0; i < outer.size(); ++i)
          if (first[static_cast<std::size_t>(outer[i])] != static_cast<std::int64_t>(i)) return out;
        return inner->inputs[0];
      }
    }
    if (op == "reshape") {
      if (q_->types[x].shape == q_->types[out].shape) return x;
      if (const Equation* inner = maker(x, "reshape"))
        if (q_->types[inner->inputs[0]].shape == q_->types[out].shape) return inner->inputs[0];
    }
    if (op == "convert") {
      if (q_->types[x].dtype == q_->types[out].dtype) return x;
      if (const Equation* inner = maker(x, "convert")) {
        Var source = inner->inputs[0];
        if (q_->types[source].dtype == q_->types[out].dtype &&
            holds_exactly(q_->types[x].dtype, q_->types[out].dtype))
          return source;
      }
    }
    return out;
  }

  // Two movements in a row as one.
  bool shorten(Equation& eqn) const {
    if (eqn.inputs.size() != 1) return false;
    if (eqn.op->name == "reshape") {
      const Equation* inner = maker(eqn.inputs[0], "reshape");
      if (!inner) return false;
      eqn.inputs[0] = inner->inputs[0];
      return true;
    }
    if (eqn.op->name == "transpose") {
      const Equation* inner = maker(eqn.inputs[0], "transpose");
      if (!inner) return false;
      Ints both;
      for (std::int64_t d : eqn.attrs.ints("permutation"))
        both.push_back(inner->attrs.ints("permutation")[static_cast<std::size_t>(d)]);
      eqn.attrs.set("permutation", std::move(both));
      eqn.inputs[0] = inner->inputs[0];
      return true;
    }
    return false;
  }

  std::shared_ptr<Program> q_;
  Scalars scalars_;
  std::vector<const Equation*> made_by_;
};

}  // namespace

ProgramPtr cancel(const ProgramPtr& p) {
  ProgramPtr q = Canceller(*p).run();
  return q ? q : p;
}

}  // namespace tessera::inline v0
