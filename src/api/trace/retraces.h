// Warnings of a function that is traced more often than its user may think.
#pragma once

#include "api/trace/entry.h"

#include <deque>
#include <memory>
#include <mutex>
#include <vector>

namespace tessera::inline v0::detail {

/// Remembers what was made for one function last. Thread-safe.
class Retraces {
 public:
  /// What there is to warn of, once a program was made and is in use: static arguments of many
  /// bytes, and programs that differ in static values only. Each once.
  std::vector<Message> note(const std::shared_ptr<const CacheEntry>& fresh);

 private:
  void large_statics(const CacheEntry& fresh, std::vector<Message>& warnings);
  void many_statics(const CacheEntry& fresh, std::vector<Message>& warnings);

  std::mutex mutex_;
  std::deque<std::weak_ptr<const CacheEntry>> recent_;
  bool warned_of_number_ = false, warned_of_size_ = false;
};

}  // namespace tessera::inline v0::detail
