// Accounting of array memory. Only counters: nothing here allocates or blocks.
#pragma once

#include "runtime/memory_stats.h"

#include <atomic>
#include <cstdint>

namespace tessera::inline v0::runtime {

/// A number of bytes, and its maximum.
class ByteCounter {
 public:
  void add(std::int64_t n) {
    const std::int64_t now = live_.fetch_add(n, std::memory_order_relaxed) + n;
    std::int64_t seen = peak_.load(std::memory_order_relaxed);
    while (now > seen && !peak_.compare_exchange_weak(seen, now, std::memory_order_relaxed)) {
    }
  }
  std::int64_t live() const { return live_.load(std::memory_order_relaxed); }
  MemoryStats stats() const { return {live(), peak_.load(std::memory_order_relaxed)}; }
  void reset_peak() { peak_.store(live(), std::memory_order_relaxed); }

 private:
  std::atomic<std::int64_t> live_{0}, peak_{0};
};

// The bytes that the process holds. They are counted once for the process, whichever devices they
// belong to, because the pool of memory and the system's limit are the process's.

void count_physical(std::int64_t bytes);
std::int64_t physical_live();

}  // namespace tessera::inline v0::runtime
