// The client, its devices and their memories.
//
// All devices are virtual devices of this process in host memory, so the memories of a device
// differ only in name.
#pragma once

#include "pjrt/error.h"

#include <atomic>
#include <cstdint>
#include <deque>
#include <memory>
#include <string>
#include <vector>

struct PJRT_MemoryDescription {
  std::string kind;
  int kind_id;
};

struct PJRT_DeviceDescription {
  int id;
  std::string kind, text, debug_text;
  std::vector<const PJRT_MemoryDescription*> memories;
};

struct PJRT_Memory {
  int id;
  const PJRT_MemoryDescription* description;
  PJRT_Device* device;
  std::string text;
};

namespace tessera::inline v0::pjrt {
struct Machine;
}  // namespace tessera::inline v0::pjrt

struct PJRT_Device {
  tessera::pjrt::Machine* machine;
  PJRT_DeviceDescription description;
  std::vector<PJRT_Memory*> memories;  // the default one first
};

struct PJRT_TopologyDescription {
  std::shared_ptr<const tessera::pjrt::Machine> machine;
};

struct PJRT_Client {
  std::shared_ptr<tessera::pjrt::Machine> machine;
  PJRT_TopologyDescription topology;
};

namespace tessera::inline v0::pjrt {

/// The options of a client.
struct ClientOptions {
  int devices = 1;
  std::string explain = {};  // the folder for pages of programs; empty: none are written
};

/// The devices of a client. Buffers and executables share it, because they may outlive the client.
struct Machine {
  explicit Machine(const ClientOptions& options);
  Machine(const Machine&) = delete;
  Machine& operator=(const Machine&) = delete;

  /// Throws a Failure with the code INVALID_ARGUMENT if there is no device of this number.
  PJRT_Device* device(std::int64_t id) const;

  const ClientOptions options;
  std::atomic<bool> has_warned_of_pages{false};  // about a page that could not be written
  std::deque<PJRT_Device> all_devices;
  std::deque<PJRT_Memory> all_memories;
  std::vector<PJRT_Device*> devices;
  std::vector<PJRT_Memory*> memories;
  std::vector<PJRT_DeviceDescription*> descriptions;
};

/// The name of the platform, by which JAX chooses its lowering rules: those of its own CPU backend.
inline constexpr std::string_view kPlatform = "cpu";
const std::string& platform_version();

PJRT_Error* plugin_initialize(PJRT_Plugin_Initialize_Args* args);
PJRT_Error* plugin_attributes(PJRT_Plugin_Attributes_Args* args);

PJRT_Error* client_create(PJRT_Client_Create_Args* args);
PJRT_Error* client_destroy(PJRT_Client_Destroy_Args* args);
PJRT_Error* client_platform_name(PJRT_Client_PlatformName_Args* args);
PJRT_Error* client_process_index(PJRT_Client_ProcessIndex_Args* args);
PJRT_Error* client_platform_version(PJRT_Client_PlatformVersion_Args* args);
PJRT_Error* client_devices(PJRT_Client_Devices_Args* args);
PJRT_Error* client_addressable_devices(PJRT_Client_AddressableDevices_Args* args);
PJRT_Error* client_lookup_device(PJRT_Client_LookupDevice_Args* args);
PJRT_Error* client_lookup_addressable_device(PJRT_Client_LookupAddressableDevice_Args* args);
PJRT_Error* client_addressable_memories(PJRT_Client_AddressableMemories_Args* args);
PJRT_Error* client_default_device_assignment(PJRT_Client_DefaultDeviceAssignment_Args* args);
PJRT_Error* client_topology_description(PJRT_Client_TopologyDescription_Args* args);
PJRT_Error* client_update_global_process_info(PJRT_Client_UpdateGlobalProcessInfo_Args* args);

PJRT_Error* description_id(PJRT_DeviceDescription_Id_Args* args);
PJRT_Error* description_process_index(PJRT_DeviceDescription_ProcessIndex_Args* args);
PJRT_Error* description_attributes(PJRT_DeviceDescription_Attributes_Args* args);
PJRT_Error* description_kind(PJRT_DeviceDescription_Kind_Args* args);
PJRT_Error* description_debug_string(PJRT_DeviceDescription_DebugString_Args* args);
PJRT_Error* description_to_string(PJRT_DeviceDescription_ToString_Args* args);
PJRT_Error* description_memories(PJRT_DeviceDescription_MemoryDescriptions_Args* args);
PJRT_Error* memory_description_kind(PJRT_MemoryDescription_Kind_Args* args);

PJRT_Error* device_get_description(PJRT_Device_GetDescription_Args* args);
PJRT_Error* device_is_addressable(PJRT_Device_IsAddressable_Args* args);
PJRT_Error* device_local_hardware_id(PJRT_Device_LocalHardwareId_Args* args);
PJRT_Error* device_addressable_memories(PJRT_Device_AddressableMemories_Args* args);
PJRT_Error* device_default_memory(PJRT_Device_DefaultMemory_Args* args);
PJRT_Error* device_memory_stats(PJRT_Device_MemoryStats_Args* args);
PJRT_Error* device_get_attributes(PJRT_Device_GetAttributes_Args* args);

PJRT_Error* memory_id(PJRT_Memory_Id_Args* args);
PJRT_Error* memory_kind(PJRT_Memory_Kind_Args* args);
PJRT_Error* memory_kind_id(PJRT_Memory_Kind_Id_Args* args);
PJRT_Error* memory_debug_string(PJRT_Memory_DebugString_Args* args);
PJRT_Error* memory_to_string(PJRT_Memory_ToString_Args* args);
PJRT_Error* memory_addressable_by_devices(PJRT_Memory_AddressableByDevices_Args* args);

PJRT_Error* topology_create(PJRT_TopologyDescription_Create_Args* args);
PJRT_Error* topology_destroy(PJRT_TopologyDescription_Destroy_Args* args);
PJRT_Error* topology_platform_name(PJRT_TopologyDescription_PlatformName_Args* args);
PJRT_Error* topology_platform_version(PJRT_TopologyDescription_PlatformVersion_Args* args);
PJRT_Error* topology_descriptions(PJRT_TopologyDescription_GetDeviceDescriptions_Args* args);
PJRT_Error* topology_serialize(PJRT_TopologyDescription_Serialize_Args* args);
PJRT_Error* topology_deserialize(PJRT_TopologyDescription_Deserialize_Args* args);
PJRT_Error* topology_attributes(PJRT_TopologyDescription_Attributes_Args* args);
PJRT_Error* topology_fingerprint(PJRT_TopologyDescription_Fingerprint_Args* args);

}  // namespace tessera::inline v0::pjrt
