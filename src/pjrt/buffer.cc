#include "pjrt/buffer.h"

#include "base/box_copy.h"
#include "base/process.h"
#include "runtime/backend.h"
#include "runtime/buffer.h"
#include "runtime/host/copies.h"
#include "runtime/host/recycled.h"

#include <algorithm>
#include <cstring>
#include <numeric>
#include <optional>
#include <thread>

using tessera::runtime::ArrayData;
using tessera::runtime::ArrayDataPtr;

PJRT_Buffer::PJRT_Buffer(std::shared_ptr<tessera::pjrt::Machine> on, PJRT_Memory* in,
                         const tessera::pjrt::Element& of, ArrayDataPtr contents,
                         const tessera::Shape& dims)
    : machine(std::move(on)),
      memory(in),
      element(&of),
      type(contents->type),
      order(dims.size() == type.shape.size() ? dims
                                             : tessera::pjrt::row_major_order(type.shape.size())),
      array_(std::move(contents)) {}

void* PJRT_Buffer::operator new(std::size_t) {
  return tessera::runtime::Recycled<PJRT_Buffer>().allocate(1);
}
void PJRT_Buffer::operator delete(void* p) {
  tessera::runtime::Recycled<PJRT_Buffer>().deallocate(static_cast<PJRT_Buffer*>(p), 1);
}

bool PJRT_Buffer::is_as_seen() const {
  return element->is_stored_as_seen() && order == tessera::pjrt::row_major_order(order.size());
}

namespace {

// This is a spin lock: each call locks its argument buffers several times, for a few instructions
// each.
class Held {
 public:
  explicit Held(std::atomic<bool>& lock) : lock_(lock) {
    while (lock_.exchange(true, std::memory_order_acquire)) std::this_thread::yield();
  }
  ~Held() { lock_.store(false, std::memory_order_release); }
  Held(const Held&) = delete;
  Held& operator=(const Held&) = delete;

 private:
  std::atomic<bool>& lock_;
};

}  // namespace

bool PJRT_Buffer::is_deleted() const {
  const Held held(lock_);
  return !array_ || array_->deleted();
}

ArrayDataPtr PJRT_Buffer::array() const {
  const Held held(lock_);
  return array_;
}

tessera::pjrt::Block PJRT_Buffer::block(const char* function) const {
  const ArrayDataPtr a = array();
  // While the array is in use, a call that it is donated to leaves its shard in place.
  if (a)
    if (const tessera::runtime::Use use(*a); use) return {a->shards.at(0), a->pending};
  tessera::pjrt::refuse(std::string(function) +
                        ": the buffer has been deleted or donated: " + to_string(type));
}

void PJRT_Buffer::forget() {
  ArrayDataPtr gone;
  const Held held(lock_);
  gone.swap(array_);
}

void PJRT_Buffer::add_reference() {
  const Held held(lock_);
  if (references_++ > 0) return;
  referenced_ = array_;
  if (referenced_) referenced_->exposed.store(true);
}

void PJRT_Buffer::remove_reference() {
  ArrayDataPtr gone;
  const Held held(lock_);
  if (references_ == 0) tessera::pjrt::refuse("there is no external reference to take away");
  if (--references_ > 0) return;
  gone.swap(referenced_);
  if (gone) gone->exposed.store(false);
}

