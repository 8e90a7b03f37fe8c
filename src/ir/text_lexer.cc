#include "ir/text_lexer.h"

#include "base/message.h"

namespace tessera::inline v0 {

namespace {
bool is_digit(char c) { return c >= '0' && c <= '9'; }
bool is_letter(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_'; }
int hex_digit(char c) {
  if (is_digit(c)) return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  if (c >= 'A' && c <= 'F') return c - 'A' + 10;
  return -1;
}
}  // namespace

std::string Token::describe() const {
  switch (kind) {
    case end: return "the end of the text";
    case string: return "a string";
    default: return "'" + (text.size() > 40 ? text.substr(0, 40) + "..." : text) + "'";
  }
}

void raise_parse_error(const Token& at, const std::string& problem, const std::string& advice) {
  Message("parse_program")
      .problem(problem)
      .at("line " + std::to_string(at.line) + ", column " + std::to_string(at.column))
      .advice(advice)
      .raise<TraceError>();
}

void Lexer::advance() {
  if (text_[at_++] == '\n') {
    ++line_;
    column_ = 1;
  } else {
    ++column_;
  }
}

void Lexer::skip_blanks() {
  for (;;) {
    char c = peek();
    if (at_ >= text_.size()) return;
    if (c == '#')
      while (at_ < text_.size() && peek() != '\n') advance();
    else if (c == ' ' || c == '\t' || c == '\n' || c == '\r')
      advance();
    else
      return;
  }
}

void Lexer::read_string(Token& t) {
  t.kind = Token::string;
  advance();
  while (peek() != '"') {
    if (at_ >= text_.size() || peek() == '\n')
      raise_parse_error(t, "a string that begins here does not end on its line",
                        "close it with \"");
    if (peek() != '\\') {
      t.text += peek();
      advance();
      continue;
    }
    advance();
    char c = peek();
    if (c == '"' || c == '\\') {
      t.text += c;
    } else if (c == 'n') {
      t.text += '\n';
    } else if (c == 't') {
      t.text += '\t';
    } else if (c == 'x' && hex_digit(peek(1)) >= 0 && hex_digit(peek(2)) >= 0) {
      t.text += static_cast<char>(hex_digit(peek(1)) * 16 + hex_digit(peek(2)));
      advance();
      advance();
    } else {
      raise_parse_error(t, "a string holds an unknown escape",
                        "escapes are \\\" \\\\ \\n \\t and \\xHH");
    }
    advance();
  }
  advance();
}

Token Lexer::next() {
  skip_blanks();
  Token t;
  t.line = line_;
  t.column = column_;
  if (at_ >= text_.size()) return t;
  char c = peek();
  auto take = [&] {
    t.text += peek();
    advance();
  };
  if (is_letter(c)) {
    t.kind = Token::identifier;
    while (is_letter(peek()) || is_digit(peek())) take();
    if (t.text == "nan" && peek() == ':' && peek(1) == '0' && peek(2) == 'x') {
      take();
      while (is_letter(peek()) || is_digit(peek())) take();
    }
    return t;
  }
  if (is_digit(c) || (c == '-' && (is_digit(peek(1)) || is_letter(peek(1))))) {
    t.kind = Token::number;
    take();
    while (is_letter(peek()) || is_digit(peek()) || peek() == '.' ||
           ((peek() == '+' || peek() == '-') && (t.text.back() == 'e')))
      take();
    return t;
  }
  if (c == '"') {
    read_string(t);
    return t;
  }
  t.kind = Token::punctuation;
  take();
  if (c == '-' && peek() == '>') {
    take();
  } else if (std::string_view("{}()[],:=*<>").find(c) == std::string_view::npos) {
    auto u = static_cast<unsigned char>(c);
    raise_parse_error(t, u >= 0x20 && u < 0x7f
                             ? "'" + t.text + "' means nothing here"
                             : "a byte of value " + std::to_string(u) + " means nothing here");
  }
  return t;
}

}  // namespace tessera::inline v0
