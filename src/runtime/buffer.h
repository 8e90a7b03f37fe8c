// Array memory. On the host, it consists of 64-byte aligned blocks from a pool that reuses warm
// pages; on other platforms, of their handles.
//
// Host memory is what the transfers of all platforms read and write, so it is part of this
// interface. The host implements it (host/memory.cc).
#pragma once

#include "runtime/array_data.h"
#include "runtime/forms.h"

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>

namespace tessera::inline v0::runtime {

/// A block of memory. The destructor returns it to the pool or, if it was lent, to its owner.
class Buffer {
 public:
  /// Allocates at least `bytes` of uninitialised host memory, from the free list of its size class
  /// if possible.
  static BufferPtr allocate(std::size_t bytes);
  /// Wraps memory that belongs to others, which `owner` keeps alive. This library never writes it.
  /// `fixed`: its owner does not write it either while the buffer is alive.
  static BufferPtr adopt(void* data, std::size_t bytes, std::shared_ptr<void> owner,
                         bool fixed = false);
  /// Wraps memory of another platform, which `handle` represents and keeps alive.
  static BufferPtr remote(std::shared_ptr<void> handle, std::size_t bytes);
  /// A buffer with the memory of another buffer, which lives as long as either of them. Their
  /// charges are separate.
  static BufferPtr share(const BufferPtr& buffer);

  ~Buffer();
  Buffer(const Buffer&) = delete;
  Buffer& operator=(const Buffer&) = delete;

  /// Whether the process can read it in place.
  bool is_host() const { return host_; }
  /// Throws InternalError if it is not host memory.
  std::byte* host_data() const {
    if (!host_) not_host();
    return data_;
  }
  /// The platform's handle of remote memory; null for host memory.
  void* handle() const { return host_ ? nullptr : owner_.get(); }
  std::size_t size() const { return size_; }

  /// Whether another buffer has the same memory.
  bool is_shared() const;
  /// Whether the memory belongs to someone else.
  bool is_lent() const { return lent_; }

  /// The packed forms of operands that are cached with the memory; null if others may write it.
  Forms* forms();
  /// Drops them, because the memory will be written or is not needed any more.
  void forget_forms();
  /// Someone else may write the memory from now on.
  void may_change() { fixed_ = false; }

  /// Counts `bytes_per_device` on every device of the layout, which are the CPU's, for the lifetime
  /// of this buffer of host memory. May be called once. Other platforms count their own memory.
  void charge(const LayoutPtr& layout, std::int64_t bytes_per_device);

  /// References held by queued calls. A call that wants exclusive use of the buffer ignores them,
  /// because the queue runs in order.
  std::atomic<int> in_flight{0};

 private:
  friend struct BufferAccess;
  Buffer() = default;
  [[noreturn]] static void not_host();
  bool host_ = true, lent_ = false, fixed_ = true;
  std::byte* data_ = nullptr;
  std::size_t size_ = 0;
  std::size_t capacity_ = 0;            // 0: owner_ holds the memory
  std::shared_ptr<void> owner_;         // for lent, remote and shared memory
  std::atomic<Forms*> forms_{nullptr};  // owned
  LayoutPtr charged_;
  std::int64_t charge_ = 0;
};

}  // namespace tessera::inline v0::runtime
