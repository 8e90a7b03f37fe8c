#include "api/trace/retraces.h"

#include "base/process.h"

#include <algorithm>
#include <cstdlib>
#include <optional>

namespace tessera::inline v0::detail {
namespace {

/// The first node in which two structures differ, if they differ only in static values.
std::optional<std::size_t> only_static_difference(const TreeDef& a, const TreeDef& b) {
  const auto &x = a.nodes(), &y = b.nodes();
  if (x.size() != y.size()) return std::nullopt;
  std::optional<std::size_t> first;
  for (std::size_t i = 0; i < x.size(); ++i) {
    if (x[i] == y[i]) continue;
    if (x[i].kind != NodeKind::fixed || y[i].kind != NodeKind::fixed || x[i].label != y[i].label)
      return std::nullopt;
    if (!first) first = i;
  }
  return first;
}

constexpr int kRetracesBeforeWarning = 8;
constexpr std::size_t kRetracesRemembered = 32;
constexpr std::int64_t kLargeStatics = std::int64_t{64} << 10;

/// The size in bytes of the static values of a subtree. A StaticArray has two of them: an
/// identifier and its size.
std::int64_t static_bytes(const TreeDef& def, std::size_t root) {
  const auto& nodes = def.nodes();
  std::int64_t bytes = 0;
  for (std::size_t i = root; i < nodes[root].end; ++i) {
    if (nodes[i].kind == NodeKind::record && nodes[i].text == "StaticArray" &&
        nodes[i].children == 2 && nodes[i + 2].label == "bytes") {
      bytes += std::strtoll(nodes[i + 2].text.c_str(), nullptr, 10);
      i = nodes[i].end - 1;
    } else if (nodes[i].kind == NodeKind::fixed) {
      bytes += std::max<std::int64_t>(8, static_cast<std::int64_t>(nodes[i].text.size()));
    }
  }
  return bytes;
}

}  // namespace

std::vector<Message> Retraces::note(const std::shared_ptr<const CacheEntry>& fresh) {
  std::vector<Message> warnings;
  Locked lock(mutex_);
  large_statics(*fresh, warnings);
  many_statics(*fresh, warnings);
  recent_.push_back(fresh);
  if (recent_.size() > kRetracesRemembered) recent_.pop_front();
  return warnings;
}

void Retraces::large_statics(const CacheEntry& fresh, std::vector<Message>& warnings) {
  if (warned_of_size_) return;
  const auto& nodes = fresh.args.nodes();
  for (std::size_t arg = 1; arg < nodes.size(); arg = nodes[arg].end) {
    const std::int64_t bytes = static_bytes(fresh.args, arg);
    if (bytes <= kLargeStatics) continue;
    warned_of_size_ = true;
    warnings.push_back(
        Message(fresh.name)
            .problem("an argument has " + std::to_string(bytes) + " bytes of static values")
            .rule("static values are part of the key: every call reads and compares them, and "
                  "each content is traced and compiled anew")
            .at(fresh.args.path(arg, "args"))
            .advice("make it an Array, unless the program has to depend on its values"));
  }
}

void Retraces::many_statics(const CacheEntry& fresh, std::vector<Message>& warnings) {
  if (warned_of_number_) return;
  int alike = 1;
  std::shared_ptr<const CacheEntry> other;
  for (const auto& weak : recent_)
    if (auto e = weak.lock())
      if (e->types == fresh.types && only_static_difference(e->args, fresh.args))
        ++alike, other = std::move(e);
  if (alike < kRetracesBeforeWarning) return;
  warned_of_number_ = true;
  const std::size_t node = *only_static_difference(other->args, fresh.args);
  warnings.push_back(
      Message(fresh.name)
          .problem("traced and compiled " + std::to_string(alike) +
                   " times for arguments that differ in static values only")
          .rule("a C++ number, enum or string is part of the key: each value of it is traced "
                "and compiled anew")
          .at(fresh.args.path(node, "args") + ", " + other->args.nodes()[node].text +
              " before and " + fresh.args.nodes()[node].text + " now")
          .advice("make it an Array, unless the program has to depend on its value"));
}
}  // namespace tessera::inline v0::detail
