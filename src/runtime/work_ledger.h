// Counts the work that programs do on a device while there are readers. Otherwise a call costs one
// relaxed load.
#pragma once

#include "ir/op.h"

#include <atomic>
#include <map>
#include <mutex>
#include <string>

namespace tessera::inline v0::runtime {

struct Work {
  Cost cost;
  double received = 0;                       // bytes received in collectives
  std::map<std::string, double> along = {};  // `received` by mesh axis
};

/// The work of one call, for all its devices; several threads add to it. The summands are whole
/// numbers, so their order does not matter.
class CallWork {
 public:
  void add(double times, const Cost& work) {
    flops_.fetch_add(times * work.flops, std::memory_order_relaxed);
    bytes_.fetch_add(times * work.bytes, std::memory_order_relaxed);
  }
  void receive(double times, double bytes, const std::map<std::string, double>& along) {
    if (!(bytes > 0)) return;
    received_.fetch_add(times * bytes, std::memory_order_relaxed);
    const std::lock_guard lock(mutex_);
    for (const auto& [axis, share] : along) along_[axis] += times * share;
  }
  Work total() const { return {{flops_.load(), bytes_.load()}, received_.load(), along_}; }

 private:
  std::atomic<double> flops_{0}, bytes_{0}, received_{0};
  std::mutex mutex_;
  std::map<std::string, double> along_;
};

/// The counter of a running tape's work, and the number of devices for which it counts.
struct WorkShare {
  CallWork* call = nullptr;
  double devices = 0;
};

// The process has one ledger, because a reader counts whatever the process runs meanwhile.
namespace work_ledger {

extern std::atomic<int> g_readers;
inline bool on() { return g_readers.load(std::memory_order_relaxed) > 0; }
/// Adds the work that one device did in a call.
void add(const Work& work);
/// The sum over all counted calls. It does not change while there are no readers.
Work total();

}  // namespace work_ledger
}  // namespace tessera::inline v0::runtime
