// The C interface of PJRT, by which a front end drives the devices of a platform: the structs of
// version 0.104 with the names that the interface gives them. Tessera is on both sides of it: it
// loads the plug-ins of others (this room), and JAX loads Tessera's (src/pjrt).
//
// Every function takes one struct and returns an error or null. A struct begins with its size, as
// far as the caller knows it, so that later versions can append fields: a field is read or written
// only if it lies within that size. tests/jax/abi_test.py compares every offset with the layouts of
// the package pypjrt.
#pragma once

#include <cstddef>
#include <cstdint>

// Objects of the plug-in, to which callers only have pointers.
struct PJRT_Error;
struct PJRT_Event;
struct PJRT_Client;
struct PJRT_Device;
struct PJRT_DeviceDescription;
struct PJRT_Memory;
struct PJRT_Executable;
struct PJRT_LoadedExecutable;
struct PJRT_Buffer;
struct PJRT_TopologyDescription;
struct PJRT_ExecuteContext;
struct PJRT_CopyToDeviceStream;
struct PJRT_AsyncHostToDeviceTransferManager;
struct PJRT_AsyncTrackingEvent;
struct PJRT_FulfillAliasBufferCallback;

/// A member of the list of extensions, which its type distinguishes. The functions follow.
struct PJRT_Extension_Base {
  std::size_t struct_size;
  std::uint32_t type;
  PJRT_Extension_Base* next;
};
enum : std::uint32_t {
  PJRT_Extension_Type_Profiler = 1,
  PJRT_Extension_Type_Layouts = 4,
  PJRT_Extension_Type_MemoryDescriptions = 6,
  PJRT_Extension_Type_Shardings = 19,
};

/// The common beginning of all argument structs.
struct PJRT_Head {
  std::size_t struct_size;
  PJRT_Extension_Base* extension_start;
};

/// The codes of errors, which are those of Abseil.
enum PJRT_Error_Code : std::uint32_t {
  PJRT_Error_Code_CANCELLED = 1,
  PJRT_Error_Code_UNKNOWN = 2,
  PJRT_Error_Code_INVALID_ARGUMENT = 3,
  PJRT_Error_Code_NOT_FOUND = 5,
  PJRT_Error_Code_RESOURCE_EXHAUSTED = 8,
  PJRT_Error_Code_FAILED_PRECONDITION = 9,
  PJRT_Error_Code_OUT_OF_RANGE = 11,
  PJRT_Error_Code_UNIMPLEMENTED = 12,
  PJRT_Error_Code_INTERNAL = 13,
  PJRT_Error_Code_UNAVAILABLE = 14,
};

/// The element types of buffers.
enum PJRT_Buffer_Type : std::uint32_t {
  PJRT_Buffer_Type_INVALID,
  PJRT_Buffer_Type_PRED,
  PJRT_Buffer_Type_S8,
  PJRT_Buffer_Type_S16,
  PJRT_Buffer_Type_S32,
  PJRT_Buffer_Type_S64,
  PJRT_Buffer_Type_U8,
  PJRT_Buffer_Type_U16,
  PJRT_Buffer_Type_U32,
  PJRT_Buffer_Type_U64,
  PJRT_Buffer_Type_F16,
  PJRT_Buffer_Type_F32,
  PJRT_Buffer_Type_F64,
  PJRT_Buffer_Type_BF16,
  PJRT_Buffer_Type_C64,
  PJRT_Buffer_Type_C128,
  PJRT_Buffer_Type_F8E5M2,
  PJRT_Buffer_Type_F8E4M3FN,
  PJRT_Buffer_Type_F8E4M3B11FNUZ,
  PJRT_Buffer_Type_F8E5M2FNUZ,
  PJRT_Buffer_Type_F8E4M3FNUZ,
  PJRT_Buffer_Type_S4,
  PJRT_Buffer_Type_U4,
  PJRT_Buffer_Type_TOKEN,
  PJRT_Buffer_Type_S2,
  PJRT_Buffer_Type_U2,
  PJRT_Buffer_Type_F8E4M3,
  PJRT_Buffer_Type_F8E3M4,
  PJRT_Buffer_Type_F8E8M0FNU,
  PJRT_Buffer_Type_F4E2M1FN,
  PJRT_Buffer_Type_S1,
  PJRT_Buffer_Type_U1,
  PJRT_Buffer_Type_F6E2M3FN,
  PJRT_Buffer_Type_F6E3M2FN,
};

/// How long the caller leaves the memory unchanged from which a buffer is made.
enum PJRT_HostBufferSemantics : std::uint32_t {
  PJRT_HostBufferSemantics_kImmutableOnlyDuringCall,
  PJRT_HostBufferSemantics_kImmutableUntilTransferCompletes,
  PJRT_HostBufferSemantics_kImmutableZeroCopy,
  PJRT_HostBufferSemantics_kMutableZeroCopy,
};

enum PJRT_NamedValue_Type : std::uint32_t {
  PJRT_NamedValue_kString,
  PJRT_NamedValue_kInt64,
  PJRT_NamedValue_kInt64List,
  PJRT_NamedValue_kFloat,
  PJRT_NamedValue_kBool,
};
enum PJRT_Buffer_MemoryLayout_Type : std::uint32_t {
  PJRT_Buffer_MemoryLayout_Type_Tiled,
  PJRT_Buffer_MemoryLayout_Type_Strides,
};

/// The version of the interface. A caller rejects another major version; minor versions only
/// append.
struct PJRT_Api_Version : PJRT_Head {
  std::int32_t major_version;
  std::int32_t minor_version;
};

struct PJRT_NamedValue : PJRT_Head {
  const char* name;
  std::size_t name_size;
  std::uint32_t type;
  union {
    const char* string_value;
    std::int64_t int64_value;
    const std::int64_t* int64_array_value;
    float float_value;
    bool bool_value;
  };
  std::size_t value_size;
};
struct PJRT_Program : PJRT_Head {
  const char* code;
  std::size_t code_size;
  const char* format;
  std::size_t format_size;
};
struct PJRT_Buffer_MemoryLayout_Tiled : PJRT_Head {
  const std::int64_t* minor_to_major;
  std::size_t minor_to_major_size;
  const std::int64_t* tile_dims;
  const std::size_t* tile_dim_sizes;
  std::size_t num_tiles;
};
struct PJRT_Buffer_MemoryLayout_Strides : PJRT_Head {
  const std::int64_t* byte_strides;
  std::size_t num_byte_strides;
};
struct PJRT_Buffer_MemoryLayout : PJRT_Head {
  union {
    PJRT_Buffer_MemoryLayout_Tiled tiled;
    PJRT_Buffer_MemoryLayout_Strides strides;
  };
  std::uint32_t type;
};
struct PJRT_ShapeSpec : PJRT_Head {
  const std::int64_t* dims;
  std::size_t num_dims;
  std::uint32_t element_type;
};
struct PJRT_LogicalDeviceIds {
  std::int32_t replica;
  std::int32_t partition;
};
struct PJRT_Chunk {
  void* data;
  std::size_t size;
  void (*deleter)(void* data, void* deleter_arg);
  void* deleter_arg;
};
struct PJRT_ProcessInfo {
  std::size_t struct_size;
  std::int32_t task_id;
  std::size_t incarnation_id;
  std::uint32_t state;
  std::int32_t error_code;
  const char* error_message;
  std::size_t error_message_size;
};
struct PJRT_ExecuteOptions : PJRT_Head {
  void* send_callbacks;
  void* recv_callbacks;
  std::size_t num_send_ops;
  std::size_t num_recv_ops;
  std::int32_t launch_id;
  const std::int64_t* non_donatable_input_indices;
  std::size_t num_non_donatable_input_indices;
  PJRT_ExecuteContext* context;
  const char* call_location;
  std::size_t num_tasks;
  const int* task_ids;
  const std::int64_t* incarnation_ids;
  void* multi_slice_config;
  bool use_major_to_minor_data_layout_for_callbacks;
  void* hlo_output_callbacks;
  std::size_t num_hlo_output_callbacks;
};
struct PJRT_Buffer_CopyRawToHostFuture_Callback_Args {
  std::size_t struct_size;
  void* callback_data;
  std::uint32_t error_code;
  const char* error_message;
  std::size_t error_message_size;
  void* dst;
};
struct PJRT_Buffer_DonateWithControlDependency_Callback_Args {
  std::size_t struct_size;
  void* callback_data;
  std::uint32_t error_code;
  const char* error_message;
  std::size_t error_message_size;
};

