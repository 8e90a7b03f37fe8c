// Buffers: one block of an array on one device.
//
// A buffer shares the memory of the results and arguments that it was or becomes part of, so
// nothing is copied between buffers and calls.
#pragma once

#include "pjrt/client.h"
#include "pjrt/element.h"
#include "pjrt/event.h"
#include "runtime/array_data.h"

#include <atomic>
#include <functional>
#include <memory>
#include <vector>

namespace tessera::inline v0::pjrt {
/// The memory of a block, which is written once `pending`, if it is not null, has completed.
struct Block {
  runtime::Shard shard;
  std::shared_ptr<runtime::Completion> pending;
};
/// The first byte of a block in host memory.
std::byte* bytes_of(const runtime::Shard& shard);
}  // namespace tessera::inline v0::pjrt

struct PJRT_Buffer {
  PJRT_Buffer(std::shared_ptr<tessera::pjrt::Machine> on, PJRT_Memory* in,
              const tessera::pjrt::Element& of, tessera::runtime::ArrayDataPtr contents,
              const tessera::Shape& order = {});
  PJRT_Buffer(const PJRT_Buffer&) = delete;
  PJRT_Buffer& operator=(const PJRT_Buffer&) = delete;

  static void* operator new(std::size_t);
  static void operator delete(void* p);

  const std::shared_ptr<tessera::pjrt::Machine> machine;
  PJRT_Memory* const memory;
  const tessera::pjrt::Element* const element;
  const tessera::Type type;  // as the runtime stores it

  /// The order of dimensions that the caller asked for, the minor one first.
  const tessera::Shape order;

  PJRT_Device* device() const { return memory->device; }
  /// Whether the stored bytes are those that callers expect, so that they can read the block in
  /// place.
  bool is_as_seen() const;
  /// The bytes as callers see them.
  std::int64_t seen_bytes() const { return type.shape.count() * element->bytes; }

  bool is_deleted() const;
  /// The block, an array on one device; null if the buffer was deleted or donated.
  tessera::runtime::ArrayDataPtr array() const;
  /// The block for a reader, whose reference protects the memory from being overwritten. Throws a
  /// Failure if there is none.
  tessera::pjrt::Block block(const char* function) const;
  /// Drops the block.
  void forget();

  /// While there are external references, the memory stays valid and unchanged, even if the buffer
  /// is deleted or donated.
  void add_reference();
  void remove_reference();

 private:
  mutable std::atomic<bool> lock_{false};
  tessera::runtime::ArrayDataPtr array_, referenced_;
  int references_ = 0;
};

namespace tessera::inline v0::pjrt {

/// Runs `f` once the block is written: now, or on the thread that writes it. Returns the completion
/// of `f`, or null if it has run.
std::shared_ptr<runtime::Completion> when_written(const Block& block, std::function<void()> f);

/// The layout of a block on the memory's device.
const runtime::LayoutPtr& layout_on(const PJRT_Memory& memory);
/// A block on the memory's device; `pending` may be null.
runtime::ArrayDataPtr block_on(const PJRT_Memory& memory, const Type& type, runtime::Shard shard,
                               std::shared_ptr<runtime::Completion> pending);

PJRT_Error* client_buffer_from_host_buffer(PJRT_Client_BufferFromHostBuffer_Args* args);
PJRT_Error* client_create_view_of_device_buffer(PJRT_Client_CreateViewOfDeviceBuffer_Args* args);
PJRT_Error* client_create_uninitialized_buffer(PJRT_Client_CreateUninitializedBuffer_Args* args);
PJRT_Error* client_create_error_buffer(PJRT_Client_CreateErrorBuffer_Args* args);

PJRT_Error* buffer_destroy(PJRT_Buffer_Destroy_Args* args);
PJRT_Error* buffer_element_type(PJRT_Buffer_ElementType_Args* args);
PJRT_Error* buffer_dimensions(PJRT_Buffer_Dimensions_Args* args);
PJRT_Error* buffer_unpadded_dimensions(PJRT_Buffer_UnpaddedDimensions_Args* args);
PJRT_Error* buffer_dynamic_dimension_indices(PJRT_Buffer_DynamicDimensionIndices_Args* args);
PJRT_Error* buffer_get_memory_layout(PJRT_Buffer_GetMemoryLayout_Args* args);
PJRT_Error* buffer_on_device_size(PJRT_Buffer_OnDeviceSizeInBytes_Args* args);
PJRT_Error* buffer_device(PJRT_Buffer_Device_Args* args);
PJRT_Error* buffer_memory(PJRT_Buffer_Memory_Args* args);
PJRT_Error* buffer_delete(PJRT_Buffer_Delete_Args* args);
PJRT_Error* buffer_is_deleted(PJRT_Buffer_IsDeleted_Args* args);
PJRT_Error* buffer_copy_to_device(PJRT_Buffer_CopyToDevice_Args* args);
PJRT_Error* buffer_copy_to_memory(PJRT_Buffer_CopyToMemory_Args* args);
PJRT_Error* buffer_to_host_buffer(PJRT_Buffer_ToHostBuffer_Args* args);
PJRT_Error* buffer_copy_raw_to_host(PJRT_Buffer_CopyRawToHost_Args* args);
PJRT_Error* buffer_is_on_cpu(PJRT_Buffer_IsOnCpu_Args* args);
PJRT_Error* buffer_ready_event(PJRT_Buffer_ReadyEvent_Args* args);
PJRT_Error* buffer_unsafe_pointer(PJRT_Buffer_UnsafePointer_Args* args);
PJRT_Error* buffer_increase_references(PJRT_Buffer_IncreaseExternalReferenceCount_Args* args);
PJRT_Error* buffer_decrease_references(PJRT_Buffer_DecreaseExternalReferenceCount_Args* args);
PJRT_Error* buffer_opaque_pointer(PJRT_Buffer_OpaqueDeviceMemoryDataPointer_Args* args);
PJRT_Error* buffer_bitcast(PJRT_Buffer_Bitcast_Args* args);

}  // namespace tessera::inline v0::pjrt
