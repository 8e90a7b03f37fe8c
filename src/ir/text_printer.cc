// Prints programs as text; docs/ir.md has the grammar.
#include "ir/op.h"
#include "ir/text_name.h"
#include "ir/text_number.h"

#include <algorithm>

namespace tessera::inline v0 {

namespace {

// a ... z, aa ... az, ba ...
std::string variable_name(std::size_t n) {
  std::string s;
  for (++n; n; n = (n - 1) / 26) s.insert(s.begin(), static_cast<char>('a' + (n - 1) % 26));
  return s;
}

bool holds_programs(const AttrValue& v) {
  if (auto* p = std::get_if<ProgramPtr>(&v)) return *p != nullptr;
  auto* ps = std::get_if<Programs>(&v);
  return ps && !ps->empty();
}

class Printer {
 public:
  explicit Printer(PrintOptions options) : options_(options) {}

  void program(const Program& p, int indent) {
    if (!p.name.empty()) out_ += name_text(p.name) + " ";
    std::vector<std::string> names(p.types.size());
    std::size_t defined = 0;
    auto define = [&](Var v) { names[v] = variable_name(defined++); };
    out_ += "{ (";
    for (std::size_t i = 0; i < p.inputs.size(); ++i) {
      define(p.inputs[i]);
      declare(p, p.inputs[i], names, i);
    }
    // The header refers to variables that only later equations define.
    for (const Equation& e : p.equations)
      for (Var v : e.outputs) define(v);
    out_ += ") -> (";
    for (std::size_t i = 0; i < p.outputs.size(); ++i)
      out_ += (i ? ", " : "") + names[p.outputs[i]];
    out_ += ")";
    for (const Equation& e : p.equations) {
      line(indent + 2);
      equation(p, e, names, indent + 2);
    }
    if (p.equations.empty())
      out_ += " }";
    else
      line(indent), out_ += "}";
  }

  std::string take() { return std::move(out_); }

 private:
  void line(int indent) {
    out_ += '\n';
    out_.append(static_cast<std::size_t>(indent), ' ');
  }

  void declare(const Program& p, Var v, const std::vector<std::string>& names,
               std::size_t position) {
    out_ += (position ? ", " : "") + names[v] + ": " + to_string(p.type(v));
  }

  void equation(const Program& p, const Equation& e, const std::vector<std::string>& names,
                int indent) {
    if (e.outputs.empty()) out_ += "()";
    for (std::size_t i = 0; i < e.outputs.size(); ++i) declare(p, e.outputs[i], names, i);
    out_ += " = " + e.op->name;
    for (Var v : e.inputs) out_ += " " + names[v];
    bool nested = std::any_of(e.attrs.begin(), e.attrs.end(),
                              [](const auto& entry) { return holds_programs(entry.second); });
    if (!e.attrs.empty()) attributes(e.attrs, nested, indent);
    const bool located = options_.locations && e.loc;
    if (located || !e.scope.empty()) out_ += "  #";
    if (located) out_ += " " + to_string(e.loc);
    if (!e.scope.empty()) out_ += " in " + name_text(e.scope);
  }

  // On the equation's line, or one attribute per line if there are nested programs.
  void attributes(const Attrs& attrs, bool nested, int indent) {
    out_ += " [";
    bool first = true;
    for (const auto& [name, value] : attrs) {
      if (!first) out_ += nested ? "," : ", ";
      first = false;
      if (nested) line(indent + 2);
      out_ += name + "=";
      std::visit([&](const auto& v) { text(v, indent + 2); }, value);
    }
    if (nested) line(indent);
    out_ += "]";
  }

  void text(bool v, int) { out_ += v ? "true" : "false"; }
  void text(std::int64_t v, int) { out_ += std::to_string(v); }
  void text(double v, int) {
    append_element(out_, DType::float64, reinterpret_cast<const std::byte*>(&v));
  }
  void text(const std::string& v, int) { out_ += quoted(v); }
  void text(DType v, int) { out_ += short_name_of(v); }
  template <class T>
  void text(const std::vector<T>& v, int indent) {
    out_ += "(";
    for (std::size_t i = 0; i < v.size(); ++i) {
      if (i) out_ += ", ";
      text(v[i], indent);
    }
    out_ += ")";
  }
  void text(const Literal& v, int) {
    out_ += to_string(Type(v.dtype, v.shape)) + " ";
    if (v.shape.count() == 0)
      out_ += "[]";
    else
      elements(v, 0, 0, v.shape.strides());
  }
  void text(const ProgramPtr& v, int indent) {
    if (v)
      program(*v, indent);
    else
      out_ += "none";
  }
  void text(const Programs& v, int indent) {
    out_ += "(";
    for (std::size_t i = 0; i < v.size(); ++i) {
      if (i) out_ += ",";
      line(indent + 2);
      text(v[i], indent + 2);
    }
    if (!v.empty()) line(indent);
    out_ += ")";
  }
  void text(const Spec& v, int) {
    out_ += "P(";
    for (std::size_t d = 0; d < v.dims().size(); ++d) {
      const Spec::Axes& axes = v.dims()[d];
      if (d) out_ += ", ";
      if (axes.empty()) out_ += "none";
      if (axes.size() > 1) out_ += "(";
      for (std::size_t i = 0; i < axes.size(); ++i) out_ += (i ? ", " : "") + quoted(axes[i]);
      if (axes.size() > 1) out_ += ")";
    }
    out_ += ")";
  }
  void text(const MeshRef& v, int) {
    out_ += "mesh(";
    for (std::size_t a = 0; a < v->axes.size(); ++a)
      out_ += (a ? ", " : "") + quoted(v->axes[a]) + "=" + std::to_string(v->sizes.at(a));
    if (!v->devices.empty()) {
      if (!v->axes.empty()) out_ += ", ";
      text(Ints(v->devices.begin(), v->devices.end()), 0);
    }
    if (!v->platform.empty()) out_ += ", " + quoted(v->platform);
    out_ += ")";
  }
  void text(const HookPtr& v, int) { out_ += v ? "<" + v->name() + ">" : "none"; }

  void elements(const Literal& v, int dim, std::int64_t offset, const Shape& strides) {
    if (dim == v.shape.rank()) {
      append_element(out_, v.dtype, v.bytes->data() + offset * size_of(v.dtype));
      return;
    }
    auto d = static_cast<std::size_t>(dim);
    out_ += "[";
    for (std::int64_t i = 0; i < v.shape[d]; ++i) {
      if (i) out_ += ", ";
      elements(v, dim + 1, offset + i * strides[d], strides);
    }
    out_ += "]";
  }

  PrintOptions options_;
  std::string out_;
};

}  // namespace

std::string to_string(const Program& p, PrintOptions options) {
  Printer printer(options);
  printer.program(p, 0);
  return printer.take() + "\n";
}

}  // namespace tessera::inline v0
