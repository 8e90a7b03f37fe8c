// Ops without a counterpart in StableHLO become composites named after them, with private functions
// that define them for other tools.
#include "stablehlo/emit/composite.h"

#include "stablehlo/emit/emission.h"

namespace tessera::inline v0::stablehlo {

namespace {

std::string text_of(const Block& caller, const std::string& stem, const AttrValue& value) {
  struct Visitor {
    const Block& caller;
    const std::string& stem;
    std::string operator()(bool v) const { return v ? "true" : "false"; }
    std::string operator()(std::int64_t v) const { return std::to_string(v) + " : i64"; }
    std::string operator()(double v) const {
      return dense_text(scalar_literal(DType::float64, v)) + " : tensor<f64>";
    }
    std::string operator()(const std::string& v) const { return quoted(v); }
    std::string operator()(DType v) const { return element_text(v); }
    std::string operator()(const Ints& v) const { return array_text(v); }
    std::string operator()(const IntLists& v) const {
      Names parts;
      for (const Ints& row : v) parts.push_back(array_text(row));
      return "[" + joined(parts) + "]";
    }
    std::string operator()(const Strings& v) const {
      Names parts;
      for (const std::string& s : v) parts.push_back(quoted(s));
      return "[" + joined(parts) + "]";
    }
    std::string operator()(const Literal& v) const {
      return dense_text(v) + " : " + type_text(Type(v.dtype, v.shape));
    }
    std::string operator()(const ProgramPtr& p) const {
      return "@" + caller.module.function(stem, p, caller);
    }
    std::string operator()(const Programs& all) const {
      Names parts;
      for (const ProgramPtr& p : all) parts.push_back((*this)(p));
      return "[" + joined(parts) + "]";
    }
    // Composites have no attributes of these kinds.
    std::string operator()(const HookPtr&) const { throw InternalError("a hook is no text"); }
    std::string operator()(const Spec&) const { throw InternalError("specs are sdy's"); }
    std::string operator()(const Specs&) const { throw InternalError("specs are sdy's"); }
    std::string operator()(const MeshRef&) const { throw InternalError("meshes are sdy's"); }
  };
  return std::visit(Visitor{caller, stem}, value);
}

}  // namespace

std::string attributes_text(const Block& caller, const Op& op, const Attrs& attrs) {
  Names parts;
  for (const auto& [name, value] : attrs)
    parts.push_back(name + " = " +
                    text_of(caller, std::string(kComposite) + op.name + "." + name, value));
  return joined(parts);
}

Names Block::composite(const Writing& w, WriteRule rule) {
  const std::string name = std::string(kComposite) + w.op.name;
  const std::string attributes = attributes_text(*this, w.op, w.attrs);
  const std::string types = types_text(w.in_types) + " -> " + result_types_text(w.out_types);
  const std::string symbol =
      module.decomposition(name, name + "{" + attributes + "}" + types, w, rule);
  const std::string in_braces =
      (attributes.empty() ? "" : "composite_attributes = {" + attributes + "}, ") +
      ("decomposition = @" + symbol);
  return define("stablehlo.composite " + quoted(name) + " " + joined(w.in) + " {" + in_braces +
                    "} : " + types,
                w.out_types.size());
}

}  // namespace tessera::inline v0::stablehlo
