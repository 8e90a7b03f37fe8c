// Cuts the text of a program into tokens and knows where each begins.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace tessera::inline v0 {

struct Token {
  enum Kind { identifier, number, string, punctuation, end } kind = end;
  std::string text;  // of a string: unquoted
  int line = 1, column = 1;

  bool is(std::string_view punct) const { return kind == punctuation && text == punct; }
  /// For messages: "'add'", "the string "x"", "the end of the text".
  std::string describe() const;
};

/// Throws TraceError headed "parse_program" with line and column.
[[noreturn]] void raise_parse_error(const Token& at, const std::string& problem,
                                    const std::string& advice = "");

/// Spaces, newlines and comments ('#' to the end of the line) separate tokens and mean nothing
/// else. Punctuation is one of { } ( ) [ ] , : = * < > and "->". A number is anything that begins
/// like one, "-inf", "inf", "nan", "nan:0x7fc00001" included; whoever reads it says whether it is
/// well-formed.
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
