// The programs of one function, by the signature of their arguments.
#pragma once

#include "api/trace/entry.h"

#include <memory>
#include <mutex>
#include <unordered_map>

namespace tessera::inline v0::detail {

/// Thread-safe. No user code runs while its lock is held.
class EntryStore {
 public:
  /// The entry for these arguments, or null.
  std::shared_ptr<const CacheEntry> find(const Call& call);
  /// Inserts `fresh` unless another thread was first; returns the entry in the store.
  std::shared_ptr<const CacheEntry> insert(const std::shared_ptr<const CacheEntry>& fresh,
                                           const Call& call);
  void drop(std::uint64_t hash, const CacheEntry* which);

 private:
  std::shared_ptr<const CacheEntry> find(std::uint64_t hash, const Call& call) const;

  std::mutex mutex_;
  std::shared_ptr<const CacheEntry> newest_;
  std::unordered_multimap<std::uint64_t, std::shared_ptr<const CacheEntry>> entries_;
};

}  // namespace tessera::inline v0::detail
