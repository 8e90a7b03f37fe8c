// Items that caches keep for reuse, under a common limit in bytes. The least recently used are
// dropped first.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <list>
#include <memory>

namespace tessera::inline v0::runtime {

/// An item in a cache. It records when it was used; its cache provides its size.
class Kept {
 public:
  Kept() = default;
  Kept(const Kept&) = delete;
  Kept& operator=(const Kept&) = delete;

  /// Marks the item as used now. Takes two relaxed accesses; callable from any thread.
  void touch() const {
    const std::uint64_t now = now_.load(std::memory_order_relaxed);
    if (used_.load(std::memory_order_relaxed) != now) used_.store(now, std::memory_order_relaxed);
  }

 protected:
  /// The item is no longer referenced, so it does not count any more.
  ~Kept();

 private:
  friend struct Keeping;
  static std::atomic<std::uint64_t> now_;  // increases with every kept item
  mutable std::atomic<std::uint64_t> used_{0};
  mutable bool counted_ = false;  // guarded by the list's lock
  mutable std::list<struct Counted>::iterator place_;
};

/// Counts `item` with that many bytes. `drop` removes it from its cache; it is called at most once,
/// on any thread, possibly while the item is in use. Nothing is dropped before trim_kept.
void keep(const std::shared_ptr<const Kept>& item, std::int64_t bytes, std::function<void()> drop);
/// Drops the items that exceed the limit. Must be called outside of an Inside (base/process.h),
/// because an item may hold memory lent by the user, which it returns.
void trim_kept();
/// Drops everything.
void drop_kept();

/// TESSERA_PROGRAM_CACHE_MB, or 512 MB.
std::int64_t kept_limit();
void set_kept_limit(std::int64_t bytes);

struct KeptStats {
  std::int64_t bytes = 0, items = 0, evicted = 0;
};
KeptStats kept_stats();

}  // namespace tessera::inline v0::runtime
