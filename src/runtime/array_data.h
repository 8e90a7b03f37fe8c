// What a concrete array is: a type, where its shards live, and the memory they share.
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
/// The CPU.
Backend& default_backend();

/// How an array is laid out over devices. Interned: equal layouts are the same object.
struct Layout {
  MeshRef mesh;  // with its devices, of the platform; without axes a single one
  Spec spec;
  bool committed = false;
  Backend* backend = &default_backend();  // the platform
  /// The places in the mesh whose devices are this process's, ascending, where others' are among
  /// them: intern() finds them.
  bool everywhere = true;
  std::vector<std::int64_t> here = {};
  const std::vector<int>& devices() const { return mesh->devices; }
  /// Shards that this process has, and the place of the k-th.
  std::size_t shards() const { return everywhere ? devices().size() : here.size(); }
  std::int64_t place(std::size_t k) const {
    return everywhere ? static_cast<std::int64_t>(k) : here[k];
  }
  /// The shard at a place; -1 where it is another process's.
  std::int64_t shard_at(std::int64_t place) const;
  /// The same without axes of one device in the spec, which cut nothing; null where there are none.
  /// What is compiled for one is for the other: intern() finds it.
  std::shared_ptr<const Layout> plain = nullptr;
  bool operator==(const Layout&) const = default;
};
/// The whole of an array on one device.
Layout on_device(int device, bool committed, Backend* backend = &default_backend());
using LayoutPtr = std::shared_ptr<const Layout>;
/// Where a whole lies that is computed from an array on the one device of a layout: a mesh of one
/// device may cut dimensions that the whole does not have.
LayoutPtr place_of_whole(const LayoutPtr& single);
LayoutPtr intern(Layout layout);
/// The first of this process's CPU devices, uncommitted: where new arrays live.
LayoutPtr default_layout();

/// Block `offset` bytes into `buffer`: dense and row-major, of the layout's shard shape. Memory
/// that is not the host's has one block a buffer, at offset 0.
struct Shard {
  BufferPtr buffer;
  std::size_t offset = 0;
};

/// Immutable. One shard a device of the layout that is this process's; shards may share a buffer: blocks that are adjacent
/// in one buffer make the whole array readable without a copy, and shards that are all the same
/// block (`uniform`) are stored once.
struct ArrayData {
  Type type;  // of the whole array
  LayoutPtr layout;
  std::vector<Shard> shards;
  bool uniform =
      false;  // all shards are one block, although the spec cuts the array: a stack of one value
  std::shared_ptr<Completion> pending;  // null when complete

  /// Who reads it, and which call it was donated to.
  mutable Claim claim;
  /// A pointer into the shards was given out for as long as the array lives, so nothing writes over
  /// them even when it is donated.
  mutable std::atomic<bool> exposed{false};
  /// What host_view() gathered, and what guards the gathering.
  mutable BufferPtr gathered;
  mutable std::mutex gathering;
  /// Of an array over devices of several processes, where it is known.
  std::shared_ptr<const History> history;

  bool deleted() const { return claim.taken() != 0; }
  Shape shard_shape() const;
};
using ArrayDataPtr = std::shared_ptr<ArrayData>;

/// A reader of an array: while it lives, the array may be donated, but nothing writes over its
/// memory. False where it had been donated before; then there is nothing to read.
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

// What reads elements or shards below is for arrays that the caller is a user of.

/// The story of a deleted array, for the error of whoever uses it.
Message deleted_message(std::string_view function, const ArrayData& a);

/// Copies row-major bytes of `type` to the default device.
ArrayDataPtr from_host(const Type& type, const void* bytes);
/// Takes over host memory that `owner` keeps alive (64-byte aligned memory is not copied).
ArrayDataPtr adopt_host(const Type& type, void* bytes, std::shared_ptr<void> owner);
/// Whether this process has all blocks of an array.
bool is_addressable(const ArrayData& a);
/// The whole array as dense row-major host memory; waits. A view where the shards allow it, else a
/// copy that `hold` keeps, gathered from the devices. ShardingError where other processes have
/// blocks of it.
const std::byte* dense_bytes(const ArrayData& a, BufferPtr& hold);
/// As dense_bytes, of what this process has: nobody is asked, whatever the settings say.
const std::byte* own_bytes(const ArrayData& a, BufferPtr& hold);
/// As dense_bytes, for as long as the array lives. Locks while it gathers, not while it waits.
const std::byte* host_view(const ArrayData& a);
/// As dense_bytes where the shards are one row-major whole in host memory, without waiting for its
/// contents; else nullptr.
const std::byte* dense_view(const ArrayData& a, BufferPtr& hold);
/// An array of its own with the same shards: donating one leaves the other as it is.
ArrayDataPtr alias(const ArrayData& a);
/// The array placed as `layout` says, on another platform too: shares shards where it can, and is
/// `a` itself where it is placed so already.
ArrayDataPtr relayout(const ArrayDataPtr& a, const LayoutPtr& layout);
/// `n` times the array along a new dimension 0, one entry for each of the first n devices, stored
/// once (`uniform`). Null when there are fewer devices, the array itself is cut or it is not in
/// host memory.
ArrayDataPtr stack_of_one(const ArrayDataPtr& a, std::int64_t n);
/// The part of `a` at index `i` of dimension 0 without copying, where one shard in host memory
/// holds it; null otherwise.
ArrayDataPtr row_view(const ArrayDataPtr& a, std::int64_t i);

}  // namespace tessera::inline v0::runtime
