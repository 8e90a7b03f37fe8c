#include "ir/builder.h"

#include "ir/collective_attrs.h"
#include "ir/nested.h"
#include "ir/op.h"
#include "ir/varying.h"

#include <algorithm>
#include <memory>
#include <new>

namespace tessera::inline v0 {

Builder::Builder(std::string name) : program_(std::make_shared<Program>()) {
  program_->name = std::move(name);
}

Value Builder::input(Type type) {
  Var v = static_cast<Var>(program_->types.size());
  program_->types.push_back(std::move(type));
  program_->inputs.push_back(v);
  made_by_.push_back(kInput);
  return {this, v};
}

namespace {

// A contiguous copy of the operands' types. Most ops have few operands, and a program has many
// equations, so a few types are stored inline without an allocation.
class OperandTypes {
 public:
  OperandTypes(const Builder& b, std::span<const Value> values) : size_(values.size()) {
    if (size_ > kFew)
      for (const Value& v : values) many_.push_back(b.type(v.var));
    else
      for (std::size_t i = 0; i < size_; ++i) new (&few_[i]) Type(b.type(values[i].var));
  }
  ~OperandTypes() {
    if (size_ <= kFew) std::destroy_n(few_, size_);
  }
  OperandTypes(const OperandTypes&) = delete;
  OperandTypes& operator=(const OperandTypes&) = delete;
  std::span<const Type> all() const { return {size_ > kFew ? many_.data() : few_, size_}; }

