#include "runtime/work_ledger.h"

#include <mutex>

namespace tessera::inline v0::runtime::work_ledger {

std::atomic<int> g_readers{0};

namespace {
std::mutex mutex;
Work sum;
}  // namespace

void add(const Work& work) {
  const std::lock_guard lock(mutex);
  sum.cost.flops += work.cost.flops;
  sum.cost.bytes += work.cost.bytes;
  sum.received += work.received;
  for (const auto& [axis, bytes] : work.along) sum.along[axis] += bytes;
}

Work total() {
  const std::lock_guard lock(mutex);
  return sum;
}

}  // namespace tessera::inline v0::runtime::work_ledger
