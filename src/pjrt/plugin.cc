// The table of functions that the library exports.
#include "pjrt/extensions.h"

#include "pjrt/executable.h"

namespace tessera::inline v0::pjrt {

namespace {

// What no caller needs of devices in host memory.
template <class Args>
PJRT_Error* lacks(Args*) {
  return guarded([] {
    unimplemented(
        "Tessera's plug-in does not have this function, because nothing needs it where devices "
        "share the memory of the host; report the program that calls it");
  });
}

PJRT_Api table() {
  PJRT_Api t{};
  t.struct_size = sizeof t;
  t.extension_start = extensions();
  t.pjrt_api_version.struct_size = sizeof(PJRT_Api_Version);
  // From 0.105 on, callers take memories and errors for objects with tables of their own.
  t.pjrt_api_version.major_version = 0;
  t.pjrt_api_version.minor_version = 104;
  t.PJRT_Error_Destroy = error_destroy;
  t.PJRT_Error_Message = error_message;
  t.PJRT_Error_GetCode = error_get_code;
  t.PJRT_Plugin_Initialize = plugin_initialize;
  t.PJRT_Plugin_Attributes = plugin_attributes;
  t.PJRT_Event_Destroy = event_destroy;
  t.PJRT_Event_IsReady = event_is_ready;
  t.PJRT_Event_Error = event_error;
  t.PJRT_Event_Await = event_await;
  t.PJRT_Event_OnReady = event_on_ready;
  t.PJRT_Client_Create = client_create;
  t.PJRT_Client_Destroy = client_destroy;
  t.PJRT_Client_PlatformName = client_platform_name;
  t.PJRT_Client_ProcessIndex = client_process_index;
  t.PJRT_Client_PlatformVersion = client_platform_version;
  t.PJRT_Client_Devices = client_devices;
  t.PJRT_Client_AddressableDevices = client_addressable_devices;
  t.PJRT_Client_LookupDevice = client_lookup_device;
  t.PJRT_Client_LookupAddressableDevice = client_lookup_addressable_device;
  t.PJRT_Client_AddressableMemories = client_addressable_memories;
  t.PJRT_Client_Compile = client_compile;
  t.PJRT_Client_DefaultDeviceAssignment = client_default_device_assignment;
  t.PJRT_Client_BufferFromHostBuffer = client_buffer_from_host_buffer;
  t.PJRT_DeviceDescription_Id = description_id;
  t.PJRT_DeviceDescription_ProcessIndex = description_process_index;
  t.PJRT_DeviceDescription_Attributes = description_attributes;
  t.PJRT_DeviceDescription_Kind = description_kind;
  t.PJRT_DeviceDescription_DebugString = description_debug_string;
  t.PJRT_DeviceDescription_ToString = description_to_string;
  t.PJRT_Device_GetDescription = device_get_description;
  t.PJRT_Device_IsAddressable = device_is_addressable;
  t.PJRT_Device_LocalHardwareId = device_local_hardware_id;
  t.PJRT_Device_AddressableMemories = device_addressable_memories;
  t.PJRT_Device_DefaultMemory = device_default_memory;
  t.PJRT_Device_MemoryStats = device_memory_stats;
  t.PJRT_Memory_Id = memory_id;
  t.PJRT_Memory_Kind = memory_kind;
  t.PJRT_Memory_DebugString = memory_debug_string;
  t.PJRT_Memory_ToString = memory_to_string;
  t.PJRT_Memory_AddressableByDevices = memory_addressable_by_devices;
  t.PJRT_Executable_Destroy = executable_destroy;
  t.PJRT_Executable_Name = executable_name;
  t.PJRT_Executable_NumReplicas = executable_num_replicas;
  t.PJRT_Executable_NumPartitions = executable_num_partitions;
  t.PJRT_Executable_NumOutputs = executable_num_outputs;
  t.PJRT_Executable_SizeOfGeneratedCodeInBytes = executable_code_size;
  t.PJRT_Executable_GetCostAnalysis = executable_cost_analysis;
  t.PJRT_Executable_OutputMemoryKinds = executable_output_memory_kinds;
  t.PJRT_Executable_OptimizedProgram = executable_optimized_program;
  t.PJRT_Executable_Serialize = executable_serialize;
  t.PJRT_LoadedExecutable_Destroy = loaded_destroy;
  t.PJRT_LoadedExecutable_GetExecutable = loaded_get_executable;
  t.PJRT_LoadedExecutable_AddressableDevices = loaded_addressable_devices;
  t.PJRT_LoadedExecutable_Delete = loaded_delete;
  t.PJRT_LoadedExecutable_IsDeleted = loaded_is_deleted;
  t.PJRT_LoadedExecutable_Execute = loaded_execute;
  t.PJRT_Executable_DeserializeAndLoad = executable_deserialize_and_load;
  t.PJRT_LoadedExecutable_Fingerprint = loaded_fingerprint;
  t.PJRT_Buffer_Destroy = buffer_destroy;
  t.PJRT_Buffer_ElementType = buffer_element_type;
  t.PJRT_Buffer_Dimensions = buffer_dimensions;
  t.PJRT_Buffer_UnpaddedDimensions = buffer_unpadded_dimensions;
  t.PJRT_Buffer_DynamicDimensionIndices = buffer_dynamic_dimension_indices;
  t.PJRT_Buffer_GetMemoryLayout = buffer_get_memory_layout;
  t.PJRT_Buffer_OnDeviceSizeInBytes = buffer_on_device_size;
  t.PJRT_Buffer_Device = buffer_device;
  t.PJRT_Buffer_Memory = buffer_memory;
  t.PJRT_Buffer_Delete = buffer_delete;
  t.PJRT_Buffer_IsDeleted = buffer_is_deleted;
  t.PJRT_Buffer_CopyToDevice = buffer_copy_to_device;
  t.PJRT_Buffer_ToHostBuffer = buffer_to_host_buffer;
  t.PJRT_Buffer_IsOnCpu = buffer_is_on_cpu;
  t.PJRT_Buffer_ReadyEvent = buffer_ready_event;
  t.PJRT_Buffer_UnsafePointer = buffer_unsafe_pointer;
  t.PJRT_Buffer_IncreaseExternalReferenceCount = buffer_increase_references;
  t.PJRT_Buffer_DecreaseExternalReferenceCount = buffer_decrease_references;
  t.PJRT_Buffer_OpaqueDeviceMemoryDataPointer = buffer_opaque_pointer;
  t.PJRT_CopyToDeviceStream_Destroy = lacks<PJRT_CopyToDeviceStream_Destroy_Args>;
  t.PJRT_CopyToDeviceStream_AddChunk = lacks<PJRT_CopyToDeviceStream_AddChunk_Args>;
  t.PJRT_CopyToDeviceStream_TotalBytes = lacks<PJRT_CopyToDeviceStream_TotalBytes_Args>;
  t.PJRT_CopyToDeviceStream_GranuleSize = lacks<PJRT_CopyToDeviceStream_GranuleSize_Args>;
  t.PJRT_CopyToDeviceStream_CurrentBytes = lacks<PJRT_CopyToDeviceStream_CurrentBytes_Args>;
  t.PJRT_TopologyDescription_Create = topology_create;
  t.PJRT_TopologyDescription_Destroy = topology_destroy;
  t.PJRT_TopologyDescription_PlatformName = topology_platform_name;
  t.PJRT_TopologyDescription_PlatformVersion = topology_platform_version;
  t.PJRT_TopologyDescription_GetDeviceDescriptions = topology_descriptions;
  t.PJRT_TopologyDescription_Serialize = topology_serialize;
  t.PJRT_TopologyDescription_Attributes = topology_attributes;
  t.PJRT_Compile = compile_for_topology;
  t.PJRT_Executable_OutputElementTypes = executable_output_element_types;
  t.PJRT_Executable_OutputDimensions = executable_output_dimensions;
  t.PJRT_Buffer_CopyToMemory = buffer_copy_to_memory;
  t.PJRT_Client_CreateViewOfDeviceBuffer = client_create_view_of_device_buffer;
  t.PJRT_Executable_Fingerprint = executable_fingerprint;
  t.PJRT_Client_TopologyDescription = client_topology_description;
  t.PJRT_Executable_GetCompiledMemoryStats = executable_memory_stats;
  t.PJRT_Memory_Kind_Id = memory_kind_id;
  t.PJRT_ExecuteContext_Create = context_create;
  t.PJRT_ExecuteContext_Destroy = context_destroy;
  t.PJRT_Buffer_CopyRawToHost = buffer_copy_raw_to_host;
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
  t.PJRT_Client_CreateUninitializedBuffer = client_create_uninitialized_buffer;
  t.PJRT_Client_UpdateGlobalProcessInfo = client_update_global_process_info;
  t.PJRT_TopologyDescription_Deserialize = topology_deserialize;
  t.PJRT_Client_CreateAliasBuffer = lacks<PJRT_Client_CreateAliasBuffer_Args>;
  t.PJRT_Client_FulfillAliasBuffer = lacks<PJRT_Client_FulfillAliasBuffer_Args>;
  t.PJRT_LoadedExecutable_GetDeviceAssignment = loaded_device_assignment;
  t.PJRT_Client_CreateErrorBuffer = client_create_error_buffer;
  t.PJRT_AsyncHostToDeviceTransferManager_TransferLiteral =
      lacks<PJRT_AsyncHostToDeviceTransferManager_TransferLiteral_Args>;
  t.PJRT_Buffer_CopyRawToHostFuture = lacks<PJRT_Buffer_CopyRawToHostFuture_Args>;
  t.PJRT_Device_PoisonExecution = lacks<PJRT_Device_PoisonExecution_Args>;
  t.PJRT_Device_CreateAsyncTrackingEvent = lacks<PJRT_Device_CreateAsyncTrackingEvent_Args>;
  t.PJRT_AsyncTrackingEvent_Destroy = lacks<PJRT_AsyncTrackingEvent_Destroy_Args>;
  t.PJRT_Executable_GetCompileOptions = executable_compile_options;
  t.PJRT_Buffer_DonateWithControlDependency = lacks<PJRT_Buffer_DonateWithControlDependency_Args>;
  t.PJRT_Event_Create = event_create;
  t.PJRT_Event_Set = event_set;
  t.PJRT_Device_GetAttributes = device_get_attributes;
  t.PJRT_Client_Load = client_load;
  t.PJRT_LoadedExecutable_AddressableDeviceLogicalIds = loaded_logical_ids;
  t.PJRT_Buffer_Bitcast = buffer_bitcast;
  t.PJRT_Error_ForEachPayload = error_for_each_payload;
  t.PJRT_TopologyDescription_Fingerprint = topology_fingerprint;
  t.PJRT_Executable_ParameterMemoryKinds = executable_parameter_memory_kinds;
  return t;
}

}  // namespace

}  // namespace tessera::inline v0::pjrt

extern "C" __attribute__((visibility("default"))) const PJRT_Api* GetPjrtApi() {
  static const PJRT_Api* const api = new PJRT_Api(tessera::pjrt::table());
  return api;
}
