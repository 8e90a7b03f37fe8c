// Modules, functions, aliases and the data that follows them.
#include "stablehlo/text/parser.h"

#include <algorithm>

namespace tessera::inline v0::stablehlo {

namespace {

// These functions unpack modules in the generic form, which are written as operations.
const AttributeSyntax& need_attribute(const SourcePtr& source, const OperationSyntax& op,
                                      const char* name) {
  const AttributeSyntax* a = op.find(name);
  if (!a) fail(*source, op.at, {std::string(op.name) + " has no attribute " + name});
  return *a;
}

FunctionSyntax as_function(const SourcePtr& source, const OperationSyntax& op) {
  FunctionSyntax f;
  f.at = op.at;
  f.name = need_attribute(source, op, "sym_name").text;
  const TypeSyntax type = need_attribute(source, op, "function_type").value_type;
  if (type->kind != TypeData::function || op.regions.size() != 1)
    fail(*source, op.at, {"a function has a function type and one region"});
  if (const AttributeSyntax* v = op.find("sym_visibility")) f.is_private = v->text == "private";
  for (const TypeSyntax& t : type->results) f.results.add(source->memory, {{}, t, {}, t.at});
  f.body = op.regions[0];
  f.arguments = f.body.arguments;
  f.declared_only = f.body.operations.empty();
  const auto annotate = [&](const char* key, List<ArgumentSyntax>& what) {
    const AttributeSyntax* all = op.find(key);
    for (std::size_t i = 0; all && i < std::min(all->items.size(), what.size()); ++i)
      what.edit(i).attributes = all->items[i].entries;
  };
  annotate("arg_attrs", f.arguments);
  annotate("res_attrs", f.results);
  return f;
}

void unpack(const SourcePtr& source, const OperationSyntax& op, ModuleSyntax& into,
            std::vector<ModuleSyntax>& out) {
  if (op.name == "func.func") {
    into.functions.push_back(as_function(source, op));
    return;
  }
  if (op.name == "sdy.mesh") {
    MeshSyntax mesh = mesh_syntax(need_attribute(source, op, "mesh"));
    mesh.at = op.at;
    into.meshes[std::string(need_attribute(source, op, "sym_name").text)] = std::move(mesh);
    return;
  }
  if (op.name != "builtin.module" || op.regions.size() != 1)
    fail(*source, op.at, {shown(op.name) + " stands where a module or a function should be"});
  ModuleSyntax m;
  m.source = source;
  m.at = op.at;
  if (const AttributeSyntax* name = op.find("sym_name")) m.name = name->text;
  for (const OperationSyntax& inner : op.regions[0].operations) unpack(source, inner, m, out);
  m.attributes = op.attributes;
  out.push_back(std::move(m));
}

}  // namespace

const FunctionSyntax* ModuleSyntax::find(std::string_view function) const {
  for (const FunctionSyntax& f : functions)
    if (f.name == function) return &f;
  return nullptr;
}

std::vector<Part> parts_of(const Source& source) {
  constexpr std::string_view kSeparator = "// -----";
  std::vector<Part> parts;
  const std::string_view text = source.text;
  std::size_t begin = 0;
  for (std::size_t line = 0; line < text.size();) {
    const std::size_t end = std::min(text.find('\n', line), text.size());
    if (text.substr(line).starts_with(kSeparator)) {
      parts.push_back({begin, line});
      begin = end;
    }
    line = end + 1;
  }
  parts.push_back({begin, text.size()});
  return parts;
}

FunctionSyntax Parser::function() {
  FunctionSyntax f;
  if (take_word("private"))
    f.is_private = true;
  else if (!take_word("public"))
    take_word("nested");
  f.at = now().begin;
  if (now().kind != Token::symbol) in_.expected("the name of the function, such as @main");
  f.name = now().text;
  in_.advance();
  need('(', "'(' and the arguments of the function");
  items(')', "',' or ')' among the arguments of the function", [&] {
    if (now().kind == Token::value) {
      f.arguments.add(memory(), argument());
    } else {
      ArgumentSyntax a;
      a.at = now().begin;
      a.type = type();
      if (now().is('{')) a.attributes = dictionary();
      f.arguments.add(memory(), a);
    }
  });
  const auto result = [&] {
    ArgumentSyntax a;
    a.at = now().begin;
    a.type = type();
    if (now().is('{')) a.attributes = dictionary();
    location();
    f.results.add(memory(), a);
  };
  if (now().is_arrow()) {
    in_.advance();
    if (take('(')) {
      items(')', "',' or ')' among the results of the function", result);
    } else {
      const TypeSyntax only = type();
      f.results.add(memory(), {{}, only, {}, only.at});
    }
  }
  if (take_word("attributes")) dictionary();
  f.declared_only = !now().is('{');
  if (!f.declared_only) f.body = region();
  location();
  return f;
}

// {-# dialect_resources: {builtin: {name: "0x04000000..."}} #-}
void Parser::trailer(ModuleSyntax& into) {
  in_.advance();
  need('-', "'{-#'");
  need('#', "'{-#'");
  std::string_view name;
  for (int depth = 0; !now().is('#') || depth > 0;) {
    if (now().kind == Token::end) in_.expected("'#-}'");
    if (now().kind == Token::word) name = now().text;
    if (now().kind == Token::string) {
      if (in_.next().is(':'))
        name = now().text;
      else
        into.resources[std::string(name)] = now().text;
    }
    if (now().is('{')) ++depth;
    if (now().is('}')) --depth;
    in_.advance();
  }
  in_.advance();
  need('-', "'#-}'");
  need('}', "'#-}'");
}

// Parses an item inside a module or at top level; returns false if it is none of the known ones.
bool Parser::inside_module(ModuleSyntax& into) {
  if (take_word("func.func")) {
    into.functions.push_back(function());
  } else if (take_word("sdy.mesh")) {
    mesh(into);
  } else if (now().kind == Token::attribute || now().kind == Token::type) {
    const bool is_type = now().kind == Token::type;
    const std::string_view name = now().text;
    in_.advance();
    need('=', "'=' and what the name stands for");
    if (is_type)
      type_aliases_[std::string(name)] = type();
    else if (now().is_word("loc"))
      locations_->define(name, location());
    else
      attribute_aliases_[std::string(name)] = attribute();
  } else if (now().is('{')) {
    trailer(into);
  } else {
    return false;
  }
  return true;
}

// A module or a function in the generic form.
void Parser::outer_operation(ModuleSyntax& into, std::vector<ModuleSyntax>& out) {
  OperationSyntax op;
  operation(op);
  unpack(source_, op, into, out);
}

void Parser::module(std::vector<ModuleSyntax>& out) {
  const Nesting level(depth_, in_);
  ModuleSyntax m;
  m.source = source_;
  m.at = now().begin;
  if (now().kind == Token::symbol) {
    m.name = now().text;
    in_.advance();
  }
  if (take_word("attributes")) m.attributes = dictionary();
  need('{', "'{' and the functions of the module");
  while (!take('}')) {
    if (take_word("module"))
      module(out);
    else if (now().kind == Token::string)
      outer_operation(m, out);
    else if (!inside_module(m))
      in_.expected("a function, or '}' and the end of the module");
  }
  location();
  out.push_back(std::move(m));
}

std::vector<ModuleSyntax> Parser::modules() {
  std::vector<ModuleSyntax> out;
  ModuleSyntax loose;
  loose.source = source_;
  loose.at = now().begin;
  while (now().kind != Token::end) {
    if (take_word("module"))
      module(out);
    else if (now().kind == Token::string)
      outer_operation(loose, out);
    else if (!inside_module(loose))
      in_.expected("a module or a function");
  }
  if (!out.empty()) out.back().resources.merge(loose.resources);
  if (!loose.functions.empty()) out.push_back(std::move(loose));
  for (ModuleSyntax& m : out) m.locations = locations_;
  return out;
}

std::vector<ModuleSyntax> parse(const SourcePtr& source, Part part) {
  return Parser(source, part).modules();
}

}  // namespace tessera::inline v0::stablehlo
