// The custom assembly forms of Shardy's operations.
#include "stablehlo/text/parser.h"

#include <algorithm>

namespace tessera::inline v0::stablehlo {

namespace {

void parse_operands(Parser& p, OperationSyntax& op) {
  p.need('(', "'(' and the operands");
  p.items(')', "',' or ')' among the operands", [&] { op.operands.add(p.memory(), p.use()); });
}

// (%a: A, %b: B) {...}: a region whose arguments precede it.
void parse_body(Parser& p, OperationSyntax& op) {
  List<ArgumentSyntax> arguments;
  p.need('(', "'(' and the arguments of the region");
  p.items(')', "',' or ')' among the arguments of the region",
          [&] { arguments.add(p.memory(), p.argument()); });
  RegionSyntax region = p.region();
  region.arguments = arguments;
  op.regions.add(p.memory(), region);
  p.optional_dictionary(op);
  p.types_of(op);
}

// in_shardings=[<@mesh, [{"x"}]>, ...]
void parse_shardings(Parser& p, OperationSyntax& op, std::string_view key) {
  p.need('=', "'='");
  AttributeSyntax list;
  list.kind = AttributeSyntax::list;
  list.at = p.now().begin;
  p.need('[', "'[' and shardings");
  p.items(']', "',' or the end of the list", [&] { list.items.add(p.memory(), p.sharding()); });
  op.attributes.add(p.memory(), {key, list});
}

// sdy.manual_computation(%x) in_shardings=[...] out_shardings=[...] manual_axes={"x"}
//     (%a: A) {...} : types
void parse_manual_computation(Parser& p, OperationSyntax& op) {
  parse_operands(p, op);
  for (const char* key : {"in_shardings", "out_shardings"}) {
    if (!p.take_word(key)) p.in().expected(std::string("'") + key + " = '");
    parse_shardings(p, op, key);
  }
  if (!p.take_word("manual_axes")) p.in().expected("'manual_axes = '");
  p.need('=', "'='");
  op.attributes.add(p.memory(), {"manual_axes", p.axes()});
  parse_body(p, op);
}

// sdy.named_computation<"name">(%x) in_shardings=[...] out_shardings=[...] (%a: A) {...} : types
void parse_named_computation(Parser& p, OperationSyntax& op) {
  p.need('<', "'<' and the name of the computation");
  op.attributes.add(p.memory(), {"name", p.attribute()});
  p.need('>', "'>' behind the name");
  parse_operands(p, op);
  for (const char* key : {"in_shardings", "out_shardings"})
    if (p.take_word(key)) parse_shardings(p, op, key);
  parse_body(p, op);
}

struct Collective {
  std::string_view name;
  const char* axes;  // the attribute that lists the axes; null if there is none
};
constexpr Collective kCollectives[] = {
    {"sdy.all_gather", "gathering_axes"},
    {"sdy.all_slice", "slicing_axes"},
    {"sdy.all_to_all", "params"},
    {"sdy.all_reduce", "reduction_axes"},
    {"sdy.reduce_scatter", "reduce_scatter_axes"},
    {"sdy.sharded_to_unreduced", "axes"},
    {"sdy.replicated_to_unreduced", "axes"},
    {"sdy.collective_permute", nullptr},
};

const Collective* collective_of(std::string_view name) {
  const auto* it = std::find_if(std::begin(kCollectives), std::end(kCollectives),
                                [&](const Collective& c) { return c.name == name; });
  return it == std::end(kCollectives) ? nullptr : it;
}

// The value of a key; a type after a number would belong to the operation.
AttributeSyntax value_of_key(Parser& p) {
  if (p.now().is('<')) return p.sharding();
  if (p.now().kind != Token::number) return p.attribute();
  AttributeSyntax a;
  a.kind = AttributeSyntax::integer;
  a.at = p.now().begin;
  a.text = p.now().text;
  a.integer_value = p.bits("an integer");
  return a;
}

// %x out_sharding=<...> group_id=3 allowed_direction=BACKWARD {...} : types
void parse_with_keys(Parser& p, OperationSyntax& op) {
  op.operands.add(p.memory(), p.use());
  if (p.now().is('<')) op.attributes.add(p.memory(), {"sharding", p.sharding()});
  while (p.now().kind == Token::word && p.in().next().is('=')) {
    const std::string_view key = p.now().text;
    p.in().advance();
    p.need('=', "'=' and the value of the key");
    op.attributes.add(p.memory(), {key, value_of_key(p)});
  }
  p.optional_dictionary(op);
  p.types_of(op);
}

// sdy.all_reduce max {"x"} %x out_sharding=<...> : type
void parse_collective(Parser& p, OperationSyntax& op) {
  const Collective& c = *collective_of(op.name);
  if (p.now().kind == Token::word) op.attributes.add(p.memory(), {"reduction_op", p.attribute()});
  if (c.axes) op.attributes.add(p.memory(), {c.axes, p.axes_of_dimensions()});
  parse_with_keys(p, op);
}

}  // namespace

PrettyForm form_of_shardy(std::string_view name) {
  if (name == "sdy.manual_computation") return parse_manual_computation;
  if (name == "sdy.named_computation") return parse_named_computation;
  if (collective_of(name)) return parse_collective;
  for (const std::string_view other :
       {"sdy.sharding_constraint", "sdy.reshard", "sdy.sharding_group", "sdy.propagation_barrier",
        "sdy.data_flow_edge", "sdy.func_data_flow_edge"})
    if (name == other) return parse_with_keys;
  return nullptr;
}

}  // namespace tessera::inline v0::stablehlo
