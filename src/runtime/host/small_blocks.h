// Small free blocks that each thread keeps, so that results of small operations are allocated and
// freed without a lock.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

namespace tessera::inline v0::runtime {

/// At most kEach blocks for each of the lowest kClasses size classes: 410 KB per thread. The pool
/// considers them in use.
class SmallBlocks {
 public:
  static constexpr int kClasses = 25;  // up to 4096 bytes
  static constexpr int kEach = 16;

  /// The block that this thread freed last; null if it has none.
  static std::byte* take(int index) {
    Kept& k = kept_[static_cast<std::size_t>(index)];
    return k.count ? k.blocks[--k.count] : nullptr;
  }
  /// False if the thread has enough of these blocks or is ending: the block then goes to the pool.
  static bool keep(int index, std::byte* block) {
    Kept& k = kept_[static_cast<std::size_t>(index)];
    if (k.count == kEach || (state_ != State::open && !open())) return false;
    k.blocks[k.count++] = block;
    return true;
  }

 private:
  struct Kept {
    std::array<std::byte*, kEach> blocks{};
    std::uint8_t count = 0;
  };
  enum class State : std::uint8_t { unused, open, over };
  struct AtTheEnd;  // returns a thread's blocks
  static bool open();

  static thread_local constinit std::array<Kept, kClasses> kept_;
  static thread_local constinit State state_;
};

}  // namespace tessera::inline v0::runtime
