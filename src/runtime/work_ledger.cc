#include "runtime/work_ledger.h"

#include <mutex>

namespace tessera::inline v0::runtime::work_ledger {

std::atomic<int> g_readers{0};

namespace {
std::mutex mutex;
Cost sum;
}  // namespace

void add(const Cost& work) {
  const std::lock_guard lock(mutex);
  sum.flops += work.flops;
  sum.bytes += work.bytes;
}

Cost total() {
  const std::lock_guard lock(mutex);
  return sum;
}

}  // namespace tessera::inline v0::runtime::work_ledger