// Errors.

struct PJRT_Error_Destroy_Args : PJRT_Head {
  PJRT_Error* error;
};
struct PJRT_Error_Message_Args : PJRT_Head {
  PJRT_Error* error;
  const char* message;
  std::size_t message_size;
};
struct PJRT_Error_GetCode_Args : PJRT_Head {
  PJRT_Error* error;
  std::uint32_t code;
};

// The plug-in.

struct PJRT_Plugin_Initialize_Args : PJRT_Head {};
struct PJRT_Plugin_Attributes_Args : PJRT_Head {
  const PJRT_NamedValue* attributes;
  std::size_t num_attributes;
};

// Events.

struct PJRT_Event_Destroy_Args : PJRT_Head {
  PJRT_Event* event;
};
struct PJRT_Event_IsReady_Args : PJRT_Head {
  PJRT_Event* event;
  bool is_ready;
};
struct PJRT_Event_Error_Args : PJRT_Head {
  PJRT_Event* event;
};
struct PJRT_Event_Await_Args : PJRT_Head {
  PJRT_Event* event;
};
struct PJRT_Event_OnReady_Args : PJRT_Head {
  PJRT_Event* event;
  void (*callback)(PJRT_Error* error, void* user_arg);
  void* user_arg;
};

// Clients.

struct PJRT_Client_Create_Args : PJRT_Head {
  const PJRT_NamedValue* create_options;
  std::size_t num_options;
  void* kv_get_callback;
  void* kv_get_user_arg;
  void* kv_put_callback;
  void* kv_put_user_arg;
  PJRT_Client* client;
  void* kv_try_get_callback;
  void* kv_try_get_user_arg;
};
struct PJRT_Client_Destroy_Args : PJRT_Head {
  PJRT_Client* client;
};
struct PJRT_Client_PlatformName_Args : PJRT_Head {
  PJRT_Client* client;
  const char* platform_name;
  std::size_t platform_name_size;
};
struct PJRT_Client_ProcessIndex_Args : PJRT_Head {
  PJRT_Client* client;
  std::int32_t process_index;
};
struct PJRT_Client_PlatformVersion_Args : PJRT_Head {
  PJRT_Client* client;
  const char* platform_version;
  std::size_t platform_version_size;
};
struct PJRT_Client_Devices_Args : PJRT_Head {
  PJRT_Client* client;
  PJRT_Device* const* devices;
  std::size_t num_devices;
};
struct PJRT_Client_AddressableDevices_Args : PJRT_Head {
  PJRT_Client* client;
  PJRT_Device* const* addressable_devices;
  std::size_t num_addressable_devices;
};
struct PJRT_Client_LookupDevice_Args : PJRT_Head {
  PJRT_Client* client;
  std::int32_t id;
  PJRT_Device* device;
};
struct PJRT_Client_LookupAddressableDevice_Args : PJRT_Head {
  PJRT_Client* client;
  std::int32_t local_hardware_id;
  PJRT_Device* addressable_device;
};
struct PJRT_Client_AddressableMemories_Args : PJRT_Head {
  PJRT_Client* client;
  PJRT_Memory* const* addressable_memories;
  std::size_t num_addressable_memories;
};
struct PJRT_Client_Compile_Args : PJRT_Head {
  PJRT_Client* client;
  PJRT_Program* program;
  const char* compile_options;
  std::size_t compile_options_size;
  PJRT_LoadedExecutable* executable;
};
struct PJRT_Client_DefaultDeviceAssignment_Args : PJRT_Head {
  PJRT_Client* client;
  std::int32_t num_replicas;
  std::int32_t num_partitions;
  std::size_t default_assignment_size;
  int* default_assignment;
};
struct PJRT_Client_BufferFromHostBuffer_Args : PJRT_Head {
  PJRT_Client* client;
  const void* data;
  std::uint32_t type;
  const std::int64_t* dims;
  std::size_t num_dims;
  const std::int64_t* byte_strides;
  std::size_t num_byte_strides;
  std::uint32_t host_buffer_semantics;
  PJRT_Device* device;
  PJRT_Memory* memory;
  PJRT_Buffer_MemoryLayout* device_layout;
  PJRT_Event* done_with_host_buffer;
  PJRT_Buffer* buffer;
};

// Devices and their descriptions.

struct PJRT_DeviceDescription_Id_Args : PJRT_Head {
  PJRT_DeviceDescription* device_description;
  std::int32_t id;
};
struct PJRT_DeviceDescription_ProcessIndex_Args : PJRT_Head {
  PJRT_DeviceDescription* device_description;
  std::int32_t process_index;
};
struct PJRT_DeviceDescription_Attributes_Args : PJRT_Head {
  PJRT_DeviceDescription* device_description;
  std::size_t num_attributes;
  const PJRT_NamedValue* attributes;
};
struct PJRT_DeviceDescription_Kind_Args : PJRT_Head {
  PJRT_DeviceDescription* device_description;
  const char* device_kind;
  std::size_t device_kind_size;
};
struct PJRT_DeviceDescription_DebugString_Args : PJRT_Head {
  PJRT_DeviceDescription* device_description;
  const char* debug_string;
  std::size_t debug_string_size;
};
struct PJRT_DeviceDescription_ToString_Args : PJRT_Head {
  PJRT_DeviceDescription* device_description;
  const char* to_string;
  std::size_t to_string_size;
};
struct PJRT_Device_GetDescription_Args : PJRT_Head {
  PJRT_Device* device;
  PJRT_DeviceDescription* device_description;
};
struct PJRT_Device_IsAddressable_Args : PJRT_Head {
  PJRT_Device* device;
  bool is_addressable;
};
struct PJRT_Device_LocalHardwareId_Args : PJRT_Head {
  PJRT_Device* device;
  std::int32_t local_hardware_id;
};
struct PJRT_Device_AddressableMemories_Args : PJRT_Head {
  PJRT_Device* device;
  PJRT_Memory* const* memories;
  std::size_t num_memories;
};
struct PJRT_Device_DefaultMemory_Args : PJRT_Head {
  PJRT_Device* device;
  PJRT_Memory* memory;
};
struct PJRT_Device_MemoryStats_Args : PJRT_Head {
  PJRT_Device* device;
  std::int64_t bytes_in_use;
  std::int64_t peak_bytes_in_use;
  bool peak_bytes_in_use_is_set;
  std::int64_t num_allocs;
  bool num_allocs_is_set;
  std::int64_t largest_alloc_size;
  bool largest_alloc_size_is_set;
  std::int64_t bytes_limit;
  bool bytes_limit_is_set;
  std::int64_t bytes_reserved;
  bool bytes_reserved_is_set;
  std::int64_t peak_bytes_reserved;
  bool peak_bytes_reserved_is_set;
  std::int64_t bytes_reservable_limit;
  bool bytes_reservable_limit_is_set;
  std::int64_t largest_free_block_bytes;
  bool largest_free_block_bytes_is_set;
  std::int64_t pool_bytes;
  bool pool_bytes_is_set;
  std::int64_t peak_pool_bytes;
  bool peak_pool_bytes_is_set;
  std::int64_t peak_allocated_bytes;
  bool peak_allocated_bytes_is_set;
};

