// Who may use an array: any number of reads and calls at once, until one call takes it for itself.
#pragma once

#include <atomic>
#include <cstdint>
#include <string>
#include <string_view>

namespace tessera::inline v0::runtime {

/// A name that arrays given away remember; equal names are the same number, which is not 0.
std::uint32_t taker(std::string_view name);
/// The name of a taker.
const std::string& name_of_taker(std::uint32_t taker);

/// Users and the taker are one word, so that of two calls that take an array exactly one does, and
/// whoever finds it taken knows by whom.
class Claim {
 public:
  /// One more user; false where the array was given away.
  bool enter() {
    if (taken_of(word_.fetch_add(1, std::memory_order_acquire)) == 0) return true;
    leave();
    return false;
  }
  void leave() { word_.fetch_sub(1, std::memory_order_release); }

  enum class Taken {
    no,      // another call was first
    shared,  // somebody else was using it just now: its memory is to be left alone
    alone
  };
  /// Gives the array to `taker`, which is one of its users: nobody can enter any more.
  Taken take(std::uint32_t taker) {
    std::uint64_t now = word_.load(std::memory_order_relaxed);
    do {
      if (taken_of(now)) return Taken::no;
    } while (!word_.compare_exchange_weak(now, now | std::uint64_t{taker} << 32,
                                          std::memory_order_acq_rel, std::memory_order_relaxed));
    return now == 1 ? Taken::alone : Taken::shared;
  }
  /// Undoes take(): the array is as before.
  void give_back() { word_.fetch_and(0xffffffffu, std::memory_order_release); }
  /// What took it failed when it had begun to write over it.
  void lose() { word_.fetch_or(kLost, std::memory_order_relaxed); }

  /// Who it was given to; 0 while it was not.
  std::uint32_t taken() const { return taken_of(word_.load(std::memory_order_relaxed)); }
  bool lost() const { return word_.load(std::memory_order_relaxed) & kLost; }

 private:
  static constexpr std::uint64_t kLost = std::uint64_t{1} << 63;
  static std::uint32_t taken_of(std::uint64_t word) {
    return static_cast<std::uint32_t>((word & ~kLost) >> 32);
  }
  std::atomic<std::uint64_t> word_{0};  // users, and above 32 bits the taker
};

}  // namespace tessera::inline v0::runtime
