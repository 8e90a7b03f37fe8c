// What caches keep for reuse, all of them together under one bound in bytes: what was used longest
// ago goes first.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <list>
#include <memory>

namespace tessera::inline v0::runtime {

/// Something that a cache keeps. It says when it was used; its cache says how large it is.
class Kept {
 public:
  Kept() = default;
  Kept(const Kept&) = delete;
  Kept& operator=(const Kept&) = delete;

  /// It is in use now. Costs two relaxed accesses; any thread.
  void touch() const {
    const std::uint64_t now = now_.load(std::memory_order_relaxed);
    if (used_.load(std::memory_order_relaxed) != now) used_.store(now, std::memory_order_relaxed);
  }

 protected:
  /// Nobody has it any more, so it counts no longer.
  ~Kept();

 private:
  friend struct Keeping;
  static std::atomic<std::uint64_t> now_;  // counts what was ever kept
  mutable std::atomic<std::uint64_t> used_{0};
  mutable bool counted_ = false;  // guarded by the list's lock
  mutable std::list<struct Counted>::iterator place_;
};

/// Counts `item` with that many bytes from now on. `drop` takes it out of its cache; it is called
/// once at most, on any thread, and the item may be in use then. Nothing goes before trim_kept.
void keep(const std::shared_ptr<const Kept>& item, std::int64_t bytes, std::function<void()> drop);
/// Drops what is beyond the bound. To be called outside (base/process.h), for what goes may hold
/// memory that the user lent, and gives it back.
void trim_kept();
/// Drops everything.
void drop_kept();

/// TESSERA_PROGRAM_CACHE_MB, else 512 MB.
std::int64_t kept_limit();
void set_kept_limit(std::int64_t bytes);

struct KeptStats {
  std::int64_t bytes = 0, items = 0, evicted = 0;
};
KeptStats kept_stats();

}  // namespace tessera::inline v0::runtime
