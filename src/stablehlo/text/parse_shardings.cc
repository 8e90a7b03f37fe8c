// Meshes and shardings of Shardy.
#include "stablehlo/text/parser.h"

namespace tessera::inline v0::stablehlo {

namespace {

std::string_view text_token(Parser& p, const char* what) {
  if (p.now().kind != Token::string) p.in().expected(what);
  const std::string_view text = p.unescaped(p.now().text);
  p.in().advance();
  return text;
}

}  // namespace

// @name = <["x"=2, "y"=4], device_ids=[0, 1, ...]> {...}
void Parser::mesh(ModuleSyntax& into) {
  MeshSyntax m;
  m.at = now().begin;
  if (now().kind != Token::symbol) in_.expected("the name of the mesh");
  const std::string name(now().text);
  in_.advance();
  need('=', "'=' and a mesh");
  take_word("maximal");
  need('<', "'<' and the axes of the mesh");
  need('[', "'[' and the axes of the mesh");
  items(']', "',' or ']' among the axes of the mesh", [&] {
    m.axes.emplace_back(text_token(*this, "the name of an axis, such as \"x\""));
    need('=', "'=' and the size of the axis");
    m.sizes.push_back(integer("the size of the axis"));
  });
  if (take(',')) {
    if (!take_word("device_ids")) in_.expected("'device_ids = [...]'");
    need('=', "'=' and the numbers of the devices");
    m.devices = list().values.to_vector();
  }
  need('>', "'>' behind the mesh");
  if (now().is('{') && !in_.next().is('-')) dictionary();
  location();
  into.meshes[name] = std::move(m);
}

// Priorities are read and mean nothing here; parts of axes, and what says more than where the
// dimensions lie, are not.
AttributeSyntax Parser::sharding() {
  AttributeSyntax a;
  a.kind = AttributeSyntax::sharding;
  a.at = now().begin;
  need('<', "'<' and a sharding");
  if (now().kind != Token::symbol) in_.expected("the name of a mesh");
  a.text = now().text;
  in_.advance();
  need(',', "',' and the dimensions of the sharding");
  need('[', "'[' and the dimensions of the sharding");
  items(']', "',' or ']' among the dimensions of the sharding", [&] {
    AttributeSyntax dim;
    dim.kind = AttributeSyntax::list;
    dim.at = now().begin;
    need('{', "'{' and the axes of a dimension");
    items('}', "',' or '}' among the axes of a dimension", [&] {
      AttributeSyntax axis;
      axis.at = now().begin;
      if (!take('?')) {
        axis.kind = AttributeSyntax::string;
        axis.text = text_token(*this, "the name of an axis, such as \"x\", or '?'");
        if (now().is(':'))
          in_.fail(axis.at, "a part of the axis " + shown(axis.text),
                   "dimensions are cut by whole axes",
                   "give the part a name of its own in the mesh");
      }
      dim.items.add(memory(), axis);
    });
    if (now().kind == Token::word && now().text.starts_with("p")) in_.advance();
    a.items.add(memory(), dim);
  });
  while (take(',')) {
    const Token word = now();
    if (!take_word("replicated"))
      in_.fail(word.begin, "a sharding with " + shown(word.text) + " is not supported",
               "a sharding says which axes cut each dimension");
    need('=', "'=' and axes");
    balanced();
  }
  need('>', "'>' behind the sharding");
  return a;
}

}  // namespace tessera::inline v0::stablehlo
