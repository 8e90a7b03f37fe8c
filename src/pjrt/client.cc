#include "pjrt/client.h"

#include "base/float_mode.h"
#include "base/settings.h"
#include "runtime/backend.h"
#include "runtime/host/devices.h"
#include "runtime/host/memory_limit.h"

#include <algorithm>
#include <charconv>
#include <optional>
#include <system_error>

namespace tessera::inline v0::pjrt {

namespace {

// The kinds that JAX's own CPU client has, the default first.
const PJRT_MemoryDescription kMemories[] = {
    {"device", 0}, {"pinned_host", 1}, {"unpinned_host", 2}};

std::string_view text_of_option(const PJRT_NamedValue& o) { return {o.string_value, o.value_size}; }

/// The text as a number; nullopt if it is not one from its first to its last character.
std::optional<std::int64_t> number_of(std::string_view text) {
  std::int64_t n = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), n);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return n;
}

int count_of_devices(const PJRT_NamedValue& o) {
  std::optional<std::int64_t> count;
  std::string shown = "of another type";
  if (o.type == PJRT_NamedValue_kInt64) {
    count = o.int64_value;
    shown = std::to_string(o.int64_value);
  } else if (o.type == PJRT_NamedValue_kString) {
    count = number_of(text_of_option(o));
    shown = "'" + std::string(text_of_option(o)) + "'";
  }
  if (!count || *count < 1 || *count > runtime::kMaxDevices)
    refuse("the option device_count is " + shown + ", and a client has 1 to " +
           std::to_string(runtime::kMaxDevices) + " devices");
  return static_cast<int>(*count);
}

ClientOptions read_options(const PJRT_NamedValue* options, std::size_t n) {
  ClientOptions out;
  bool counted = false;
  for (std::size_t i = 0; i < n; ++i) {
    const PJRT_NamedValue& o = options[i];
    const std::string_view name(o.name, o.name_size);
    if (name == "device_count") {
      out.devices = count_of_devices(o);
      counted = true;
    } else if (name == "explain" && o.type == PJRT_NamedValue_kString) {
      out.explain = text_of_option(o);
    } else if (name != "node_id" && name != "num_nodes") {
      refuse("the client has no option '" + std::string(name) +
             "'; it has device_count (a number) and explain (a folder)");
    }
  }
  // Without the option, TESSERA_DEVICES sets the number of devices; the default is one.
  if (!counted && settings::number("TESSERA_DEVICES")) out.devices = runtime::device_count();
  return out;
}

}  // namespace

const std::string& platform_version() {
  static const auto* text = new std::string("tessera 0.1.0");
  return *text;
}

Machine::Machine(const ClientOptions& o) : options(o) {
  for (int d = 0; d < options.devices; ++d) {
    const std::string number = std::to_string(d);
    PJRT_Device& device = all_devices.emplace_back(PJRT_Device{
        this, {d, "cpu", "TesseraDevice(id=" + number + ")", "TESSERA_CPU_" + number, {}}, {}});
    for (const PJRT_MemoryDescription& m : kMemories) {
      const int id = static_cast<int>(all_memories.size());
      device.description.memories.push_back(&m);
      device.memories.push_back(&all_memories.emplace_back(
          PJRT_Memory{id, &m, &device, m.kind + " memory of " + device.description.text}));
    }
  }
  for (PJRT_Device& d : all_devices) {
    devices.push_back(&d);
    descriptions.push_back(&d.description);
  }
  for (PJRT_Memory& m : all_memories) memories.push_back(&m);
}

PJRT_Device* Machine::device(std::int64_t id) const {
  if (id < 0 || id >= static_cast<std::int64_t>(devices.size()))
    refuse("there is no device " + std::to_string(id) + "; devices are 0 to " +
           std::to_string(devices.size() - 1));
  return devices[static_cast<std::size_t>(id)];
}

namespace {

PJRT_NamedValue named(std::string_view name, PJRT_NamedValue_Type type, std::size_t size) {
  PJRT_NamedValue v{};
  v.struct_size = sizeof v;
  v.name = name.data();
  v.name_size = name.size();
  v.type = type;
  v.value_size = size;
  return v;
}

}  // namespace

