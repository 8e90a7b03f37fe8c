// A placement under construction: the atoms that partition a value so far, and which atoms may
// still be added.
#pragma once

#include "base/hash.h"
#include "base/numbered.h"
#include "spmd/place/placement.h"

#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

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
  using Id = Numbered<Draft>::Id;

  Id id(Draft draft) {
    const Id id = drafts_.id(std::move(draft));
    if (id == cut_.size()) cut_.push_back(!drafts_[id].placement.cut().empty());
    return id;
  }
  const Draft& operator[](Id id) const { return drafts_[id]; }
  /// Whether any axis partitions the value.
  bool is_cut(Id id) const { return cut_[id]; }
  std::size_t size() const { return drafts_.size(); }

 private:
  Numbered<Draft> drafts_;
  std::vector<char> cut_;
};

}  // namespace tessera::inline v0::spmd
