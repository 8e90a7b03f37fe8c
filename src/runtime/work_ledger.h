// Counts what programs do on a device, while somebody wants to know. Off, a call costs one relaxed
// load.
#pragma once

#include "ir/op.h"

#include <atomic>
#include <map>
#include <mutex>
#include <string>

namespace tessera::inline v0::runtime {

struct Work {
  Cost cost;
  double received = 0;                       // bytes, in collectives
  std::map<std::string, double> along = {};  // of these, by mesh axis
};

/// Of one call, for all its devices; several threads add to it. What they add are whole numbers, so
/// that it does not matter in which order they come.
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

/// Who counts a tape that runs, and for how many devices it does.
struct WorkShare {
  CallWork* call = nullptr;
  double devices = 0;
};

namespace work_ledger {

extern std::atomic<int> g_readers;
inline bool on() { return g_readers.load(std::memory_order_relaxed) > 0; }
/// What one device did in a call.
void add(const Work& work);
/// Of all calls that were counted. While there are no readers it stays as it is.
Work total();

}  // namespace work_ledger
}  // namespace tessera::inline v0::runtime
