// A placement under construction: the atoms that partition a value so far, and which atoms may
// still be added.
#pragma once

#include "base/hash.h"
#include "spmd/place/placement.h"

#include <cstdint>
#include <deque>
#include <unordered_map>
#include <utility>

namespace tessera::inline v0::spmd {

struct Draft {
  Placement placement;
  std::uint64_t closed = 0;  // bit per dimension: no atom may be added to it
  AtomSet barred;            // atoms that may never partition this value
  bool operator==(const Draft&) const = default;
};
inline std::size_t hash_of(const Draft& draft) {
  std::size_t h = hash_of(draft.placement);
  mix(h, draft.closed);
  mix(h, draft.barred.bits());
  return h;
}

/// Interns drafts: equal drafts have the same number.
class DraftTable {
 public:
  using Id = std::uint32_t;

  Id id(Draft draft) {
    const std::size_t h = hash_of(draft);
    const auto [first, last] = ids_.equal_range(h);
    for (auto it = first; it != last; ++it)
      if (drafts_[it->second] == draft) return it->second;
    const Id next = static_cast<Id>(drafts_.size());
    cut_.push_back(!draft.placement.cut().empty());
    drafts_.push_back(std::move(draft));
    ids_.emplace(h, next);
    return next;
  }
  const Draft& operator[](Id id) const { return drafts_[id]; }
  /// Whether any axis partitions the value.
  bool is_cut(Id id) const { return cut_[id]; }
  std::size_t size() const { return drafts_.size(); }

 private:
  std::deque<Draft> drafts_;
  std::vector<char> cut_;
  std::unordered_multimap<std::size_t, Id> ids_;
};

}  // namespace tessera::inline v0::spmd
