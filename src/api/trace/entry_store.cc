#include "api/trace/entry_store.h"

#include "base/process.h"

namespace tessera::inline v0::detail {

std::shared_ptr<const CacheEntry> EntryStore::find(const Call& call) {
  std::shared_ptr<const CacheEntry> last;
  {
    Locked lock(mutex_);
    last = newest_;
  }
  if (last && last->matches(call)) return last;
  const std::uint64_t hash = CacheEntry::hash_of(call);
  Locked lock(mutex_);
  return find(hash, call);
}

// Called with the lock held.
std::shared_ptr<const CacheEntry> EntryStore::find(std::uint64_t hash, const Call& call) const {
  auto [begin, end] = entries_.equal_range(hash);
  for (auto it = begin; it != end; ++it)
    if (it->second->matches(call)) return it->second;
  return nullptr;
}

std::shared_ptr<const CacheEntry> EntryStore::insert(const std::shared_ptr<const CacheEntry>& fresh,
                                                     const Call& call) {
  Locked lock(mutex_);
  if (auto e = find(fresh->hash, call)) return e;
  entries_.emplace(fresh->hash, fresh);
  return newest_ = fresh;
}

void EntryStore::drop(std::uint64_t hash, const CacheEntry* which) {
  std::shared_ptr<const CacheEntry> gone[2];  // holds user data: destroyed after the unlock
  Locked lock(mutex_);
  if (newest_.get() == which) gone[0] = std::move(newest_);
  auto [begin, end] = entries_.equal_range(hash);
  for (auto it = begin; it != end; ++it)
    if (it->second.get() == which) {
      gone[1] = std::move(it->second);
      entries_.erase(it);
      return;
    }
}

}  // namespace tessera::inline v0::detail
