#include "ir/op.h"
#include "ir/varying.h"

#include <algorithm>

namespace tessera::inline v0 {

namespace {

class Verifier {
 public:
  Verifier(const Program& p, const char* pass) : p_(p), pass_(pass), defined_(p.types.size()) {}

  void run() {
    for (std::size_t i = 0; i < p_.inputs.size(); ++i) {
      where_ = "input " + std::to_string(i);
      define(p_.inputs[i]);
    }
    for (std::size_t i = 0; i < p_.equations.size(); ++i) {
      const Equation& e = p_.equations[i];
      where_ = "equation " + std::to_string(i);
      if (!e.op) fail("it has no op");
      where_ += " (" + e.op->name + ")";
      equation(e);
    }
    where_ = "the outputs";
    for (Var v : p_.outputs) use(v);
  }

 private:
  [[noreturn]] void fail(const std::string& what) const {
    std::string program = p_.name.empty() ? "a program" : "program '" + p_.name + "'";
    throw InternalError(std::string(pass_) + " made " + program + " that does not hold: " + where_ +
                        ": " + what);
  }
  void define(Var v) {
    if (v >= defined_.size()) fail("variable " + std::to_string(v) + " has no type");
    if (defined_[v]) fail("variable " + std::to_string(v) + " is defined twice");
    defined_[v] = true;
  }
  void use(Var v) const {
    if (v >= defined_.size() || !defined_[v])
      fail("variable " + std::to_string(v) + " is used before it is defined");
  }

  void equation(const Equation& e) {
    for (Var v : e.inputs) use(v);
    const Op& op = *e.op;
    if (op.inputs >= 0 && e.inputs.size() != static_cast<std::size_t>(op.inputs))
      fail("it has " + std::to_string(e.inputs.size()) +
           (e.inputs.size() == 1 ? " operand" : " operands") + ", the op takes " +
           std::to_string(op.inputs));
    attributes(e);

    std::vector<Type> in, given;
    for (Var v : e.inputs) in.push_back(p_.types[v]);
    try {
      given = op.infer({op, in, e.attrs, e.loc});
    } catch (const Error& error) {
      fail(std::string("its operands do not fit: ") + error.what());
    }
    if (given.size() != e.outputs.size())
      fail("it defines " + std::to_string(e.outputs.size()) + " results, the op gives " +
           std::to_string(given.size()));
    varying(e, in, given);
    for (std::size_t i = 0; i < given.size(); ++i) {
      define(e.outputs[i]);
      const Type& t = p_.types[e.outputs[i]];
      if (t.dtype != given[i].dtype || t.shape != given[i].shape || t.weak != given[i].weak)
        fail("result " + std::to_string(i) + " is typed " + to_string(t) + ", the op gives " +
             to_string(given[i]));
      if (!(t.varying == given[i].varying))
        fail("result " + std::to_string(i) + " is typed " + to_string(t) +
             ", and the op makes it vary over " + axes_text(given[i].varying));
    }
    // The rule of a shard_map rejects results that do not match its declaration. That may be the
    // user's mistake, so its error is passed on.
    if (op.uniform) nonuniform_of(op, e.attrs, std::vector<AxisSet>(in.size()));
  }

  // Sets the varying axes that the op's rule gives in `given`.
  void varying(const Equation& e, const std::vector<Type>& in, std::vector<Type>& given) const {
    const Op& op = *e.op;
    if (needs_equal_varying(op, e.attrs))
      for (const Type& t : in)
        if (!(t.varying == in[0].varying))
          fail("its operands vary over different axes, " + axes_text(in[0].varying) + " and " +
               axes_text(t.varying) + ": one of them needs a pvary");
    type_varying(op, e.attrs, in, given);
  }

  static std::string axes_text(const AxisSet& axes) {
    std::string text;
    for (const std::string& axis : axes) text += (text.empty() ? "'" : ", '") + axis + "'";
    return text.empty() ? "none" : text;
  }

  void attributes(const Equation& e) {
    for (const auto& [name, value] : e.attrs) {
      auto spec = std::find_if(e.op->attrs.begin(), e.op->attrs.end(),
                               [&](const AttrSpec& s) { return s.name == name; });
      if (spec == e.op->attrs.end()) fail("the op has no attribute '" + name + "'");
      if (static_cast<std::size_t>(spec->kind) != value.index())
        fail("attribute '" + name + "' is of another kind");
      auto nested = [&](const ProgramPtr& p) {
        if (!p) fail("attribute '" + name + "' holds no program");
        verify(*p, pass_);
      };
      if (auto* p = std::get_if<ProgramPtr>(&value)) nested(*p);
      if (auto* ps = std::get_if<Programs>(&value)) std::for_each(ps->begin(), ps->end(), nested);
    }
  }

  const Program& p_;
  const char* pass_;
  std::vector<bool> defined_;
  std::string where_;
};

}  // namespace

void verify(const Program& p, const char* pass) { Verifier(p, pass).run(); }

}  // namespace tessera::inline v0
