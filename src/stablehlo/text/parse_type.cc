// Types. Dimensions ("2x?x3xf32") are not a sequence of tokens, so tensors are parsed by character.
#include "stablehlo/text/parser.h"

#include <charconv>

namespace tessera::inline v0::stablehlo {

Nesting::Nesting(int& depth, const Lexer& lexer) : depth_(depth) {
  if (++depth_ > kDeepest) {
    --depth_;  // the destructor will not run
    lexer.fail(lexer.now().begin, "this nests more than " + std::to_string(kDeepest) + " deep",
               "regions, attributes and types nest at most " + std::to_string(kDeepest) + " deep");
  }
}

bool Parser::take(char c) {
  if (!now().is(c)) return false;
  in_.advance();
  return true;
}
void Parser::need(char c, std::string_view what) {
  if (!take(c)) in_.expected(std::string(what));
}
bool Parser::take_word(std::string_view w) {
  if (!now().is_word(w)) return false;
  in_.advance();
  return true;
}

std::int64_t Parser::integer(std::string_view what) {
  const std::string_view t = now().text;
  std::int64_t value = 0;
  if (now().kind != Token::number) in_.expected(std::string(what));
  const auto [end, error] = std::from_chars(t.data(), t.data() + t.size(), value);
  if (error != std::errc() || end != t.data() + t.size())
    in_.expected(std::string(what) + " of 64 bits");
  in_.advance();
  return value;
}

void Parser::dimensions(TypeData& type) {
  const std::string_view text = in_.text();
  std::size_t i = now().begin;
  if (now().is('*')) {
    type.ranked = false;
    if (i + 1 >= text.size() || text[i + 1] != 'x') in_.expected("'*x' and an element type");
    in_.jump(i + 2);
    return;
  }
  while (i < text.size() && (text[i] == '?' || is_digit(text[i]))) {
    std::int64_t extent = kDynamic;
    std::size_t end = i + 1;
    if (text[i] != '?') {
      const auto [stop, error] =
          std::from_chars(text.data() + i, text.data() + text.size(), extent);
      if (error != std::errc()) in_.fail(i, "this dimension does not fit into 64 bits");
      end = static_cast<std::size_t>(stop - text.data());
    }
    if (end >= text.size() || text[end] != 'x')
      in_.fail(end, "'x' should follow the dimension", "a tensor is written as tensor<2x3xf32>");
    type.dims.add(memory(), extent);
    if (type.dims.size() > kDeepest)
      in_.fail(i, "a tensor has at most " + std::to_string(kDeepest) + " dimensions");
    i = end + 1;
  }
  in_.jump(i);
}

void Parser::element(TypeData& type) {
  const std::size_t begin = now().begin;
  if (now().kind != Token::word && now().kind != Token::type) in_.expected("an element type");
  if (now().kind == Token::type) {
    if (const auto alias = type_aliases_.find(now().text); alias != type_aliases_.end()) {
      type.element = alias->second->text;
      in_.advance();
      return;
    }
  }
  in_.advance();
  if (now().is('<')) balanced();
  type.element = in_.text().substr(begin, in_.before() - begin);
}

TypeData Parser::angled_type() {
  TypeData type;
  const std::string_view name = now().text;
  in_.advance();
  if (name == "tensor" || name == "memref" || name == "vector") {
    type.kind = name == "tensor" ? TypeData::tensor : TypeData::other;
    if (!now().is('<')) in_.expected("'<' and the shape of the " + std::string(name));
    in_.advance();
    dimensions(type);
    element(type);
    if (take(',')) attribute();  // an encoding, such as the bounds of dynamic dimensions
    need('>', "'>' and the end of the type");
  } else if (name == "tuple" || name == "stablehlo.future") {  // the value it will have
    type.kind = TypeData::tuple;
    need('<', "'<' and the types of the tuple");
    items('>', "',' or '>' in the tuple type", [&] { type.members.add(memory(), this->type()); });
  } else {  // an element type, or a type of another dialect
    type.kind = name == "stablehlo.token" ? TypeData::token : TypeData::other;
    if (now().is('<')) balanced();
  }
  return type;
}

List<TypeSyntax> Parser::types_in_parentheses() {
  List<TypeSyntax> out;
  need('(', "'(' and types");
  items(')', "',' or ')' in the list of types", [&] { out.add(memory(), type()); });
  return out;
}

TypeData Parser::function_type() {
  TypeData type;
  type.kind = TypeData::function;
  type.members = types_in_parentheses();
  if (!now().is_arrow()) in_.expected("'->' and the results of the function type");
  in_.advance();
  if (now().is('('))
    type.results = types_in_parentheses();
  else
    type.results.add(memory(), this->type());
  return type;
}

// The type spelled at this position, if it was parsed before. Adjacent types are often equal.
const TypeData* Parser::known_type(std::size_t at) {
  const std::string_view rest = in_.text().substr(at);
  if (last_type_->kind == TypeData::tensor && rest.starts_with(last_type_->text)) return last_type_;
  const std::size_t end = rest.find('>');
  if (end == rest.npos) return nullptr;
  const auto known = known_types_.find(rest.substr(0, end + 1));
  return known == known_types_.end() ? nullptr : last_type_ = known->second;
}

// Only remembers tensors that end at the first '>' and use no alias: their spelling means the same
// type everywhere.
void Parser::remember(const TypeData* type) {
  const std::string_view text = type->text;
  if (type->kind != TypeData::tensor || text.find('>') + 1 != text.size() ||
      text.find_first_of("!#") != text.npos)
    return;
  known_types_.emplace(text, type);
  last_type_ = type;
}

TypeSyntax Parser::type() {
  const Nesting level(depth_, in_);
  const std::size_t at = now().begin;
  TypeData type;
  if (now().is('(')) {
    type = function_type();
  } else if (now().kind == Token::word) {
    if (const TypeData* known = now().text == "tensor" ? known_type(at) : nullptr) {
      in_.jump(at + known->text.size());
      return {known, at};
    }
    type = angled_type();
  } else if (now().kind == Token::type) {
    const auto alias = type_aliases_.find(now().text);
    if (alias != type_aliases_.end()) {
      expand(at, 1 + alias->second->text.size() / 16);
      in_.advance();
      return alias->second;
    }
    type = angled_type();
  } else {
    in_.expected("a type");
  }
  type.text = in_.text().substr(at, in_.before() - at);
  const auto* made = new (memory().take(sizeof(TypeData))) TypeData(type);
  remember(made);
  return {made, at};
}

}  // namespace tessera::inline v0::stablehlo
