// The programs of one function, by the kind of their arguments.
#pragma once

#include "api/trace/entry.h"

#include <memory>
#include <mutex>
#include <unordered_map>

namespace tessera::inline v0::detail {

/// Thread-safe. No code of the user runs under its lock.
class EntryStore {
 public:
  /// The entry for these arguments; null where there is none.
  std::shared_ptr<const CacheEntry> find(const Call& call);
  /// Takes it in, unless another thread was first; gives what is in.
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