PJRT_Error* plugin_initialize(PJRT_Plugin_Initialize_Args*) { return nullptr; }

PJRT_Error* plugin_attributes(PJRT_Plugin_Attributes_Args* args) {
  // Callers serialize programs in the newest version that both sides support.
  static constexpr std::int64_t newest[] = {1, 22, 0}, oldest[] = {0, 9, 0};
  static const auto* attributes = [] {
    auto* list = new std::vector<PJRT_NamedValue>;
    list->push_back(named("xla_version", PJRT_NamedValue_kInt64, 1));
    list->back().int64_value = 2;
    list->push_back(named("stablehlo_current_version", PJRT_NamedValue_kInt64List, 3));
    list->back().int64_array_value = newest;
    list->push_back(named("stablehlo_minimum_version", PJRT_NamedValue_kInt64List, 3));
    list->back().int64_array_value = oldest;
    return list;
  }();
  args->attributes = attributes->data();
  args->num_attributes = attributes->size();
  return nullptr;
}

PJRT_Error* client_create(PJRT_Client_Create_Args* args) {
  return guarded([&] {
    auto machine = std::make_shared<Machine>(read_options(args->create_options, args->num_options));
    // JAX's own CPU client flushes subnormal numbers, which training produces and which are slow.
    if (settings::text("TESSERA_FLUSH_DENORMAL").empty()) flush_subnormals(true);
    // The process has one set of devices; each client uses the first ones of it.
    if (machine->options.devices > runtime::device_count())
      runtime::set_device_count(machine->options.devices);
    args->client = new PJRT_Client{machine, {machine}};
  });
}

PJRT_Error* client_destroy(PJRT_Client_Destroy_Args* args) {
  return guarded([&] { delete args->client; });
}

PJRT_Error* client_platform_name(PJRT_Client_PlatformName_Args* args) {
  give(kPlatform, args->platform_name, args->platform_name_size);
  return nullptr;
}
PJRT_Error* client_process_index(PJRT_Client_ProcessIndex_Args* args) {
  args->process_index = 0;
  return nullptr;
}
PJRT_Error* client_platform_version(PJRT_Client_PlatformVersion_Args* args) {
  give(platform_version(), args->platform_version, args->platform_version_size);
  return nullptr;
}
PJRT_Error* client_devices(PJRT_Client_Devices_Args* args) {
  args->devices = args->client->machine->devices.data();
  args->num_devices = args->client->machine->devices.size();
  return nullptr;
}
PJRT_Error* client_addressable_devices(PJRT_Client_AddressableDevices_Args* args) {
  args->addressable_devices = args->client->machine->devices.data();
  args->num_addressable_devices = args->client->machine->devices.size();
  return nullptr;
}
PJRT_Error* client_lookup_device(PJRT_Client_LookupDevice_Args* args) {
  return guarded([&] { args->device = args->client->machine->device(args->id); });
}
PJRT_Error* client_lookup_addressable_device(PJRT_Client_LookupAddressableDevice_Args* args) {
  return guarded(
      [&] { args->addressable_device = args->client->machine->device(args->local_hardware_id); });
}
PJRT_Error* client_addressable_memories(PJRT_Client_AddressableMemories_Args* args) {
  args->addressable_memories = args->client->machine->memories.data();
  args->num_addressable_memories = args->client->machine->memories.size();
  return nullptr;
}
PJRT_Error* client_default_device_assignment(PJRT_Client_DefaultDeviceAssignment_Args* args) {
  return guarded([&] {
    const std::size_t have = args->client->machine->devices.size();
    const std::int64_t n = std::int64_t{args->num_replicas} * args->num_partitions;
    if (n < 1 || static_cast<std::size_t>(n) > have)
      refuse(std::to_string(args->num_replicas) + " replicas of " +
             std::to_string(args->num_partitions) + " partitions need " + std::to_string(n) +
             " devices, and the client has " + std::to_string(have));
    if (args->default_assignment_size < static_cast<std::size_t>(n))
      refuse("the list for the assignment is too short");
    for (std::int64_t i = 0; i < n; ++i) args->default_assignment[i] = static_cast<int>(i);
  });
}
PJRT_Error* client_topology_description(PJRT_Client_TopologyDescription_Args* args) {
  args->topology = &args->client->topology;
  return nullptr;
}
// There is only this process, and it is running.
PJRT_Error* client_update_global_process_info(PJRT_Client_UpdateGlobalProcessInfo_Args*) {
  return nullptr;
}

