#include "spmd/propagate/growth_memo.h"

#include <algorithm>

namespace tessera::inline v0::spmd {

namespace {
std::uint64_t hash_of(std::uint32_t head, std::span<const DraftTable::Id> before) {
  std::uint64_t h = head * 0x9e3779b97f4a7c15ull;
  for (std::uint32_t d : before) {
    h = (h ^ d) * 0xff51afd7ed558ccdull;
    h ^= h >> 32;
  }
  return h;
}
}  // namespace

GrowthMemo::Entry& GrowthMemo::slot(std::uint64_t hash, std::uint32_t head,
                                    std::span<const DraftTable::Id> before) {
  const std::size_t mask = table_.size() - 1;
  for (std::size_t at = hash & mask;; at = (at + 1) & mask) {
    Entry& e = table_[at];
    if (e.length == 0) return e;
    if (e.hash != hash || e.length != before.size() + 1) continue;
    const std::uint32_t* question = words_.data() + e.question;
    if (*question == head && std::equal(before.begin(), before.end(), question + 1)) return e;
  }
}

void GrowthMemo::enlarge() {
  std::vector<Entry> old(2 * table_.size());
  old.swap(table_);
  const std::size_t mask = table_.size() - 1;
  for (const Entry& e : old) {
    if (e.length == 0) continue;
    std::size_t at = e.hash & mask;
    while (table_[at].length != 0) at = (at + 1) & mask;
    table_[at] = e;
  }
}

std::span<const DraftTable::Id> GrowthMemo::ask(std::uint32_t rule, int mode, Strategy strategy,
                                                std::span<const DraftTable::Id> before) {
  const std::uint32_t head = (rule * (CutRule::rungs + 1) + static_cast<std::uint32_t>(mode)) * 2 +
                             static_cast<std::uint32_t>(strategy);
  const std::uint64_t hash = hash_of(head, before);
  Entry* e = &slot(hash, head, before);
  if (e->length == 0) {
    if (2 * ++count_ > table_.size()) {
      enlarge();
      e = &slot(hash, head, before);
    }
    e->hash = hash;
    e->length = static_cast<std::uint32_t>(before.size()) + 1;
    e->question = static_cast<std::uint32_t>(words_.size());
    words_.push_back(head);
    words_.insert(words_.end(), before.begin(), before.end());
    pointers_.clear();
    for (DraftTable::Id d : before) pointers_.push_back(&drafts_[d]);
    if (growth_.apply(rules_[rule], mode, strategy, pointers_)) {
      e->answer = static_cast<std::uint32_t>(words_.size());
      words_.insert(words_.end(), before.begin(), before.end());
      for (const Growth::Grown& g : growth_.after())
        words_[e->answer + g.tensor] = drafts_.id(g.draft);
    }
  }
  if (e->answer == 0) return {};
  return {words_.data() + e->answer, before.size()};
}

}  // namespace tessera::inline v0::spmd
