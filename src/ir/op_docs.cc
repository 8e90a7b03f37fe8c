#include "ir/op_docs.h"

#include "ir/op.h"

namespace tessera::inline v0 {

namespace {

const char* kind_name(AttrKind k) {
  switch (k) {
    case AttrKind::boolean: return "boolean";
    case AttrKind::integer: return "integer";
    case AttrKind::real: return "real";
    case AttrKind::string: return "string";
    case AttrKind::dtype: return "dtype";
    case AttrKind::ints: return "integers";
    case AttrKind::int_lists: return "lists of integers";
    case AttrKind::strings: return "strings";
    case AttrKind::literal: return "literal";
    case AttrKind::program: return "program";
    case AttrKind::programs: return "programs";
    case AttrKind::hook: return "hook";
    case AttrKind::spec: return "spec";
    case AttrKind::specs: return "specs";
    case AttrKind::mesh: return "mesh";
  }
  return "";
}

std::string lowering_text(const Op& op) {
  switch (op.lowering) {
    case Lowering::emitted:
      return op.elementwise ? "elementwise, compiled in place" : "compiled in place";
    case Lowering::called: return "a library routine";
    case Lowering::view: return "no code: shares its operand's memory";
    case Lowering::control: return "control flow";
    case Lowering::collective: return "a collective";
    case Lowering::expanded: return "rewritten before compilation";
  }
  return "";
}

std::string count(int n, const char* one) {
  if (n < 0) return std::string("any number of ") + one + "s";
  if (n == 0) return std::string("no ") + one + "s";
  return std::to_string(n) + " " + one + (n == 1 ? "" : "s");
}

}  // namespace

std::string op_reference() {
  std::string s;
  for (const auto& op : Registry::get().all()) {
    s += "### " + op->name + "\n\n" + op->doc + "\n\n";
    for (const AttrSpec& a : op->attrs)
      s.append("- `")
          .append(a.name)
          .append("` (")
          .append(kind_name(a.kind))
          .append("): ")
          .append(a.doc)
          .append("\n");
    if (!op->attrs.empty()) s += "\n";
    s += count(op->inputs, "operand") + ", " + count(op->outputs, "result") + "; " +
         lowering_text(*op) + ".";
    if (!op->stablehlo.empty())
      s += " StableHLO: `" + op->stablehlo + "`.";
    else if (auto it = op->waived.find("stablehlo"); it != op->waived.end())
      s.append(" No StableHLO counterpart: ").append(it->second).append(".");
    s += "\n\n";
  }
  if (!s.empty()) s.pop_back();  // one newline ends the text
  return s;
}

}  // namespace tessera::inline v0
