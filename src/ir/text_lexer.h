// Splits the text of a program into tokens and records where each begins.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace tessera::inline v0 {

struct Token {
  enum Kind { identifier, number, string, punctuation, end } kind = end;
  std::string text;  // unquoted if the token is a string
  int line = 1, column = 1;

  bool is(std::string_view punct) const { return kind == punctuation && text == punct; }
  /// The token as shown in messages: "'add'", "the string "x"", "the end of the text".
  std::string describe() const;
};

/// Throws a TraceError from "parse_program" with line and column.
[[noreturn]] void raise_parse_error(const Token& at, const std::string& problem,
                                    const std::string& advice = "");

/// Spaces, newlines and comments ('#' to the end of the line) only separate tokens. Punctuation is
/// one of { } ( ) [ ] , : = * < > and "->". A number is any token that begins like one, including
/// "-inf", "inf", "nan" and "nan:0x7fc00001"; the parser checks that it is well-formed.
class Lexer {
 public:
  explicit Lexer(std::string_view text) : text_(text) {}
  Token next();

 private:
  char peek(std::size_t ahead = 0) const {
    return at_ + ahead < text_.size() ? text_[at_ + ahead] : '\0';
  }
  void advance();
  void skip_blanks();
  void read_string(Token& t);

  std::string_view text_;
  std::size_t at_ = 0;
  int line_ = 1, column_ = 1;
};

}  // namespace tessera::inline v0
