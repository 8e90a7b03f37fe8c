#include <tessera/detail/call.h>

#include "base/message.h"

#include <cstring>

namespace tessera::inline v0::detail {

namespace {
void push_text(InlineVector<std::uint64_t, 16>& words, std::string_view text) {
  words.push_back(text.size());
  for (std::size_t i = 0; i < text.size(); i += sizeof(std::uint64_t)) {
    std::uint64_t word = 0;
    std::memcpy(&word, text.data() + i, std::min(sizeof word, text.size() - i));
    words.push_back(word);
  }
}
}  // namespace

void moved_away(const char* what, const std::source_location& made) {
  Message(what)
      .problem(
          "it is used after it was moved away: std::move, or a move into a container, left "
          "nothing in it")
      .rule("a copy shares its programs with the original, so that copying costs nothing")
      .from(made)
      .advice("use what it was moved to, or copy it instead of moving it")
      .raise<Error>();
}

void Recorder::fixed(FixedKind kind, std::uint64_t bits, std::string_view text) {
  if (kind == FixedKind::string || kind == FixedKind::shape)
    push_text(words, text);
  else
    words.push_back(bits);
}

void Recorder::enter(const NodeType& type, std::size_t children) {
  if (type.kind != NodeKind::tuple && type.kind != NodeKind::record) words.push_back(children);
}

void Recorder::key(std::string_view key) { push_text(words, key); }

}  // namespace tessera::inline v0::detail
