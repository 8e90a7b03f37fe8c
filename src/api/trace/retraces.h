// Warnings about functions that are traced more often than the user may expect.
#pragma once

#include "api/trace/entry.h"

#include <deque>
#include <memory>
#include <mutex>
#include <vector>

namespace tessera::inline v0::detail {

/// Remembers the latest programs of one function. Thread-safe.
class Retraces {
 public:
  /// The warnings due after a new program: static arguments of many bytes, and programs that differ
  /// only in static values. Each is given once.
  std::vector<Message> note(const std::shared_ptr<const CacheEntry>& fresh);

 private:
  void large_statics(const CacheEntry& fresh, std::vector<Message>& warnings);
  void many_statics(const CacheEntry& fresh, std::vector<Message>& warnings);

  std::mutex mutex_;
  std::deque<std::weak_ptr<const CacheEntry>> recent_;
  bool warned_of_number_ = false, warned_of_size_ = false;
};

}  // namespace tessera::inline v0::detail