PJRT_Error* description_id(PJRT_DeviceDescription_Id_Args* args) {
  args->id = args->device_description->id;
  return nullptr;
}
PJRT_Error* description_process_index(PJRT_DeviceDescription_ProcessIndex_Args* args) {
  args->process_index = 0;
  return nullptr;
}
PJRT_Error* description_attributes(PJRT_DeviceDescription_Attributes_Args* args) {
  args->attributes = nullptr;
  args->num_attributes = 0;
  return nullptr;
}
PJRT_Error* description_kind(PJRT_DeviceDescription_Kind_Args* args) {
  give(args->device_description->kind, args->device_kind, args->device_kind_size);
  return nullptr;
}
PJRT_Error* description_debug_string(PJRT_DeviceDescription_DebugString_Args* args) {
  give(args->device_description->debug_text, args->debug_string, args->debug_string_size);
  return nullptr;
}
PJRT_Error* description_to_string(PJRT_DeviceDescription_ToString_Args* args) {
  give(args->device_description->text, args->to_string, args->to_string_size);
  return nullptr;
}
PJRT_Error* description_memories(PJRT_DeviceDescription_MemoryDescriptions_Args* args) {
  args->memory_descriptions = args->device_description->memories.data();
  args->num_memory_descriptions = args->device_description->memories.size();
  args->default_memory_index = 0;
  return nullptr;
}
PJRT_Error* memory_description_kind(PJRT_MemoryDescription_Kind_Args* args) {
  give(args->memory_description->kind, args->kind, args->kind_size);
  args->kind_id = args->memory_description->kind_id;
  return nullptr;
}

PJRT_Error* device_get_description(PJRT_Device_GetDescription_Args* args) {
  args->device_description = &args->device->description;
  return nullptr;
}
PJRT_Error* device_is_addressable(PJRT_Device_IsAddressable_Args* args) {
  args->is_addressable = true;
  return nullptr;
}
PJRT_Error* device_local_hardware_id(PJRT_Device_LocalHardwareId_Args* args) {
  args->local_hardware_id = args->device->description.id;
  return nullptr;
}
PJRT_Error* device_addressable_memories(PJRT_Device_AddressableMemories_Args* args) {
  args->memories = args->device->memories.data();
  args->num_memories = args->device->memories.size();
  return nullptr;
}
PJRT_Error* device_default_memory(PJRT_Device_DefaultMemory_Args* args) {
  args->memory = args->device->memories[0];
  return nullptr;
}
PJRT_Error* device_memory_stats(PJRT_Device_MemoryStats_Args* args) {
  return guarded([&] {
    const runtime::MemoryStats stats = runtime::memory_stats(args->device->description.id);
    args->bytes_in_use = stats.live;
    args->peak_bytes_in_use = stats.peak;
    args->peak_bytes_in_use_is_set = true;
    args->num_allocs_is_set = false;
    args->largest_alloc_size_is_set = false;
    args->bytes_limit = runtime::memory_limit();
    args->bytes_limit_is_set = true;
    args->bytes_reserved_is_set = false;
    args->peak_bytes_reserved_is_set = false;
    args->bytes_reservable_limit_is_set = false;
    args->largest_free_block_bytes_is_set = false;
    using Args = PJRT_Device_MemoryStats_Args;
    if (has_field(*args, &Args::pool_bytes_is_set)) args->pool_bytes_is_set = false;
    if (has_field(*args, &Args::peak_pool_bytes_is_set)) args->peak_pool_bytes_is_set = false;
    if (has_field(*args, &Args::peak_allocated_bytes_is_set))
      args->peak_allocated_bytes_is_set = false;
  });
}
PJRT_Error* device_get_attributes(PJRT_Device_GetAttributes_Args* args) {
  args->attributes = nullptr;
  args->num_attributes = 0;
  args->device_attributes = nullptr;
  args->attributes_deleter = [](void*) {};
  return nullptr;
}