// Memories.

struct PJRT_Memory_Id_Args : PJRT_Head {
  PJRT_Memory* memory;
  std::int32_t id;
};
struct PJRT_Memory_Kind_Args : PJRT_Head {
  PJRT_Memory* memory;
  const char* kind;
  std::size_t kind_size;
};
struct PJRT_Memory_DebugString_Args : PJRT_Head {
  PJRT_Memory* memory;
  const char* debug_string;
  std::size_t debug_string_size;
};
struct PJRT_Memory_ToString_Args : PJRT_Head {
  PJRT_Memory* memory;
  const char* to_string;
  std::size_t to_string_size;
};
struct PJRT_Memory_AddressableByDevices_Args : PJRT_Head {
  PJRT_Memory* memory;
  PJRT_Device* const* devices;
  std::size_t num_devices;
};

// Executables.

struct PJRT_Executable_Destroy_Args : PJRT_Head {
  PJRT_Executable* executable;
};
struct PJRT_Executable_Name_Args : PJRT_Head {
  PJRT_Executable* executable;
  const char* executable_name;
  std::size_t executable_name_size;
};
struct PJRT_Executable_NumReplicas_Args : PJRT_Head {
  PJRT_Executable* executable;
  std::size_t num_replicas;
};
struct PJRT_Executable_NumPartitions_Args : PJRT_Head {
  PJRT_Executable* executable;
  std::size_t num_partitions;
};
struct PJRT_Executable_NumOutputs_Args : PJRT_Head {
  PJRT_Executable* executable;
  std::size_t num_outputs;
};
struct PJRT_Executable_SizeOfGeneratedCodeInBytes_Args : PJRT_Head {
  PJRT_Executable* executable;
  std::int64_t size_in_bytes;
};
struct PJRT_Executable_GetCostAnalysis_Args : PJRT_Head {
  PJRT_Executable* executable;
  std::size_t num_properties;
  const PJRT_NamedValue* properties;
};
struct PJRT_Executable_OutputMemoryKinds_Args : PJRT_Head {
  PJRT_Executable* executable;
  std::size_t num_outputs;
  const char* const* memory_kinds;
  const std::size_t* memory_kind_sizes;
};
struct PJRT_Executable_OptimizedProgram_Args : PJRT_Head {
  PJRT_Executable* executable;
  PJRT_Program* program;
};
struct PJRT_Executable_Serialize_Args : PJRT_Head {
  PJRT_Executable* executable;
  const char* serialized_bytes;
  std::size_t serialized_bytes_size;
  void* serialized_executable;
  void (*serialized_executable_deleter)(void*);
};
struct PJRT_LoadedExecutable_Destroy_Args : PJRT_Head {
  PJRT_LoadedExecutable* executable;
};
struct PJRT_LoadedExecutable_GetExecutable_Args : PJRT_Head {
  PJRT_LoadedExecutable* loaded_executable;
  PJRT_Executable* executable;
};
struct PJRT_LoadedExecutable_AddressableDevices_Args : PJRT_Head {
  PJRT_LoadedExecutable* executable;
  PJRT_Device* const* addressable_devices;
  std::size_t num_addressable_devices;
};
struct PJRT_LoadedExecutable_Delete_Args : PJRT_Head {
  PJRT_LoadedExecutable* executable;
};
struct PJRT_LoadedExecutable_IsDeleted_Args : PJRT_Head {
  PJRT_LoadedExecutable* executable;
  bool is_deleted;
};
struct PJRT_LoadedExecutable_Execute_Args : PJRT_Head {
  PJRT_LoadedExecutable* executable;
  PJRT_ExecuteOptions* options;
  PJRT_Buffer* const* const* argument_lists;
  std::size_t num_devices;
  std::size_t num_args;
  PJRT_Buffer** const* output_lists;
  PJRT_Event** device_complete_events;
  PJRT_Device* execute_device;
};
struct PJRT_Executable_DeserializeAndLoad_Args : PJRT_Head {
  PJRT_Client* client;
  const char* serialized_executable;
  std::size_t serialized_executable_size;
  PJRT_LoadedExecutable* loaded_executable;
  const char* overridden_serialized_compile_options;
  std::size_t overridden_serialized_compile_options_size;
  void* load_options;
};
struct PJRT_LoadedExecutable_Fingerprint_Args : PJRT_Head {
  PJRT_LoadedExecutable* executable;
  const char* executable_fingerprint;
  std::size_t executable_fingerprint_size;
};

// Buffers.

struct PJRT_Buffer_Destroy_Args : PJRT_Head {
  PJRT_Buffer* buffer;
};
struct PJRT_Buffer_ElementType_Args : PJRT_Head {
  PJRT_Buffer* buffer;
  std::uint32_t type;
};
struct PJRT_Buffer_Dimensions_Args : PJRT_Head {
  PJRT_Buffer* buffer;
  const std::int64_t* dims;
  std::size_t num_dims;
};
struct PJRT_Buffer_UnpaddedDimensions_Args : PJRT_Head {
  PJRT_Buffer* buffer;
  const std::int64_t* unpadded_dims;
  std::size_t num_dims;
};
struct PJRT_Buffer_DynamicDimensionIndices_Args : PJRT_Head {
  PJRT_Buffer* buffer;
  const std::size_t* dynamic_dim_indices;
  std::size_t num_dynamic_dims;
};
struct PJRT_Buffer_GetMemoryLayout_Args : PJRT_Head {
  PJRT_Buffer* buffer;
  PJRT_Buffer_MemoryLayout layout;
};
struct PJRT_Buffer_OnDeviceSizeInBytes_Args : PJRT_Head {
  PJRT_Buffer* buffer;
  std::size_t on_device_size_in_bytes;
};
struct PJRT_Buffer_Device_Args : PJRT_Head {
  PJRT_Buffer* buffer;
  PJRT_Device* device;
};
struct PJRT_Buffer_Memory_Args : PJRT_Head {
  PJRT_Buffer* buffer;
  PJRT_Memory* memory;
};
struct PJRT_Buffer_Delete_Args : PJRT_Head {
  PJRT_Buffer* buffer;
};
struct PJRT_Buffer_IsDeleted_Args : PJRT_Head {
  PJRT_Buffer* buffer;
  bool is_deleted;
};
struct PJRT_Buffer_CopyToDevice_Args : PJRT_Head {
  PJRT_Buffer* buffer;
  PJRT_Device* dst_device;
  PJRT_Buffer* dst_buffer;
};
struct PJRT_Buffer_ToHostBuffer_Args : PJRT_Head {
  PJRT_Buffer* src;
  PJRT_Buffer_MemoryLayout* host_layout;
  void* dst;
  std::size_t dst_size;
  PJRT_Event* event;
};
struct PJRT_Buffer_IsOnCpu_Args : PJRT_Head {
  PJRT_Buffer* buffer;
  bool is_on_cpu;
};
struct PJRT_Buffer_ReadyEvent_Args : PJRT_Head {
  PJRT_Buffer* buffer;
  PJRT_Event* event;
};
struct PJRT_Buffer_UnsafePointer_Args : PJRT_Head {
  PJRT_Buffer* buffer;
  std::size_t buffer_pointer;
};
struct PJRT_Buffer_IncreaseExternalReferenceCount_Args : PJRT_Head {
  PJRT_Buffer* buffer;
};
struct PJRT_Buffer_DecreaseExternalReferenceCount_Args : PJRT_Head {
  PJRT_Buffer* buffer;
};
struct PJRT_Buffer_OpaqueDeviceMemoryDataPointer_Args : PJRT_Head {
  PJRT_Buffer* buffer;
  void* device_memory_ptr;
};

// Streams of chunks to a device.

