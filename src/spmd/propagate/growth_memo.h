// Memoises growth by rule, direction, strategy and the values' drafts, because the equations of
// repeated layers have the same.
#pragma once

#include "spmd/propagate/growth.h"

#include <cstdint>
#include <deque>
#include <span>
#include <vector>

namespace tessera::inline v0::spmd {

class GrowthMemo {
 public:
  GrowthMemo(const AtomMesh& mesh, DraftTable& drafts, const std::deque<CutRule>& rules)
      : growth_(mesh), drafts_(drafts), rules_(rules), table_(1024) {}

  /// The values' drafts after growth, or empty if none grows. Valid until the next call.
  std::span<const DraftTable::Id> ask(std::uint32_t rule, int mode, Strategy strategy,
                                      std::span<const DraftTable::Id> before);
  std::size_t size() const { return count_; }

 private:
  // Offsets into `words_`: of the question (a head word, then the drafts), and of the drafts after
  // growth if they differ.
  struct Entry {
    std::uint64_t hash = 0;
    std::uint32_t question = 0, length = 0;  // length 0: the entry is empty
    std::uint32_t answer = 0;                // 0: no value grows
  };
  Entry& slot(std::uint64_t hash, std::uint32_t head, std::span<const DraftTable::Id> before);
  void enlarge();

  Growth growth_;
  DraftTable& drafts_;
  const std::deque<CutRule>& rules_;
  std::vector<Entry> table_;  // its size is a power of two
  std::vector<std::uint32_t> words_ = {0};
  std::vector<const Draft*> pointers_;
  std::size_t count_ = 0;
};

}  // namespace tessera::inline v0::spmd
