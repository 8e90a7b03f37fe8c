#include "stablehlo/text/lexer.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <utility>

namespace tessera::inline v0::stablehlo {

namespace {

// The classes of a character.
enum : std::uint8_t { kLetter = 1, kDigit = 2, kWord = 4, kName = 8, kBlank = 16 };
constexpr auto kClasses = [] {
  std::array<std::uint8_t, 256> of{};
  const auto set = [&](char from, char to, int bits) {
    for (int c = from; c <= to; ++c)
      of[static_cast<std::size_t>(c)] =
          static_cast<std::uint8_t>(of[static_cast<std::size_t>(c)] | bits);
  };
  for (const auto& [from, to] : {std::pair('a', 'z'), std::pair('A', 'Z'), std::pair('_', '_')})
    set(from, to, kLetter | kWord | kName);
  set('0', '9', kDigit | kWord | kName);
  for (const char c : {'.', '$'}) set(c, c, kWord | kName);
  set('-', '-', kName);
  for (const char c : {' ', '\n', '\t', '\r'}) set(c, c, kBlank);
  return of;
}();
bool is(char c, int classes) { return kClasses[static_cast<unsigned char>(c)] & classes; }

}  // namespace

bool is_digit(char c) { return c >= '0' && c <= '9'; }
int hex_value(char c) {
  if (is_digit(c)) return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  if (c >= 'A' && c <= 'F') return c - 'A' + 10;
  return -1;
}
bool is_word_character(char c) { return is(c, kWord); }
bool is_hex_digit(char c) { return hex_value(c) >= 0; }

void Lexer::skip_blanks() {
  for (;;) {
    while (is(peek(at_), kBlank)) ++at_;
    if (peek(at_) != '/' || peek(at_ + 1) != '/') return;
    at_ = std::min(text_.find('\n', at_), text_.size());
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

void Lexer::take(int classes, std::size_t skip) {
  const char *begin = text_.data() + at_ + skip, *end = text_.data() + text_.size(), *i = begin;
  while (i < end && is(*i, classes)) ++i;
  now_.text = {begin, static_cast<std::size_t>(i - begin)};
  at_ = static_cast<std::size_t>(i - text_.data());
}

void Lexer::named(Token::Kind kind, int classes) {
  if (!is(peek(at_ + 1), classes))
    fail(at_, "a name should stand behind this '" + std::string(1, text_[at_]) + "'");
  now_.kind = kind;
  take(classes, 1);
}

// The 1 of %0#1; the name has been taken.
void Lexer::read_number_of_result() {
  const char* from = text_.data() + at_ + 1;
  const auto [to, error] =
      std::from_chars(from, text_.data() + text_.size(), now_.number_of_result);
  if (error != std::errc()) fail(at_ + 1, "no operation has so many results");
  at_ = static_cast<std::size_t>(to - text_.data());
}

void Lexer::read() {
  const char c = text_[at_];
  if (is(c, kLetter)) {
    now_.kind = Token::word;
    take(kWord, 0);
  } else if (c == '%') {
    named(Token::value, kName);
    if (peek(at_) == '#' && is_digit(peek(at_ + 1))) read_number_of_result();
  } else if (c == '@') {
    if (peek(at_ + 1) == '"')
      read_string(at_ + 1);
    else
      named(Token::symbol, kName);
    now_.kind = Token::symbol;
  } else if (c == '^') {
    named(Token::block, kName);
  } else if (c == '#' && is(peek(at_ + 1), kWord)) {
    named(Token::attribute, kWord);
  } else if (c == '!') {
    named(Token::type, kWord);
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
