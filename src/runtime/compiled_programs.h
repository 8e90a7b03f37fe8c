// The executables that a backend has compiled, by the structure of their programs.
#pragma once

#include "base/process.h"
#include "runtime/executable.h"
#include "runtime/kept.h"

#include <cstdint>
#include <memory>
#include <mutex>
#include <unordered_map>
#include <utility>

namespace tessera::inline v0::runtime {

/// `Compiled` is an Executable and Kept, and has `bytes()`. Entries count against the limit of kept
/// programs (runtime/kept.h). Safe to call from any thread. Lives as long as the process.
template <class Compiled>
class CompiledPrograms {
 public:
  using Ptr = std::shared_ptr<const Compiled>;

  /// The executable of a program of equal structure with equal options that was compiled in this
  /// mode of the backend, or null.
  Ptr find(std::uint64_t hash, const Program& p, const CompileOptions& o, unsigned mode) {
    Locked lock(mutex_);
    auto [begin, end] = entries_.equal_range(hash);
    for (auto it = begin; it != end; ++it) {
      const auto& [in_mode, executable] = it->second;
      if (in_mode == mode && executable->options().donated == o.donated &&
          executable->options().bytes_worth_a_phase == o.bytes_worth_a_phase &&
          same_structure(executable->program(), p))
        return executable;
    }
    return nullptr;
  }
  void insert(std::uint64_t hash, unsigned mode, const Ptr& executable) {
    {
      Locked lock(mutex_);
      entries_.emplace(hash, std::pair(mode, executable));
    }
    keep(executable, executable->bytes(),
         [this, hash, which = executable.get()] { drop(hash, which); });
  }

 private:
  void drop(std::uint64_t hash, const Compiled* which) {
    Ptr gone;  // destroyed after the lock is released
    Locked lock(mutex_);
    auto [begin, end] = entries_.equal_range(hash);
    for (auto it = begin; it != end; ++it)
      if (it->second.second.get() == which) {
        gone = std::move(it->second.second);
        entries_.erase(it);
        return;
      }
  }
  std::mutex mutex_;
  std::unordered_multimap<std::uint64_t, std::pair<unsigned, Ptr>> entries_;
};

}  // namespace tessera::inline v0::runtime
