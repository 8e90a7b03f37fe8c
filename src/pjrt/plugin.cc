// The table of functions that the library exports.
#include "pjrt/extensions.h"

#include "pjrt/executable.h"

namespace tessera::inline v0::pjrt {

namespace {

// Stands for the functions that no caller needs for devices in host memory; it returns
// UNIMPLEMENTED.
template <class Args>
PJRT_Error* lacks(Args*) {
  return guarded([] {
    unimplemented(
        "Tessera's plug-in does not have this function, because nothing needs it where devices "
        "share the memory of the host; report the program that calls it");
  });
}

// The last field that every caller's struct must have. Later fields are newer, and functions check
// for them with has_field.
template <class Args>
struct Last;  // only for structs that have grown
template <>
struct Last<PJRT_Client_Create_Args> {
  static constexpr auto field = &PJRT_Client_Create_Args::client;
};
template <>
struct Last<PJRT_Device_MemoryStats_Args> {
  static constexpr auto field = &PJRT_Device_MemoryStats_Args::largest_free_block_bytes_is_set;
};
template <>
struct Last<PJRT_Executable_DeserializeAndLoad_Args> {
  static constexpr auto field = &PJRT_Executable_DeserializeAndLoad_Args::loaded_executable;
};
template <>
struct Last<PJRT_LoadedExecutable_Execute_Args> {
  static constexpr auto field = &PJRT_LoadedExecutable_Execute_Args::device_complete_events;
};
template <>
struct Last<PJRT_Client_CreateViewOfDeviceBuffer_Args> {
  static constexpr auto field = &PJRT_Client_CreateViewOfDeviceBuffer_Args::buffer;
};
template <>
struct Last<PJRT_Executable_GetCompiledMemoryStats_Args> {
  static constexpr auto field =
      &PJRT_Executable_GetCompiledMemoryStats_Args::host_temp_size_in_bytes;
};
template <>
struct Last<PJRT_Client_CreateErrorBuffer_Args> {
  static constexpr auto field = &PJRT_Client_CreateErrorBuffer_Args::buffer;
};

// Whether the caller's struct has all the fields that the function reads without has_field. The
// struct_size of callers does not count padding at the end.
template <class Args>
bool is_complete(const Args& args) {
  if constexpr (requires { Last<Args>::field; })
    return has_field(args, Last<Args>::field);
  else
    return args.struct_size > sizeof(Args) - alignof(Args);
}

// Wraps a function so that it rejects a struct of an earlier version that lacks fields it reads.
template <auto function>
struct Sized;
template <class Args, PJRT_Error* (*function)(Args*)>
struct Sized<function> {
  static PJRT_Error* call(Args* args) {
    if (is_complete(*args)) return function(args);
    return guarded([&] {
      refuse("a struct of arguments has " + std::to_string(args->struct_size) +
             " bytes, and this function uses " + std::to_string(sizeof(Args)) +
             "; the caller speaks an earlier version of PJRT than 0.104");
    });
  }
};
template <auto function>
constexpr auto sized = &Sized<function>::call;

PJRT_Api table() {
  PJRT_Api t{};
  t.struct_size = sizeof t;
  t.extension_start = extensions();
  t.pjrt_api_version.struct_size = sizeof(PJRT_Api_Version);
  // From 0.105 on, callers expect memories and errors to have function tables of their own.
  t.pjrt_api_version.major_version = 0;
  t.pjrt_api_version.minor_version = 104;
  t.PJRT_Error_Destroy = error_destroy;
  t.PJRT_Error_Message = error_message;
  t.PJRT_Error_GetCode = sized<error_get_code>;
  t.PJRT_Plugin_Initialize = sized<plugin_initialize>;
  t.PJRT_Plugin_Attributes = sized<plugin_attributes>;
  t.PJRT_Event_Destroy = sized<event_destroy>;
  t.PJRT_Event_IsReady = sized<event_is_ready>;
  t.PJRT_Event_Error = sized<event_error>;
  t.PJRT_Event_Await = sized<event_await>;
  t.PJRT_Event_OnReady = sized<event_on_ready>;
  t.PJRT_Client_Create = sized<client_create>;
  t.PJRT_Client_Destroy = sized<client_destroy>;
  t.PJRT_Client_PlatformName = sized<client_platform_name>;
  t.PJRT_Client_ProcessIndex = sized<client_process_index>;
  t.PJRT_Client_PlatformVersion = sized<client_platform_version>;
  t.PJRT_Client_Devices = sized<client_devices>;
  t.PJRT_Client_AddressableDevices = sized<client_addressable_devices>;
  t.PJRT_Client_LookupDevice = sized<client_lookup_device>;
  t.PJRT_Client_LookupAddressableDevice = sized<client_lookup_addressable_device>;
  t.PJRT_Client_AddressableMemories = sized<client_addressable_memories>;
  t.PJRT_Client_Compile = sized<client_compile>;
  t.PJRT_Client_DefaultDeviceAssignment = sized<client_default_device_assignment>;
  t.PJRT_Client_BufferFromHostBuffer = sized<client_buffer_from_host_buffer>;
  t.PJRT_DeviceDescription_Id = sized<description_id>;
  t.PJRT_DeviceDescription_ProcessIndex = sized<description_process_index>;
  t.PJRT_DeviceDescription_Attributes = sized<description_attributes>;
  t.PJRT_DeviceDescription_Kind = sized<description_kind>;
  t.PJRT_DeviceDescription_DebugString = sized<description_debug_string>;
  t.PJRT_DeviceDescription_ToString = sized<description_to_string>;
  t.PJRT_Device_GetDescription = sized<device_get_description>;
  t.PJRT_Device_IsAddressable = sized<device_is_addressable>;
  t.PJRT_Device_LocalHardwareId = sized<device_local_hardware_id>;
  t.PJRT_Device_AddressableMemories = sized<device_addressable_memories>;
  t.PJRT_Device_DefaultMemory = sized<device_default_memory>;
  t.PJRT_Device_MemoryStats = sized<device_memory_stats>;
  t.PJRT_Memory_Id = sized<memory_id>;
  t.PJRT_Memory_Kind = sized<memory_kind>;
  t.PJRT_Memory_DebugString = sized<memory_debug_string>;
  t.PJRT_Memory_ToString = sized<memory_to_string>;
  t.PJRT_Memory_AddressableByDevices = sized<memory_addressable_by_devices>;
  t.PJRT_Executable_Destroy = sized<executable_destroy>;
  t.PJRT_Executable_Name = sized<executable_name>;
  t.PJRT_Executable_NumReplicas = sized<executable_num_replicas>;
  t.PJRT_Executable_NumPartitions = sized<executable_num_partitions>;
  t.PJRT_Executable_NumOutputs = sized<executable_num_outputs>;
  t.PJRT_Executable_SizeOfGeneratedCodeInBytes = sized<executable_code_size>;
  t.PJRT_Executable_GetCostAnalysis = sized<executable_cost_analysis>;
  t.PJRT_Executable_OutputMemoryKinds = sized<executable_output_memory_kinds>;
  t.PJRT_Executable_OptimizedProgram = sized<executable_optimized_program>;
  t.PJRT_Executable_Serialize = sized<executable_serialize>;
  t.PJRT_LoadedExecutable_Destroy = sized<loaded_destroy>;
  t.PJRT_LoadedExecutable_GetExecutable = sized<loaded_get_executable>;
  t.PJRT_LoadedExecutable_AddressableDevices = sized<loaded_addressable_devices>;
  t.PJRT_LoadedExecutable_Delete = sized<loaded_delete>;
  t.PJRT_LoadedExecutable_IsDeleted = sized<loaded_is_deleted>;
  t.PJRT_LoadedExecutable_Execute = sized<loaded_execute>;
  t.PJRT_Executable_DeserializeAndLoad = sized<executable_deserialize_and_load>;
  t.PJRT_LoadedExecutable_Fingerprint = sized<loaded_fingerprint>;
  t.PJRT_Buffer_Destroy = sized<buffer_destroy>;
  t.PJRT_Buffer_ElementType = sized<buffer_element_type>;
  t.PJRT_Buffer_Dimensions = sized<buffer_dimensions>;
  t.PJRT_Buffer_UnpaddedDimensions = sized<buffer_unpadded_dimensions>;
  t.PJRT_Buffer_DynamicDimensionIndices = sized<buffer_dynamic_dimension_indices>;
  t.PJRT_Buffer_GetMemoryLayout = sized<buffer_get_memory_layout>;
  t.PJRT_Buffer_OnDeviceSizeInBytes = sized<buffer_on_device_size>;
  t.PJRT_Buffer_Device = sized<buffer_device>;
  t.PJRT_Buffer_Memory = sized<buffer_memory>;
  t.PJRT_Buffer_Delete = sized<buffer_delete>;
  t.PJRT_Buffer_IsDeleted = sized<buffer_is_deleted>;
  t.PJRT_Buffer_CopyToDevice = sized<buffer_copy_to_device>;
  t.PJRT_Buffer_ToHostBuffer = sized<buffer_to_host_buffer>;
  t.PJRT_Buffer_IsOnCpu = sized<buffer_is_on_cpu>;
  t.PJRT_Buffer_ReadyEvent = sized<buffer_ready_event>;
  t.PJRT_Buffer_UnsafePointer = sized<buffer_unsafe_pointer>;
  t.PJRT_Buffer_IncreaseExternalReferenceCount = sized<buffer_increase_references>;
  t.PJRT_Buffer_DecreaseExternalReferenceCount = sized<buffer_decrease_references>;
  t.PJRT_Buffer_OpaqueDeviceMemoryDataPointer = sized<buffer_opaque_pointer>;
  t.PJRT_CopyToDeviceStream_Destroy = lacks<PJRT_CopyToDeviceStream_Destroy_Args>;
  t.PJRT_CopyToDeviceStream_AddChunk = lacks<PJRT_CopyToDeviceStream_AddChunk_Args>;
  t.PJRT_CopyToDeviceStream_TotalBytes = lacks<PJRT_CopyToDeviceStream_TotalBytes_Args>;
  t.PJRT_CopyToDeviceStream_GranuleSize = lacks<PJRT_CopyToDeviceStream_GranuleSize_Args>;
  t.PJRT_CopyToDeviceStream_CurrentBytes = lacks<PJRT_CopyToDeviceStream_CurrentBytes_Args>;
  t.PJRT_TopologyDescription_Create = sized<topology_create>;
  t.PJRT_TopologyDescription_Destroy = sized<topology_destroy>;
  t.PJRT_TopologyDescription_PlatformName = sized<topology_platform_name>;
  t.PJRT_TopologyDescription_PlatformVersion = sized<topology_platform_version>;
  t.PJRT_TopologyDescription_GetDeviceDescriptions = sized<topology_descriptions>;
  t.PJRT_TopologyDescription_Serialize = sized<topology_serialize>;
  t.PJRT_TopologyDescription_Attributes = sized<topology_attributes>;
  t.PJRT_Compile = sized<compile_for_topology>;
  t.PJRT_Executable_OutputElementTypes = sized<executable_output_element_types>;
  t.PJRT_Executable_OutputDimensions = sized<executable_output_dimensions>;
  t.PJRT_Buffer_CopyToMemory = sized<buffer_copy_to_memory>;
  t.PJRT_Client_CreateViewOfDeviceBuffer = sized<client_create_view_of_device_buffer>;
  t.PJRT_Executable_Fingerprint = sized<executable_fingerprint>;
  t.PJRT_Client_TopologyDescription = sized<client_topology_description>;
  t.PJRT_Executable_GetCompiledMemoryStats = sized<executable_memory_stats>;
  t.PJRT_Memory_Kind_Id = sized<memory_kind_id>;
  t.PJRT_ExecuteContext_Create = sized<context_create>;
  t.PJRT_ExecuteContext_Destroy = sized<context_destroy>;
  t.PJRT_Buffer_CopyRawToHost = sized<buffer_copy_raw_to_host>;
  t.PJRT_AsyncHostToDeviceTransferManager_Destroy =
      lacks<PJRT_AsyncHostToDeviceTransferManager_Destroy_Args>;
  t.PJRT_AsyncHostToDeviceTransferManager_TransferData =
      lacks<PJRT_AsyncHostToDeviceTransferManager_TransferData_Args>;
  t.PJRT_Client_CreateBuffersForAsyncHostToDevice =
      lacks<PJRT_Client_CreateBuffersForAsyncHostToDevice_Args>;
  t.PJRT_AsyncHostToDeviceTransferManager_RetrieveBuffer =
      lacks<PJRT_AsyncHostToDeviceTransferManager_RetrieveBuffer_Args>;
  t.PJRT_AsyncHostToDeviceTransferManager_Device =
      lacks<PJRT_AsyncHostToDeviceTransferManager_Device_Args>;
  t.PJRT_AsyncHostToDeviceTransferManager_BufferCount =
      lacks<PJRT_AsyncHostToDeviceTransferManager_BufferCount_Args>;
  t.PJRT_AsyncHostToDeviceTransferManager_BufferSize =
      lacks<PJRT_AsyncHostToDeviceTransferManager_BufferSize_Args>;
  t.PJRT_AsyncHostToDeviceTransferManager_SetBufferError =
      lacks<PJRT_AsyncHostToDeviceTransferManager_SetBufferError_Args>;
  t.PJRT_AsyncHostToDeviceTransferManager_AddMetadata =
      lacks<PJRT_AsyncHostToDeviceTransferManager_AddMetadata_Args>;
  t.PJRT_Client_DmaMap = lacks<PJRT_Client_DmaMap_Args>;
  t.PJRT_Client_DmaUnmap = lacks<PJRT_Client_DmaUnmap_Args>;
  t.PJRT_Client_CreateUninitializedBuffer = sized<client_create_uninitialized_buffer>;
  t.PJRT_Client_UpdateGlobalProcessInfo = sized<client_update_global_process_info>;
  t.PJRT_TopologyDescription_Deserialize = sized<topology_deserialize>;
  t.PJRT_Client_CreateAliasBuffer = lacks<PJRT_Client_CreateAliasBuffer_Args>;
  t.PJRT_Client_FulfillAliasBuffer = lacks<PJRT_Client_FulfillAliasBuffer_Args>;
  t.PJRT_LoadedExecutable_GetDeviceAssignment = sized<loaded_device_assignment>;
  t.PJRT_Client_CreateErrorBuffer = sized<client_create_error_buffer>;
  t.PJRT_AsyncHostToDeviceTransferManager_TransferLiteral =
      lacks<PJRT_AsyncHostToDeviceTransferManager_TransferLiteral_Args>;
  t.PJRT_Buffer_CopyRawToHostFuture = lacks<PJRT_Buffer_CopyRawToHostFuture_Args>;
  t.PJRT_Device_PoisonExecution = lacks<PJRT_Device_PoisonExecution_Args>;
  t.PJRT_Device_CreateAsyncTrackingEvent = lacks<PJRT_Device_CreateAsyncTrackingEvent_Args>;
  t.PJRT_AsyncTrackingEvent_Destroy = lacks<PJRT_AsyncTrackingEvent_Destroy_Args>;
  t.PJRT_Executable_GetCompileOptions = sized<executable_compile_options>;
  t.PJRT_Buffer_DonateWithControlDependency = lacks<PJRT_Buffer_DonateWithControlDependency_Args>;
  t.PJRT_Event_Create = sized<event_create>;
  t.PJRT_Event_Set = sized<event_set>;
  t.PJRT_Device_GetAttributes = sized<device_get_attributes>;
  t.PJRT_Client_Load = sized<client_load>;
  t.PJRT_LoadedExecutable_AddressableDeviceLogicalIds = sized<loaded_logical_ids>;
  t.PJRT_Buffer_Bitcast = sized<buffer_bitcast>;
  t.PJRT_Error_ForEachPayload = sized<error_for_each_payload>;
  t.PJRT_TopologyDescription_Fingerprint = sized<topology_fingerprint>;
  t.PJRT_Executable_ParameterMemoryKinds = sized<executable_parameter_memory_kinds>;
  return t;
}

}  // namespace

}  // namespace tessera::inline v0::pjrt

extern "C" __attribute__((visibility("default"))) const PJRT_Api* GetPjrtApi() {
  static const PJRT_Api* const api = new PJRT_Api(tessera::pjrt::table());
  return api;
}