 private:
  static constexpr std::size_t kFew = 3;
  std::size_t size_;
  std::vector<Type> many_;
  union {
    Type few_[kFew];  // only the first size_ are constructed
  };
};

}  // namespace

Values Builder::emit(const Op& op, std::span<const Value> inputs, Attrs attrs) {
  bool any_varying = false;
  for (const Value& v : inputs) {
    if (v.builder != this)
      throw InternalError("an operand of '" + op.name + "' belongs to another builder");
    any_varying = any_varying || !type(v.var).varying.empty();
  }
  // The operands of an ordinary op must vary over the same axes. The cast is explicit in the
  // program because its transpose is a sum: the gradient of a value that all devices share is
  // collected from all of them.
  Values cast;
  if (any_varying && inputs.size() > 1 && needs_equal_varying(op, attrs)) {
    AxisSet all;
    for (const Value& v : inputs) all |= type(v.var).varying;
    cast.assign(inputs.begin(), inputs.end());
    for (Value& v : cast) v = vary_over(v, all);
    inputs = cast;
  }

  const OperandTypes types(*this, inputs);
  std::vector<Type> results = op.infer({op, types.all(), attrs, loc});
  for (const Type& t : results) need_countable(op.name, t.shape, loc);

  type_varying(op, attrs, types.all(), results);

  // Most programs are small, and moving equations to larger memory is a good part of building one.
  constexpr std::size_t kFirst = 16;
  if (program_->equations.empty()) {
    program_->equations.reserve(kFirst);
    made_by_.reserve(2 * kFirst);
  }
  Equation& eqn = program_->equations.emplace_back();
  eqn.op = &op;
  eqn.inputs.reserve(inputs.size());
  for (const Value& v : inputs) eqn.inputs.push_back(v.var);
  eqn.outputs.reserve(results.size());
  Values outputs;
  outputs.reserve(results.size());
  for (Type& t : results) {
    Var v = static_cast<Var>(program_->types.size());
    program_->types.push_back(std::move(t));
    made_by_.push_back(program_->equations.size() - 1);
    eqn.outputs.push_back(v);
    outputs.push_back({this, v});
  }
  eqn.attrs = std::move(attrs);
  eqn.loc = loc;
  eqn.scope = scope;
  return outputs;
}

Value Builder::vary_over(Value x, const AxisSet& axes) {
  Strings missing;
  for (const std::string& a : axes)
    if (!type(x.var).varying.contains(a)) missing.push_back(a);
  return missing.empty() ? x : emit1("pvary", {x}, CollectiveAttrs::make(std::move(missing)));
}

Values Builder::emit(std::string_view op, std::span<const Value> inputs, Attrs attrs) {
  return emit(Registry::get().at(op), inputs, std::move(attrs));
}
Value Builder::emit1(std::string_view op, std::initializer_list<Value> inputs, Attrs attrs) {
  return emit(op, std::span<const Value>(inputs.begin(), inputs.size()), std::move(attrs)).at(0);
}
Value Builder::emit1(std::string_view op, std::span<const Value> inputs, Attrs attrs) {
  return emit(op, inputs, std::move(attrs)).at(0);
}

Values Builder::copy(const Equation& eqn, std::span<const Value> inputs) {
  SourceLoc saved_loc = loc;
  std::string saved_scope = scope;
  if (eqn.loc) loc = eqn.loc;
  if (!eqn.scope.empty()) scope = scope.empty() ? eqn.scope : scope + "/" + eqn.scope;
  Values outputs = emit(*eqn.op, inputs, eqn.attrs);
  loc = saved_loc;
  scope = std::move(saved_scope);
  return outputs;
}

Values Builder::inline_program(const Program& p, std::span<const Value> inputs) {
  if (inputs.size() != p.inputs.size())
    throw InternalError("program '" + p.name + "' takes " + std::to_string(p.inputs.size()) +
                        " inputs, got " + std::to_string(inputs.size()));
  std::vector<Value> env(p.types.size());
  for (std::size_t i = 0; i < inputs.size(); ++i) env[p.inputs[i]] = inputs[i];
  Values in;
  for (const Equation& eqn : p.equations) {
    in.clear();
    for (Var v : eqn.inputs) in.push_back(env[v]);
    Values out = copy(eqn, in);
    for (std::size_t i = 0; i < out.size(); ++i) env[eqn.outputs[i]] = out[i];
  }
  Values outputs;
  for (Var v : p.outputs) outputs.push_back(env[v]);
  return outputs;
}

std::shared_ptr<Program> Builder::finish(std::span<const Value> outputs) {
  for (const Value& v : outputs) {
    if (v.builder != this) throw InternalError("an output belongs to another builder");
    program_->outputs.push_back(v.var);
  }
  return std::move(program_);
}

namespace {

// For each equation, whether it has an effect or an output needs it.
std::vector<bool> needed_equations(const Program& p) {
  std::vector<bool> needed(p.types.size());
  for (Var v : p.outputs) needed[v] = true;
  std::vector<bool> keep(p.equations.size());
  for (std::size_t i = p.equations.size(); i-- > 0;) {
    const Equation& eqn = p.equations[i];
    for (Var v : eqn.outputs) keep[i] = keep[i] || needed[v];
    keep[i] = keep[i] || has_effects(eqn);
    if (keep[i])
      for (Var v : eqn.inputs) needed[v] = true;
  }
  return keep;
}

// Removes unneeded equations and numbers the variables in the order in which they are defined.
// Equations that keep their position are not moved.
void prune_own(Program& p) {
  const std::vector<bool> keep = needed_equations(p);
  std::vector<Var> renamed(p.types.size()), defined;
  defined.reserve(p.types.size());
  const auto define = [&](Var& v) {
    renamed[v] = static_cast<Var>(defined.size());
    defined.push_back(v);
    v = renamed[v];
  };
  for (Var& v : p.inputs) define(v);
  std::size_t kept = 0;
  for (std::size_t i = 0; i < p.equations.size(); ++i) {
    if (!keep[i]) continue;
    if (kept != i) p.equations[kept] = std::move(p.equations[i]);
    Equation& eqn = p.equations[kept++];
    for (Var& v : eqn.inputs) v = renamed[v];
    for (Var& v : eqn.outputs) define(v);
  }
  p.equations.resize(kept);
  for (Var& v : p.outputs) v = renamed[v];
  if (std::is_sorted(defined.begin(), defined.end())) {
    for (std::size_t i = 0; i < defined.size(); ++i)
      if (defined[i] != i) p.types[i] = std::move(p.types[defined[i]]);
    p.types.resize(defined.size());
    return;
  }
  std::deque<Type> types;
  for (Var v : defined) types.push_back(std::move(p.types[v]));
  p.types = std::move(types);
}

}  // namespace

std::shared_ptr<Program> Builder::finish_pruned(std::span<const Value> outputs) {
  std::shared_ptr<Program> own = finish(outputs);
  prune_own(*own);
  return own;
}

std::shared_ptr<Program> prune(const Program& p) {
  auto own = std::make_shared<Program>(p);
  prune_own(*own);
  return own;
}

}  // namespace tessera::inline v0