struct PJRT_CopyToDeviceStream_Destroy_Args : PJRT_Head {
  PJRT_CopyToDeviceStream* stream;
};
struct PJRT_CopyToDeviceStream_AddChunk_Args : PJRT_Head {
  PJRT_CopyToDeviceStream* stream;
  PJRT_Chunk* chunk;
  PJRT_Event* transfer_complete;
};
struct PJRT_CopyToDeviceStream_TotalBytes_Args : PJRT_Head {
  PJRT_CopyToDeviceStream* stream;
  std::int64_t total_bytes;
};
struct PJRT_CopyToDeviceStream_GranuleSize_Args : PJRT_Head {
  PJRT_CopyToDeviceStream* stream;
  std::int64_t granule_size_in_bytes;
};
struct PJRT_CopyToDeviceStream_CurrentBytes_Args : PJRT_Head {
  PJRT_CopyToDeviceStream* stream;
  std::int64_t current_bytes;
};

// Topologies.

struct PJRT_TopologyDescription_Create_Args : PJRT_Head {
  const char* topology_name;
  std::size_t topology_name_size;
  const PJRT_NamedValue* create_options;
  std::size_t num_options;
  PJRT_TopologyDescription* topology;
};
struct PJRT_TopologyDescription_Destroy_Args : PJRT_Head {
  PJRT_TopologyDescription* topology;
};
struct PJRT_TopologyDescription_PlatformName_Args : PJRT_Head {
  PJRT_TopologyDescription* topology;
  const char* platform_name;
  std::size_t platform_name_size;
};
struct PJRT_TopologyDescription_PlatformVersion_Args : PJRT_Head {
  PJRT_TopologyDescription* topology;
  const char* platform_version;
  std::size_t platform_version_size;
};
struct PJRT_TopologyDescription_GetDeviceDescriptions_Args : PJRT_Head {
  PJRT_TopologyDescription* topology;
  PJRT_DeviceDescription* const* descriptions;
  std::size_t num_descriptions;
};
struct PJRT_TopologyDescription_Serialize_Args : PJRT_Head {
  PJRT_TopologyDescription* topology;
  const char* serialized_bytes;
  std::size_t serialized_bytes_size;
  void* serialized_topology;
  void (*serialized_topology_deleter)(void*);
};
struct PJRT_TopologyDescription_Attributes_Args : PJRT_Head {
  PJRT_TopologyDescription* topology;
  const PJRT_NamedValue* attributes;
  std::size_t num_attributes;
};
struct PJRT_Compile_Args : PJRT_Head {
  PJRT_TopologyDescription* topology;
  PJRT_Program* program;
  const char* compile_options;
  std::size_t compile_options_size;
  PJRT_Client* client;
  PJRT_Executable* executable;
};

// Functions that were added later, in the order of the table.

