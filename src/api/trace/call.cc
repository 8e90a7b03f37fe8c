#include <tessera/detail/call.h>

#include "base/message.h"

#include <algorithm>
#include <cstring>
#include <memory>
#include <span>
#include <vector>

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

namespace {

// Values seen as one tuple.
struct Tuple {
  void (*const* walks)(const void*, Visitor&);
  void* const* values;
  std::size_t size;
};

void walk_all(const void* tuple, Visitor& v) {
  const Tuple& t = *static_cast<const Tuple*>(tuple);
  v.enter(tuple_type, t.size);
  for (std::size_t i = 0; i < t.size; ++i) t.walks[i](t.values[i], v);
  v.leave();
}

}  // namespace

TreeDef Call::describe_args() const {
  const Tuple all{arg_walks_, arg_values_, arg_count()};
  return describe(&walk_all, &all);
}

TreeDef Call::describe_result() const { return describe(result_walk_, prototype.get()); }

void Call::fill_args(void* const* copies, std::span<const Array> leaves) const {
  Tuple all{arg_walks_, copies, arg_count()};
  fill(&walk_all, &all, leaves);
}

void Call::empty_args(void* const* copies) const {
  fill_args(copies, std::vector<Array>(args.leaves.size()));
}

std::vector<Array> Call::take_result(void* result, void (*destroy)(void*)) {
  const std::shared_ptr<void> held(result, destroy);
  std::vector<Array> leaves;
  collect(result_walk_, result, leaves);
  fill(result_walk_, result, std::vector<Array>(leaves.size()));
  prototype = held;
  return leaves;
}

}  // namespace tessera::inline v0::detail
