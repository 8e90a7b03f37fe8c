#include "platforms/client.h"

#include "base/message.h"
#include "runtime/host/memory_limit.h"
#include "runtime/profiler.h"

#include <algorithm>
#include <array>
#include <cstdlib>
#include <map>

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

// All clients of the process, for its end. They are created under the lock of load_platform.
std::vector<const Client*>& clients() {
  static auto* all = new std::vector<const Client*>;
  return *all;
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

// The argument of an event's callback, which may run on a thread of the plug-in.
struct Waiting {
  const Client& client;
  std::shared_ptr<Event> event;
  std::string what;
  std::shared_ptr<const void> kept;
  int device = 0;
  // The row of a program in the profile, and the time of the call.
  std::int64_t row = 0, asked = -1;
  // Whether the end of the process waits for it.
  bool is_work = true;

  void end(PJRT_Error* error);
};

namespace {
void on_ready(PJRT_Error* error, void* given) {
  std::unique_ptr<Waiting>(static_cast<Waiting*>(given))->end(error);
}
}  // namespace

void Waiting::end(PJRT_Error* error) {
  std::exception_ptr thrown;
  if (error) thrown = client.device_error(what, client.plugin().failure_of(error), "", device);
  kept.reset();  // the memory is free before the end is visible to others
  if (asked >= 0) {
    // A device runs its programs one after the other.
    const std::int64_t now = runtime::profiler::now();
    std::int64_t begin = asked;
    {
      const Locked lock(client.mutex_);
      std::int64_t& last = client.last_end_[static_cast<std::size_t>(device)];
      begin = std::max(begin, last);
      last = now;
    }
    runtime::profiler::record({what, "program", row, begin, now, {}});
  }
  event->end(thrown);
  if (!is_work) return;
  {
    const Locked lock(client.mutex_);
    --client.under_way_;
  }
  client.ended_.notify_all();
}

RemoteBuffer::RemoteBuffer(const Client& client, PJRT_Buffer* buffer, const Type& block, int device)
    : client_(client), buffer_(buffer), block_(block), device_(device) {
  client_.add(*this);
}

RemoteBuffer::~RemoteBuffer() {
  client_.remove(*this);
  try {
    PJRT_Buffer_Destroy_Args args{};
    args.buffer = buffer_;
    client_.plugin().call(&PJRT_Api::PJRT_Buffer_Destroy, args);
  } catch (const Failure&) {
    // The memory leaks, which the plug-in's statistics show. A destructor cannot report it.
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
  held_.resize(devices_.size());
  last_end_.resize(devices_.size());
  // A process that ends waits for the operations in progress, because the plug-in's threads use the
  // plug-in's static variables. These handlers run before the variables are destroyed, in reverse
  // order.
  clients().push_back(this);
  std::atexit([] {
    for (const Client* client : clients()) client->wait_for_all();
  });
  library_was_used();
}

Client::~Client() { std::erase(clients(), this); }

void Client::add(RemoteBuffer& buffer) const {
  const Locked lock(mutex_);
  buffer.before_ = newest_;
  if (newest_) newest_->after_ = &buffer;
  newest_ = &buffer;
  runtime::MemoryStats& held = held_[static_cast<std::size_t>(buffer.device_)];
  held.live += buffer.block_.bytes();
  held.peak = std::max(held.peak, held.live);
}

void Client::remove(RemoteBuffer& buffer) const {
  const Locked lock(mutex_);
  if (buffer.before_) buffer.before_->after_ = buffer.after_;
  (buffer.after_ ? buffer.after_->before_ : newest_) = buffer.before_;
  held_[static_cast<std::size_t>(buffer.device_)].live -= buffer.block_.bytes();
}

std::exception_ptr Client::device_error(const std::string& what, const Failure& failure,
                                        const std::string& asked, int number) const {
  Message m(what);
  const bool memory = failure.code == PJRT_Error_Code_RESOURCE_EXHAUSTED;
  m.problem(std::string(memory ? "there is no memory on the device: " : "") +
            code_name(failure.code) + ": " + failure.what());
  if (memory) {
    if (!asked.empty()) m.offender("asked for: " + asked);
    say_holders(m, number);
    m.advice(
        "donate arguments that are not needed any more, or free arrays; memory_stats(device) "
        "says what is in use");
  }
  try {
    m.raise<DeviceError>();
  } catch (...) {
    return std::current_exception();
  }
}

void Client::say_holders(Message& m, int number) const {
  constexpr std::size_t kMost = 4;
  struct Holder {
    std::string type;
    std::int64_t bytes, count;
  };
  std::vector<Holder> holders;
  {
    std::map<std::string, Holder> by_type;
    const Locked lock(mutex_);
    for (const RemoteBuffer* b = newest_; b; b = b->before_) {
      if (b->device_ != number) continue;
      const std::string type = to_string(Type(b->block_.dtype, b->block_.shape));
      Holder& h = by_type.try_emplace(type, Holder{type, 0, 0}).first->second;
      h.bytes += b->block_.bytes();
      ++h.count;
    }
    for (auto& [type, holder] : by_type) holders.push_back(std::move(holder));
  }
  std::stable_sort(holders.begin(), holders.end(),
                   [](const Holder& a, const Holder& b) { return a.bytes > b.bytes; });
  const auto text = [](std::int64_t bytes) {
    return runtime::bytes_text(static_cast<double>(bytes));
  };
  std::int64_t rest = 0;
  for (std::size_t i = 0; i < holders.size(); ++i)
    if (i < kMost)
      m.offender(std::to_string(holders[i].count) +
                 (holders[i].count == 1 ? " block " : " blocks ") + holders[i].type +
                 (holders[i].count == 1 ? " has " : " have ") + text(holders[i].bytes));
    else
      rest += holders[i].bytes;
  if (rest) m.offender("blocks of other types have " + text(rest));
  if (holders.empty()) m.offender("this process has no arrays there");
  PJRT_Device_MemoryStats_Args stats{};
  stats.device = device(number);
  try {
    plugin_->call(&PJRT_Api::PJRT_Device_MemoryStats, stats);
    m.offender("the plug-in has " + text(stats.bytes_in_use) + " in use" +
               (stats.bytes_limit_is_set ? " of " + text(stats.bytes_limit) : std::string()));
  } catch (const Failure&) {
    // A plug-in need not have memory statistics.
  }
}

runtime::MemoryStats Client::memory_stats(int number) const {
  PJRT_Device_MemoryStats_Args args{};
  args.device = device(number);
  try {
    plugin_->call(&PJRT_Api::PJRT_Device_MemoryStats, args);
  } catch (const Failure& failure) {
    if (failure.code != PJRT_Error_Code_UNIMPLEMENTED) throw;
    const Locked lock(mutex_);
    return held_[static_cast<std::size_t>(number)];
  }
  return {args.bytes_in_use, args.peak_bytes_in_use_is_set ? args.peak_bytes_in_use : 0};
}

std::shared_ptr<Completion> Client::follow(PJRT_Event* event, Waiting given) const {
  if (!event) return nullptr;
  auto made = std::make_shared<Event>();
  given.event = made;
  auto waiting = std::make_unique<Waiting>(std::move(given));
  const int work = waiting->is_work;
  {
    const Locked lock(mutex_);
    under_way_ += work;
  }
  PJRT_Event_OnReady_Args args{};
  args.event = event;
  args.callback = on_ready;
  args.user_arg = waiting.get();
  try {
    plugin_->call(&PJRT_Api::PJRT_Event_OnReady, args);
  } catch (...) {
    const Locked lock(mutex_);
    under_way_ -= work;
    throw;
  }
  (void)waiting.release();  // the callback's, which may have run already
  PJRT_Event_Destroy_Args destroy{};
  destroy.event = event;
  plugin_->call(&PJRT_Api::PJRT_Event_Destroy, destroy);
  return made;
}

std::shared_ptr<Completion> Client::completion_of(PJRT_Event* event, std::string what, int device,
                                                  std::shared_ptr<const void> kept) const {
  return follow(event, {*this, nullptr, std::move(what), std::move(kept), device});
}

std::shared_ptr<Completion> Client::end_of_program(PJRT_Event* event, std::string name, int device,
                                                   std::int64_t row) const {
  const std::int64_t asked = runtime::profiler::on() ? runtime::profiler::now() : -1;
  return follow(event, {*this, nullptr, std::move(name), nullptr, device, row, asked});
}

void Client::wait_for_all() const {
  std::unique_lock lock(mutex_);
  ended_.wait(lock, [&] { return under_way_ == 0; });
}

std::shared_ptr<Completion> Client::ready(PJRT_Buffer* buffer, std::string what, int device) const {
  PJRT_Buffer_ReadyEvent_Args args{};
  args.buffer = buffer;
  plugin_->call(&PJRT_Api::PJRT_Buffer_ReadyEvent, args);
  return completion_of(args.event, std::move(what), device);
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
  // A platform that shares the host's memory may read it in place as long as the buffer exists.
  args.host_buffer_semantics = PJRT_HostBufferSemantics_kImmutableZeroCopy;
  args.device = device(number);
  plugin_->call(&PJRT_Api::PJRT_Client_BufferFromHostBuffer, args);
  auto buffer = std::make_shared<RemoteBuffer>(*this, args.buffer, block, number);
  // If the plug-in reads the host's memory in place, it is done when the buffer is destroyed.
  Waiting done{*this, nullptr, "device_put", std::move(owner), number};
  done.is_work = false;
  (void)follow(args.done_with_host_buffer, std::move(done));
  return {buffer, ready(buffer->get(), "device_put", number)};
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
  const int device = from->device();
  return completion_of(args.event, "device_get", device, std::move(from));
}

Sent Client::copy(const RemoteBuffer& from, int number) const {
  PJRT_Buffer_CopyToDevice_Args args{};
  args.buffer = from.get();
  args.dst_device = device(number);
  plugin_->call(&PJRT_Api::PJRT_Buffer_CopyToDevice, args);
  auto buffer = std::make_shared<RemoteBuffer>(*this, args.dst_buffer, from.block(), number);
  return {buffer, ready(buffer->get(), "device_put", number)};
}

}  // namespace tessera::inline v0::platforms