struct PJRT_Executable_OutputElementTypes_Args : PJRT_Head {
  PJRT_Executable* executable;
  const std::uint32_t* output_types;
  std::size_t num_output_types;
};
struct PJRT_Executable_OutputDimensions_Args : PJRT_Head {
  PJRT_Executable* executable;
  std::size_t num_outputs;
  const std::int64_t* dims;
  const std::size_t* dim_sizes;
};
struct PJRT_Buffer_CopyToMemory_Args : PJRT_Head {
  PJRT_Buffer* buffer;
  PJRT_Memory* dst_memory;
  PJRT_Buffer* dst_buffer;
};
struct PJRT_Client_CreateViewOfDeviceBuffer_Args : PJRT_Head {
  PJRT_Client* client;
  void* device_buffer_ptr;
  const std::int64_t* dims;
  std::size_t num_dims;
  std::uint32_t element_type;
  PJRT_Buffer_MemoryLayout* layout;
  PJRT_Device* device;
  void (*on_delete_callback)(void* device_buffer_ptr, void* user_arg);
  void* on_delete_callback_arg;
  std::int64_t stream;
  PJRT_Buffer* buffer;
  PJRT_Memory* memory;
};
struct PJRT_Executable_Fingerprint_Args : PJRT_Head {
  PJRT_Executable* executable;
  const char* executable_fingerprint;
  std::size_t executable_fingerprint_size;
};
struct PJRT_Client_TopologyDescription_Args : PJRT_Head {
  PJRT_Client* client;
  PJRT_TopologyDescription* topology;
};
struct PJRT_Executable_GetCompiledMemoryStats_Args : PJRT_Head {
  PJRT_Executable* executable;
  std::int64_t generated_code_size_in_bytes;
  std::int64_t argument_size_in_bytes;
  std::int64_t output_size_in_bytes;
  std::int64_t alias_size_in_bytes;
  std::int64_t temp_size_in_bytes;
  std::int64_t host_generated_code_size_in_bytes;
  std::int64_t host_argument_size_in_bytes;
  std::int64_t host_output_size_in_bytes;
  std::int64_t host_alias_size_in_bytes;
  std::int64_t host_temp_size_in_bytes;
  std::int64_t peak_memory_in_bytes;
  std::int64_t total_size_in_bytes;
  std::int64_t total_allocation_bytes;
  std::int64_t indefinite_allocations;
  std::int64_t peak_unpadded_heap_bytes;
};
struct PJRT_Memory_Kind_Id_Args : PJRT_Head {
  PJRT_Memory* memory;
  std::int32_t kind_id;
};
struct PJRT_ExecuteContext_Create_Args : PJRT_Head {
  PJRT_ExecuteContext* context;
};
struct PJRT_ExecuteContext_Destroy_Args : PJRT_Head {
  PJRT_ExecuteContext* context;
};
struct PJRT_Buffer_CopyRawToHost_Args : PJRT_Head {
  PJRT_Buffer* buffer;
  void* dst;
  std::int64_t offset;
  std::int64_t transfer_size;
  PJRT_Event* event;
};
struct PJRT_AsyncHostToDeviceTransferManager_Destroy_Args : PJRT_Head {
  PJRT_AsyncHostToDeviceTransferManager* transfer_manager;
};
struct PJRT_AsyncHostToDeviceTransferManager_TransferData_Args : PJRT_Head {
  PJRT_AsyncHostToDeviceTransferManager* transfer_manager;
  std::int32_t buffer_index;
  const void* data;
  std::int64_t offset;
  std::int64_t transfer_size;
  bool is_last_transfer;
  PJRT_Event* done_with_h2d_transfer;
};
struct PJRT_Client_CreateBuffersForAsyncHostToDevice_Args : PJRT_Head {
  PJRT_Client* client;
  PJRT_ShapeSpec* shape_specs;
  std::size_t num_shape_specs;
  PJRT_Buffer_MemoryLayout** device_layouts;
  std::size_t num_device_layouts;
  PJRT_Memory* memory;
  PJRT_AsyncHostToDeviceTransferManager* transfer_manager;
};
struct PJRT_AsyncHostToDeviceTransferManager_RetrieveBuffer_Args : PJRT_Head {
  PJRT_AsyncHostToDeviceTransferManager* transfer_manager;
  std::int32_t buffer_index;
  PJRT_Buffer* buffer_out;
};
struct PJRT_AsyncHostToDeviceTransferManager_Device_Args : PJRT_Head {
  PJRT_AsyncHostToDeviceTransferManager* transfer_manager;
  PJRT_Device* device_out;
};
struct PJRT_AsyncHostToDeviceTransferManager_BufferCount_Args : PJRT_Head {
  PJRT_AsyncHostToDeviceTransferManager* transfer_manager;
  std::size_t buffer_count;
};
struct PJRT_AsyncHostToDeviceTransferManager_BufferSize_Args : PJRT_Head {
  PJRT_AsyncHostToDeviceTransferManager* transfer_manager;
  std::int32_t buffer_index;
  std::size_t buffer_size;
};
struct PJRT_AsyncHostToDeviceTransferManager_SetBufferError_Args : PJRT_Head {
  PJRT_AsyncHostToDeviceTransferManager* transfer_manager;
  std::int32_t buffer_index;
  std::uint32_t error_code;
  const char* error_message;
  std::size_t error_message_size;
};
struct PJRT_AsyncHostToDeviceTransferManager_AddMetadata_Args : PJRT_Head {
  PJRT_AsyncHostToDeviceTransferManager* transfer_manager;
  const PJRT_NamedValue* transfer_metadata;
  std::size_t num_metadata;
};
struct PJRT_Client_DmaMap_Args : PJRT_Head {
  PJRT_Client* client;
  const void* data;
  std::size_t size;
};
struct PJRT_Client_DmaUnmap_Args : PJRT_Head {
  PJRT_Client* client;
  const void* data;
};
struct PJRT_Client_CreateUninitializedBuffer_Args : PJRT_Head {
  PJRT_Client* client;
  const std::int64_t* shape_dims;
  std::size_t shape_num_dims;
  std::uint32_t shape_element_type;
  PJRT_Buffer_MemoryLayout* shape_layout;
  PJRT_Device* device;
  PJRT_Memory* memory;
  PJRT_Buffer* buffer;
};
struct PJRT_Client_UpdateGlobalProcessInfo_Args : PJRT_Head {
  PJRT_Client* client;
  PJRT_ProcessInfo* process_infos;
  std::size_t num_process_infos;
};
struct PJRT_TopologyDescription_Deserialize_Args : PJRT_Head {
  const char* serialized_topology;
  std::size_t serialized_topology_size;
  PJRT_TopologyDescription* topology;
};
struct PJRT_Client_CreateAliasBuffer_Args : PJRT_Head {
  PJRT_Client* client;
  PJRT_Memory* memory;
  const std::int64_t* shape_dims;
  std::size_t shape_num_dims;
  std::uint32_t shape_element_type;
  PJRT_Buffer_MemoryLayout* shape_layout;
  PJRT_Buffer* alias_buffer;
  PJRT_FulfillAliasBufferCallback* fulfill_alias_buffer_cb;
};
struct PJRT_Client_FulfillAliasBuffer_Args : PJRT_Head {
  PJRT_Client* client;
  PJRT_Buffer* buffer;
  std::uint32_t status_code;
  const char* error_message;
  std::size_t error_message_size;
  PJRT_FulfillAliasBufferCallback* fulfill_alias_buffer_cb;
};
struct PJRT_LoadedExecutable_GetDeviceAssignment_Args : PJRT_Head {
  PJRT_LoadedExecutable* executable;
  const char* serialized_bytes;
  std::size_t serialized_bytes_size;
  void* serialized_device_assignment;
  void (*serialized_device_assignment_deleter)(void*);
};
struct PJRT_Client_CreateErrorBuffer_Args : PJRT_Head {
  PJRT_Client* client;
  std::uint32_t error_code;
  const char* error_message;
  std::size_t error_message_size;
  const std::int64_t* shape_dims;
  std::size_t shape_num_dims;
  std::uint32_t shape_element_type;
  PJRT_Buffer_MemoryLayout* shape_layout;
  PJRT_Memory* memory;
  PJRT_Buffer* buffer;
  const PJRT_NamedValue* payload;
  std::size_t num_payload;
};
struct PJRT_AsyncHostToDeviceTransferManager_TransferLiteral_Args : PJRT_Head {
  PJRT_AsyncHostToDeviceTransferManager* transfer_manager;
  std::int32_t buffer_index;
  const void* data;
  const std::int64_t* shape_dims;
  std::size_t shape_num_dims;
  std::uint32_t shape_element_type;
  PJRT_Buffer_MemoryLayout* shape_layout;
  PJRT_Event* done_with_h2d_transfer;
};
struct PJRT_Buffer_CopyRawToHostFuture_Args : PJRT_Head {
  PJRT_Buffer* buffer;
  std::int64_t offset;
  std::int64_t transfer_size;
  PJRT_Event* event;
  void* callback_data;
  void (*future_ready_callback)(PJRT_Buffer_CopyRawToHostFuture_Callback_Args*);
};
struct PJRT_Device_PoisonExecution_Args : PJRT_Head {
  PJRT_Device* device;
  std::int32_t launch_id;
  std::uint32_t error_code;
  const char* error_message;
  std::size_t error_message_size;
  bool poisoned;
  const PJRT_NamedValue* payload;
  std::size_t num_payload;
};
struct PJRT_Device_CreateAsyncTrackingEvent_Args : PJRT_Head {
  PJRT_Device* device;
  void* description;
  std::size_t description_size;
  PJRT_AsyncTrackingEvent* event;
};
struct PJRT_AsyncTrackingEvent_Destroy_Args : PJRT_Head {
  PJRT_AsyncTrackingEvent* event;
};
struct PJRT_Executable_GetCompileOptions_Args : PJRT_Head {
  PJRT_Executable* executable;
  const char* serialized_bytes;
  std::size_t serialized_bytes_size;
  void* serialized_compile_options;
  void (*serialized_compile_options_deleter)(void*);
};
struct PJRT_Buffer_DonateWithControlDependency_Args : PJRT_Head {
  PJRT_Buffer* buffer;
  void* callback_data;
  void (*dependency_ready_callback)(PJRT_Buffer_DonateWithControlDependency_Callback_Args*);
  PJRT_Buffer* out_buffer;
};
struct PJRT_Event_Create_Args : PJRT_Head {
  PJRT_Event* event;
};
struct PJRT_Event_Set_Args : PJRT_Head {
  PJRT_Event* event;
  std::uint32_t error_code;
  const char* error_message;
  std::size_t error_message_size;
};
struct PJRT_Device_GetAttributes_Args : PJRT_Head {
  PJRT_Device* device;
  const PJRT_NamedValue* attributes;
  std::size_t num_attributes;
  void* device_attributes;
  void (*attributes_deleter)(void*);
};
struct PJRT_Client_Load_Args : PJRT_Head {
  PJRT_Client* client;
  PJRT_Executable* executable;
  const char* compile_options;
  std::size_t compile_options_size;
  PJRT_LoadedExecutable* loaded_executable;
};
struct PJRT_LoadedExecutable_AddressableDeviceLogicalIds_Args : PJRT_Head {
  PJRT_LoadedExecutable* executable;
  PJRT_LogicalDeviceIds* addressable_device_logical_ids;
  std::size_t num_addressable_device_logical_ids;
};
struct PJRT_Buffer_Bitcast_Args : PJRT_Head {
  PJRT_Buffer* buffer;
  std::uint32_t element_type;
  const std::int64_t* dims;
  std::size_t num_dims;
  PJRT_Buffer_MemoryLayout* device_layout;
  PJRT_Buffer* out_buffer;
};
struct PJRT_Error_ForEachPayload_Args : PJRT_Head {
  PJRT_Error* error;
  void (*visitor)(const char* key, std::size_t key_size, const char* value, std::size_t value_size,
                  void* user_arg);
  void* user_arg;
};
struct PJRT_TopologyDescription_Fingerprint_Args : PJRT_Head {
  PJRT_TopologyDescription* topology;
  std::size_t fingerprint;
};
struct PJRT_Executable_ParameterMemoryKinds_Args : PJRT_Head {
  PJRT_Executable* executable;
  std::size_t num_parameters;
  const char* const* memory_kinds;
  const std::size_t* memory_kind_sizes;
};