PJRT_Error* memory_id(PJRT_Memory_Id_Args* args) {
  args->id = args->memory->id;
  return nullptr;
}
PJRT_Error* memory_kind(PJRT_Memory_Kind_Args* args) {
  give(args->memory->description->kind, args->kind, args->kind_size);
  return nullptr;
}
PJRT_Error* memory_kind_id(PJRT_Memory_Kind_Id_Args* args) {
  args->kind_id = args->memory->description->kind_id;
  return nullptr;
}
PJRT_Error* memory_debug_string(PJRT_Memory_DebugString_Args* args) {
  give(args->memory->text, args->debug_string, args->debug_string_size);
  return nullptr;
}
PJRT_Error* memory_to_string(PJRT_Memory_ToString_Args* args) {
  give(args->memory->text, args->to_string, args->to_string_size);
  return nullptr;
}
PJRT_Error* memory_addressable_by_devices(PJRT_Memory_AddressableByDevices_Args* args) {
  args->devices = &args->memory->device;
  args->num_devices = 1;
  return nullptr;
}

PJRT_Error* topology_create(PJRT_TopologyDescription_Create_Args* args) {
  return guarded([&] {
    args->topology = new PJRT_TopologyDescription{
        std::make_shared<Machine>(read_options(args->create_options, args->num_options))};
  });
}
PJRT_Error* topology_destroy(PJRT_TopologyDescription_Destroy_Args* args) {
  delete args->topology;
  return nullptr;
}
PJRT_Error* topology_platform_name(PJRT_TopologyDescription_PlatformName_Args* args) {
  give(kPlatform, args->platform_name, args->platform_name_size);
  return nullptr;
}
PJRT_Error* topology_platform_version(PJRT_TopologyDescription_PlatformVersion_Args* args) {
  give(platform_version(), args->platform_version, args->platform_version_size);
  return nullptr;
}
PJRT_Error* topology_descriptions(PJRT_TopologyDescription_GetDeviceDescriptions_Args* args) {
  args->descriptions = args->topology->machine->descriptions.data();
  args->num_descriptions = args->topology->machine->descriptions.size();
  return nullptr;
}

namespace {
constexpr std::string_view kTopology = "tessera topology, devices: ";
}  // namespace

PJRT_Error* topology_serialize(PJRT_TopologyDescription_Serialize_Args* args) {
  return guarded([&] {
    auto text = std::make_unique<std::string>(
        std::string(kTopology) + std::to_string(args->topology->machine->devices.size()));
    give(*text, args->serialized_bytes, args->serialized_bytes_size);
    args->serialized_topology = text.release();
    args->serialized_topology_deleter = [](void* made) { delete static_cast<std::string*>(made); };
  });
}
PJRT_Error* topology_deserialize(PJRT_TopologyDescription_Deserialize_Args* args) {
  return guarded([&] {
    const std::string_view text(args->serialized_topology, args->serialized_topology_size);
    std::optional<std::int64_t> devices;
    if (text.starts_with(kTopology)) devices = number_of(text.substr(kTopology.size()));
    if (!devices || *devices < 1 || *devices > runtime::kMaxDevices)
      refuse("these bytes are not a topology that this plug-in has written");
    ClientOptions options;
    options.devices = static_cast<int>(*devices);
    args->topology = new PJRT_TopologyDescription{std::make_shared<Machine>(options)};
  });
}
PJRT_Error* topology_attributes(PJRT_TopologyDescription_Attributes_Args* args) {
  args->attributes = nullptr;
  args->num_attributes = 0;
  return nullptr;
}
PJRT_Error* topology_fingerprint(PJRT_TopologyDescription_Fingerprint_Args* args) {
  args->fingerprint = 0x7e55e4a000000000u + args->topology->machine->devices.size();
  return nullptr;
}

}  // namespace tessera::inline v0::pjrt
