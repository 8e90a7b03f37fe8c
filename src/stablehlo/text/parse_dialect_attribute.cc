// Attributes of dialects, and aliases of attributes.
#include "stablehlo/text/parser.h"

namespace tessera::inline v0::stablehlo {

namespace {

std::size_t size_of_syntax(const AttributeSyntax& a) {
  std::size_t n = 1 + a.values.size() / 16;
  for (const AttributeSyntax& i : a.items) n += size_of_syntax(i);
  for (const NamedAttribute& e : a.entries) n += size_of_syntax(e.value);
  return n;
}

}  // namespace

void Parser::expand(std::size_t at, std::size_t size) {
  constexpr std::size_t kMost = 1'000'000;
  expanded_ += size;
  if (expanded_ > kMost)
    in_.fail(at,
             "the aliases of this file stand for more than " + std::to_string(kMost) + " parts");
}

// [b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f]
AttributeSyntax Parser::conv_dimensions() {
  AttributeSyntax a;
  a.kind = AttributeSyntax::conv;
  a.at = now().begin;
  for (int k = 0; k < 3; ++k) {
    if (k == 1 && !take_word("x")) in_.expected("'x' and the dimensions of the kernel");
    if (k == 2) {
      if (!now().is_arrow()) in_.expected("'->' and the dimensions of the result");
      in_.advance();
    }
    AttributeSyntax labels;
    labels.kind = AttributeSyntax::list;
    labels.at = now().begin;
    need('[', "'[' and the names of dimensions");
    items(']', "',' or ']' among the names of dimensions", [&] {
      AttributeSyntax label;
      label.kind = AttributeSyntax::enumerator;
      label.at = now().begin;
      label.text = now().text;
      if (now().kind != Token::word && now().kind != Token::number && !now().is('?'))
        in_.expected("b, f, i, o, or the number of a spatial dimension");
      in_.advance();
      labels.items.add(memory(), label);
    });
    a.items.add(memory(), labels);
  }
  return a;
}

// <key = value, ...>, whose kind follows from the context; other contents of the brackets are
// skipped.
AttributeSyntax Parser::angled_attribute() {
  AttributeSyntax a;
  a.at = now().begin;
  const Token first = in_.next();
  bool named = false;
  if (first.kind == Token::word) {
    in_.advance();
    named = in_.next().is('=');
    in_.jump(a.at);
  }
  if (!named) {
    a.kind = AttributeSyntax::other;
    a.data = balanced();
    return a;
  }
  a.kind = AttributeSyntax::fields;
  in_.advance();
  items('>', "',' or '>' among the fields", [&] {
    NamedAttribute e;
    e.name = now().text;
    if (now().kind != Token::word) in_.expected("the name of a field");
    in_.advance();
    need('=', "'=' and the value of the field");
    e.value = attribute();
    a.entries.add(memory(), e);
  });
  return a;
}

// (2)4: a sub-axis of size 4, after sub-axes whose sizes multiply to 2.
AttributeSyntax Parser::part_of_axis() {
  AttributeSyntax a;
  a.kind = AttributeSyntax::integers;
  a.at = now().begin;
  in_.advance();
  a.values.add(memory(), integer("what the sizes of the parts before multiply to"));
  need(')', "')' and the size of the part");
  a.values.add(memory(), integer("the size of the part"));
  return a;
}

AttributeSyntax Parser::hashed_attribute() {
  AttributeSyntax a;
  a.at = now().begin;
  a.text = now().text;
  in_.advance();
  if (!now().is('<')) {
    const auto alias = attribute_aliases_.find(a.text);
    if (alias != attribute_aliases_.end()) {
      expand(a.at, size_of_syntax(alias->second));
      return alias->second;
    }
    a.kind = AttributeSyntax::other;  // a location alias, which the end of the file defines
    if (a.text.find('.') == a.text.npos && !a.text.starts_with("loc"))
      in_.fail(a.at, "#" + std::string(a.text) + " is not defined");
    return a;
  }
  if (a.text.starts_with("sdy")) return shardy_attribute(a);
  const bool ours = a.text.starts_with("stablehlo") || a.text.starts_with("chlo");
  const Token inside = in_.next();
  if (ours && inside.is('[')) {
    in_.advance();
    a = conv_dimensions();
    need('>', "'>' behind the dimensions");
    return a;
  }
  if (!ours || inside.kind != Token::word) {
    a.kind = AttributeSyntax::other;
    a.data = balanced();
    return a;
  }
  const Token bracket = now();
  in_.advance();
  const std::size_t at = now().begin;
  in_.advance();
  if (now().is('=')) {
    in_.jump(bracket.begin);
    const std::string_view kind = a.text;
    a = angled_attribute();
    a.text = kind;
    return a;
  }
  if (now().kind != Token::word) {
    in_.jump(at);  // a single word: #stablehlo.x<WORD>
    if (in_.next().is('>')) {
      a.kind = AttributeSyntax::enumerator;
      a.text = now().text;
      in_.advance();
      in_.advance();
      return a;
    }
    in_.expected("'key = value', or a kind and a value");
  }
  a.kind = AttributeSyntax::enumerator;
  a.text = now().text;
  in_.advance();
  need('>', "'>' behind the value");
  return a;
}

}  // namespace tessera::inline v0::stablehlo
