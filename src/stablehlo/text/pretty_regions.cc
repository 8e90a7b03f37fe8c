// Custom assembly forms with a syntax of their own: loops, reductions, convolutions.
#include "stablehlo/text/parser.h"

#include <string>

namespace tessera::inline v0::stablehlo {

namespace {

// while(%a = %0, %b = %1) : A, B attributes {...} cond {...} do {...}
void parse_while(Parser& p, OperationSyntax& op) {
  List<ArgumentSyntax> arguments;
  p.need('(', "'(' and what the loop carries");
  p.items(')', "',' or ')' among what the loop carries", [&] {
    const UseSyntax name = p.use();
    arguments.add(p.memory(), {name.name, {}, {}, name.at});
    p.need('=', "'=' and the start value");
    op.operands.add(p.memory(), p.use());
  });
  if (p.now().is(':')) p.types_of(op);
  if (op.result_types.empty() && !arguments.empty())
    p.in().fail(op.at, "what the loop carries has no types here",
                "a loop that carries something gives as many results");
  if (op.result_types.size() != arguments.size())
    p.in().fail(op.at, "the loop carries " + std::to_string(arguments.size()) + " values of " +
                           std::to_string(op.result_types.size()) + " types");
  for (std::size_t i = 0; i < arguments.size(); ++i) arguments.edit(i).type = op.result_types[i];
  op.operand_types = op.result_types;
  if (p.take_word("attributes")) p.optional_dictionary(op);
  for (const char* word : {"cond", "do"}) {
    if (!p.take_word(word)) p.in().expected(std::string("'") + word + "' and a region");
    RegionSyntax region = p.region();
    region.arguments = arguments;
    op.regions.add(p.memory(), region);
  }
}

TypeSyntax scalar_text(Parser& p, const TypeSyntax& t) {
  TypeData s;
  s.kind = TypeData::tensor;
  s.text = t->text;
  s.element = t->element;
  return {new (p.memory().take(sizeof s)) TypeData(s), t.at};
}

// `applies stablehlo.add` stands for a region that applies the operation to its two arguments.
RegionSyntax applied(Parser& p, std::string_view name, std::size_t at, const TypeSyntax& element) {
  Memory& memory = p.memory();
  RegionSyntax r;
  r.at = at;
  r.arguments.add(memory, {"lhs", element, {}, at});
  r.arguments.add(memory, {"rhs", element, {}, at});
  OperationSyntax& inner = r.operations.add(memory);
  inner.name = name;
  inner.at = at;
  inner.defs.add(memory, {"result", 1, at});
  inner.operands.add(memory, {"lhs", 0, at});
  inner.operands.add(memory, {"rhs", 0, at});
  inner.result_types.add(memory, element);
  OperationSyntax& end = r.operations.add(memory);
  end.name = "stablehlo.return";
  end.at = at;
  end.operands.add(memory, {"result", 0, at});
  return r;
}

// reducer(%e0: t, %a0: t) (%e1: u, %a1: u) {...}: the arguments of the block are all first elements
// of the pairs, then all second ones.
RegionSyntax reducer(Parser& p) {
  List<ArgumentSyntax> first, second;
  while (p.take('(')) {
    first.add(p.memory(), p.argument());
    p.need(',', "',' and the second argument");
    second.add(p.memory(), p.argument());
    p.need(')', "')' behind the two arguments");
  }
  RegionSyntax r = p.region();
  for (const ArgumentSyntax& a : second) first.add(p.memory(), a);
  r.arguments = first;
  return r;
}

// reduce(%x init: %z), (%y init: %w) applies stablehlo.add across dimensions = [1] : types
void parse_reduce(Parser& p, OperationSyntax& op) {
  List<UseSyntax> inits;
  do {
    p.need('(', "'(' and an operand with its start value");
    op.operands.add(p.memory(), p.use());
    if (!p.take_word("init")) p.in().expected("'init:' and the start value");
    p.need(':', "':' and the start value");
    inits.add(p.memory(), p.use());
    p.need(')', "')' behind the start value");
  } while (p.take(','));
  for (const UseSyntax& init : inits) op.operands.add(p.memory(), init);
  std::string_view applies;
  const std::size_t at = p.now().begin;
  if (p.take_word("applies")) {
    if (p.now().kind != Token::word) p.in().expected("the name of an operation");
    applies = p.now().text;
    p.in().advance();
  }
  if (!p.take_word("across")) p.in().expected("'across dimensions = [...]'");
  if (!p.take_word("dimensions")) p.in().expected("'dimensions = [...]'");
  p.need('=', "'=' and dimensions");
  op.attributes.add(p.memory(), {"dimensions", p.list()});
  p.optional_dictionary(op);
  p.types_of(op);
  if (!applies.empty()) {
    if (op.operand_types.empty()) p.in().fail(op.at, "the operands have no types here");
    op.regions.add(p.memory(), applied(p, applies, at, scalar_text(p, op.operand_types[0])));
  } else {
    if (!p.take_word("reducer")) p.in().expected("'reducer' and its arguments");
    op.regions.add(p.memory(), reducer(p));
  }
}

// scan(%x, %y) inits(%z) dimension = 0 attributes {...} {^bb0(...): ...} : types
void parse_scan(Parser& p, OperationSyntax& op) {
  AttributeSyntax sizes;
  sizes.kind = AttributeSyntax::integers;
  sizes.at = p.now().begin;
  const auto operands = [&](const char* what) {
    const std::size_t before = op.operands.size();
    p.need('(', "'(' and " + std::string(what));
    p.items(')', "',' or ')' among " + std::string(what),
            [&] { op.operands.add(p.memory(), p.use()); });
    sizes.values.add(p.memory(), static_cast<std::int64_t>(op.operands.size() - before));
  };
  operands("the operands");
  if (!p.take_word("inits")) p.in().expected("'inits' and the start values");
  operands("the start values");
  op.attributes.add(p.memory(), {"operandSegmentSizes", sizes});
  if (!p.take_word("dimension")) p.in().expected("'dimension = '");
  AttributeSyntax dimension;
  dimension.kind = AttributeSyntax::integer;
  dimension.at = p.now().begin;
  p.need('=', "'=' and a dimension");
  dimension.integer_value = p.integer("a dimension");
  op.attributes.add(p.memory(), {"dimension", dimension});
  if (p.take_word("attributes")) p.optional_dictionary(op);
  op.regions.add(p.memory(), p.region());
  p.optional_dictionary(op);
  p.types_of(op);
}

// window = {stride = [2, 2], pad = [[3, 3], [3, 3]], lhs_dilate = [..], ...}
void parse_window(Parser& p, OperationSyntax& op) {
  struct Row {
    const char *key, *attribute;
  };
  constexpr Row kRows[] = {{"stride", "window_strides"},
                           {"pad", "padding"},
                           {"lhs_dilate", "lhs_dilation"},
                           {"rhs_dilate", "rhs_dilation"},
                           {"reverse", "window_reversal"}};
  const std::size_t at = p.now().begin;
  for (const NamedAttribute& e : p.dictionary()) {
    const Row* row = nullptr;
    for (const Row& r : kRows)
      if (e.name == r.key) row = &r;
    if (!row)
      p.in().fail(at, "a window has no " + shown(e.name),
                  "it has stride, pad, lhs_dilate, rhs_dilate and reverse");
    op.attributes.add(p.memory(), {row->attribute, e.value});
  }
}

// convolution(%x, %w) dim_numbers = [...]x[...]->[...], window = {...} {...} : types
void parse_convolution(Parser& p, OperationSyntax& op) {
  p.need('(', "'(' and the operands of the convolution");
  p.items(')', "',' or ')' among the operands", [&] { op.operands.add(p.memory(), p.use()); });
  if (!p.take_word("dim_numbers")) p.in().expected("'dim_numbers = ...'");
  p.need('=', "'=' and the dimensions of the convolution");
  op.attributes.add(p.memory(), {"dimension_numbers", p.conv_dimensions()});
  if (p.take(',')) {
    if (!p.take_word("window")) p.in().expected("'window = {...}'");
    p.need('=', "'=' and a window");
    parse_window(p, op);
  }
  p.optional_dictionary(op);
  p.types_of(op);
}

}  // namespace

PrettyForm form_with_regions(std::string_view name) {
  if (name == "stablehlo.while") return parse_while;
  if (name == "stablehlo.reduce") return parse_reduce;
  if (name == "stablehlo.convolution") return parse_convolution;
  if (name == "chlo.scan") return parse_scan;
  return nullptr;
}

}  // namespace tessera::inline v0::stablehlo
