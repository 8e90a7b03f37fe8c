#include "stablehlo/text/written_locations.h"

#include "stablehlo/text/parser.h"

#include <tessera/error.h>

#include <charconv>

namespace tessera::inline v0::stablehlo {

namespace {

// An alias may refer to another alias.
constexpr int kMostAliases = 8;

// Skips a location that is a part of another one: up to a comma, the word `at`, or a bracket that
// closes the whole.
void skip_location(Lexer& in) {
  int open = 0;
  for (; in.now().kind != Token::end; in.advance()) {
    if (open == 0 && (in.now().is(',') || in.now().is_word("at"))) return;
    if (in.now().is('(') || in.now().is('[') || in.now().is('<')) ++open;
    if ((in.now().is(')') || in.now().is(']') || in.now().is('>')) && open-- == 0) return;
  }
}

// Takes `c` if it comes next.
bool took(Lexer& in, char c) {
  if (!in.now().is(c)) return false;
  in.advance();
  return true;
}

LocationSyntax quoted(Lexer& in, Memory& memory) {
  LocationSyntax l;
  l.text = in.now().text;
  if (l.text.find('\\') != l.text.npos) l.text = memory.keep(without_escapes(l.text));
  in.advance();
  if (took(in, ':')) {
    l.kind = LocationSyntax::file;
    const std::string_view digits = in.now().text;
    std::from_chars(digits.data(), digits.data() + digits.size(), l.line);
    return l;
  }
  l.kind = LocationSyntax::name;
  if (took(in, '(')) l.parts.add(memory, in.now().begin);
  return l;
}

LocationSyntax of_call(Lexer& in, Memory& memory) {
  LocationSyntax l;
  in.advance();
  if (!took(in, '(')) return l;
  l.parts.add(memory, in.now().begin);
  skip_location(in);
  if (!in.now().is_word("at")) return l;
  in.advance();
  l.parts.add(memory, in.now().begin);
  l.kind = LocationSyntax::call;
  return l;
}

LocationSyntax of_several(Lexer& in, Memory& memory) {
  LocationSyntax l;
  l.kind = LocationSyntax::fused;
  in.advance();
  if (took(in, '<')) {
    while (!in.now().is('>') && in.now().kind != Token::end) {
      skip_location(in);
      took(in, ',');
    }
    in.advance();
  }
  if (!took(in, '[')) return l;
  while (!in.now().is(']') && in.now().kind != Token::end) {
    l.parts.add(memory, in.now().begin);
    skip_location(in);
    if (!took(in, ',')) break;
  }
  return l;
}

}  // namespace

LocationSyntax WrittenLocations::at(std::size_t location, Memory& memory) const {
  try {
    for (int i = 0; i < kMostAliases; ++i) {
      Lexer in(*source_, resolved(location), source_->text.size());
      if (in.now().is_word("loc")) {
        in.advance();
        took(in, '(');
      }
      if (in.now().kind == Token::string) return quoted(in, memory);
      if (in.now().is_word("callsite")) return of_call(in, memory);
      if (in.now().is_word("fused")) return of_several(in, memory);
      if (in.now().kind != Token::attribute) break;
      location = in.now().begin;
    }
  } catch (const IoError&) {
    // A location does not affect what a module computes, so one that cannot be read is ignored.
  }
  return {};
}

std::size_t WrittenLocations::resolved(std::size_t location) const {
  const std::string_view text = source_->text;
  for (int i = 0; i < kMostAliases && location < text.size() && text[location] == '#'; ++i) {
    std::size_t end = location + 1;
    while (end < text.size() && is_word_character(text[end])) ++end;
    const auto alias = aliases_.find(text.substr(location + 1, end - location - 1));
    if (alias == aliases_.end()) break;
    location = alias->second;
  }
  return location;
}

}  // namespace tessera::inline v0::stablehlo
