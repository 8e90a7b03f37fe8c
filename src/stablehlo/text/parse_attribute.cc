// Attributes.
#include "stablehlo/text/parser.h"

#include <algorithm>
#include <charconv>

namespace tessera::inline v0::stablehlo {

const AttributeSyntax* find(const Attributes& entries, std::string_view name) {
  for (const NamedAttribute& e : entries)
    if (e.name == name) return &e.value;
  return nullptr;
}

std::string without_escapes(std::string_view text) {
  std::string out;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] != '\\' || i + 1 == text.size()) {
      out += text[i];
    } else if (i + 2 < text.size() && is_hex_digit(text[i + 1]) && is_hex_digit(text[i + 2])) {
      out += static_cast<char>(hex_value(text[i + 1]) * 16 + hex_value(text[i + 2]));
      i += 2;
    } else {
      const char c = text[++i];
      out += c == 'n' ? '\n' : c == 't' ? '\t' : c;
    }
  }
  return out;
}

std::string_view Parser::unescaped(std::string_view text) {
  if (text.find('\\') == text.npos) return text;
  return memory().keep(without_escapes(text));
}

namespace {

// The bracket that closes this one, or zero if this is not an opening bracket.
char closing(char open) {
  switch (open) {
    case '(': return ')';
    case '[': return ']';
    case '{': return '}';
    case '<': return '>';
    default: return 0;
  }
}

bool all_are(const List<AttributeSyntax>& items, AttributeSyntax::Kind kind) {
  return std::all_of(items.begin(), items.end(),
                     [&](const AttributeSyntax& a) { return a.kind == kind; });
}

}  // namespace

std::string_view Parser::balanced() {
  std::string open;
  const std::size_t begin = now().end_at;
  for (;;) {
    const Token& t = now();
    if (t.kind == Token::end)
      in_.expected(open.empty() ? "a bracket" : std::string("'") + open.back() + "'");
    const char c = t.kind == Token::punctuation && t.text.size() == 1 ? t.text[0] : 0;
    if (const char close = closing(c))
      open.push_back(close);
    else if (c == ')' || c == ']' || c == '}' || c == '>') {
      if (open.empty() || open.back() != c)
        in_.expected(open.empty() ? "a bracket" : std::string("'") + open.back() + "'");
      open.pop_back();
    }
    const std::size_t end = t.begin;
    in_.advance();
    if (open.empty()) return in_.text().substr(begin, end - begin);
  }
}

namespace {

// The position after the bracket that closes the location beginning at `at`. 0 if the fast search
// cannot find it, because the text has brackets other than round ones, escapes, or several lines.
std::size_t end_of_location(std::string_view text, std::size_t at) {
  for (int open = 0; at < text.size(); ++at) {
    switch (text[at]) {
      case '(': ++open; break;
      case ')':
        if (open-- == 0) return at + 1;
        break;
      case '"':
        at = text.find_first_of("\"\\\n", at + 1);
        if (at == text.npos || text[at] != '"') return 0;
        break;
      case '\n':
      case '/':
      case '[':
      case '{':
      case '<':
      case ']':
      case '}':
      case '>': return 0;
      default: break;
    }
  }
  return 0;
}

}  // namespace

std::size_t Parser::location() {
  if (!now().is_word("loc")) return 0;
  in_.advance();
  if (!now().is('(')) in_.expected("'(' and a location");
  const std::size_t at = now().end_at;
  // Nearly half of a text that JAX writes with locations are locations.
  if (const std::size_t end = end_of_location(in_.text(), at))
    in_.jump(end);
  else
    balanced();
  return at;
}

std::string_view Parser::label() {
  const std::size_t at = location();
  if (at == 0) return {};
  const std::string_view what = std::string_view(source_->text).substr(at, in_.before() - 1 - at);
  const std::size_t quote = what.starts_with('"') ? what.find('"', 1) : what.npos;
  // A file name is followed by line and column.
  if (quote == what.npos || what.substr(quote + 1).starts_with(':')) return {};
  return unescaped(what.substr(1, quote - 1));
}

void Parser::typed(AttributeSyntax& a) {
  if (take(':')) a.value_type = type();
}

AttributeSyntax Parser::data() {
  AttributeSyntax a;
  a.kind = AttributeSyntax::dense;
  a.at = now().begin;
  in_.advance();
  if (!now().is('<')) in_.expected("'<' and elements");
  // Data may be megabytes of numbers, so it is not split into tokens. It is read when its type is
  // known.
  const std::string_view text = in_.text();
  const std::size_t begin = now().begin + 1;
  std::size_t i = begin;
  for (;;) {
    i = std::min(text.find_first_of("\">", i), text.size());
    if (i < text.size() && text[i] == '>') break;
    if (i < text.size()) i = text.find('"', i + 1);
    if (i >= text.size())
      in_.fail(now().begin, "this '<' is never closed", "", "is the file whole?");
    ++i;
  }
  a.data = text.substr(begin, i - begin);
  in_.jump(i + 1);
  return a;
}

std::int64_t Parser::bits(std::string_view what) {
  const std::string_view t = now().text;
  std::uint64_t large = 0;
  const auto [end, error] = std::from_chars(t.data(), t.data() + t.size(), large);
  if (error != std::errc() || end != t.data() + t.size()) return integer(what);
  in_.advance();
  return static_cast<std::int64_t>(large);
}

