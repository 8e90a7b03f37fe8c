// Executables: compiling programs and calling them.
#pragma once

#include "pjrt/buffer.h"
#include "pjrt/compiled.h"

#include <atomic>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

/// The order of a block's dimensions in memory.
struct PJRT_Layouts_MemoryLayout {
  tessera::Shape order;     // the minor one first
  bool is_callers = false;  // the caller destroys it
};

/// The program without its devices. Lists that callers read live as long as it does.
struct PJRT_Executable {
  std::shared_ptr<const tessera::pjrt::Compiled> compiled;
  std::vector<std::uint32_t> output_types = {};
  std::vector<std::int64_t> output_dims = {};
  std::vector<std::size_t> output_ranks = {};
  std::vector<const char*> output_kinds = {}, parameter_kinds = {};
  std::vector<std::size_t> output_kind_sizes = {}, parameter_kind_sizes = {};
  std::vector<const char*> output_shardings = {}, parameter_shardings = {};
  std::vector<std::size_t> output_sharding_sizes = {}, parameter_sharding_sizes = {};
  std::vector<PJRT_NamedValue> costs = {};
  std::vector<PJRT_Layouts_MemoryLayout> layouts = {};  // of results, then of arguments
  std::vector<PJRT_Layouts_MemoryLayout*> output_layouts = {}, parameter_layouts = {};
  std::once_flag optimizing = {};
  std::string optimized_program = {};  // empty until a caller asks for it
};

struct PJRT_LoadedExecutable {
  std::shared_ptr<const tessera::pjrt::Compiled> compiled;
  std::vector<PJRT_Device*> devices;
  std::vector<PJRT_LogicalDeviceIds> logical_ids;
  std::atomic<bool> is_deleted{false};
};

struct PJRT_ExecuteContext {};

namespace tessera::inline v0::pjrt {

PJRT_Error* client_compile(PJRT_Client_Compile_Args* args);
PJRT_Error* compile_for_topology(PJRT_Compile_Args* args);
PJRT_Error* client_load(PJRT_Client_Load_Args* args);

PJRT_Error* executable_destroy(PJRT_Executable_Destroy_Args* args);
PJRT_Error* executable_name(PJRT_Executable_Name_Args* args);
PJRT_Error* executable_num_replicas(PJRT_Executable_NumReplicas_Args* args);
PJRT_Error* executable_num_partitions(PJRT_Executable_NumPartitions_Args* args);
PJRT_Error* executable_num_outputs(PJRT_Executable_NumOutputs_Args* args);
PJRT_Error* executable_code_size(PJRT_Executable_SizeOfGeneratedCodeInBytes_Args* args);
PJRT_Error* executable_cost_analysis(PJRT_Executable_GetCostAnalysis_Args* args);
PJRT_Error* executable_output_memory_kinds(PJRT_Executable_OutputMemoryKinds_Args* args);
PJRT_Error* executable_parameter_memory_kinds(PJRT_Executable_ParameterMemoryKinds_Args* args);
PJRT_Error* executable_optimized_program(PJRT_Executable_OptimizedProgram_Args* args);
PJRT_Error* executable_serialize(PJRT_Executable_Serialize_Args* args);
PJRT_Error* executable_deserialize_and_load(PJRT_Executable_DeserializeAndLoad_Args* args);
PJRT_Error* executable_output_element_types(PJRT_Executable_OutputElementTypes_Args* args);
PJRT_Error* executable_output_dimensions(PJRT_Executable_OutputDimensions_Args* args);
PJRT_Error* executable_fingerprint(PJRT_Executable_Fingerprint_Args* args);
PJRT_Error* executable_memory_stats(PJRT_Executable_GetCompiledMemoryStats_Args* args);
PJRT_Error* executable_compile_options(PJRT_Executable_GetCompileOptions_Args* args);
PJRT_Error* executable_output_shardings(PJRT_Shardings_PJRT_Executable_OutputShardings_Args* args);
PJRT_Error* executable_parameter_shardings(
    PJRT_Shardings_PJRT_Executable_ParameterShardings_Args* args);

PJRT_Error* loaded_destroy(PJRT_LoadedExecutable_Destroy_Args* args);
PJRT_Error* loaded_get_executable(PJRT_LoadedExecutable_GetExecutable_Args* args);
PJRT_Error* loaded_addressable_devices(PJRT_LoadedExecutable_AddressableDevices_Args* args);
PJRT_Error* loaded_delete(PJRT_LoadedExecutable_Delete_Args* args);
PJRT_Error* loaded_is_deleted(PJRT_LoadedExecutable_IsDeleted_Args* args);
PJRT_Error* loaded_fingerprint(PJRT_LoadedExecutable_Fingerprint_Args* args);
PJRT_Error* loaded_device_assignment(PJRT_LoadedExecutable_GetDeviceAssignment_Args* args);
PJRT_Error* loaded_logical_ids(PJRT_LoadedExecutable_AddressableDeviceLogicalIds_Args* args);
PJRT_Error* loaded_execute(PJRT_LoadedExecutable_Execute_Args* args);

PJRT_Error* context_create(PJRT_ExecuteContext_Create_Args* args);
PJRT_Error* context_destroy(PJRT_ExecuteContext_Destroy_Args* args);

}  // namespace tessera::inline v0::pjrt
