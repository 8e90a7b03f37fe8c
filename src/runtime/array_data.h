// The data of a concrete array: its type, the placement of its shards, and the memory they share.
#pragma once

#include "base/message.h"
#include "ir/mesh.h"
#include "ir/type.h"
#include "runtime/claim.h"
#include "runtime/completion.h"

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

namespace tessera::inline v0::runtime {

/// Reference-counted memory of one platform (runtime/buffer.h). Immutable once the computation that
/// writes it has completed.
class Buffer;
using BufferPtr = std::shared_ptr<Buffer>;

struct History;  // runtime/history.h
class Backend;   // runtime/backend.h
/// The CPU's backend, whose devices are in host memory.
Backend& host_backend();
/// The mesh with the name of this platform, on which its listed devices are.
MeshRef on_platform(const MeshRef& mesh, const Backend& backend);

/// How an array is laid out over devices. Interned: equal layouts are the same object.
struct Layout {
  MeshRef mesh;  // including its devices, on the platform; a mesh without axes has one device
  Spec spec;
  bool committed = false;
  Backend* backend = &host_backend();  // the platform
  /// If some devices belong to other processes, `everywhere` is false and `here` holds the mesh
  /// positions of this process's devices, ascending. Set by intern().
  bool everywhere = true;
  std::vector<std::int64_t> here = {};
  const std::vector<int>& devices() const { return mesh->devices; }
  /// The number of shards that this process holds, and the mesh position of the k-th.
  std::size_t shards() const { return everywhere ? devices().size() : here.size(); }
  std::int64_t place(std::size_t k) const {
    return everywhere ? static_cast<std::int64_t>(k) : here[k];
  }
  /// The index of the shard at a mesh position; -1 if it belongs to another process.
  std::int64_t shard_at(std::int64_t place) const;
  /// The same layout without mesh axes of size 1 in the spec, which cut nothing; null if there are
  /// none. Code compiled for one also fits the other. Set by intern().
  std::shared_ptr<const Layout> plain = nullptr;
  bool operator==(const Layout&) const = default;
};
/// The layout of a whole array on one device.
Layout on_device(int device, bool committed, Backend* backend = &host_backend());
using LayoutPtr = std::shared_ptr<const Layout>;
/// The layout of a whole array that is computed from an array on a single-device layout. They can
/// differ, because a mesh of one device may name dimensions that the result does not have.
LayoutPtr place_of_whole(const LayoutPtr& single);
LayoutPtr intern(Layout layout);
/// The layout of arrays that the host is about to read: this process's first CPU device,
/// uncommitted.
const LayoutPtr& host_layout();

/// A block that starts `offset` bytes into `buffer`: dense and row-major, of the layout's shard
/// shape. Memory that is not the host's holds one block per buffer, at offset 0.
struct Shard {
  BufferPtr buffer;
  std::size_t offset = 0;
};

/// Immutable. Has one shard for each of the layout's devices that belongs to this process. Shards
/// may share a buffer: if their blocks are adjacent in it, the whole array can be read without a
/// copy, and if all shards are the same block (`uniform`), it is stored once.
struct ArrayData {
  Type type;  // of the whole array
  LayoutPtr layout;
  std::vector<Shard> shards;
  // All shards are the same block although the spec cuts the array: a stack of one value.
  bool uniform = false;
  // A device's part of another array. Each process has other parts, so they are never gathered.
  bool part = false;
  std::shared_ptr<Completion> pending;  // null when complete

  /// Tracks the array's readers, and the call to which it was donated.
  mutable Claim claim;
  /// A pointer into the shards was handed out for the lifetime of the array, so they are never
  /// overwritten, even if the array is donated.
  mutable std::atomic<bool> exposed{false};
  /// The buffer that host_view() gathered, and the mutex for gathering.
  mutable BufferPtr gathered;
  mutable std::mutex gathering;
  /// The history of an array over devices of several processes, if known.
  std::shared_ptr<const History> history;

  bool deleted() const { return claim.taken() != 0; }
  Shape shard_shape() const;
};
using ArrayDataPtr = std::shared_ptr<ArrayData>;

/// Registers a reader of an array: while it lives, the array may be donated, but its memory is not
/// overwritten. Converts to false if the array had been donated before; then it must not be read.
class Use {
 public:
  explicit Use(const ArrayData& a) : a_(a.claim.enter() ? &a : nullptr) {}
  ~Use() {
    if (a_) a_->claim.leave();
  }
  Use(const Use&) = delete;
  Use& operator=(const Use&) = delete;
  explicit operator bool() const { return a_ != nullptr; }

 private:
  const ArrayData* a_;
};

// The caller of functions below that read elements or shards must be registered as a user of the
// array.

/// The error message for the use of a deleted array, with the call that it was donated to.
Message deleted_message(std::string_view function, const ArrayData& a);

/// Copies row-major bytes of `type` to an array on host_layout().
ArrayDataPtr on_host(const Type& type, const void* bytes);
/// Copies row-major bytes of `type` to an array on the default device.
ArrayDataPtr from_host(const Type& type, const void* bytes);
/// Like from_host, but if the default device is the CPU's, and the memory is 64-byte aligned, the
/// array uses the memory itself. `owner` keeps it alive.
ArrayDataPtr adopt_host(const Type& type, void* bytes, std::shared_ptr<void> owner);
/// Whether this process holds all blocks of an array.
bool is_addressable(const ArrayData& a);
/// The whole array as dense row-major host memory; waits for the array. Returns a view if the
/// shards allow it, else a copy gathered from the devices, which `hold` owns. Throws ShardingError
/// if other processes hold blocks that are missing here.
const std::byte* dense_bytes(const ArrayData& a, BufferPtr& hold);
/// Like dense_bytes, but uses only this process's blocks, regardless of TESSERA_GATHER_READS.
const std::byte* own_bytes(const ArrayData& a, BufferPtr& hold);
/// Like dense_bytes, but valid for the lifetime of the array. Holds a lock while gathering, not
/// while waiting.
const std::byte* host_view(const ArrayData& a);
/// Like dense_bytes if the shards form one row-major array in host memory, but does not wait for
/// its contents; else nullptr.
const std::byte* dense_view(const ArrayData& a, BufferPtr& hold);
/// A separate array with the same shards: donating one leaves the other intact.
ArrayDataPtr alias(const ArrayData& a);
/// The array with another layout, possibly on another platform. Shares shards if possible; returns
/// `a` itself if it has this layout already.
ArrayDataPtr relayout(const ArrayDataPtr& a, const LayoutPtr& layout);
/// The array repeated `n` times along a new dimension 0, one entry for each of the first n devices,
/// but stored once (`uniform`). Null if there are fewer devices, or if the array is sharded or not
/// in host memory.
ArrayDataPtr stack_of_one(const ArrayDataPtr& a, std::int64_t n);
/// A view of the part of `a` at index `i` of dimension 0, if one shard in host memory contains it;
/// else null.
ArrayDataPtr row_view(const ArrayDataPtr& a, std::int64_t i);
/// The block of `a` that contains index `i` of dimension 0, as an uncommitted array on its device,
/// and the index in it. For arrays over several devices of a platform with separate memory, whose
/// other dimensions are whole; else the array is null.
struct BlockWithRow {
  ArrayDataPtr block;
  std::int64_t row = 0;
};
BlockWithRow block_with_row(const ArrayDataPtr& a, std::int64_t i);

}  // namespace tessera::inline v0::runtime