AttributeSyntax Parser::number() {
  AttributeSyntax a;
  a.at = now().begin;
  const std::string_view t = now().text;
  const bool hexadecimal = t.find('x') != t.npos;
  if (!hexadecimal && t.find_first_of(".eE") == t.npos) {
    a.kind = AttributeSyntax::integer;
    a.integer_value = bits("an integer");
  } else {
    a.kind = AttributeSyntax::real;
    in_.advance();
  }
  a.text = t;
  typed(a);
  return a;
}

AttributeSyntax Parser::list() {
  AttributeSyntax a;
  a.kind = AttributeSyntax::list;
  a.at = now().begin;
  need('[', "'[' and a list");
  items(']', "',' or ']' in the list", [&] { a.items.add(memory(), attribute()); });
  if (all_are(a.items, AttributeSyntax::integer)) {
    a.kind = AttributeSyntax::integers;
    for (const AttributeSyntax& i : a.items) a.values.add(memory(), i.integer_value);
    a.items = {};
  }
  return a;
}

Attributes Parser::dictionary() {
  const Nesting level(depth_, in_);
  Attributes out;
  need('{', "'{' and attributes");
  items('}', "',' or '}' among the attributes", [&] {
    NamedAttribute e;
    if (now().kind != Token::word && now().kind != Token::string)
      in_.expected("the name of an attribute");
    e.name = now().kind == Token::string ? unescaped(now().text) : now().text;
    e.value.at = now().begin;
    in_.advance();
    if (take('=')) e.value = attribute();
    out.add(memory(), e);
  });
  return out;
}

AttributeSyntax Parser::word_attribute() {
  AttributeSyntax a;
  a.at = now().begin;
  const Token word = now();
  if (word.is_word("dense")) {
    a = data();
    typed(a);
    return a;
  }
  if (word.is_word("true") || word.is_word("false") || word.is_word("unit")) {
    a.kind = word.is_word("unit") ? AttributeSyntax::unit : AttributeSyntax::boolean;
    a.integer_value = word.is_word("true");
    in_.advance();
    return a;
  }
  if (word.is_word("dense_resource")) {
    a.kind = AttributeSyntax::resource;
    in_.advance();
    need('<', "'<' and the name of the data");
    if (now().kind != Token::word && now().kind != Token::string)
      in_.expected("the name of the data");
    a.text = now().text;
    in_.advance();
    need('>', "'>' behind the name of the data");
    typed(a);
    return a;
  }
  if (word.is_word("array")) {
    a.kind = AttributeSyntax::integers;
    in_.advance();
    need('<', "'<' and the elements of the array");
    const bool booleans = now().is_word("i1");
    a.value_type = type();
    if (take('>')) return a;
    need(':', "':' or '>' in the array");
    items('>', "',' or '>' in the array", [&] {
      if (booleans && (now().is_word("true") || now().is_word("false"))) {
        a.values.add(memory(), now().is_word("true"));
        in_.advance();
      } else {
        a.values.add(memory(), bits("an integer"));
      }
    });
    return a;
  }
  if (word.is_word("loc") || word.is_word("affine_map") || word.is_word("opaque") ||
      word.is_word("sparse") || word.is_word("strided")) {
    a.kind = AttributeSyntax::other;
    in_.advance();
    a.data = balanced();
    return a;
  }
  const Token behind = in_.next();
  const bool is_type = behind.is('<') || word.text == "index" || word.text == "none" ||
                       (word.text.size() > 1 && is_digit(word.text.back()));
  if (is_type) {
    a.kind = AttributeSyntax::type;
    a.value_type = type();
    return a;
  }
  a.kind = AttributeSyntax::enumerator;
  a.text = word.text;
  in_.advance();
  return a;
}

AttributeSyntax Parser::attribute() {
  const Nesting level(depth_, in_);
  AttributeSyntax a;
  a.at = now().begin;
  switch (now().kind) {
    case Token::word: return word_attribute();
    case Token::number: return number();
    case Token::attribute: return hashed_attribute();
    case Token::string:
      a.kind = AttributeSyntax::string;
      a.text = unescaped(now().text);
      in_.advance();
      typed(a);
      return a;
    case Token::symbol:
      a.kind = AttributeSyntax::symbol;
      a.text = now().text;
      in_.advance();
      while (now().is(':') && in_.next().is(':')) {  // @outer::@inner
        in_.advance(), in_.advance();
        if (now().kind != Token::symbol) in_.expected("a symbol");
        a.text = memory().keep(std::string(a.text) + "::" + std::string(now().text));
        in_.advance();
      }
      return a;
    case Token::type: break;
    default:
      if (now().is('{')) {
        a.kind = AttributeSyntax::dict;
        a.entries = dictionary();
        return a;
      }
      if (now().is('[')) return list();
      if (now().is('<')) return angled_attribute();
      if (!now().is('(')) in_.expected("an attribute");
      if (in_.next().kind == Token::number) return part_of_axis();
  }
  a.kind = AttributeSyntax::type;
  a.value_type = type();
  return a;
}

}  // namespace tessera::inline v0::stablehlo