/// The table of functions, whose order never changes.
struct PJRT_Api {
  std::size_t struct_size;
  PJRT_Extension_Base* extension_start;
  PJRT_Api_Version pjrt_api_version;
  void (*PJRT_Error_Destroy)(PJRT_Error_Destroy_Args* args);
  void (*PJRT_Error_Message)(PJRT_Error_Message_Args* args);
  PJRT_Error* (*PJRT_Error_GetCode)(PJRT_Error_GetCode_Args* args);
  PJRT_Error* (*PJRT_Plugin_Initialize)(PJRT_Plugin_Initialize_Args* args);
  PJRT_Error* (*PJRT_Plugin_Attributes)(PJRT_Plugin_Attributes_Args* args);
  PJRT_Error* (*PJRT_Event_Destroy)(PJRT_Event_Destroy_Args* args);
  PJRT_Error* (*PJRT_Event_IsReady)(PJRT_Event_IsReady_Args* args);
  PJRT_Error* (*PJRT_Event_Error)(PJRT_Event_Error_Args* args);
  PJRT_Error* (*PJRT_Event_Await)(PJRT_Event_Await_Args* args);
  PJRT_Error* (*PJRT_Event_OnReady)(PJRT_Event_OnReady_Args* args);
  PJRT_Error* (*PJRT_Client_Create)(PJRT_Client_Create_Args* args);
  PJRT_Error* (*PJRT_Client_Destroy)(PJRT_Client_Destroy_Args* args);
  PJRT_Error* (*PJRT_Client_PlatformName)(PJRT_Client_PlatformName_Args* args);
  PJRT_Error* (*PJRT_Client_ProcessIndex)(PJRT_Client_ProcessIndex_Args* args);
  PJRT_Error* (*PJRT_Client_PlatformVersion)(PJRT_Client_PlatformVersion_Args* args);
  PJRT_Error* (*PJRT_Client_Devices)(PJRT_Client_Devices_Args* args);
  PJRT_Error* (*PJRT_Client_AddressableDevices)(PJRT_Client_AddressableDevices_Args* args);
  PJRT_Error* (*PJRT_Client_LookupDevice)(PJRT_Client_LookupDevice_Args* args);
  PJRT_Error* (*PJRT_Client_LookupAddressableDevice)(
      PJRT_Client_LookupAddressableDevice_Args* args);
  PJRT_Error* (*PJRT_Client_AddressableMemories)(PJRT_Client_AddressableMemories_Args* args);
  PJRT_Error* (*PJRT_Client_Compile)(PJRT_Client_Compile_Args* args);
  PJRT_Error* (*PJRT_Client_DefaultDeviceAssignment)(
      PJRT_Client_DefaultDeviceAssignment_Args* args);
  PJRT_Error* (*PJRT_Client_BufferFromHostBuffer)(PJRT_Client_BufferFromHostBuffer_Args* args);
  PJRT_Error* (*PJRT_DeviceDescription_Id)(PJRT_DeviceDescription_Id_Args* args);
  PJRT_Error* (*PJRT_DeviceDescription_ProcessIndex)(
      PJRT_DeviceDescription_ProcessIndex_Args* args);
  PJRT_Error* (*PJRT_DeviceDescription_Attributes)(PJRT_DeviceDescription_Attributes_Args* args);
  PJRT_Error* (*PJRT_DeviceDescription_Kind)(PJRT_DeviceDescription_Kind_Args* args);
  PJRT_Error* (*PJRT_DeviceDescription_DebugString)(PJRT_DeviceDescription_DebugString_Args* args);
  PJRT_Error* (*PJRT_DeviceDescription_ToString)(PJRT_DeviceDescription_ToString_Args* args);
  PJRT_Error* (*PJRT_Device_GetDescription)(PJRT_Device_GetDescription_Args* args);
  PJRT_Error* (*PJRT_Device_IsAddressable)(PJRT_Device_IsAddressable_Args* args);
  PJRT_Error* (*PJRT_Device_LocalHardwareId)(PJRT_Device_LocalHardwareId_Args* args);
  PJRT_Error* (*PJRT_Device_AddressableMemories)(PJRT_Device_AddressableMemories_Args* args);
  PJRT_Error* (*PJRT_Device_DefaultMemory)(PJRT_Device_DefaultMemory_Args* args);
  PJRT_Error* (*PJRT_Device_MemoryStats)(PJRT_Device_MemoryStats_Args* args);
  PJRT_Error* (*PJRT_Memory_Id)(PJRT_Memory_Id_Args* args);
  PJRT_Error* (*PJRT_Memory_Kind)(PJRT_Memory_Kind_Args* args);
  PJRT_Error* (*PJRT_Memory_DebugString)(PJRT_Memory_DebugString_Args* args);
  PJRT_Error* (*PJRT_Memory_ToString)(PJRT_Memory_ToString_Args* args);
  PJRT_Error* (*PJRT_Memory_AddressableByDevices)(PJRT_Memory_AddressableByDevices_Args* args);
  PJRT_Error* (*PJRT_Executable_Destroy)(PJRT_Executable_Destroy_Args* args);
  PJRT_Error* (*PJRT_Executable_Name)(PJRT_Executable_Name_Args* args);
  PJRT_Error* (*PJRT_Executable_NumReplicas)(PJRT_Executable_NumReplicas_Args* args);
  PJRT_Error* (*PJRT_Executable_NumPartitions)(PJRT_Executable_NumPartitions_Args* args);
  PJRT_Error* (*PJRT_Executable_NumOutputs)(PJRT_Executable_NumOutputs_Args* args);
  PJRT_Error* (*PJRT_Executable_SizeOfGeneratedCodeInBytes)(
      PJRT_Executable_SizeOfGeneratedCodeInBytes_Args* args);
  PJRT_Error* (*PJRT_Executable_GetCostAnalysis)(PJRT_Executable_GetCostAnalysis_Args* args);
  PJRT_Error* (*PJRT_Executable_OutputMemoryKinds)(PJRT_Executable_OutputMemoryKinds_Args* args);
  PJRT_Error* (*PJRT_Executable_OptimizedProgram)(PJRT_Executable_OptimizedProgram_Args* args);
  PJRT_Error* (*PJRT_Executable_Serialize)(PJRT_Executable_Serialize_Args* args);
  PJRT_Error* (*PJRT_LoadedExecutable_Destroy)(PJRT_LoadedExecutable_Destroy_Args* args);
  PJRT_Error* (*PJRT_LoadedExecutable_GetExecutable)(
      PJRT_LoadedExecutable_GetExecutable_Args* args);
  PJRT_Error* (*PJRT_LoadedExecutable_AddressableDevices)(
      PJRT_LoadedExecutable_AddressableDevices_Args* args);
  PJRT_Error* (*PJRT_LoadedExecutable_Delete)(PJRT_LoadedExecutable_Delete_Args* args);
  PJRT_Error* (*PJRT_LoadedExecutable_IsDeleted)(PJRT_LoadedExecutable_IsDeleted_Args* args);
  PJRT_Error* (*PJRT_LoadedExecutable_Execute)(PJRT_LoadedExecutable_Execute_Args* args);
  PJRT_Error* (*PJRT_Executable_DeserializeAndLoad)(PJRT_Executable_DeserializeAndLoad_Args* args);
  PJRT_Error* (*PJRT_LoadedExecutable_Fingerprint)(PJRT_LoadedExecutable_Fingerprint_Args* args);
  PJRT_Error* (*PJRT_Buffer_Destroy)(PJRT_Buffer_Destroy_Args* args);
  PJRT_Error* (*PJRT_Buffer_ElementType)(PJRT_Buffer_ElementType_Args* args);
  PJRT_Error* (*PJRT_Buffer_Dimensions)(PJRT_Buffer_Dimensions_Args* args);
  PJRT_Error* (*PJRT_Buffer_UnpaddedDimensions)(PJRT_Buffer_UnpaddedDimensions_Args* args);
  PJRT_Error* (*PJRT_Buffer_DynamicDimensionIndices)(
      PJRT_Buffer_DynamicDimensionIndices_Args* args);
  PJRT_Error* (*PJRT_Buffer_GetMemoryLayout)(PJRT_Buffer_GetMemoryLayout_Args* args);
  PJRT_Error* (*PJRT_Buffer_OnDeviceSizeInBytes)(PJRT_Buffer_OnDeviceSizeInBytes_Args* args);
  PJRT_Error* (*PJRT_Buffer_Device)(PJRT_Buffer_Device_Args* args);
  PJRT_Error* (*PJRT_Buffer_Memory)(PJRT_Buffer_Memory_Args* args);
  PJRT_Error* (*PJRT_Buffer_Delete)(PJRT_Buffer_Delete_Args* args);
  PJRT_Error* (*PJRT_Buffer_IsDeleted)(PJRT_Buffer_IsDeleted_Args* args);
  PJRT_Error* (*PJRT_Buffer_CopyToDevice)(PJRT_Buffer_CopyToDevice_Args* args);
  PJRT_Error* (*PJRT_Buffer_ToHostBuffer)(PJRT_Buffer_ToHostBuffer_Args* args);
  PJRT_Error* (*PJRT_Buffer_IsOnCpu)(PJRT_Buffer_IsOnCpu_Args* args);
  PJRT_Error* (*PJRT_Buffer_ReadyEvent)(PJRT_Buffer_ReadyEvent_Args* args);
  PJRT_Error* (*PJRT_Buffer_UnsafePointer)(PJRT_Buffer_UnsafePointer_Args* args);
  PJRT_Error* (*PJRT_Buffer_IncreaseExternalReferenceCount)(
      PJRT_Buffer_IncreaseExternalReferenceCount_Args* args);
  PJRT_Error* (*PJRT_Buffer_DecreaseExternalReferenceCount)(
      PJRT_Buffer_DecreaseExternalReferenceCount_Args* args);
  PJRT_Error* (*PJRT_Buffer_OpaqueDeviceMemoryDataPointer)(
      PJRT_Buffer_OpaqueDeviceMemoryDataPointer_Args* args);
  PJRT_Error* (*PJRT_CopyToDeviceStream_Destroy)(PJRT_CopyToDeviceStream_Destroy_Args* args);
  PJRT_Error* (*PJRT_CopyToDeviceStream_AddChunk)(PJRT_CopyToDeviceStream_AddChunk_Args* args);
  PJRT_Error* (*PJRT_CopyToDeviceStream_TotalBytes)(PJRT_CopyToDeviceStream_TotalBytes_Args* args);
  PJRT_Error* (*PJRT_CopyToDeviceStream_GranuleSize)(
      PJRT_CopyToDeviceStream_GranuleSize_Args* args);
  PJRT_Error* (*PJRT_CopyToDeviceStream_CurrentBytes)(
      PJRT_CopyToDeviceStream_CurrentBytes_Args* args);
  PJRT_Error* (*PJRT_TopologyDescription_Create)(PJRT_TopologyDescription_Create_Args* args);
  PJRT_Error* (*PJRT_TopologyDescription_Destroy)(PJRT_TopologyDescription_Destroy_Args* args);
  PJRT_Error* (*PJRT_TopologyDescription_PlatformName)(
      PJRT_TopologyDescription_PlatformName_Args* args);
  PJRT_Error* (*PJRT_TopologyDescription_PlatformVersion)(
      PJRT_TopologyDescription_PlatformVersion_Args* args);
  PJRT_Error* (*PJRT_TopologyDescription_GetDeviceDescriptions)(
      PJRT_TopologyDescription_GetDeviceDescriptions_Args* args);
  PJRT_Error* (*PJRT_TopologyDescription_Serialize)(PJRT_TopologyDescription_Serialize_Args* args);
  PJRT_Error* (*PJRT_TopologyDescription_Attributes)(
      PJRT_TopologyDescription_Attributes_Args* args);
  PJRT_Error* (*PJRT_Compile)(PJRT_Compile_Args* args);
  PJRT_Error* (*PJRT_Executable_OutputElementTypes)(PJRT_Executable_OutputElementTypes_Args* args);
  PJRT_Error* (*PJRT_Executable_OutputDimensions)(PJRT_Executable_OutputDimensions_Args* args);
  PJRT_Error* (*PJRT_Buffer_CopyToMemory)(PJRT_Buffer_CopyToMemory_Args* args);
  PJRT_Error* (*PJRT_Client_CreateViewOfDeviceBuffer)(
      PJRT_Client_CreateViewOfDeviceBuffer_Args* args);
  PJRT_Error* (*PJRT_Executable_Fingerprint)(PJRT_Executable_Fingerprint_Args* args);
  PJRT_Error* (*PJRT_Client_TopologyDescription)(PJRT_Client_TopologyDescription_Args* args);
  PJRT_Error* (*PJRT_Executable_GetCompiledMemoryStats)(
      PJRT_Executable_GetCompiledMemoryStats_Args* args);
  PJRT_Error* (*PJRT_Memory_Kind_Id)(PJRT_Memory_Kind_Id_Args* args);
  PJRT_Error* (*PJRT_ExecuteContext_Create)(PJRT_ExecuteContext_Create_Args* args);
  PJRT_Error* (*PJRT_ExecuteContext_Destroy)(PJRT_ExecuteContext_Destroy_Args* args);
  PJRT_Error* (*PJRT_Buffer_CopyRawToHost)(PJRT_Buffer_CopyRawToHost_Args* args);
  PJRT_Error* (*PJRT_AsyncHostToDeviceTransferManager_Destroy)(
      PJRT_AsyncHostToDeviceTransferManager_Destroy_Args* args);
  PJRT_Error* (*PJRT_AsyncHostToDeviceTransferManager_TransferData)(
      PJRT_AsyncHostToDeviceTransferManager_TransferData_Args* args);
  PJRT_Error* (*PJRT_Client_CreateBuffersForAsyncHostToDevice)(
      PJRT_Client_CreateBuffersForAsyncHostToDevice_Args* args);
  PJRT_Error* (*PJRT_AsyncHostToDeviceTransferManager_RetrieveBuffer)(
      PJRT_AsyncHostToDeviceTransferManager_RetrieveBuffer_Args* args);
  PJRT_Error* (*PJRT_AsyncHostToDeviceTransferManager_Device)(
      PJRT_AsyncHostToDeviceTransferManager_Device_Args* args);
  PJRT_Error* (*PJRT_AsyncHostToDeviceTransferManager_BufferCount)(
      PJRT_AsyncHostToDeviceTransferManager_BufferCount_Args* args);
  PJRT_Error* (*PJRT_AsyncHostToDeviceTransferManager_BufferSize)(
      PJRT_AsyncHostToDeviceTransferManager_BufferSize_Args* args);
  PJRT_Error* (*PJRT_AsyncHostToDeviceTransferManager_SetBufferError)(
      PJRT_AsyncHostToDeviceTransferManager_SetBufferError_Args* args);
  PJRT_Error* (*PJRT_AsyncHostToDeviceTransferManager_AddMetadata)(
      PJRT_AsyncHostToDeviceTransferManager_AddMetadata_Args* args);
  PJRT_Error* (*PJRT_Client_DmaMap)(PJRT_Client_DmaMap_Args* args);
  PJRT_Error* (*PJRT_Client_DmaUnmap)(PJRT_Client_DmaUnmap_Args* args);
  PJRT_Error* (*PJRT_Client_CreateUninitializedBuffer)(
      PJRT_Client_CreateUninitializedBuffer_Args* args);
  PJRT_Error* (*PJRT_Client_UpdateGlobalProcessInfo)(
      PJRT_Client_UpdateGlobalProcessInfo_Args* args);
  PJRT_Error* (*PJRT_TopologyDescription_Deserialize)(
      PJRT_TopologyDescription_Deserialize_Args* args);
  PJRT_Error* (*PJRT_Client_CreateAliasBuffer)(PJRT_Client_CreateAliasBuffer_Args* args);
  PJRT_Error* (*PJRT_Client_FulfillAliasBuffer)(PJRT_Client_FulfillAliasBuffer_Args* args);
  PJRT_Error* (*PJRT_LoadedExecutable_GetDeviceAssignment)(
      PJRT_LoadedExecutable_GetDeviceAssignment_Args* args);
  PJRT_Error* (*PJRT_Client_CreateErrorBuffer)(PJRT_Client_CreateErrorBuffer_Args* args);
  PJRT_Error* (*PJRT_AsyncHostToDeviceTransferManager_TransferLiteral)(
      PJRT_AsyncHostToDeviceTransferManager_TransferLiteral_Args* args);
  PJRT_Error* (*PJRT_Buffer_CopyRawToHostFuture)(PJRT_Buffer_CopyRawToHostFuture_Args* args);
  PJRT_Error* (*PJRT_Device_PoisonExecution)(PJRT_Device_PoisonExecution_Args* args);
  PJRT_Error* (*PJRT_Device_CreateAsyncTrackingEvent)(
      PJRT_Device_CreateAsyncTrackingEvent_Args* args);
  PJRT_Error* (*PJRT_AsyncTrackingEvent_Destroy)(PJRT_AsyncTrackingEvent_Destroy_Args* args);
  PJRT_Error* (*PJRT_Executable_GetCompileOptions)(PJRT_Executable_GetCompileOptions_Args* args);
  PJRT_Error* (*PJRT_Buffer_DonateWithControlDependency)(
      PJRT_Buffer_DonateWithControlDependency_Args* args);
  PJRT_Error* (*PJRT_Event_Create)(PJRT_Event_Create_Args* args);
  PJRT_Error* (*PJRT_Event_Set)(PJRT_Event_Set_Args* args);
  PJRT_Error* (*PJRT_Device_GetAttributes)(PJRT_Device_GetAttributes_Args* args);
  PJRT_Error* (*PJRT_Client_Load)(PJRT_Client_Load_Args* args);
  PJRT_Error* (*PJRT_LoadedExecutable_AddressableDeviceLogicalIds)(
      PJRT_LoadedExecutable_AddressableDeviceLogicalIds_Args* args);
  PJRT_Error* (*PJRT_Buffer_Bitcast)(PJRT_Buffer_Bitcast_Args* args);
  PJRT_Error* (*PJRT_Error_ForEachPayload)(PJRT_Error_ForEachPayload_Args* args);
  PJRT_Error* (*PJRT_TopologyDescription_Fingerprint)(
      PJRT_TopologyDescription_Fingerprint_Args* args);
  PJRT_Error* (*PJRT_Executable_ParameterMemoryKinds)(
      PJRT_Executable_ParameterMemoryKinds_Args* args);
};
// Extensions.

