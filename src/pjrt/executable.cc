#include "pjrt/executable.h"

#include <algorithm>
#include <cstring>

namespace tessera::inline v0::pjrt {

namespace {

std::string_view text_of(const char* data, std::size_t size) {
  return data ? std::string_view(data, size) : std::string_view();
}

std::string_view code_of(const PJRT_Program& program) {
  const std::string_view format = text_of(program.format, program.format_size);
  if (format != "mlir")
    unimplemented("Compile: a program in the format '" + std::string(format) +
                  "'; this plug-in reads 'mlir', a StableHLO module as bytecode or text");
  return text_of(program.code, program.code_size);
}

PJRT_LoadedExecutable* load(std::shared_ptr<const Compiled> compiled) {
  auto loaded = std::make_unique<PJRT_LoadedExecutable>();
  const auto partitions = static_cast<int>(compiled->settings.partitions);
  for (std::size_t d = 0; d < compiled->device_count(); ++d) {
    const int i = static_cast<int>(d);
    loaded->devices.push_back(compiled->machine->device(compiled->settings.devices[d]));
    loaded->logical_ids.push_back({i / partitions, i % partitions});
  }
  loaded->compiled = std::move(compiled);
  return loaded.release();
}

// Returns bytes to the caller, which live until it deletes them.
template <class Args>
void give_bytes(std::string bytes, Args& args, void*& holder, void (*&deleter)(void*)) {
  auto held = std::make_unique<std::string>(std::move(bytes));
  give(*held, args.serialized_bytes, args.serialized_bytes_size);
  holder = held.release();
  deleter = [](void* made) { delete static_cast<std::string*>(made); };
}

PJRT_NamedValue cost(std::string_view name, double value) {
  PJRT_NamedValue v{};
  v.struct_size = sizeof v;
  v.name = name.data();
  v.name_size = name.size();
  v.type = PJRT_NamedValue_kFloat;
  v.float_value = static_cast<float>(value);
  v.value_size = 1;
  return v;
}

void list_texts(const Port& port, std::vector<const char*>& kinds, std::vector<std::size_t>& sizes,
                std::vector<const char*>& shardings, std::vector<std::size_t>& sharding_sizes) {
  static const std::string* const device = new std::string("device");
  const std::string& kind = port.memory ? port.memory->kind : *device;
  kinds.push_back(kind.data());
  sizes.push_back(kind.size());
  shardings.push_back(port.sharding.data());
  sharding_sizes.push_back(port.sharding.size());
}

PJRT_Executable* describe(const std::shared_ptr<const Compiled>& compiled) {
  auto e = std::make_unique<PJRT_Executable>();
  e->compiled = compiled;
  for (const Port& r : compiled->results) {
    e->output_types.push_back(r.element->type);
    e->output_ranks.push_back(r.block.shape.size());
    e->output_dims.insert(e->output_dims.end(), r.block.shape.begin(), r.block.shape.end());
    list_texts(r, e->output_kinds, e->output_kind_sizes, e->output_shardings,
               e->output_sharding_sizes);
  }
  for (const Argument& a : compiled->arguments)
    list_texts(a, e->parameter_kinds, e->parameter_kind_sizes, e->parameter_shardings,
               e->parameter_sharding_sizes);
  for (const Port& r : compiled->results) e->layouts.push_back({r.order});
  for (const Argument& a : compiled->arguments) e->layouts.push_back({a.order});
  for (std::size_t i = 0; i < e->layouts.size(); ++i)
    (i < compiled->results.size() ? e->output_layouts : e->parameter_layouts)
        .push_back(&e->layouts[i]);
  e->costs = {cost("flops", compiled->flops), cost("bytes accessed", compiled->bytes_accessed)};
  return e.release();
}

}  // namespace

PJRT_Error* client_compile(PJRT_Client_Compile_Args* args) {
  return guarded([&] {
    args->executable = load(compile(args->client->machine, code_of(*args->program),
                                    text_of(args->compile_options, args->compile_options_size)));
  });
}

PJRT_Error* compile_for_topology(PJRT_Compile_Args* args) {
  return guarded([&] {
    // A topology is a machine like a client's; only buffers need a client.
    const auto machine = std::const_pointer_cast<Machine>(args->topology->machine);
    args->executable =
        describe(compile(machine, code_of(*args->program),
                         text_of(args->compile_options, args->compile_options_size)));
  });
}

PJRT_Error* client_load(PJRT_Client_Load_Args* args) {
  return guarded([&] {
    const Compiled& c = *args->executable->compiled;
    const std::string_view options = text_of(args->compile_options, args->compile_options_size);
    args->loaded_executable = load(compile(
        args->client->machine, c.code, options.empty() ? std::string_view(c.options) : options));
  });
}

PJRT_Error* executable_destroy(PJRT_Executable_Destroy_Args* args) {
  return guarded([&] { delete args->executable; });
}
PJRT_Error* executable_name(PJRT_Executable_Name_Args* args) {
  give(args->executable->compiled->name, args->executable_name, args->executable_name_size);
  return nullptr;
}
PJRT_Error* executable_num_replicas(PJRT_Executable_NumReplicas_Args* args) {
  args->num_replicas = static_cast<std::size_t>(args->executable->compiled->settings.replicas);
  return nullptr;
}
PJRT_Error* executable_num_partitions(PJRT_Executable_NumPartitions_Args* args) {
  args->num_partitions = static_cast<std::size_t>(args->executable->compiled->settings.partitions);
  return nullptr;
}
PJRT_Error* executable_num_outputs(PJRT_Executable_NumOutputs_Args* args) {
  args->num_outputs = args->executable->compiled->results.size();
  return nullptr;
}
PJRT_Error* executable_code_size(PJRT_Executable_SizeOfGeneratedCodeInBytes_Args* args) {
  // Kernels are shared between executables, so none of them has a size of its own.
  args->size_in_bytes = 0;
  return nullptr;
}
PJRT_Error* executable_cost_analysis(PJRT_Executable_GetCostAnalysis_Args* args) {
  args->properties = args->executable->costs.data();
  args->num_properties = args->executable->costs.size();
  return nullptr;
}
PJRT_Error* executable_output_memory_kinds(PJRT_Executable_OutputMemoryKinds_Args* args) {
  args->num_outputs = args->executable->output_kinds.size();
  args->memory_kinds = args->executable->output_kinds.data();
  args->memory_kind_sizes = args->executable->output_kind_sizes.data();
  return nullptr;
}
PJRT_Error* executable_parameter_memory_kinds(PJRT_Executable_ParameterMemoryKinds_Args* args) {
  args->num_parameters = args->executable->parameter_kinds.size();
  args->memory_kinds = args->executable->parameter_kinds.data();
  args->memory_kind_sizes = args->executable->parameter_kind_sizes.data();
  return nullptr;
}

PJRT_Error* executable_optimized_program(PJRT_Executable_OptimizedProgram_Args* args) {
  return guarded([&] {
    // Callers ask twice: for the size, and with room for the program.
    PJRT_Executable& e = *args->executable;
    std::call_once(e.optimizing, [&] { e.optimized_program = e.compiled->optimized_program(); });
    const std::string& text = e.optimized_program;
    PJRT_Program& program = *args->program;
    static constexpr std::string_view kFormat = "mlir";
    program.format = kFormat.data();
    program.format_size = kFormat.size();
    if (!program.code) {
      program.code_size = text.size();
      return;
    }
    if (program.code_size < text.size())
      refuse("OptimizedProgram: the program has " + std::to_string(text.size()) +
             " bytes, and there is room for " + std::to_string(program.code_size));
    std::memcpy(const_cast<char*>(program.code), text.data(), text.size());
  });
}

PJRT_Error* executable_serialize(PJRT_Executable_Serialize_Args* args) {
  return guarded([&] {
    give_bytes(serialized(*args->executable->compiled), *args, args->serialized_executable,
               args->serialized_executable_deleter);
  });
}
PJRT_Error* executable_deserialize_and_load(PJRT_Executable_DeserializeAndLoad_Args* args) {
  return guarded([&] {
    std::optional<std::string_view> options;
    using Args = PJRT_Executable_DeserializeAndLoad_Args;
    if (has_field(*args, &Args::overridden_serialized_compile_options_size) &&
        args->overridden_serialized_compile_options)
      options = text_of(args->overridden_serialized_compile_options,
                        args->overridden_serialized_compile_options_size);
    args->loaded_executable = load(deserialized(
        args->client->machine,
        text_of(args->serialized_executable, args->serialized_executable_size), options));
  });
}

PJRT_Error* executable_output_element_types(PJRT_Executable_OutputElementTypes_Args* args) {
  args->output_types = args->executable->output_types.data();
  args->num_output_types = args->executable->output_types.size();
  return nullptr;
}
PJRT_Error* executable_output_dimensions(PJRT_Executable_OutputDimensions_Args* args) {
  args->num_outputs = args->executable->output_ranks.size();
  args->dims = args->executable->output_dims.data();
  args->dim_sizes = args->executable->output_ranks.data();
  return nullptr;
}
PJRT_Error* executable_fingerprint(PJRT_Executable_Fingerprint_Args* args) {
  give(args->executable->compiled->fingerprint, args->executable_fingerprint,
       args->executable_fingerprint_size);
  return nullptr;
}
PJRT_Error* executable_memory_stats(PJRT_Executable_GetCompiledMemoryStats_Args* args) {
  return guarded([&] {
    const Compiled& c = *args->executable->compiled;
    const runtime::MemoryPlan memory = c.executable->memory();
    const auto devices = static_cast<std::int64_t>(c.device_count());
    args->generated_code_size_in_bytes = 0;
    args->argument_size_in_bytes = args->output_size_in_bytes = args->alias_size_in_bytes = 0;
    for (const Argument& a : c.arguments) {
      args->argument_size_in_bytes += a.block.bytes();
      if (a.is_taken) args->alias_size_in_bytes += a.block.bytes();
    }
    for (const Port& r : c.results) args->output_size_in_bytes += r.block.bytes();
    args->temp_size_in_bytes = memory.temporaries / devices;
    args->host_generated_code_size_in_bytes = args->host_argument_size_in_bytes =
        args->host_output_size_in_bytes = args->host_alias_size_in_bytes =
            args->host_temp_size_in_bytes = 0;
    if (has_field(*args, &PJRT_Executable_GetCompiledMemoryStats_Args::peak_memory_in_bytes))
      args->peak_memory_in_bytes = args->argument_size_in_bytes + args->output_size_in_bytes -
                                   args->alias_size_in_bytes + args->temp_size_in_bytes;
    if (has_field(*args, &PJRT_Executable_GetCompiledMemoryStats_Args::total_size_in_bytes))
      args->total_size_in_bytes = args->argument_size_in_bytes + args->output_size_in_bytes -
                                  args->alias_size_in_bytes + args->temp_size_in_bytes;
  });
}
PJRT_Error* executable_compile_options(PJRT_Executable_GetCompileOptions_Args* args) {
  return guarded([&] {
    give_bytes(args->executable->compiled->options, *args, args->serialized_compile_options,
               args->serialized_compile_options_deleter);
  });
}
PJRT_Error* executable_output_shardings(PJRT_Shardings_PJRT_Executable_OutputShardings_Args* args) {
  const bool several = args->executable->compiled->device_count() > 1;
  args->num_outputs = args->executable->output_shardings.size();
  args->shardings = several ? args->executable->output_shardings.data() : nullptr;
  args->sharding_sizes = several ? args->executable->output_sharding_sizes.data() : nullptr;
  return nullptr;
}
PJRT_Error* executable_parameter_shardings(
    PJRT_Shardings_PJRT_Executable_ParameterShardings_Args* args) {
  const bool several = args->executable->compiled->device_count() > 1;
  args->num_parameters = args->executable->parameter_shardings.size();
  args->shardings = several ? args->executable->parameter_shardings.data() : nullptr;
  args->sharding_sizes = several ? args->executable->parameter_sharding_sizes.data() : nullptr;
  return nullptr;
}

PJRT_Error* loaded_destroy(PJRT_LoadedExecutable_Destroy_Args* args) {
  return guarded([&] { delete args->executable; });
}
PJRT_Error* loaded_get_executable(PJRT_LoadedExecutable_GetExecutable_Args* args) {
  return guarded([&] { args->executable = describe(args->loaded_executable->compiled); });
}
PJRT_Error* loaded_addressable_devices(PJRT_LoadedExecutable_AddressableDevices_Args* args) {
  args->addressable_devices = args->executable->devices.data();
  args->num_addressable_devices = args->executable->devices.size();
  return nullptr;
}
PJRT_Error* loaded_delete(PJRT_LoadedExecutable_Delete_Args* args) {
  args->executable->is_deleted = true;
  return nullptr;
}
PJRT_Error* loaded_is_deleted(PJRT_LoadedExecutable_IsDeleted_Args* args) {
  args->is_deleted = args->executable->is_deleted;
  return nullptr;
}
PJRT_Error* loaded_fingerprint(PJRT_LoadedExecutable_Fingerprint_Args* args) {
  give(args->executable->compiled->fingerprint, args->executable_fingerprint,
       args->executable_fingerprint_size);
  return nullptr;
}
PJRT_Error* loaded_device_assignment(PJRT_LoadedExecutable_GetDeviceAssignment_Args* args) {
  return guarded([&] {
    give_bytes(device_assignment(args->executable->compiled->settings), *args,
               args->serialized_device_assignment, args->serialized_device_assignment_deleter);
  });
}
PJRT_Error* loaded_logical_ids(PJRT_LoadedExecutable_AddressableDeviceLogicalIds_Args* args) {
  args->addressable_device_logical_ids = args->executable->logical_ids.data();
  args->num_addressable_device_logical_ids = args->executable->logical_ids.size();
  return nullptr;
}

PJRT_Error* context_create(PJRT_ExecuteContext_Create_Args* args) {
  return guarded([&] { args->context = new PJRT_ExecuteContext; });
}
PJRT_Error* context_destroy(PJRT_ExecuteContext_Destroy_Args* args) {
  delete args->context;
  return nullptr;
}

}  // namespace tessera::inline v0::pjrt
