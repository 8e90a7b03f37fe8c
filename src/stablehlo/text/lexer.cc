#include "stablehlo/text/lexer.h"

#include <algorithm>
#include <charconv>

namespace tessera::inline v0::stablehlo {

namespace {
bool is_letter(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_'; }
bool in_word(char c) { return is_letter(c) || is_digit(c) || c == '.' || c == '$'; }
bool in_name(char c) { return in_word(c) || c == '-'; }
}  // namespace

bool is_digit(char c) { return c >= '0' && c <= '9'; }
int hex_value(char c) {
  if (is_digit(c)) return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  if (c >= 'A' && c <= 'F') return c - 'A' + 10;
  return -1;
}
bool is_hex_digit(char c) { return hex_value(c) >= 0; }

void Lexer::skip_blanks() {
  for (;;) {
    const char c = peek(at_);
    if (c == ' ' || c == '\n' || c == '\t' || c == '\r')
      ++at_;
    else if (c == '/' && peek(at_ + 1) == '/')
      at_ = std::min(text_.find('\n', at_), text_.size());
    else
      return;
  }
}

void Lexer::read_string(std::size_t quote) {
  std::size_t i = quote + 1;
  for (;; ++i) {
    if (i >= text_.size() || text_[i] == '\n')
      fail(quote, "this string has no end",
           "a string ends with '\"' in the line that it begins in");
    if (text_[i] == '"') break;
    if (text_[i] == '\\') ++i;
  }
  now_.text = text_.substr(quote + 1, i - quote - 1);
  at_ = i + 1;
}

void Lexer::read_number() {
  std::size_t i = at_ + (text_[at_] == '-' ? 1 : 0);
  if (text_[i] == '0' && peek(i + 1) == 'x' && is_hex_digit(peek(i + 2))) {
    for (i += 2; is_hex_digit(peek(i));) ++i;
  } else {
    while (is_digit(peek(i))) ++i;
    if (peek(i) == '.') {
      for (++i; is_digit(peek(i));) ++i;
    }
    const bool sign = peek(i + 1) == '-' || peek(i + 1) == '+';
    if ((peek(i) == 'e' || peek(i) == 'E') && is_digit(peek(i + (sign ? 2 : 1)))) {
      for (i += sign ? 2 : 1; is_digit(peek(i));) ++i;
    }
  }
  now_.kind = Token::number;
  now_.text = text_.substr(at_, i - at_);
  at_ = i;
}

void Lexer::read() {
  const auto take = [&](auto&& in, std::size_t skip) {
    std::size_t i = at_ + skip;
    while (i < text_.size() && in(text_[i])) ++i;
    now_.text = text_.substr(at_ + skip, i - at_ - skip);
    at_ = i;
  };
  const auto named = [&](Token::Kind kind, auto&& in) {
    if (!in(peek(at_ + 1)))
      fail(at_, "a name should stand behind this '" + std::string(1, text_[at_]) + "'");
    now_.kind = kind;
    take(in, 1);
  };
  const char c = text_[at_];
  if (is_letter(c)) {
    now_.kind = Token::word;
    take(in_word, 0);
  } else if (c == '%') {
    named(Token::value, in_name);
    if (peek(at_) == '#' && is_digit(peek(at_ + 1))) {
      const char* from = text_.data() + at_ + 1;
      const auto [to, error] =
          std::from_chars(from, text_.data() + text_.size(), now_.number_of_result);
      if (error != std::errc()) fail(at_ + 1, "no operation has so many results");
      at_ = static_cast<std::size_t>(to - text_.data());
    }
  } else if (c == '@') {
    if (peek(at_ + 1) == '"')
      read_string(at_ + 1);
    else
      named(Token::symbol, in_name);
    now_.kind = Token::symbol;
  } else if (c == '^') {
    named(Token::block, in_name);
  } else if (c == '#' && in_word(peek(at_ + 1))) {
    named(Token::attribute, in_word);
  } else if (c == '!') {
    named(Token::type, in_word);
  } else if (c == '"') {
    now_.kind = Token::string;
    read_string(at_);
  } else if (is_digit(c) || (c == '-' && is_digit(peek(at_ + 1)))) {
    read_number();
  } else {
    now_.kind = Token::punctuation;
    const std::size_t n = c == '-' && peek(at_ + 1) == '>' ? 2 : 1;
    now_.text = text_.substr(at_, n);
    at_ += n;
  }
}

void Lexer::advance() {
  before_ = now_.end_at;
  skip_blanks();
  now_ = Token();
  now_.begin = at_;
  if (at_ < text_.size()) read();
  now_.end_at = at_;
}

void Lexer::jump(std::size_t at) {
  at_ = at;
  now_.end_at = at;
  advance();
}

Token Lexer::next() const {
  Lexer ahead = *this;
  ahead.advance();
  return ahead.now_;
}

void Lexer::expected(const std::string& what) const {
  if (now_.kind == Token::end) fail(now_.begin, "the text ends where " + what + " should be");
  const std::string_view between = text_.substr(before_, now_.begin - before_);
  if (before_ > 0 && between.find('\n') != between.npos)
    fail(before_, "the line ends where " + what + " should be");
  const std::string_view text = text_.substr(now_.begin, now_.end_at - now_.begin);
  fail(now_.begin, shown(text) + " stands where " + what + " should be");
}

}  // namespace tessera::inline v0::stablehlo