/// The order of a buffer's dimensions in memory.
struct PJRT_Layouts_MemoryLayout;
struct PJRT_Layouts_MemoryLayout_Destroy_Args : PJRT_Head {
  PJRT_Layouts_MemoryLayout* layout;
};
struct PJRT_Layouts_MemoryLayout_Serialize_Args : PJRT_Head {
  PJRT_Layouts_MemoryLayout* layout;
  const char* serialized_bytes;
  std::size_t serialized_bytes_size;
  void* serialized_layout;
  void (*serialized_layout_deleter)(void*);
};
struct PJRT_Layouts_PJRT_Client_GetDefaultLayout_Args : PJRT_Head {
  PJRT_Client* client;
  std::uint32_t type;
  const std::int64_t* dims;
  std::size_t num_dims;
  PJRT_Layouts_MemoryLayout* layout;
};
struct PJRT_Layouts_PJRT_Buffer_MemoryLayout_Args : PJRT_Head {
  PJRT_Buffer* buffer;
  PJRT_Layouts_MemoryLayout* layout;
};
struct PJRT_Layouts_PJRT_Topology_GetDefaultLayout_Args : PJRT_Head {
  PJRT_TopologyDescription* topology_description;
  std::uint32_t type;
  const std::int64_t* dims;
  std::size_t num_dims;
  PJRT_Layouts_MemoryLayout* layout;
};
struct PJRT_Layouts_PJRT_Executable_GetOutputLayouts_Args : PJRT_Head {
  PJRT_Executable* executable;
  std::size_t num_outputs;
  PJRT_Layouts_MemoryLayout** layouts;
};
struct PJRT_Layouts_PJRT_Executable_GetParameterLayouts_Args : PJRT_Head {
  PJRT_Executable* executable;
  std::size_t num_parameters;
  PJRT_Layouts_MemoryLayout** layouts;
};
struct PJRT_Layouts_Extension {
  PJRT_Extension_Base base;
  PJRT_Error* (*PJRT_Layouts_MemoryLayout_Destroy)(PJRT_Layouts_MemoryLayout_Destroy_Args* args);
  PJRT_Error* (*PJRT_Layouts_MemoryLayout_Serialize)(
      PJRT_Layouts_MemoryLayout_Serialize_Args* args);
  PJRT_Error* (*PJRT_Layouts_PJRT_Client_GetDefaultLayout)(
      PJRT_Layouts_PJRT_Client_GetDefaultLayout_Args* args);
  PJRT_Error* (*PJRT_Layouts_PJRT_Buffer_MemoryLayout)(
      PJRT_Layouts_PJRT_Buffer_MemoryLayout_Args* args);
  PJRT_Error* (*PJRT_Layouts_PJRT_Topology_GetDefaultLayout)(
      PJRT_Layouts_PJRT_Topology_GetDefaultLayout_Args* args);
  PJRT_Error* (*PJRT_Layouts_PJRT_Executable_GetOutputLayouts)(
      PJRT_Layouts_PJRT_Executable_GetOutputLayouts_Args* args);
  PJRT_Error* (*PJRT_Layouts_PJRT_Executable_GetParameterLayouts)(
      PJRT_Layouts_PJRT_Executable_GetParameterLayouts_Args* args);
};

