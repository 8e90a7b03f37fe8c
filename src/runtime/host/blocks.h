// Blocks of the pool of host memory: of arrays (runtime/buffer.h), and of the arenas of calls.
#pragma once

#include <cstddef>
#include <string_view>

namespace tessera::inline v0::runtime {

/// Sets the name for allocation errors on this thread: that of a call, or "Array" by default.
class AllocatingFor {
 public:
  explicit AllocatingFor(std::string_view name);
  ~AllocatingFor();
  AllocatingFor(const AllocatingFor&) = delete;
  AllocatingFor& operator=(const AllocatingFor&) = delete;

 private:
  std::string_view before_;
};

/// A block of the pool. release_block needs `capacity`.
struct Block {
  std::byte* data = nullptr;
  std::size_t capacity = 0;
};
/// Throws DeviceError if there is not enough memory.
Block acquire_block(std::size_t bytes);
void release_block(Block block);
/// Returns a block that a thread had kept (small_blocks.h), by its size class.
void give_to_pool(std::byte* block, int size_class);

/// A block that is released at the end of a scope.
class ScopedBlock {
 public:
  explicit ScopedBlock(std::size_t bytes) : block_(bytes ? acquire_block(bytes) : Block{}) {}
  ~ScopedBlock() {
    if (block_.data) release_block(block_);
  }
  explicit ScopedBlock(Block block) : block_(block) {}
  ScopedBlock(ScopedBlock&& o) noexcept : block_(o.block_) { o.block_ = {}; }
  ScopedBlock(const ScopedBlock&) = delete;
  ScopedBlock& operator=(const ScopedBlock&) = delete;
  std::byte* data() const { return block_.data; }

 private:
  Block block_;
};

}  // namespace tessera::inline v0::runtime
