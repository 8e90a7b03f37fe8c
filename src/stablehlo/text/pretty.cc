// The custom assembly forms. Most share one grammar: operands, words, keys with values, and data,
// separated by commas, then attributes and types. A table gives the meaning of keys and words for
// each operation.
#include "stablehlo/text/parser.h"

#include <algorithm>
#include <cstring>

namespace tessera::inline v0::stablehlo {

namespace {

struct PrettyKey {
  const char* op;
  const char* key;               // "dims" of `dims = [0]`
  const char* attribute;         // its name in the generic form
  const char* second = nullptr;  // attribute of the value after the 'x' in `[0] x [1]`
};

constexpr PrettyKey kPrettyKeys[] = {
    {"stablehlo.iota", "dim", "iota_dimension"},
    {"stablehlo.dynamic_iota", "dim", "iota_dimension"},
    {"stablehlo.concatenate", "dim", "dimension"},
    {"stablehlo.get_dimension_size", "dim", "dimension"},
    {"stablehlo.set_dimension_size", "dim", "dimension"},
    {"stablehlo.transpose", "dims", "permutation"},
    {"stablehlo.reverse", "dims", "dimensions"},
    {"stablehlo.broadcast_in_dim", "dims", "broadcast_dimensions"},
    {"stablehlo.dynamic_broadcast_in_dim", "dims", "broadcast_dimensions"},
    {"stablehlo.broadcast", "sizes", "broadcast_sizes"},
    {"stablehlo.dynamic_slice", "sizes", "slice_sizes"},
    {"stablehlo.pad", "low", "edge_padding_low"},
    {"stablehlo.pad", "high", "edge_padding_high"},
    {"stablehlo.pad", "interior", "interior_padding"},
    {"stablehlo.reduce_precision", "format", "format"},
    {"stablehlo.dot", "precision", "precision_config"},
    {"stablehlo.dot_general", "precision", "precision_config"},
    {"stablehlo.dot_general", "algorithm", "algorithm"},
    {"stablehlo.dot_general", "batching_dims", "lhs_batching_dimensions",
     "rhs_batching_dimensions"},
    {"stablehlo.dot_general", "contracting_dims", "lhs_contracting_dimensions",
     "rhs_contracting_dimensions"},
    {"stablehlo.fft", "type", "fft_type"},
    {"stablehlo.fft", "length", "fft_length"},
    {"stablehlo.rng", "distribution", "rng_distribution"},
    {"stablehlo.rng_bit_generator", "algorithm", "rng_algorithm"},
    {"stablehlo.cholesky", "lower", "lower"},
    {"chlo.top_k", "k", "k"},
};

// The attributes that words, symbols and texts among the operands stand for.
struct Words {
  const char* op;
  const char* first;
  const char* second = nullptr;
};
constexpr Words kWords[] = {
    {"stablehlo.compare", "comparison_direction", "compare_type"},
    {"stablehlo.custom_call", "call_target_name"},
    {"stablehlo.composite", "name"},
    {"call", "callee"},
    {"func.call", "callee"},
};

AttributeSyntax enumerator(const Token& t) {
  AttributeSyntax a;
  a.kind = AttributeSyntax::enumerator;
  a.at = t.begin;
  a.text = t.text;
  return a;
}

const PrettyKey* find_key(const OperationSyntax& op, std::string_view key) {
  for (const PrettyKey& k : kPrettyKeys)
    if (op.name == k.op && key == k.key) return &k;
  return nullptr;
}

std::string keys_of(const OperationSyntax& op) {
  std::string names;
  for (const PrettyKey& k : kPrettyKeys)
    if (op.name == k.op) names += (names.empty() ? "" : ", ") + std::string(k.key);
  return names.empty() ? "operands alone" : names;
}

// Operations of tests have no forms of their own: their keys are the attributes.
bool of_tests(const OperationSyntax& op) {
  return op.name.starts_with("check.") || op.name.starts_with("interpreter.");
}

// The value of a key; a type after it would belong to the operation.
AttributeSyntax key_value(Parser& p) {
  const Token t = p.now();
  if (t.kind == Token::number) {
    AttributeSyntax a;
    a.kind = t.text.find('.') == t.text.npos ? AttributeSyntax::integer : AttributeSyntax::real;
    a.at = t.begin;
    a.text = t.text;
    if (a.kind == AttributeSyntax::real)
      p.in().advance();
    else
      a.integer_value = p.bits("an integer");
    return a;
  }
  const bool word = t.kind == Token::word && t.text != "true" && t.text != "false";
  if (word || t.kind == Token::string) {
    AttributeSyntax a = enumerator(t);
    if (!word) a.kind = AttributeSyntax::string, a.text = p.unescaped(t.text);
    p.in().advance();
    return a;
  }
  return p.attribute();
}

void read_key(Parser& p, OperationSyntax& op) {
  const Token name = p.now();
  const PrettyKey* key = find_key(op, name.text);
  if (!key && !of_tests(op))
    p.in().fail(name.begin, std::string(op.name) + " has no " + shown(name.text),
                "in this form it has " + keys_of(op));
  p.in().advance();
  p.need('=', "'=' and the value of the key");
  op.attributes.add(p.memory(), {key ? key->attribute : name.text, key_value(p)});
  if (!key || !key->second) return;
  if (!p.take_word("x")) p.in().expected("'x' and the dimensions of the right operand");
  op.attributes.add(p.memory(), {key->second, key_value(p)});
}

void read_word(Parser& p, OperationSyntax& op, std::size_t number) {
  const auto* row = std::find_if(std::begin(kWords), std::end(kWords),
                                 [&](const Words& w) { return op.name == w.op; });
  const char* name = row == std::end(kWords) ? nullptr
                     : number == 0           ? row->first
                     : number == 1           ? row->second
                                             : nullptr;
  if (!name) p.in().expected("an operand, or ':' and the types of " + std::string(op.name));
  AttributeSyntax a = enumerator(p.now());
  if (p.now().kind == Token::symbol) a.kind = AttributeSyntax::symbol;
  if (p.now().kind == Token::string) a.kind = AttributeSyntax::string, a.text = p.unescaped(a.text);
  p.in().advance();
  op.attributes.add(p.memory(), {name, a});
}

// [0:4:2, 1:3], the ranges after the operand of a slice.
void read_ranges(Parser& p, OperationSyntax& op) {
  AttributeSyntax start, limit, strides;
  for (AttributeSyntax* a : {&start, &limit, &strides}) {
    a->kind = AttributeSyntax::integers;
    a->at = p.now().begin;
  }
  p.need('[', "'[' and the ranges of the slice");
  p.items(']', "',' or ']' among the ranges", [&] {
    start.values.add(p.memory(), p.integer("the start of a range"));
    p.need(':', "':' and the limit of the range");
    limit.values.add(p.memory(), p.integer("the limit of a range"));
    strides.values.add(p.memory(), p.take(':') ? p.integer("the stride of a range") : 1);
  });
  op.attributes.add(p.memory(), {"start_indices", start});
  op.attributes.add(p.memory(), {"limit_indices", limit});
  op.attributes.add(p.memory(), {"strides", strides});
}

void read_index(Parser& p, OperationSyntax& op) {
  AttributeSyntax a;
  a.kind = AttributeSyntax::integer;
  a.at = p.now().begin;
  p.need('[', "'[' and the number of the element");
  a.integer_value = p.integer("the number of the element");
  p.need(']', "']'");
  op.attributes.add(p.memory(), {"index", a});
}

bool begins_item(const Token& t) {
  switch (t.kind) {
    case Token::value:
    case Token::word:
    case Token::symbol:
    case Token::string: return true;
    default: return t.is('(');
  }
}

void read_items(Parser& p, OperationSyntax& op, bool inside);

void read_item(Parser& p, OperationSyntax& op, std::size_t& words, bool inside) {
  const Token t = p.now();
  if (t.kind == Token::value) {
    op.operands.add(p.memory(), p.use());
    if (!p.now().is('[')) return;
    if (op.name == "stablehlo.slice")
      read_ranges(p, op);
    else if (op.name == "stablehlo.get_tuple_element")
      read_index(p, op);
  } else if (t.is('(') && !inside) {
    p.in().advance();
    if (!p.take(')')) {
      read_items(p, op, true);
      p.need(')', "',' or ')' among the operands");
    }
  } else if (t.is_word("dense")) {
    op.attributes.add(p.memory(), {"value", p.data()});
  } else if (t.is_word("dense_resource")) {
    AttributeSyntax a;
    a.kind = AttributeSyntax::resource;
    a.at = t.begin;
    p.in().advance();
    p.need('<', "'<' and the name of the data");
    a.text = p.now().text;
    p.in().advance();
    p.need('>', "'>' behind the name of the data");
    op.attributes.add(p.memory(), {"value", a});
  } else if (t.kind == Token::word && p.in().next().is('=')) {
    read_key(p, op);
  } else {
    read_word(p, op, words++);
  }
}

// Parses items, which commas separate except after a name or a data type.
void read_items(Parser& p, OperationSyntax& op, bool inside) {
  for (std::size_t words = 0;;) {
    const Token t = p.now();
    if (!begins_item(t)) p.in().expected("an operand of " + std::string(op.name));
    const std::size_t operands = op.operands.size();
    read_item(p, op, words, inside);
    if (p.take(',')) continue;
    const bool names = t.kind == Token::symbol || t.kind == Token::string;
    const bool more = (names || op.operands.size() > operands) && p.now().is('(');
    if (!more && !(names && p.now().kind == Token::value)) return;
  }
}

// Data without a type takes the type of the operation.
void type_data(OperationSyntax& op, const TypeSyntax& type) {
  for (std::size_t i = 0; i < op.attributes.size(); ++i) {
    NamedAttribute& e = op.attributes.edit(i);
    const bool data =
        e.value.kind == AttributeSyntax::dense || e.value.kind == AttributeSyntax::resource;
    if (data && e.name == "value" && e.value.value_type->kind == TypeData::none)
      e.value.value_type = type;
  }
}

bool ends_function(std::string_view name) { return name == "return" || name == "func.return"; }

}  // namespace

void parse_pretty(Parser& p, OperationSyntax& op) {
  if (const PrettyForm form = form_with_regions(op.name)) return form(p, op);
  if (const PrettyForm form = form_of_shardy(op.name)) return form(p, op);
  const bool known = op.name.starts_with("stablehlo.") || op.name.starts_with("chlo.") ||
                     op.name.starts_with("check.") || op.name.starts_with("func.") ||
                     op.name.starts_with("interpreter.") || op.name == "sdy.constant" ||
                     op.name == "sdy.return" || op.name == "call" || op.name == "return";
  if (!known)
    p.in().fail(op.at, "the form of " + shown(op.name) + " is not known",
                "operations of StableHLO, CHLO, Shardy and func are read in both forms, those of "
                "other dialects in the generic form only",
                "print the module in the generic form, or lower it to StableHLO first");
  p.optional_dictionary(op);
  if (begins_item(p.now()) && !(ends_function(op.name) && p.now().kind != Token::value))
    read_items(p, op, false);
  p.optional_dictionary(op);
  const bool nothing = op.operands.empty() && op.defs.empty();
  if (nothing && !p.now().is(':')) return;  // return, optimization_barrier()
  type_data(op, p.types_of(op));
  if (of_tests(op)) p.optional_dictionary(op);
}

}  // namespace tessera::inline v0::stablehlo
