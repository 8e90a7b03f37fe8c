// Access to an array: any number of concurrent reads and calls, until one call takes it
// exclusively.
#pragma once

#include <atomic>
#include <cstdint>
#include <string>
#include <string_view>

namespace tessera::inline v0::runtime {

/// A number, not 0, for the name of a call that takes arrays. Equal names have equal numbers.
std::uint32_t taker(std::string_view name);
/// The name of a taker.
const std::string& name_of_taker(std::uint32_t taker);

/// Users and taker are stored in one word, so that exactly one of several concurrent takers
/// succeeds, and everyone else can see which one.
class Claim {
 public:
  /// Adds a user; returns false if the array has been taken.
  bool enter() {
    if (taken_of(word_.fetch_add(1, std::memory_order_acquire)) == 0) return true;
    leave();
    return false;
  }
  void leave() { word_.fetch_sub(1, std::memory_order_release); }

  enum class Taken {
    no,      // another call was first
    shared,  // others were using it at that moment, so its memory must not be overwritten
    alone
  };
  /// Gives the array to `taker`, which must be one of its users. No more users can enter.
  Taken take(std::uint32_t taker) {
    std::uint64_t now = word_.load(std::memory_order_relaxed);
    do {
      if (taken_of(now)) return Taken::no;
    } while (!word_.compare_exchange_weak(now, now | std::uint64_t{taker} << 32,
                                          std::memory_order_acq_rel, std::memory_order_relaxed));
    return now == 1 ? Taken::alone : Taken::shared;
  }
  /// Undoes take(); the array is usable as before.
  void give_back() { word_.fetch_and(0xffffffffu, std::memory_order_release); }
  /// The taker failed after it had begun to overwrite the array.
  void lose() { word_.fetch_or(kLost, std::memory_order_relaxed); }

  /// The call that has taken it; 0 if there is none.
  std::uint32_t taken() const { return taken_of(word_.load(std::memory_order_relaxed)); }
  bool lost() const { return word_.load(std::memory_order_relaxed) & kLost; }

 private:
  static constexpr std::uint64_t kLost = std::uint64_t{1} << 63;
  static std::uint32_t taken_of(std::uint64_t word) {
    return static_cast<std::uint32_t>((word & ~kLost) >> 32);
  }
  std::atomic<std::uint64_t> word_{0};  // number of users; the taker in the upper 32 bits
};

}  // namespace tessera::inline v0::runtime
