// Operations, regions, and the parts that all custom assembly forms share.
#include "stablehlo/text/parser.h"

namespace tessera::inline v0::stablehlo {

UseSyntax Parser::use() {
  if (now().kind != Token::value) in_.expected("a value such as %0");
  const UseSyntax u{now().text, now().number_of_result, now().begin};
  in_.advance();
  return u;
}

ArgumentSyntax Parser::argument() {
  ArgumentSyntax a;
  a.at = now().begin;
  if (now().kind != Token::value) in_.expected("an argument such as %arg0");
  a.name = now().text;
  in_.advance();
  need(':', "':' and the type of the argument");
  a.type = type();
  if (now().is('{')) a.attributes = dictionary();
  a.label = label();
  return a;
}

RegionSyntax Parser::region() {
  const Nesting level(depth_, in_);
  RegionSyntax r;
  r.at = now().begin;
  need('{', "'{' and a region");
  if (now().kind == Token::block) {
    in_.advance();
    if (take('('))
      items(')', "',' or ')' among the block's arguments",
            [&] { r.arguments.add(memory(), argument()); });
    need(':', "':' behind the block's arguments");
  }
  while (!take('}')) {
    if (now().kind == Token::block)
      in_.fail(now().begin, "a second block", "a region has one block: control flow is structured");
    operation(r.operations.add(memory()));
  }
  return r;
}

std::size_t Parser::results_wanted(const OperationSyntax& op) const {
  std::size_t n = 0;
  for (const DefSyntax& d : op.defs) n += d.count;
  return n;
}

void Parser::optional_dictionary(OperationSyntax& op) {
  if (!now().is('{')) return;
  for (const NamedAttribute& e : dictionary()) op.attributes.add(memory(), e);
}

TypeSyntax Parser::types_of(OperationSyntax& op) {
  if (!take(':')) in_.expected("':' and the types of " + std::string(op.name));
  List<TypeSyntax> listed;
  const std::size_t at = now().begin;
  if (now().is('('))
    listed = types_in_parentheses();
  else
    do listed.add(memory(), type());
    while (take(','));
  const std::size_t wanted = results_wanted(op);
  const TypeSyntax last = listed.empty() ? TypeSyntax() : listed.back();
  if (now().is_arrow()) {
    in_.advance();
    if (now().is('('))
      op.result_types = types_in_parentheses();
    else
      op.result_types.add(memory(), type());
    op.operand_types = listed;
  } else if (listed.size() == wanted || wanted == 0) {
    if (wanted) op.result_types = listed;
  } else if (wanted == 1 && !listed.empty()) {
    op.result_types.add(memory(), listed.back());  // the operand types come first
  } else if (listed.size() == 1) {
    for (std::size_t i = 0; i < wanted; ++i) op.result_types.add(memory(), listed[0]);
  }
  if (wanted && op.result_types.size() != wanted)
    in_.fail(at,
             std::string(op.name) + " gives " +
                 std::to_string(op.result_types.empty() ? listed.size() : op.result_types.size()) +
                 " values by its type, and " + std::to_string(wanted) + " by its names");
  return last;
}

// "dialect.op"(%a, %b) <{properties}> ({region}, {region}) {attributes} : (A, B) -> C
void Parser::generic(OperationSyntax& op) {
  op.name = unescaped(now().text);
  in_.advance();
  need('(', "'(' and the operands of the operation");
  items(')', "',' or ')' among the operands", [&] { op.operands.add(memory(), use()); });
  if (now().is('<')) {
    in_.advance();
    if (!now().is('{')) in_.expected("'{' and properties");
    op.attributes = dictionary();
    need('>', "'>' behind the properties");
  }
  if (take('('))
    items(')', "',' or ')' among the regions", [&] { op.regions.add(memory(), region()); });
  optional_dictionary(op);
  types_of(op);
}

void Parser::operation(OperationSyntax& op) {
  while (now().kind == Token::value) {
    DefSyntax d{now().text, 1, now().begin};
    in_.advance();
    if (take(':')) {
      const std::int64_t count = integer("the number of results");
      if (count < 1 || count > 1 << 20)
        in_.fail(d.at, "no operation has " + std::to_string(count) + " results");
      d.count = static_cast<std::uint32_t>(count);
    }
    op.defs.add(memory(), d);
    if (take(',')) continue;
    need('=', "'=' and an operation");
    break;
  }
  op.at = now().begin;
  if (now().kind == Token::string) {
    generic(op);
  } else if (now().kind == Token::word) {
    op.name = now().text;
    in_.advance();
    parse_pretty(*this, op);
  } else {
    in_.expected("an operation");
  }
  op.location = location();
}

}  // namespace tessera::inline v0::stablehlo
