// A caller of the plug-in's C interface, as front ends are: the library is loaded from its file,
// errors become exceptions, and objects have owners.
#pragma once

#include "platforms/abi.h"

#include <gtest/gtest.h>

#include <dlfcn.h>

#include <cstdint>
#include <cstdlib>
#include <memory>
#include <span>
#include <stdexcept>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

namespace caller {

using Dims = std::vector<std::int64_t>;
using Texts = std::vector<std::string>;

/// A function of the library by its name.
template <class Function>
Function* symbol(const char* name) {
  static void* const library = [] {
    const char* named = std::getenv("JAX_TESSERA_LIBRARY");
    void* opened = dlopen(named ? named : TESSERA_PJRT_LIBRARY, RTLD_NOW | RTLD_LOCAL);
    if (!opened) throw std::runtime_error(dlerror());
    return opened;
  }();
  void* found = dlsym(library, name);
  if (!found) throw std::runtime_error(dlerror());
  return reinterpret_cast<Function*>(found);
}

inline const PJRT_Api& api() {
  static const PJRT_Api* const table = symbol<const PJRT_Api*()>("GetPjrtApi")();
  return *table;
}

/// An error that a function returned.
struct Failed : std::runtime_error {
  Failed(std::uint32_t code, const std::string& text) : std::runtime_error(text), code(code) {}
  const std::uint32_t code;
};

/// Arguments of a function, with their size filled in and all else zero.
template <class Args>
Args empty() {
  Args args{};
  args.struct_size = sizeof args;
  return args;
}

/// The error as an exception, after it has been destroyed.
inline Failed taken(PJRT_Error* error) {
  auto message = empty<PJRT_Error_Message_Args>();
  message.error = error;
  api().PJRT_Error_Message(&message);
  auto code = empty<PJRT_Error_GetCode_Args>();
  code.error = error;
  EXPECT_EQ(api().PJRT_Error_GetCode(&code), nullptr);
  Failed failed(code.code, std::string(message.message, message.message_size));
  auto destroy = empty<PJRT_Error_Destroy_Args>();
  destroy.error = error;
  api().PJRT_Error_Destroy(&destroy);
  return failed;
}
inline void check(PJRT_Error* error) {
  if (error) throw taken(error);
}

/// Calls a function of the table; throws Failed.
template <class Args>
void call(PJRT_Error* (*const PJRT_Api::*function)(Args*), Args& args) {
  check((api().*function)(&args));
}
/// Calls a function whose only input is an object, and gives its arguments with the results.
template <class Args, class Object>
Args ask(PJRT_Error* (*const PJRT_Api::*function)(Args*), Object* Args::*field, Object* object) {
  auto args = empty<Args>();
  args.*field = object;
  call(function, args);
  return args;
}

/// "3: text" for the error that `f` ends with, "" if it ends without one.
template <class F>
std::string failure(F&& f) {
  try {
    f();
    return "";
  } catch (const Failed& e) {
    return std::to_string(e.code) + ": " + e.what();
  }
}

// --- owners

template <class Args, class Object>
void destroy(PJRT_Error* (*const PJRT_Api::*function)(Args*), Object* Args::*field,
             Object* object) {
  auto args = empty<Args>();
  args.*field = object;
  EXPECT_EQ((api().*function)(&args), nullptr);
}
struct Destroy {
  using Api = PJRT_Api;
  void operator()(PJRT_Client* o) const {
    destroy(&Api::PJRT_Client_Destroy, &PJRT_Client_Destroy_Args::client, o);
  }
  void operator()(PJRT_Buffer* o) const {
    destroy(&Api::PJRT_Buffer_Destroy, &PJRT_Buffer_Destroy_Args::buffer, o);
  }
  void operator()(PJRT_Event* o) const {
    destroy(&Api::PJRT_Event_Destroy, &PJRT_Event_Destroy_Args::event, o);
  }
  void operator()(PJRT_Executable* o) const {
    destroy(&Api::PJRT_Executable_Destroy, &PJRT_Executable_Destroy_Args::executable, o);
  }
  void operator()(PJRT_LoadedExecutable* o) const {
    destroy(&Api::PJRT_LoadedExecutable_Destroy, &PJRT_LoadedExecutable_Destroy_Args::executable,
            o);
  }
  void operator()(PJRT_ExecuteContext* o) const {
    destroy(&Api::PJRT_ExecuteContext_Destroy, &PJRT_ExecuteContext_Destroy_Args::context, o);
  }
  void operator()(PJRT_TopologyDescription* o) const {
    destroy(&Api::PJRT_TopologyDescription_Destroy,
            &PJRT_TopologyDescription_Destroy_Args::topology, o);
  }
};
template <class Object>
using Owned = std::unique_ptr<Object, Destroy>;
using Client = Owned<PJRT_Client>;
using Buffer = Owned<PJRT_Buffer>;
using Buffers = std::vector<Buffer>;
using Event = Owned<PJRT_Event>;
using Executable = Owned<PJRT_Executable>;
using Loaded = Owned<PJRT_LoadedExecutable>;

// --- clients

inline PJRT_NamedValue named(std::string_view name, std::int64_t value) {
  auto v = empty<PJRT_NamedValue>();
  v.name = name.data();
  v.name_size = name.size();
  v.type = PJRT_NamedValue_kInt64;
  v.int64_value = value;
  v.value_size = 1;
  return v;
}
inline PJRT_NamedValue named(std::string_view name, std::string_view value) {
  PJRT_NamedValue v = named(name, 0);
  v.type = PJRT_NamedValue_kString;
  v.string_value = value.data();
  v.value_size = value.size();
  return v;
}

inline Client make_client(const std::vector<PJRT_NamedValue>& options) {
  auto args = empty<PJRT_Client_Create_Args>();
  args.create_options = options.data();
  args.num_options = options.size();
  call(&PJRT_Api::PJRT_Client_Create, args);
  return Client(args.client);
}
inline Client make_client(int devices = 1) { return make_client({named("device_count", devices)}); }

inline std::span<PJRT_Device* const> devices_of(const Client& client) {
  const auto args =
      ask(&PJRT_Api::PJRT_Client_Devices, &PJRT_Client_Devices_Args::client, client.get());
  return {args.devices, args.num_devices};
}
inline PJRT_Device* device_of(const Client& client, std::size_t i = 0) {
  return devices_of(client)[i];
}
inline std::span<PJRT_Memory* const> memories_of(PJRT_Device* device) {
  const auto args = ask(&PJRT_Api::PJRT_Device_AddressableMemories,
                        &PJRT_Device_AddressableMemories_Args::device, device);
  return {args.memories, args.num_memories};
}
inline std::string kind_of(PJRT_Memory* memory) {
  const auto args = ask(&PJRT_Api::PJRT_Memory_Kind, &PJRT_Memory_Kind_Args::memory, memory);
  return {args.kind, args.kind_size};
}
/// The bytes of all buffers on a device.
inline std::int64_t live_bytes(PJRT_Device* device) {
  return ask(&PJRT_Api::PJRT_Device_MemoryStats, &PJRT_Device_MemoryStats_Args::device, device)
      .bytes_in_use;
}

// --- events

inline void wait(PJRT_Event* event) {
  ask(&PJRT_Api::PJRT_Event_Await, &PJRT_Event_Await_Args::event, event);
}
inline void wait(const Event& event) { wait(event.get()); }
inline bool is_ready(const Event& event) {
  return ask(&PJRT_Api::PJRT_Event_IsReady, &PJRT_Event_IsReady_Args::event, event.get()).is_ready;
}

// --- buffers

template <class T>
constexpr PJRT_Buffer_Type type_of() {
  if constexpr (std::is_same_v<T, float>) return PJRT_Buffer_Type_F32;
  if constexpr (std::is_same_v<T, double>) return PJRT_Buffer_Type_F64;
  if constexpr (std::is_same_v<T, std::int32_t>) return PJRT_Buffer_Type_S32;
  if constexpr (std::is_same_v<T, std::int64_t>) return PJRT_Buffer_Type_S64;
  if constexpr (std::is_same_v<T, std::int8_t>) return PJRT_Buffer_Type_S8;
  if constexpr (std::is_same_v<T, std::uint8_t>) return PJRT_Buffer_Type_U8;
  if constexpr (std::is_same_v<T, bool>) return PJRT_Buffer_Type_PRED;
  return PJRT_Buffer_Type_INVALID;
}

/// The memory of a caller as the plug-in is told of it.
struct FromHost {
  const void* data;
  PJRT_Buffer_Type type;
  Dims dims;
  Dims byte_strides = {};
  PJRT_HostBufferSemantics semantics = PJRT_HostBufferSemantics_kImmutableOnlyDuringCall;
  PJRT_Device* device = nullptr;
  PJRT_Memory* memory = nullptr;
  PJRT_Buffer_MemoryLayout* layout = nullptr;
};
struct Put {
  Buffer buffer;
  Event done_with_host_buffer;
};
inline Put put(const Client& client, const FromHost& from) {
  auto args = empty<PJRT_Client_BufferFromHostBuffer_Args>();
  args.client = client.get();
  args.data = from.data;
  args.type = from.type;
  args.dims = from.dims.data();
  args.num_dims = from.dims.size();
  args.byte_strides = from.byte_strides.data();
  args.num_byte_strides = from.byte_strides.size();
  args.host_buffer_semantics = from.semantics;
  args.device = from.device;
  args.memory = from.memory;
  args.device_layout = from.layout;
  call(&PJRT_Api::PJRT_Client_BufferFromHostBuffer, args);
  return {Buffer(args.buffer), Event(args.done_with_host_buffer)};
}
template <class T>
Buffer put(const Client& client, const std::vector<T>& values, const Dims& dims,
           PJRT_Device* device = nullptr) {
  FromHost from{values.data(), type_of<T>(), dims};
  from.device = device;
  Put made = put(client, from);
  wait(made.done_with_host_buffer);
  return std::move(made.buffer);
}

inline Dims dims_of(const Buffer& buffer) {
  const auto args =
      ask(&PJRT_Api::PJRT_Buffer_Dimensions, &PJRT_Buffer_Dimensions_Args::buffer, buffer.get());
  return Dims(args.dims, args.dims + args.num_dims);
}
inline std::uint32_t element_of(const Buffer& buffer) {
  return ask(&PJRT_Api::PJRT_Buffer_ElementType, &PJRT_Buffer_ElementType_Args::buffer,
             buffer.get())
      .type;
}
inline PJRT_Device* device_of(const Buffer& buffer) {
  return ask(&PJRT_Api::PJRT_Buffer_Device, &PJRT_Buffer_Device_Args::buffer, buffer.get()).device;
}
inline PJRT_Memory* memory_of(const Buffer& buffer) {
  return ask(&PJRT_Api::PJRT_Buffer_Memory, &PJRT_Buffer_Memory_Args::buffer, buffer.get()).memory;
}
inline bool is_deleted(const Buffer& buffer) {
  return ask(&PJRT_Api::PJRT_Buffer_IsDeleted, &PJRT_Buffer_IsDeleted_Args::buffer, buffer.get())
      .is_deleted;
}
inline void delete_block(const Buffer& buffer) {
  ask(&PJRT_Api::PJRT_Buffer_Delete, &PJRT_Buffer_Delete_Args::buffer, buffer.get());
}
inline Event ready_event(const Buffer& buffer) {
  return Event(
      ask(&PJRT_Api::PJRT_Buffer_ReadyEvent, &PJRT_Buffer_ReadyEvent_Args::buffer, buffer.get())
          .event);
}
/// Where the block lies, for callers that read it in place.
inline const void* place_of(const Buffer& buffer) {
  return ask(&PJRT_Api::PJRT_Buffer_OpaqueDeviceMemoryDataPointer,
             &PJRT_Buffer_OpaqueDeviceMemoryDataPointer_Args::buffer, buffer.get())
      .device_memory_ptr;
}
inline void add_reference(const Buffer& buffer) {
  ask(&PJRT_Api::PJRT_Buffer_IncreaseExternalReferenceCount,
      &PJRT_Buffer_IncreaseExternalReferenceCount_Args::buffer, buffer.get());
}
inline void remove_reference(const Buffer& buffer) {
  ask(&PJRT_Api::PJRT_Buffer_DecreaseExternalReferenceCount,
      &PJRT_Buffer_DecreaseExternalReferenceCount_Args::buffer, buffer.get());
}
/// Starts to copy a block to `to`.
inline Event copy_to_host(const Buffer& buffer, void* to, std::size_t bytes,
                          PJRT_Buffer_MemoryLayout* layout = nullptr) {
  auto args = empty<PJRT_Buffer_ToHostBuffer_Args>();
  args.src = buffer.get();
  args.host_layout = layout;
  args.dst = to;
  args.dst_size = bytes;
  call(&PJRT_Api::PJRT_Buffer_ToHostBuffer, args);
  return Event(args.event);
}
/// The elements of a block, once it is written. The size is asked for first, as JAX does.
template <class T>
std::vector<T> get(const Buffer& buffer) {
  const auto size =
      ask(&PJRT_Api::PJRT_Buffer_ToHostBuffer, &PJRT_Buffer_ToHostBuffer_Args::src, buffer.get());
  const std::size_t n = size.dst_size / sizeof(T);
  const auto values = std::make_unique<T[]>(n + 1);  // not null, which asks for the size
  wait(copy_to_host(buffer, values.get(), size.dst_size));
  return std::vector<T>(values.get(), values.get() + n);
}

inline PJRT_Buffer_MemoryLayout tiled(const Dims& minor_to_major) {
  auto layout = empty<PJRT_Buffer_MemoryLayout>();
  layout.tiled = empty<PJRT_Buffer_MemoryLayout_Tiled>();
  layout.tiled.minor_to_major = minor_to_major.data();
  layout.tiled.minor_to_major_size = minor_to_major.size();
  layout.type = PJRT_Buffer_MemoryLayout_Type_Tiled;
  return layout;
}
inline PJRT_Buffer_MemoryLayout strided(const Dims& byte_strides) {
  auto layout = empty<PJRT_Buffer_MemoryLayout>();
  layout.strides = empty<PJRT_Buffer_MemoryLayout_Strides>();
  layout.strides.byte_strides = byte_strides.data();
  layout.strides.num_byte_strides = byte_strides.size();
  layout.type = PJRT_Buffer_MemoryLayout_Type_Strides;
  return layout;
}

// --- programs

/// A module whose function takes and returns what the texts say.
inline std::string module_of(const std::string& arguments, const std::string& results,
                             const std::string& body, const std::string& name = "m",
                             const std::string& before = "") {
  return "module @" + name + " {\n" + before + "  func.func public @main(" + arguments + ") -> (" +
         results + ") {\n" + body + "  }\n}\n";
}

/// A message of protocol buffers, as compile options are.
class Proto {
 public:
  Proto& number(int field, std::int64_t value) {
    varint(static_cast<std::uint64_t>(field) << 3);
    varint(static_cast<std::uint64_t>(value));
    return *this;
  }
  Proto& bytes(int field, const std::string& value) {
    varint(static_cast<std::uint64_t>(field) << 3 | 2);
    varint(value.size());
    text_ += value;
    return *this;
  }
  Proto& packed(int field, const std::vector<std::int64_t>& values) {
    Proto all;
    for (const std::int64_t v : values) all.varint(static_cast<std::uint64_t>(v));
    return bytes(field, all.text_);
  }
  const std::string& text() const { return text_; }

