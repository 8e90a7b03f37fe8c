#include "stablehlo/text/source.h"

#include "base/message.h"
#include "base/named_scopes.h"

#include <tessera/error.h>

#include <algorithm>
#include <utility>

namespace tessera::inline v0::stablehlo {

namespace {

constexpr std::size_t kShownBefore = 60, kShownAfter = 40, kShownText = 40;

bool continues_character(char c) { return (static_cast<unsigned char>(c) & 0xc0) == 0x80; }
bool is_plain(char c) { return static_cast<unsigned char>(c) >= 0x20 && c != 0x7f; }

std::string plain(std::string_view text) {
  std::string out(text);
  std::replace_if(
      out.begin(), out.end(), [](char c) { return !is_plain(c); }, ' ');
  return out;
}

struct Line {
  std::size_t number = 1, begin = 0, end = 0;
};
Line line_at(std::string_view text, std::size_t at) {
  Line line;
  line.number += static_cast<std::size_t>(
      std::count(text.begin(), text.begin() + static_cast<std::ptrdiff_t>(at), '\n'));
  const std::size_t before = at ? text.rfind('\n', at - 1) : text.npos;
  line.begin = before == text.npos ? 0 : before + 1;
  line.end = std::min(text.find('\n', at), text.size());
  return line;
}

std::size_t characters(std::string_view text) {
  return static_cast<std::size_t>(
      std::count_if(text.begin(), text.end(), [](char c) { return !continues_character(c); }));
}

}  // namespace

std::string shown(std::string_view text) {
  const bool long_one = text.size() > kShownText;
  std::size_t n = long_one ? kShownText : text.size();
  while (long_one && n > 0 && continues_character(text[n])) --n;
  return "'" + plain(text.substr(0, n)) + (long_one ? "..." : "") + "'";
}

std::string place_of(const Source& source, std::size_t at) {
  if (source.is_binary)
    return (source.name.empty() ? "" : source.name + ", ") + "byte " + std::to_string(at);
  const std::string_view text = source.text;
  at = std::min(at, text.size());
  const Line line = line_at(text, at);
  return (source.name.empty() ? "" : source.name + ", ") + "line " + std::to_string(line.number) +
         ", column " + std::to_string(characters(text.substr(line.begin, at - line.begin)) + 1);
}

const Origin*& origin_at_hand() {
  static thread_local const Origin* at_hand = nullptr;
  return at_hand;
}

namespace {

// Raises the message with the line and the scopes of the current origin.
[[noreturn]] void raise_from_origin(Message& message, const Complaint& complaint) {
  message.rule(complaint.rule).advice(complaint.advice);
  const Origin* origin = origin_at_hand();
  if (!origin) message.raise<IoError>();
  struct Within {
    std::string outside = named_scopes();
    ~Within() { named_scopes() = std::move(outside); }
  } const within;
  if (!origin->scope.empty()) named_scopes() += (within.outside.empty() ? "" : "/") + origin->scope;
  message.from(origin->line).raise<IoError>();
}

}  // namespace

void fail(const Source& source, std::size_t at, const Complaint& complaint) {
  Message message("load_stablehlo");
  if (source.is_binary)
    raise_from_origin(message.problem(place_of(source, at) + ": " + complaint.problem), complaint);
  const std::string_view text = source.text;
  at = std::min(at, text.size());
  const Line line = line_at(text, at);
  // Lines with constants may be megabytes long, so show only the part around the position.
  std::size_t begin = at - line.begin > kShownBefore ? at - kShownBefore : line.begin;
  while (begin < at && continues_character(text[begin])) ++begin;
  std::size_t end = line.end - at > kShownAfter ? at + kShownAfter : line.end;
  while (end > at && end < line.end && continues_character(text[end])) --end;
  const std::string head = begin > line.begin ? "..." : "";
  const std::string indent = "\n      ";
  message.problem(place_of(source, at) + ": " + complaint.problem + indent + head +
                  plain(text.substr(begin, end - begin)) + (end < line.end ? "..." : "") + indent +
                  std::string(head.size() + characters(text.substr(begin, at - begin)), ' ') + "^");
  raise_from_origin(message, complaint);
}

}  // namespace tessera::inline v0::stablehlo
