#include "runtime/host/small_blocks.h"

#include "runtime/host/blocks.h"

namespace tessera::inline v0::runtime {

// Plain memory, which is still usable while the thread's other thread_local variables, which may
// hold arrays, are destroyed.
thread_local constinit std::array<SmallBlocks::Kept, SmallBlocks::kClasses> SmallBlocks::kept_{};
thread_local constinit SmallBlocks::State SmallBlocks::state_ = State::unused;

struct SmallBlocks::AtTheEnd {
  ~AtTheEnd() {
    state_ = State::over;
    for (int i = 0; i < kClasses; ++i)
      while (std::byte* block = take(i)) give_to_pool(block, i);
  }
};

bool SmallBlocks::open() {
  if (state_ == State::over) return false;
  thread_local AtTheEnd at_the_end;
  state_ = State::open;
  return true;
}

}  // namespace tessera::inline v0::runtime