/// The memories of a device by its description.
struct PJRT_MemoryDescription;
struct PJRT_DeviceDescription_MemoryDescriptions_Args : PJRT_Head {
  PJRT_DeviceDescription* device_description;
  const PJRT_MemoryDescription* const* memory_descriptions;
  std::size_t num_memory_descriptions;
  std::size_t default_memory_index;
};
struct PJRT_MemoryDescription_Kind_Args : PJRT_Head {
  const PJRT_MemoryDescription* memory_description;
  const char* kind;
  std::size_t kind_size;
  std::int32_t kind_id;
};
struct PJRT_MemoryDescriptions_Extension {
  PJRT_Extension_Base base;
  PJRT_Error* (*PJRT_DeviceDescription_MemoryDescriptions)(
      PJRT_DeviceDescription_MemoryDescriptions_Args* args);
  PJRT_Error* (*PJRT_MemoryDescription_Kind)(PJRT_MemoryDescription_Kind_Args* args);
};

/// The shardings that the compiler gave arguments and results, as protocol buffers.
struct PJRT_Shardings_PJRT_Executable_ParameterShardings_Args : PJRT_Head {
  PJRT_Executable* executable;
  std::size_t num_parameters;
  const char* const* shardings;
  const std::size_t* sharding_sizes;
};
struct PJRT_Shardings_PJRT_Executable_OutputShardings_Args : PJRT_Head {
  PJRT_Executable* executable;
  std::size_t num_outputs;
  const char* const* shardings;
  const std::size_t* sharding_sizes;
};
struct PJRT_Shardings_Extension {
  PJRT_Extension_Base base;
  PJRT_Error* (*PJRT_Shardings_PJRT_Executable_ParameterShardings)(
      PJRT_Shardings_PJRT_Executable_ParameterShardings_Args* args);
  PJRT_Error* (*PJRT_Shardings_PJRT_Executable_OutputShardings)(
      PJRT_Shardings_PJRT_Executable_OutputShardings_Args* args);
};
