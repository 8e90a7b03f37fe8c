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

MeshSyntax mesh_syntax(const AttributeSyntax& mesh) {
  MeshSyntax m;
  m.at = mesh.at;
  for (const AttributeSyntax& axis : mesh.items) {
    m.axes.emplace_back(axis.text);
    m.sizes.push_back(axis.integer_value);
  }
  m.devices = mesh.values.to_vector();
  return m;
}

// <["x"=2, "y"=4], device_ids=[0, 1, ...]>
AttributeSyntax Parser::mesh_attribute() {
  AttributeSyntax a;
  a.kind = AttributeSyntax::fields;
  a.at = now().begin;
  a.text = "sdy.mesh";
  need('<', "'<' and the axes of the mesh");
  need('[', "'[' and the axes of the mesh");
  items(']', "',' or ']' among the axes of the mesh", [&] {
    AttributeSyntax axis;
    axis.kind = AttributeSyntax::string;
    axis.at = now().begin;
    axis.text = text_token(*this, "the name of an axis, such as \"x\"");
    need('=', "'=' and the size of the axis");
    axis.integer_value = integer("the size of the axis");
    a.items.add(memory(), axis);
  });
  if (take(',')) {
    if (!take_word("device_ids")) in_.expected("'device_ids = [...]'");
    need('=', "'=' and the numbers of the devices");
    a.values = list().values;
  }
  need('>', "'>' behind the mesh");
  return a;
}

// @name = <["x"=2, "y"=4], device_ids=[0, 1, ...]> {...}
void Parser::mesh(ModuleSyntax& into) {
  const std::size_t at = now().begin;
  if (now().kind != Token::symbol) in_.expected("the name of the mesh");
  const std::string name(now().text);
  in_.advance();
  need('=', "'=' and a mesh");
  take_word("maximal");
  MeshSyntax m = mesh_syntax(mesh_attribute());
  m.at = at;
  if (now().is('{') && !in_.next().is('-')) dictionary();
  location();
  into.meshes[name] = std::move(m);
}

// "x", or "x":(1)2
AttributeSyntax Parser::axis() {
  AttributeSyntax axis;
  axis.kind = AttributeSyntax::string;
  axis.at = now().begin;
  axis.text = text_token(*this, "the name of an axis, such as \"x\"");
  if (!take(':')) return axis;
  if (!now().is('(')) in_.expected("'(' and the part of the axis, such as (1)2");
  axis.values = part_of_axis().values;
  return axis;
}

// {"x", "y":(1)2}
AttributeSyntax Parser::axes() {
  AttributeSyntax list;
  list.kind = AttributeSyntax::list;
  list.at = now().begin;
  need('{', "'{' and axes");
  items('}', "',' or '}' among the axes", [&] { list.items.add(memory(), axis()); });
  return list;
}

// Priorities are parsed and ignored.
AttributeSyntax Parser::sharding() {
  AttributeSyntax a;
  a.kind = AttributeSyntax::sharding;
  a.at = now().begin;
  need('<', "'<' and a sharding");
  if (take_word("mesh")) {
    a.entries.add(memory(), {"mesh", mesh_attribute()});
  } else {
    if (now().kind != Token::symbol) in_.expected("the name of a mesh");
    a.text = now().text;
    in_.advance();
  }
  need(',', "',' and the dimensions of the sharding");
  need('[', "'[' and the dimensions of the sharding");
  items(']', "',' or ']' among the dimensions of the sharding", [&] {
    AttributeSyntax dim;
    dim.kind = AttributeSyntax::list;
    dim.at = now().begin;
    need('{', "'{' and the axes of a dimension");
    items('}', "',' or '}' among the axes of a dimension", [&] {
      AttributeSyntax of_dim;
      of_dim.at = now().begin;
      if (!take('?')) {
        if (now().kind != Token::string) in_.expected("the name of an axis, such as \"x\", or '?'");
        of_dim = axis();
      }
      dim.items.add(memory(), of_dim);
    });
    if (now().kind == Token::word && now().text.starts_with("p")) in_.advance();
    a.items.add(memory(), dim);
  });
  while (take(',')) {
    const Token word = now();
    if (!take_word("replicated") && !take_word("unreduced"))
      in_.fail(word.begin, "a sharding with " + shown(word.text) + " is not supported",
               "a sharding says which axes cut each dimension, along which it is whole, "
               "replicated={...}, and along which it is a sum, unreduced={...}");
    need('=', "'=' and axes");
    std::string_view reduction = "sum";
    if (now().kind == Token::word) {
      reduction = now().text;
      if (reduction != "sum" && reduction != "max" && reduction != "min")
        in_.expected("'{' and axes, or sum, max or min");
      in_.advance();
    }
    AttributeSyntax along = axes();
    along.text = reduction;
    a.entries.add(memory(), {word.text, along});
  }
  need('>', "'>' behind the sharding");
  return a;
}

// <[<@mesh, [{"x"}]>, ...]>
AttributeSyntax Parser::shardings() {
  AttributeSyntax list;
  list.kind = AttributeSyntax::list;
  list.at = now().begin;
  need('<', "'<' and shardings");
  need('[', "'[' and shardings");
  items(']', "',' or the end of the list", [&] { list.items.add(memory(), sharding()); });
  need('>', "'>' behind the shardings");
  return list;
}

// [{"x"}, {}], [{"x"}: 0->1], {"x"}
AttributeSyntax Parser::axes_of_dimensions() {
  if (now().is('{')) return axes();
  AttributeSyntax list;
  list.kind = AttributeSyntax::list;
  list.at = now().begin;
  need('[', "'[' and axes");
  items(']', "',' or ']' among lists of axes", [&] {
    AttributeSyntax of_dim = axes();
    if (take(':')) {
      of_dim.values.add(memory(), integer("the dimension that they cut before"));
      if (!now().is_arrow()) in_.expected("'->' and the dimension that they cut then");
      in_.advance();
      of_dim.values.add(memory(), integer("the dimension that they cut then"));
    }
    list.items.add(memory(), of_dim);
  });
  return list;
}

// #sdy.sharding<...>, #sdy<manual_axes{"x"}>; the current token is the bracket.
AttributeSyntax Parser::shardy_attribute(AttributeSyntax a) {
  if (a.text == "sdy.sharding") return sharding();
  if (a.text == "sdy.sharding_per_value") return shardings();
  if (a.text == "sdy.mesh") return mesh_attribute();
  const std::string_view kind = in_.next().text;
  if (a.text == "sdy" && (kind == "manual_axes" || kind == "axis_ref_list" ||
                          kind == "list_of_axis_ref_lists" || kind == "all_to_all_param_list")) {
    in_.advance(), in_.advance();
    a = axes_of_dimensions();
    need('>', "'>' behind the axes");
    return a;
  }
  a.kind = AttributeSyntax::other;
  a.data = balanced();
  return a;
}

}  // namespace tessera::inline v0::stablehlo