 private:
  void varint(std::uint64_t value) {
    for (; value >= 128; value >>= 7) text_ += static_cast<char>(value | 128);
    text_ += static_cast<char>(value);
  }
  std::string text_;
};

/// The message DeviceAssignmentProto: `ids` has the replicas' rows of partitions.
inline std::string assignment(std::int64_t replicas, std::int64_t partitions,
                              const std::vector<std::int64_t>& ids) {
  Proto out;
  out.number(1, replicas).number(2, partitions);
  for (std::int64_t p = 0; p < partitions; ++p) {
    std::vector<std::int64_t> column;
    for (std::int64_t r = 0; r < replicas; ++r)
      column.push_back(ids.at(static_cast<std::size_t>(r * partitions + p)));
    out.bytes(3, Proto().packed(1, column).text());
  }
  return out.text();
}
/// The message CompileOptionsProto, as JAX writes it. Without ids, the options name no devices.
inline std::string options_for(std::int64_t replicas, std::int64_t partitions,
                               const std::vector<std::int64_t>& ids = {}) {
  Proto build;
  build.number(1, -1).number(4, replicas).number(5, partitions).number(6, 1);
  if (!ids.empty()) build.bytes(9, assignment(replicas, partitions, ids));
  build.number(19, 1);
  return Proto().bytes(3, build.text()).text();
}
/// An entry of the compiler options that users give by name, to be appended to the others.
inline std::string override_of(const std::string& name, const Proto& value) {
  return Proto().bytes(7, Proto().bytes(1, name).bytes(2, value.text()).text()).text();
}

inline PJRT_Program program_of(const std::string& code, std::string_view format = "mlir") {
  auto program = empty<PJRT_Program>();
  program.code = code.data();
  program.code_size = code.size();
  program.format = format.data();
  program.format_size = format.size();
  return program;
}
inline Loaded compile(const Client& client, const std::string& code,
                      const std::string& options = "", std::string_view format = "mlir") {
  PJRT_Program program = program_of(code, format);
  auto args = empty<PJRT_Client_Compile_Args>();
  args.client = client.get();
  args.program = &program;
  args.compile_options = options.data();
  args.compile_options_size = options.size();
  call(&PJRT_Api::PJRT_Client_Compile, args);
  return Loaded(args.executable);
}
inline Executable executable_of(const Loaded& loaded) {
  return Executable(ask(&PJRT_Api::PJRT_LoadedExecutable_GetExecutable,
                        &PJRT_LoadedExecutable_GetExecutable_Args::loaded_executable, loaded.get())
                        .executable);
}
inline std::size_t results_of(const Loaded& loaded) {
  return ask(&PJRT_Api::PJRT_Executable_NumOutputs, &PJRT_Executable_NumOutputs_Args::executable,
             executable_of(loaded).get())
      .num_outputs;
}

// --- calls

using Arguments = std::vector<PJRT_Buffer*>;
/// The results of a call, by device.
struct Results {
  std::vector<Buffers> buffers;
  std::vector<Event> complete;
};
struct CallOptions {
  std::vector<std::int64_t> not_donated = {};  // arguments that the call must leave alone
  PJRT_Device* device = nullptr;               // of a portable program
};
inline Results run_on(const Loaded& loaded, const std::vector<Arguments>& arguments,
                      std::size_t results, const CallOptions& how = {}) {
  auto options = empty<PJRT_ExecuteOptions>();
  options.non_donatable_input_indices = how.not_donated.data();
  options.num_non_donatable_input_indices = how.not_donated.size();
  const std::size_t devices = arguments.size();
  std::vector<PJRT_Buffer* const*> lists;
  for (const Arguments& a : arguments) lists.push_back(a.data());
  std::vector<std::vector<PJRT_Buffer*>> outputs(devices, std::vector<PJRT_Buffer*>(results));
  std::vector<PJRT_Buffer**> output_lists;
  for (auto& o : outputs) output_lists.push_back(o.data());
  std::vector<PJRT_Event*> events(devices);
  auto args = empty<PJRT_LoadedExecutable_Execute_Args>();
  args.executable = loaded.get();
  args.options = &options;
  args.argument_lists = lists.data();
  args.num_devices = devices;
  args.num_args = devices ? arguments[0].size() : 0;
  args.output_lists = output_lists.data();
  args.device_complete_events = events.data();
  args.execute_device = how.device;
  call(&PJRT_Api::PJRT_LoadedExecutable_Execute, args);
  Results out;
  for (std::size_t d = 0; d < devices; ++d) {
    out.buffers.emplace_back();
    for (PJRT_Buffer* b : outputs[d]) out.buffers.back().emplace_back(b);
    out.complete.emplace_back(events[d]);
  }
  return out;
}
/// A call on one device.
inline Buffers run(const Loaded& loaded, const Arguments& arguments, const CallOptions& how = {}) {
  return std::move(
      run_on(loaded, std::vector<Arguments>{arguments}, results_of(loaded), how).buffers[0]);
}
inline Arguments pointers(const Buffers& buffers) {
  Arguments all;
  for (const Buffer& b : buffers) all.push_back(b.get());
  return all;
}

}  // namespace caller