namespace tessera::inline v0::pjrt {

const runtime::LayoutPtr& layout_on(const PJRT_Memory& memory) {
  // Most buffers are on few devices.
  thread_local std::vector<runtime::LayoutPtr> layouts;
  const auto id = static_cast<std::size_t>(memory.device->description.id);
  if (layouts.size() <= id) layouts.resize(id + 1);
  if (!layouts[id]) layouts[id] = runtime::intern(runtime::on_device(static_cast<int>(id), true));
  return layouts[id];
}

ArrayDataPtr block_on(const PJRT_Memory& memory, const Type& type, runtime::Shard shard,
                      std::shared_ptr<runtime::Completion> pending) {
  auto a = std::allocate_shared<ArrayData>(runtime::Recycled<ArrayData>());
  a->type = type;
  a->layout = layout_on(memory);
  a->shards.push_back(std::move(shard));
  a->pending = std::move(pending);
  return a;
}

std::byte* bytes_of(const runtime::Shard& shard) {
  return shard.buffer->host_data() + shard.offset;
}

namespace {

// Kernels assume the alignment of the runtime's own blocks, so a block that a caller lends must
// have the same.
constexpr std::uintptr_t kAlignment = 64;
bool is_aligned(const void* p) { return reinterpret_cast<std::uintptr_t>(p) % kAlignment == 0; }

PJRT_Memory* memory_of(const Machine& machine, PJRT_Device* device, PJRT_Memory* memory) {
  if (memory) return memory;
  return device ? device->memories[0] : machine.devices.at(0)->memories[0];
}

Shape list_of(const std::int64_t* data, std::size_t n) { return Shape(data, data + n); }

// The shape of a block. Checks that its size in bytes does not overflow, in the runtime's dtype
// too.
Shape shape_of(const char* function, const std::int64_t* dims, std::size_t n,
               const Element& element) {
  // The limit leaves room for alignment and offsets.
  constexpr std::int64_t kMost = std::int64_t{1} << 62;
  std::int64_t bytes = std::max<std::int64_t>(element.bytes, size_of(element.dtype));
  bool is_large = false;
  std::string text;
  for (std::size_t d = 0; d < n; ++d) {
    if (dims[d] < 0)
      refuse(std::string(function) + ": dimension " + std::to_string(d) + " has the size " +
             std::to_string(dims[d]));
    text += (d ? " x " : "") + std::to_string(dims[d]);
    // A block without elements has strides too, and these must not overflow.
    is_large |= __builtin_mul_overflow(bytes, std::max<std::int64_t>(dims[d], 1), &bytes);
  }
  if (is_large || bytes > kMost)
    refuse(std::string(function) + ": a block of " + text + " elements is too large");
  return list_of(dims, n);
}

bool is_row_major(const Shape& shape, const Shape& strides, std::int64_t element_bytes) {
  std::int64_t expected = element_bytes;
  for (std::size_t d = shape.size(); d-- > 0;) {
    if (shape[d] != 1 && strides[d] != expected) return false;
    expected *= shape[d];
  }
  return true;
}

// The strides in bytes of a dense block whose dimensions have this order, the minor one first.
Shape strides_of_order(const Shape& shape, const Shape& minor_to_major, std::int64_t bytes) {
  Shape strides = shape;
  for (const std::int64_t d : minor_to_major) {
    strides[static_cast<std::size_t>(d)] = bytes;
    bytes *= shape[static_cast<std::size_t>(d)];
  }
  return strides;
}

// The strides that a caller's layout gives a block of this shape.
Shape strides_of_layout(const char* function, const PJRT_Buffer_MemoryLayout& layout,
                        const Shape& shape, std::int64_t element_bytes) {
  if (layout.type == PJRT_Buffer_MemoryLayout_Type_Strides) {
    if (layout.strides.num_byte_strides != shape.size())
      refuse(std::string(function) + ": the layout has " +
             std::to_string(layout.strides.num_byte_strides) + " strides, and the block " +
             std::to_string(shape.size()) + " dimensions");
    return list_of(layout.strides.byte_strides, shape.size());
  }
  if (layout.tiled.num_tiles != 0)
    unimplemented(std::string(function) + ": host memory has no tiles; give a layout without them");
  const Shape order = list_of(layout.tiled.minor_to_major, layout.tiled.minor_to_major_size);
  if (!is_permutation(order, shape.size()))
    refuse(std::string(function) + ": the layout does not name each of the block's " +
           std::to_string(shape.size()) + " dimensions once");
  return strides_of_order(shape, order, element_bytes);
}

// The order of dimensions that a caller asks for; row-major by default.
Shape order_of(const char* function, const PJRT_Buffer_MemoryLayout* layout, const Shape& shape,
               std::int64_t element_bytes) {
  if (!layout) return row_major_order(shape.size());
  const Shape strides = strides_of_layout(function, *layout, shape, element_bytes);
  if (layout->type == PJRT_Buffer_MemoryLayout_Type_Tiled)
    return list_of(layout->tiled.minor_to_major, layout->tiled.minor_to_major_size);
  Shape order = row_major_order(shape.size());
  std::stable_sort(order.begin(), order.end(), [&](std::int64_t a, std::int64_t b) {
    return strides[static_cast<std::size_t>(a)] < strides[static_cast<std::size_t>(b)];
  });
  return order;
}

// Whether a block with these strides in bytes has all its elements in the first `room` bytes.
bool lies_within(const Shape& shape, const Shape& strides, std::int64_t element_bytes,
                 std::size_t room) {
  std::int64_t first = 0, last = element_bytes;
  for (std::size_t d = 0; d < shape.size(); ++d) {
    if (shape[d] == 0) return true;
    std::int64_t reach = 0;
    if (__builtin_mul_overflow(shape[d] - 1, strides[d], &reach)) return false;
    std::int64_t& end = reach < 0 ? first : last;
    if (__builtin_add_overflow(end, reach, &end)) return false;
  }
  return first >= 0 && static_cast<std::uint64_t>(last) <= room;
}

PJRT_Buffer* buffer_in(PJRT_Client* client, PJRT_Memory* memory, const Element& element,
                       const Shape& shape, runtime::Shard shard, const Shape& order) {
  const Type type(element.dtype, shape);
  shard.buffer->charge(block_on(*memory, type, {}, nullptr)->layout, type.bytes());
  return new PJRT_Buffer(client->machine, memory, element,
                         block_on(*memory, type, std::move(shard), nullptr), order);
}

runtime::BufferPtr room_for(const Element& element, const Shape& shape) {
  return runtime::Buffer::allocate(static_cast<std::size_t>(Type(element.dtype, shape).bytes()));
}

// Copies a strided block, with all workers if it is large.
void copy_strided(const Shape& shape, const std::byte* from, const Shape& from_strides,
                  std::byte* to, const Shape& to_strides, std::int64_t element_bytes) {
  if (shape.count() == 0) return;
  const BoxCopy box(shape, from_strides, to_strides, element_bytes);
  const runtime::PlacedBox placed{&box, {from, to}};
  const Inside inside;
  runtime::copy_all({&placed, 1});
}

// Copies a caller's bytes into memory of the runtime.
runtime::BufferPtr copied_in(const Element& element, const Shape& shape, const std::byte* from,
                             const Shape& strides) {
  runtime::BufferPtr to = room_for(element, shape);
  const Shape dense = byte_strides(shape, element.bytes);
  if (element.is_stored_as_seen()) {
    copy_strided(shape, from, strides, to->host_data(), dense, element.bytes);
    return to;
  }
  const std::int64_t n = shape.count();
  std::vector<std::byte> seen(static_cast<std::size_t>(n));
  copy_strided(shape, from, strides, seen.data(), dense, element.bytes);
  store(element, seen.data(), to->host_data(), n);
  return to;
}

}  // namespace

std::shared_ptr<runtime::Completion> when_written(const Block& block, std::function<void()> f) {
  if (!block.pending || block.pending->done()) {
    if (block.pending) block.pending->wait();
    f();
    return nullptr;
  }
  auto end = std::make_shared<runtime::Event>();
  block.pending->then([end, f = std::move(f)](const std::exception_ptr& error) {
    if (error) return end->end(error);
    try {
      f();
      end->end();
    } catch (...) {
      end->end(std::current_exception());
    }
  });
  return end;
}

PJRT_Error* client_buffer_from_host_buffer(PJRT_Client_BufferFromHostBuffer_Args* args) {
  return guarded([&] {
    const char* const function = "BufferFromHostBuffer";
    const Element& element = element_of(static_cast<PJRT_Buffer_Type>(args->type));
    const Shape shape = shape_of(function, args->dims, args->num_dims, element);
    const Shape order = order_of(function, args->device_layout, shape, element.bytes);
    Shape strides = byte_strides(shape, element.bytes);
    if (args->num_byte_strides != 0) {
      if (args->num_byte_strides != shape.size())
        refuse(std::string(function) + ": there are " + std::to_string(args->num_byte_strides) +
               " strides for " + std::to_string(shape.size()) + " dimensions");
      strides = list_of(args->byte_strides, args->num_byte_strides);
    }
    PJRT_Memory* const memory = memory_of(*args->client->machine, args->device, args->memory);
    const bool may_share =
        args->host_buffer_semantics >= PJRT_HostBufferSemantics_kImmutableZeroCopy;
    if (may_share && is_aligned(args->data) && element.is_stored_as_seen() &&
        is_row_major(shape, strides, element.bytes)) {
      // The caller must keep its memory until the last user of the block is gone.
      auto done = std::make_shared<runtime::Event>();
      const std::shared_ptr<void> owner(nullptr, [done](void*) { done->end(); });
      const std::int64_t bytes = shape.count() * element.bytes;
      auto lent = runtime::Buffer::adopt(
          const_cast<void*>(args->data), static_cast<std::size_t>(bytes), owner,
          args->host_buffer_semantics == PJRT_HostBufferSemantics_kImmutableZeroCopy);
      args->buffer = buffer_in(args->client, memory, element, shape, {std::move(lent), 0}, order);
      args->done_with_host_buffer = make_event(std::move(done));
      return;
    }
    args->buffer = buffer_in(
        args->client, memory, element, shape,
        {copied_in(element, shape, static_cast<const std::byte*>(args->data), strides), 0}, order);
    args->done_with_host_buffer = make_event(nullptr);
  });
}

PJRT_Error* client_create_view_of_device_buffer(PJRT_Client_CreateViewOfDeviceBuffer_Args* args) {
  return guarded([&] {
    const Element& element = element_of(static_cast<PJRT_Buffer_Type>(args->element_type));
    const Shape shape = shape_of("CreateViewOfDeviceBuffer", args->dims, args->num_dims, element);
    const Shape order = order_of("CreateViewOfDeviceBuffer", args->layout, shape, element.bytes);
    PJRT_Memory* const memory = memory_of(
        *args->client->machine, args->device,
        has_field(*args, &PJRT_Client_CreateViewOfDeviceBuffer_Args::memory) ? args->memory
                                                                             : nullptr);
    // Callers that allow a copy make one themselves, and recognise this error by its text.
    if (!is_aligned(args->device_buffer_ptr) && shape.count() > 0)
      refuse("CreateViewOfDeviceBuffer: memory whose address is not aligned to " +
             std::to_string(kAlignment) + " bytes cannot be shared. Copy it first.");
    // The caller is told when it may free its memory, even if the view is a copy.
    const std::shared_ptr<void> owner(nullptr,
                                      [f = args->on_delete_callback, data = args->device_buffer_ptr,
                                       user = args->on_delete_callback_arg](void*) {
                                        if (f) f(data, user);
                                      });
    runtime::BufferPtr block;
    const Shape strides = strides_of_order(shape, order, element.bytes);
    if (element.is_stored_as_seen() && is_row_major(shape, strides, element.bytes))
      block = runtime::Buffer::adopt(
          args->device_buffer_ptr, static_cast<std::size_t>(shape.count() * element.bytes), owner);
    else
      block = copied_in(element, shape, static_cast<const std::byte*>(args->device_buffer_ptr),
                        strides);
    args->buffer = buffer_in(args->client, memory, element, shape, {std::move(block), 0}, order);
  });
}

PJRT_Error* client_create_uninitialized_buffer(PJRT_Client_CreateUninitializedBuffer_Args* args) {
  return guarded([&] {
    const Element& element = element_of(static_cast<PJRT_Buffer_Type>(args->shape_element_type));
    const Shape shape =
        shape_of("CreateUninitializedBuffer", args->shape_dims, args->shape_num_dims, element);
    const Shape order =
        order_of("CreateUninitializedBuffer", args->shape_layout, shape, element.bytes);
    PJRT_Memory* const memory = memory_of(*args->client->machine, args->device, args->memory);
    runtime::BufferPtr block = room_for(element, shape);
    block->may_change();  // the caller writes the memory in place
    // Uninitialized bytes could be invalid: an element stored in a wider type must have one of the
    // narrow type's values, and a boolean must be 0 or 1.
    if (!element.is_stored_as_seen() || element.dtype == DType::boolean) {
      const std::vector<std::byte> zeros(static_cast<std::size_t>(shape.count()));
      store(element, zeros.data(), block->host_data(), shape.count());
    }
    args->buffer = buffer_in(args->client, memory, element, shape, {std::move(block), 0}, order);
  });
}

PJRT_Error* client_create_error_buffer(PJRT_Client_CreateErrorBuffer_Args* args) {
  return guarded([&] {
    const Element& element = element_of(static_cast<PJRT_Buffer_Type>(args->shape_element_type));
    const Shape shape =
        shape_of("CreateErrorBuffer", args->shape_dims, args->shape_num_dims, element);
    auto failed = std::make_shared<runtime::Event>();
    failed->end(std::make_exception_ptr(
        Failure(static_cast<PJRT_Error_Code>(args->error_code),
                std::string(args->error_message, args->error_message_size))));
    const Type type(element.dtype, shape);
    args->buffer = new PJRT_Buffer(
        args->client->machine, args->memory, element,
        block_on(*args->memory, type, {room_for(element, shape), 0}, std::move(failed)));
  });
}

PJRT_Error* buffer_destroy(PJRT_Buffer_Destroy_Args* args) {
  return guarded([&] { delete args->buffer; });
}
PJRT_Error* buffer_element_type(PJRT_Buffer_ElementType_Args* args) {
  args->type = args->buffer->element->type;
  return nullptr;
}
PJRT_Error* buffer_dimensions(PJRT_Buffer_Dimensions_Args* args) {
  args->dims = args->buffer->type.shape.data();
  args->num_dims = args->buffer->type.shape.size();
  return nullptr;
}
PJRT_Error* buffer_unpadded_dimensions(PJRT_Buffer_UnpaddedDimensions_Args* args) {
  args->unpadded_dims = args->buffer->type.shape.data();
  args->num_dims = args->buffer->type.shape.size();
  return nullptr;
}
PJRT_Error* buffer_dynamic_dimension_indices(PJRT_Buffer_DynamicDimensionIndices_Args* args) {
  args->dynamic_dim_indices = nullptr;
  args->num_dynamic_dims = 0;
  return nullptr;
}

PJRT_Error* buffer_get_memory_layout(PJRT_Buffer_GetMemoryLayout_Args* args) {
  return guarded([&] {
    args->layout.type = PJRT_Buffer_MemoryLayout_Type_Tiled;
    args->layout.tiled = {};
    args->layout.tiled.struct_size = sizeof(PJRT_Buffer_MemoryLayout_Tiled);
    args->layout.tiled.minor_to_major = args->buffer->order.data();
    args->layout.tiled.minor_to_major_size = args->buffer->order.size();
  });
}
PJRT_Error* buffer_on_device_size(PJRT_Buffer_OnDeviceSizeInBytes_Args* args) {
  args->on_device_size_in_bytes = static_cast<std::size_t>(args->buffer->type.bytes());
  return nullptr;
}
PJRT_Error* buffer_device(PJRT_Buffer_Device_Args* args) {
  args->device = args->buffer->device();
  return nullptr;
}
PJRT_Error* buffer_memory(PJRT_Buffer_Memory_Args* args) {
  args->memory = args->buffer->memory;
  return nullptr;
}
PJRT_Error* buffer_delete(PJRT_Buffer_Delete_Args* args) {
  return guarded([&] { args->buffer->forget(); });
}
PJRT_Error* buffer_is_deleted(PJRT_Buffer_IsDeleted_Args* args) {
  args->is_deleted = args->buffer->is_deleted();
  return nullptr;
}

namespace {
// All memories are host memory, so a copy shares the block.
PJRT_Buffer* shared_in(const PJRT_Buffer& from, PJRT_Memory* memory, const char* function) {
  const Block b = from.block(function);
  runtime::Shard view{runtime::Buffer::share(b.shard.buffer), b.shard.offset};
  auto block = block_on(*memory, from.type, std::move(view), b.pending);
  block->shards[0].buffer->charge(block->layout, from.type.bytes());
  return new PJRT_Buffer(from.machine, memory, *from.element, std::move(block), from.order);
}
}  // namespace

PJRT_Error* buffer_copy_to_device(PJRT_Buffer_CopyToDevice_Args* args) {
  return guarded([&] {
    args->dst_buffer = shared_in(*args->buffer, args->dst_device->memories[0], "CopyToDevice");
  });
}
PJRT_Error* buffer_copy_to_memory(PJRT_Buffer_CopyToMemory_Args* args) {
  return guarded(
      [&] { args->dst_buffer = shared_in(*args->buffer, args->dst_memory, "CopyToMemory"); });
}

PJRT_Error* buffer_to_host_buffer(PJRT_Buffer_ToHostBuffer_Args* args) {
  return guarded([&] {
    const PJRT_Buffer& b = *args->src;
    const auto bytes = static_cast<std::size_t>(b.seen_bytes());
    if (!args->dst) {
      args->dst_size = bytes;
      return;
    }
    if (args->dst_size < bytes)
      refuse("ToHostBuffer: the block has " + std::to_string(bytes) +
             " bytes, and there is room for " + std::to_string(args->dst_size));
    const Shape dense = byte_strides(b.type.shape, b.element->bytes);
    const Shape strides = args->host_layout ? strides_of_layout("ToHostBuffer", *args->host_layout,
                                                                b.type.shape, b.element->bytes)
                                            : dense;
    // The caller's strides must not reach outside its memory.
    if (args->host_layout && !lies_within(b.type.shape, strides, b.element->bytes, args->dst_size))
      refuse("ToHostBuffer: the layout's strides leave the " + std::to_string(args->dst_size) +
             " bytes that there is room for");
    const Block block = b.block("ToHostBuffer");
    auto* const to = static_cast<std::byte*>(args->dst);
    const Element& element = *b.element;
    const auto copy = [from = block.shard, shape = b.type.shape, to, strides, dense, &element] {
      if (element.is_stored_as_seen())
        return copy_strided(shape, bytes_of(from), dense, to, strides, element.bytes);
      std::vector<std::byte> seen(static_cast<std::size_t>(shape.count()));
      show(element, bytes_of(from), seen.data(), shape.count());
      copy_strided(shape, seen.data(), dense, to, strides, element.bytes);
    };
    args->event = make_event(when_written(block, copy));
  });
}

PJRT_Error* buffer_copy_raw_to_host(PJRT_Buffer_CopyRawToHost_Args* args) {
  return guarded([&] {
    const PJRT_Buffer& b = *args->buffer;
    const std::int64_t from = args->offset, n = args->transfer_size;
    if (from < 0 || n < 0 || from > b.seen_bytes() - n)
      refuse("CopyRawToHost: " + std::to_string(n) + " bytes from byte " + std::to_string(from) +
             " of a block of " + std::to_string(b.seen_bytes()));
    const Block block = b.block("CopyRawToHost");
    auto* const to = static_cast<std::byte*>(args->dst);
    const Element& element = *b.element;
    const Shape shape = b.type.shape;
    const Shape strides = b.order == row_major_order(b.order.size())
                              ? Shape()
                              : strides_of_order(shape, b.order, element.bytes);
    // Callers see one byte of each element that is stored in a wider dtype, and dimensions in the
    // order that they asked for.
    const auto copy = [source = block.shard, to, from, n, shape, strides, &element] {
      if (strides.empty() && element.is_stored_as_seen()) {
        if (n) std::memcpy(to, bytes_of(source) + from, static_cast<std::size_t>(n));
      } else if (strides.empty()) {
        show(element, bytes_of(source) + from * size_of(element.dtype), to, n);
      } else {
        std::vector<std::byte> seen(static_cast<std::size_t>(shape.count() * element.bytes));
        show(element, bytes_of(source), seen.data(), shape.count());
        std::vector<std::byte> ordered(seen.size());
        copy_strided(shape, seen.data(), byte_strides(shape, element.bytes), ordered.data(),
                     strides, element.bytes);
        if (n) std::memcpy(to, ordered.data() + from, static_cast<std::size_t>(n));
      }
    };
    args->event = make_event(when_written(block, copy));
  });
}

PJRT_Error* buffer_is_on_cpu(PJRT_Buffer_IsOnCpu_Args* args) {
  // A caller that gets true reads the memory in place.
  args->is_on_cpu = args->buffer->is_as_seen();
  return nullptr;
}

PJRT_Error* buffer_ready_event(PJRT_Buffer_ReadyEvent_Args* args) {
  return guarded([&] { args->event = make_event(args->buffer->block("ReadyEvent").pending); });
}

PJRT_Error* buffer_unsafe_pointer(PJRT_Buffer_UnsafePointer_Args* args) {
  return guarded([&] {
    args->buffer_pointer =
        reinterpret_cast<std::uintptr_t>(bytes_of(args->buffer->block("UnsafePointer").shard));
  });
}
PJRT_Error* buffer_increase_references(PJRT_Buffer_IncreaseExternalReferenceCount_Args* args) {
  return guarded([&] {
    (void)args->buffer->block("IncreaseExternalReferenceCount");
    args->buffer->add_reference();
  });
}
PJRT_Error* buffer_decrease_references(PJRT_Buffer_DecreaseExternalReferenceCount_Args* args) {
  return guarded([&] { args->buffer->remove_reference(); });
}
PJRT_Error* buffer_opaque_pointer(PJRT_Buffer_OpaqueDeviceMemoryDataPointer_Args* args) {
  return guarded([&] {
    const PJRT_Buffer& b = *args->buffer;
    if (!b.is_as_seen())
      unimplemented("elements of the type " + std::string(b.element->spelling) +
                    " are stored in a wider type, or dimensions in another order, than callers "
                    "see; read them with ToHostBuffer");
    args->device_memory_ptr = bytes_of(b.block("OpaqueDeviceMemoryDataPointer").shard);
  });
}

PJRT_Error* buffer_bitcast(PJRT_Buffer_Bitcast_Args* args) {
  return guarded([&] {
    const PJRT_Buffer& b = *args->buffer;
    const Element& element = element_of(static_cast<PJRT_Buffer_Type>(args->element_type));
    const Shape shape = shape_of("Bitcast", args->dims, args->num_dims, element);
    const Shape order = order_of("Bitcast", args->device_layout, shape, element.bytes);
    if (!element.is_stored_as_seen() || !b.element->is_stored_as_seen())
      unimplemented("Bitcast: elements narrower than a dtype are stored in a wider one");
    if (shape.count() * element.bytes != b.seen_bytes())
      refuse("Bitcast: the block has " + std::to_string(b.seen_bytes()) + " bytes, and " +
             to_string(Type(element.dtype, shape)) + " takes " +
             std::to_string(shape.count() * element.bytes));
    const Block block = b.block("Bitcast");
    args->out_buffer = new PJRT_Buffer(
        b.machine, b.memory, element,
        block_on(*b.memory, Type(element.dtype, shape), block.shard, block.pending), order);
  });
}

}  // namespace tessera::inline v0::pjrt
