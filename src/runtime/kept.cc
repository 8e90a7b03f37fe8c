#include "runtime/kept.h"

#include "base/process.h"
#include "base/settings.h"

#include <algorithm>
#include <limits>
#include <vector>

namespace tessera::inline v0::runtime {

struct Counted {
  const Kept* item;
  std::weak_ptr<const Kept> alive;
  std::int64_t bytes;
  std::function<void()> drop;
};

// The process has one list, because the limit is on its memory.
struct Keeping {
  std::mutex mutex;
  std::list<Counted> all;
  std::atomic<std::int64_t> bytes{0}, limit{-1};
  std::int64_t evicted = 0;

  static Keeping& instance() {
    static Keeping* k = new Keeping;
    return *k;
  }

  void count(const std::shared_ptr<const Kept>& item, std::int64_t n, std::function<void()> drop) {
    item->used_.store(1 + Kept::now_.fetch_add(1, std::memory_order_relaxed),
                      std::memory_order_relaxed);
    Locked lock(mutex);
    all.push_front({item.get(), item, n, std::move(drop)});
    item->place_ = all.begin();
    item->counted_ = true;
    bytes += n;
  }
  // Requires the lock.
  Counted take(const Kept& item) {
    Counted c = std::move(*item.place_);
    bytes -= c.bytes;
    all.erase(item.place_);
    item.counted_ = false;
    return c;
  }
  void forget(const Kept& item) {
    Counted gone;  // destroyed after the lock is released, together with what `drop` holds
    Locked lock(mutex);
    if (item.counted_) gone = take(item);
  }
  // Drops the least recently used items until at most `most` bytes remain.
  void shrink(std::int64_t most, bool for_the_limit) {
    std::vector<Counted> going;
    std::vector<std::shared_ptr<const Kept>> held;
    {
      Locked lock(mutex);
      struct Old {
        std::uint64_t used;
        std::shared_ptr<const Kept> item;
      };
      std::vector<Old> old;
      for (const Counted& c : all)
        if (auto item = c.alive.lock())
          old.push_back({item->used_.load(std::memory_order_relaxed), std::move(item)});
      std::stable_sort(old.begin(), old.end(),
                       [](const Old& a, const Old& b) { return a.used < b.used; });
      for (Old& o : old) {
        if (bytes > most) {
          going.push_back(take(*o.item));
          evicted += for_the_limit;
        }
        held.push_back(std::move(o.item));
      }
    }
    for (Counted& c : going) c.drop();
  }
};

std::atomic<std::uint64_t> Kept::now_{0};

Kept::~Kept() { Keeping::instance().forget(*this); }

void keep(const std::shared_ptr<const Kept>& item, std::int64_t bytes, std::function<void()> drop) {
  Keeping::instance().count(item, bytes, std::move(drop));
}

void trim_kept() {
  Keeping& k = Keeping::instance();
  const std::int64_t limit = kept_limit();
  // Leave some room, so that the next additions do not sort again.
  if (k.bytes.load(std::memory_order_relaxed) > limit) k.shrink(limit - limit / 8, true);
}

void drop_kept() { Keeping::instance().shrink(-1, false); }

std::int64_t kept_limit() {
  Keeping& k = Keeping::instance();
  std::int64_t limit = k.limit.load(std::memory_order_relaxed);
  if (limit >= 0) return limit;
  const std::int64_t megabytes = settings::number("TESSERA_PROGRAM_CACHE_MB").value_or(512);
  limit = std::min(megabytes, std::numeric_limits<std::int64_t>::max() >> 20) << 20;
  std::int64_t unset = -1;
  return k.limit.compare_exchange_strong(unset, limit) ? limit : unset;
}
void set_kept_limit(std::int64_t bytes) {
  Keeping::instance().limit.store(bytes);
  trim_kept();
}

KeptStats kept_stats() {
  Keeping& k = Keeping::instance();
  Locked lock(k.mutex);
  return {k.bytes.load(), static_cast<std::int64_t>(k.all.size()), k.evicted};
}

}  // namespace tessera::inline v0::runtime
