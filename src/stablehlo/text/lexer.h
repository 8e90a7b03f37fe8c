// Splits the text of a module into tokens, with one token of lookahead.
#pragma once

#include "stablehlo/text/source.h"

#include <cstdint>

namespace tessera::inline v0::stablehlo {

struct Token {
  enum Kind {
    end,
    word,         // stablehlo.add, tensor, true
    value,        // %x, %0#1
    symbol,       // @main, @"any text"
    block,        // ^bb0
    attribute,    // #stablehlo.scatter, #loc1
    type,         // !stablehlo.token
    number,       // -1, 4.5e+00, 0x7F80
    string,       // "text"
    punctuation,  // one character, or "->"
  } kind = end;
  std::size_t begin = 0, end_at = 0;
  std::string_view text;  // without the prefix of its kind: the name, or the text inside the quotes
  std::uint32_t number_of_result = 0;  // the 1 of %0#1

  bool is(char c) const { return kind == punctuation && text.size() == 1 && text[0] == c; }
  bool is_arrow() const { return kind == punctuation && text.size() == 2; }
  bool is_word(std::string_view w) const { return kind == word && text == w; }
};

/// Whitespace and comments ("//" to the end of the line) only separate tokens. Lexing is linear in
/// the text, which is read once except where `jump` goes back.
class Lexer {
 public:
  Lexer(const Source& source, std::size_t begin, std::size_t end)
      : source_(source), text_(std::string_view(source.text).substr(0, end)), at_(begin) {
    advance();
  }

  const Source& source() const { return source_; }
  /// The text up to the end of this lexer's range.
  std::string_view text() const { return text_; }
  const Token& now() const { return now_; }
  /// The end of the previous token.
  std::size_t before() const { return before_; }
  void advance();
  /// Continues at `at`, for parts that are not sequences of tokens: dimensions of types, and data.
  void jump(std::size_t at);
  /// The token that follows the current one.
  Token next() const;
  [[noreturn]] void expected(const std::string& what) const;
  [[noreturn]] void fail(std::size_t at, const std::string& problem, const std::string& rule = {},
                         const std::string& advice = {}) const {
    stablehlo::fail(source_, at, {problem, rule, advice});
  }

 private:
  char peek(std::size_t ahead) const { return ahead < text_.size() ? text_[ahead] : '\0'; }
  void skip_blanks();
  void read();
  /// Takes characters of these classes, after the first `skip` characters.
  void take(int classes, std::size_t skip);
  void named(Token::Kind kind, int classes);
  void read_number_of_result();
  void read_string(std::size_t quote);
  void read_number();

  const Source& source_;
  std::string_view text_;
  std::size_t at_ = 0, before_ = 0;
  Token now_;
};

bool is_digit(char c);
bool is_word_character(char c);
bool is_hex_digit(char c);
int hex_value(char c);

}  // namespace tessera::inline v0::stablehlo
