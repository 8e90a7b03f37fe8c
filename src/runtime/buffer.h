// Array memory: on the host 64-byte aligned blocks from a pool that hands warm pages out again; of
// other platforms handles that they understand.
#pragma once

#include "runtime/array_data.h"

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string_view>

namespace tessera::inline v0::runtime {

/// A block of memory with its owner. Freed to the pool; what was lent, to whoever lent it.
class Buffer {
 public:
  /// Host memory: at least `bytes`, uninitialised. The block comes from the free list of its size
  /// class where that holds one.
  static BufferPtr allocate(std::size_t bytes);
  /// Host memory of someone else, which `owner` keeps alive. It is read and never written.
  static BufferPtr adopt(void* data, std::size_t bytes, std::shared_ptr<void> owner);
  /// Memory of another platform, which `handle` stands for and keeps alive.
  static BufferPtr remote(std::shared_ptr<void> handle, std::size_t bytes);
  /// The memory of another buffer, which lives as long as any of them; what each is charged with is
  /// its own.
  static BufferPtr share(const BufferPtr& buffer);

  ~Buffer();
  Buffer(const Buffer&) = delete;
  Buffer& operator=(const Buffer&) = delete;

  /// Whether the process can read it in place.
  bool is_host() const { return host_; }
  /// InternalError where it is not host memory.
  std::byte* host_data() const {
    if (!host_) not_host();
    return data_;
  }
  /// What remote memory is to its platform; null for host memory.
  void* handle() const { return host_ ? nullptr : owner_.get(); }
  std::size_t size() const { return size_; }

  /// Whether another buffer has this memory too.
  bool is_shared() const;
  /// Whether it is memory of someone else's.
  bool is_lent() const { return lent_; }

  /// Counts `bytes_per_device` on every device of the layout until this buffer dies. Once a buffer.
  void charge(const LayoutPtr& layout, std::int64_t bytes_per_device);

  /// References that queued calls hold. A call that wants the buffer for itself does not count
  /// them: the queue is in order.
  std::atomic<int> in_flight{0};

 private:
  friend struct BufferAccess;
  Buffer() = default;
  [[noreturn]] static void not_host();
  bool host_ = true, lent_ = false;
  std::byte* data_ = nullptr;
  std::size_t size_ = 0;
  std::size_t capacity_ = 0;     // 0: the memory is the owner's
  std::shared_ptr<void> owner_;  // of lent and remote memory, and once the memory is shared
  LayoutPtr charged_;
  std::int64_t charge_ = 0;
};

/// Names what memory is asked for on this thread, in errors: a call, else "Array".
class AllocatingFor {
 public:
  explicit AllocatingFor(std::string_view name);
  ~AllocatingFor();
  AllocatingFor(const AllocatingFor&) = delete;
  AllocatingFor& operator=(const AllocatingFor&) = delete;

 private:
  std::string_view before_;
};

/// Raw blocks of the pool, for the arenas of calls. `capacity` is what release needs.
struct Block {
  std::byte* data = nullptr;
  std::size_t capacity = 0;
};
/// DeviceError where there is no memory.
Block acquire_block(std::size_t bytes);
void release_block(Block block);
/// What a thread kept for itself (small_blocks.h), by its size class.
void give_to_pool(std::byte* block, int size_class);

/// A block for a scope.
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
