#include "platforms/client.h"

#include "base/message.h"

#include <algorithm>
#include <array>

namespace tessera::inline v0::platforms {

namespace {

using runtime::Completion;
using runtime::Event;

// In the order of the enumerators of DType.
constexpr std::array kBufferTypes{
    PJRT_Buffer_Type_PRED, PJRT_Buffer_Type_S8,  PJRT_Buffer_Type_S16,  PJRT_Buffer_Type_S32,
    PJRT_Buffer_Type_S64,  PJRT_Buffer_Type_U8,  PJRT_Buffer_Type_U16,  PJRT_Buffer_Type_U32,
    PJRT_Buffer_Type_U64,  PJRT_Buffer_Type_F16, PJRT_Buffer_Type_BF16, PJRT_Buffer_Type_F32,
    PJRT_Buffer_Type_F64,  PJRT_Buffer_Type_C64, PJRT_Buffer_Type_C128,
};

PJRT_NamedValue named(const std::string& name, const OptionValue& value) {
  PJRT_NamedValue out{};
  out.struct_size = sizeof out;
  out.name = name.data();
  out.name_size = name.size();
  out.value_size = 1;
  if (const auto* text = std::get_if<std::string>(&value)) {
    out.type = PJRT_NamedValue_kString;
    out.string_value = text->data();
    out.value_size = text->size();
  } else if (const auto* number = std::get_if<std::int64_t>(&value)) {
    out.type = PJRT_NamedValue_kInt64;
    out.int64_value = *number;
  } else if (const auto* list = std::get_if<std::vector<std::int64_t>>(&value)) {
    out.type = PJRT_NamedValue_kInt64List;
    out.int64_array_value = list->data();
    out.value_size = list->size();
  } else if (const auto* real = std::get_if<float>(&value)) {
    out.type = PJRT_NamedValue_kFloat;
    out.float_value = *real;
  } else {
    out.type = PJRT_NamedValue_kBool;
    out.bool_value = std::get<bool>(value);
  }
  return out;
}

// What a callback of an event is given. It may run on a thread of the plug-in.
struct Waiting {
  const Plugin& plugin;
  std::shared_ptr<Event> event;
  std::string what;
  std::shared_ptr<const void> kept;
};

void on_ready(PJRT_Error* error, void* given) {
  std::unique_ptr<Waiting> waiting(static_cast<Waiting*>(given));
  std::exception_ptr thrown;
  if (error) thrown = device_error(waiting->what, waiting->plugin.failure_of(error));
  waiting->kept.reset();  // the memory is free by the time that anybody sees the end
  waiting->event->end(thrown);
}

// Row-major: the last dimension is the minor one and comes first.
std::vector<std::int64_t> row_major(std::size_t rank) {
  std::vector<std::int64_t> order(rank);
  for (std::size_t i = 0; i < rank; ++i) order[i] = static_cast<std::int64_t>(rank - 1 - i);
  return order;
}

}  // namespace

PJRT_Buffer_Type buffer_type(DType dtype) {
  return kBufferTypes.at(static_cast<std::size_t>(dtype));
}

std::exception_ptr device_error(const std::string& what, const Failure& failure) {
  Message m(what);
  const bool memory = failure.code == PJRT_Error_Code_RESOURCE_EXHAUSTED;
  m.problem(std::string(memory ? "there is no memory on the device: " : "") +
            code_name(failure.code) + ": " + failure.what());
  if (memory)
    m.advice(
        "donate arguments that are not needed any more, or free arrays; memory_stats(device) "
        "says what is in use");
  try {
    m.raise<DeviceError>();
  } catch (...) {
    return std::current_exception();
  }
}

RemoteBuffer::~RemoteBuffer() {
  try {
    PJRT_Buffer_Destroy_Args args{};
    args.buffer = buffer_;
    client_.plugin().call(&PJRT_Api::PJRT_Buffer_Destroy, args);
  } catch (const Failure&) {
    // The memory is lost, which the plug-in's statistics show. Nobody can be told here.
  }
}

Client::Client(std::unique_ptr<const Plugin> plugin, const Options& options)
    : plugin_(std::move(plugin)) {
  std::vector<PJRT_NamedValue> values;
  for (const auto& [name, value] : options) values.push_back(named(name, value));
  PJRT_Client_Create_Args create{};
  create.create_options = values.data();
  create.num_options = values.size();
  plugin_->call(&PJRT_Api::PJRT_Client_Create, create);
  client_ = create.client;

  PJRT_Client_PlatformName_Args name{};
  name.client = client_;
  plugin_->call(&PJRT_Api::PJRT_Client_PlatformName, name);
  platform_name_.assign(name.platform_name, name.platform_name_size);
  PJRT_Client_PlatformVersion_Args version{};
  version.client = client_;
  plugin_->call(&PJRT_Api::PJRT_Client_PlatformVersion, version);
  platform_version_.assign(version.platform_version, version.platform_version_size);

  PJRT_Client_Devices_Args devices{};
  devices.client = client_;
  plugin_->call(&PJRT_Api::PJRT_Client_Devices, devices);
  for (std::size_t i = 0; i < devices.num_devices; ++i) {
    PJRT_Device_GetDescription_Args description{};
    description.device = devices.devices[i];
    plugin_->call(&PJRT_Api::PJRT_Device_GetDescription, description);
    PJRT_DeviceDescription_Id_Args id{};
    id.device_description = description.device_description;
    plugin_->call(&PJRT_Api::PJRT_DeviceDescription_Id, id);
    PJRT_DeviceDescription_ProcessIndex_Args process{};
    process.device_description = description.device_description;
    plugin_->call(&PJRT_Api::PJRT_DeviceDescription_ProcessIndex, process);
    PJRT_DeviceDescription_Kind_Args kind{};
    kind.device_description = description.device_description;
    plugin_->call(&PJRT_Api::PJRT_DeviceDescription_Kind, kind);
    devices_.push_back({devices.devices[i], id.id, process.process_index,
                        std::string(kind.device_kind, kind.device_kind_size)});
  }
}

runtime::MemoryStats Client::memory_stats(int number) const {
  PJRT_Device_MemoryStats_Args args{};
  args.device = device(number);
  try {
    plugin_->call(&PJRT_Api::PJRT_Device_MemoryStats, args);
  } catch (const Failure& failure) {
    if (failure.code == PJRT_Error_Code_UNIMPLEMENTED) return {};
    throw;
  }
  return {args.bytes_in_use, args.peak_bytes_in_use_is_set ? args.peak_bytes_in_use : 0};
}

std::shared_ptr<Completion> Client::completion_of(PJRT_Event* event, std::string what,
                                                  std::shared_ptr<const void> kept) const {
  if (!event) return nullptr;
  auto made = std::make_shared<Event>();
  auto waiting =
      std::make_unique<Waiting>(Waiting{*plugin_, made, std::move(what), std::move(kept)});
  PJRT_Event_OnReady_Args args{};
  args.event = event;
  args.callback = on_ready;
  args.user_arg = waiting.get();
  plugin_->call(&PJRT_Api::PJRT_Event_OnReady, args);
  (void)waiting.release();  // the callback's, which may have run already
  PJRT_Event_Destroy_Args destroy{};
  destroy.event = event;
  plugin_->call(&PJRT_Api::PJRT_Event_Destroy, destroy);
  return made;
}

std::shared_ptr<Completion> Client::ready(PJRT_Buffer* buffer, std::string what) const {
  PJRT_Buffer_ReadyEvent_Args args{};
  args.buffer = buffer;
  plugin_->call(&PJRT_Api::PJRT_Buffer_ReadyEvent, args);
  return completion_of(args.event, std::move(what));
}

Sent Client::send(const Type& block, const std::byte* from, std::shared_ptr<const void> owner,
                  int number) const {
  PJRT_Client_BufferFromHostBuffer_Args args{};
  args.client = client_;
  args.data = from;
  args.type = buffer_type(block.dtype);
  const std::vector<std::int64_t> dims(block.shape.begin(), block.shape.end());
  args.dims = dims.data();
  args.num_dims = dims.size();
  // A platform that shares the host's memory may read it in place for as long as the buffer lives.
  args.host_buffer_semantics = PJRT_HostBufferSemantics_kImmutableZeroCopy;
  args.device = device(number);
  plugin_->call(&PJRT_Api::PJRT_Client_BufferFromHostBuffer, args);
  auto buffer = std::make_shared<RemoteBuffer>(*this, args.buffer);
  (void)completion_of(args.done_with_host_buffer, "device_put", std::move(owner));
  return {buffer, ready(buffer->get(), "device_put")};
}

std::shared_ptr<Completion> Client::fetch(const Type& block, RemoteBufferPtr from,
                                          std::byte* to) const {
  const std::vector<std::int64_t> order = row_major(static_cast<std::size_t>(block.shape.rank()));
  PJRT_Buffer_MemoryLayout layout{};
  layout.struct_size = sizeof layout;
  layout.type = PJRT_Buffer_MemoryLayout_Type_Tiled;
  layout.tiled = {};
  layout.tiled.struct_size = sizeof layout.tiled;
  layout.tiled.minor_to_major = order.data();
  layout.tiled.minor_to_major_size = order.size();
  PJRT_Buffer_ToHostBuffer_Args args{};
  args.src = from->get();
  args.host_layout = &layout;
  args.dst = to;
  args.dst_size = static_cast<std::size_t>(block.bytes());
  plugin_->call(&PJRT_Api::PJRT_Buffer_ToHostBuffer, args);
  return completion_of(args.event, "device_get", std::move(from));
}

Sent Client::copy(const RemoteBuffer& from, int number) const {
  PJRT_Buffer_CopyToDevice_Args args{};
  args.buffer = from.get();
  args.dst_device = device(number);
  plugin_->call(&PJRT_Api::PJRT_Buffer_CopyToDevice, args);
  auto buffer = std::make_shared<RemoteBuffer>(*this, args.dst_buffer);
  return {buffer, ready(buffer->get(), "device_put")};
}

}  // namespace tessera::inline v0::platforms
