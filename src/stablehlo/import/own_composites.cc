// Composites that our emitter writes for our own ops are read back as these ops. A malformed one is
// imported by its decomposition.
#include "ops/control/agree.h"
#include "stablehlo/emit/emission.h"
#include "stablehlo/import/data.h"
#include "stablehlo/import/rules.h"

#include <algorithm>

namespace tessera::inline v0::stablehlo::rules {

namespace {

using Kind = AttributeSyntax::Kind;

std::optional<Strings> strings_of(const AttributeSyntax& a) {
  Strings out;
  if (a.kind != Kind::list && !(a.kind == Kind::integers && a.values.empty())) return std::nullopt;
  for (const AttributeSyntax& s : a.items) {
    if (s.kind != Kind::string) return std::nullopt;
    out.emplace_back(s.text);
  }
  return out;
}

std::optional<IntLists> lists_of(const AttributeSyntax& a) {
  IntLists out;
  if (a.kind != Kind::list && !(a.kind == Kind::integers && a.values.empty())) return std::nullopt;
  for (const AttributeSyntax& row : a.items) {
    if (row.kind != Kind::integers) return std::nullopt;
    out.push_back(row.values.to_vector());
  }
  return out;
}

// The attribute as one of this kind; nothing if it has another kind.
std::optional<AttrValue> value_of(Reading& r, const AttributeSyntax& a, AttrKind kind) {
  switch (kind) {
    case AttrKind::boolean:
      if (a.kind == Kind::boolean) return a.integer_value != 0;
      break;
    case AttrKind::integer:
      if (a.kind == Kind::integer) return a.integer_value;
      break;
    case AttrKind::string:
      if (a.kind == Kind::string) return std::string(a.text);
      break;
    case AttrKind::dtype:
      if (a.kind == Kind::type)
        if (const std::optional<DType> d = dtype_of_element(a.value_type->text)) return *d;
      break;
    case AttrKind::ints:
      if (a.kind == Kind::integers) return a.values.to_vector();
      break;
    case AttrKind::int_lists:
      if (std::optional<IntLists> v = lists_of(a)) return *std::move(v);
      break;
    case AttrKind::strings:
      if (std::optional<Strings> v = strings_of(a)) return *std::move(v);
      break;
    case AttrKind::program:
      if (a.kind == Kind::symbol) return r.importer.function(r, std::string(a.text));
      break;
    default: break;
  }
  return std::nullopt;
}

}  // namespace

std::optional<Values> own_composite(Reading& r) {
  std::string name = r.word_or("name", "");
  if (!name.starts_with(kComposite)) return std::nullopt;
  const Op* op = Registry::get().find(std::string_view(name).substr(kComposite.size()));
  const Emission* emission = op ? emission_of(*op) : nullptr;
  if (!emission || !emission->decomposed) return std::nullopt;
  if (op->inputs >= 0 && r.in.size() != static_cast<std::size_t>(op->inputs)) return std::nullopt;
  Attrs attrs;
  const AttributeSyntax* given = r.find("composite_attributes");
  for (const NamedAttribute& a : given ? given->entries : Attributes()) {
    const auto spec = std::find_if(op->attrs.begin(), op->attrs.end(),
                                   [&](const AttrSpec& s) { return s.name == a.name; });
    if (spec == op->attrs.end()) return std::nullopt;
    const std::optional<AttrValue> value = value_of(r, a.value, spec->kind);
    if (!value) return std::nullopt;
    attrs.set(spec->name, *value);
  }
  Values in = r.in;
  if (op->flow && op->with_flow) {  // in a typed region, its programs take varying values
    Flow flow = op->flow(attrs);
    ops::agree_flow(r.b, flow, in);
    attrs = op->with_flow(attrs, flow);
  }
  return r.b.emit(*op, in, std::move(attrs));
}

}  // namespace tessera::inline v0::stablehlo::rules
