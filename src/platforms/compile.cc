#include "platforms/compile.h"

#include "codegen/kernel/disk_cache.h"
#include "ir/nested.h"
#include "ir/op.h"
#include "ir/region_attrs.h"
#include "platforms/maps.h"
#include "platforms/proto.h"
#include "runtime/backend.h"
#include "stablehlo/emit/emit.h"

#include <algorithm>
#include <exception>
#include <optional>
#include <utility>

namespace tessera::inline v0::platforms {

namespace {

using runtime::LayoutPtr;

// The same mesh with its devices listed, as layouts name them.
MeshRef with_devices(const MeshRef& mesh) {
  if (!mesh->devices.empty()) return mesh;
  DeviceMesh listed = *mesh;
  listed.devices = devices_of(*mesh);
  return MeshRef(listed);
}

// The devices of all maps of the part, in the order of the first one's mesh.
std::vector<int> shared_devices(const std::vector<MeshRef>& meshes, int device_count,
                                std::string_view name) {
  std::vector<int> devices = devices_of(*meshes[0]), sorted = devices;
  std::sort(sorted.begin(), sorted.end());
  for (const MeshRef& mesh : meshes) {
    std::vector<int> other = devices_of(*mesh);
    std::sort(other.begin(), other.end());
    if (other != sorted)
      Message(name)
          .problem("its maps are over " + std::to_string(devices.size()) + " and " +
                   std::to_string(other.size()) + " devices that are not the same")
          .rule("all maps of a program that a plug-in compiles are over the same devices")
          .advice("call a function for each set of devices")
          .raise<DeviceError>();
  }
  if (sorted.back() >= device_count)
    Message(name)
        .problem("its maps are over " + std::to_string(devices.size()) +
                 " devices, the last of which is number " + std::to_string(sorted.back()))
        .rule("the platform has " + std::to_string(device_count) + ", numbered from 0")
        .advice("a mesh of devices(\"...\") of the platform")
        .raise<DeviceError>();
  return devices;
}

// The shardings that the program itself states: those of operands and results of regions, and those
// of constraints.
stablehlo::Constraints said_of_values(const Program& p) {
  stablehlo::Constraints said(p.types.size());
  for (const Equation& e : p.equations) {
    const std::optional<Flow> flow = flow_of(e);
    if (flow && flow->kind == Flow::Kind::region) {
      const RegionAttrs region(e.attrs);
      for (std::size_t i = 0; i < e.inputs.size(); ++i)
        if (!said[e.inputs[i]]) said[e.inputs[i]] = Constraint{region.mesh, region.in_specs[i], {}};
      for (std::size_t i = 0; i < e.outputs.size(); ++i)
        said[e.outputs[i]] = Constraint{region.mesh, region.out_specs[i], {}};
    }
    if (e.op->constrains) {
      const Constraint c = e.op->constrains(e.attrs);
      if (!said[e.inputs[0]]) said[e.inputs[0]] = Constraint{c.mesh, c.spec, {}};
      said[e.outputs[0]] = Constraint{c.mesh, c.spec, {}};
    }
  }
  return said;
}

// The message CompileOptionsProto of XLA. `devices` are the plug-in's numbers; empty for an
// executable that runs on any one device.
std::string compile_options(const std::vector<std::int64_t>& devices) {
  ProtoWriter build;
  build.number(1, -1);  // device_ordinal: none is preferred
  build.number(4, 1);   // num_replicas
  build.number(5, std::max<std::int64_t>(std::ssize(devices), 1));  // num_partitions
  if (!devices.empty()) {
    build.number(6, 1);  // use_spmd_partitioning
    ProtoWriter assignment;
    assignment.number(1, 1);
    assignment.number(2, std::ssize(devices));
    for (const std::int64_t id : devices) {
      ProtoWriter computation;
      computation.packed(1, {id});
      assignment.bytes(3, computation.text());
    }
    build.bytes(9, assignment.text());
    build.number(19, 1);  // use_shardy_partitioner
  }
  ProtoWriter all;
  all.bytes(3, build.text());
  if (devices.empty()) all.number(4, 1);  // compile_portable_executable
  return all.text();
}

PJRT_LoadedExecutable* compile_module(const Client& client, const std::string& module,
                                      const std::string& options) {
  static constexpr std::string_view kFormat = "mlir";
  PJRT_Program program{};
  program.struct_size = sizeof program;
  program.code = module.data();
  program.code_size = module.size();
  program.format = kFormat.data();
  program.format_size = kFormat.size();
  PJRT_Client_Compile_Args args{};
  args.client = client.get();
  args.program = &program;
  args.compile_options = options.data();
  args.compile_options_size = options.size();
  client.plugin().call(&PJRT_Api::PJRT_Client_Compile, args);
  return args.executable;
}

// Calls `f` with the description of a loaded executable.
template <class F>
void describe(const Client& client, PJRT_LoadedExecutable* executable, F&& f) {
  PJRT_LoadedExecutable_GetExecutable_Args get{};
  get.loaded_executable = executable;
  client.plugin().call(&PJRT_Api::PJRT_LoadedExecutable_GetExecutable, get);
  std::exception_ptr error;
  try {
    f(get.executable);
  } catch (const Failure&) {
    error = std::current_exception();
  }
  PJRT_Executable_Destroy_Args destroy{};
  destroy.executable = get.executable;
  client.plugin().call(&PJRT_Api::PJRT_Executable_Destroy, destroy);
  if (error) std::rethrow_exception(error);
}

// Compiled modules are cached on disk next to the kernels of the CPU. The key contains everything
// on which they depend.
std::string key_of(const Client& client, const std::string& options, const std::string& module) {
  return "pjrt\n" + client.plugin().identity() + "\n" + client.platform_name() + "\n" +
         client.platform_version() + "\n" + client.kind_of(0) + "\n" + options + "\n" + module;
}

PJRT_LoadedExecutable* read_compiled(const Client& client, const std::string& id,
                                     const std::string& key) {
  if (!client.plugin().has(&PJRT_Api::PJRT_Executable_DeserializeAndLoad)) return nullptr;
  const std::optional<std::string> bytes = codegen::read_cached(id, key);
  if (!bytes) return nullptr;
  PJRT_Executable_DeserializeAndLoad_Args args{};
  args.client = client.get();
  args.serialized_executable = bytes->data();
  args.serialized_executable_size = bytes->size();
  try {
    client.plugin().call(&PJRT_Api::PJRT_Executable_DeserializeAndLoad, args);
    return args.loaded_executable;
  } catch (const Failure&) {
    return nullptr;  // it is compiled again
  }
}

void write_compiled(const Client& client, PJRT_LoadedExecutable* executable, const std::string& id,
                    const std::string& key) {
  if (codegen::cache_directory().empty()) return;
  try {
    describe(client, executable, [&](PJRT_Executable* described) {
      PJRT_Executable_Serialize_Args args{};
      args.executable = described;
      client.plugin().call(&PJRT_Api::PJRT_Executable_Serialize, args);
      codegen::write_cached(id, key,
                            std::string(args.serialized_bytes, args.serialized_bytes_size));
      args.serialized_executable_deleter(args.serialized_executable);
    });
  } catch (const Failure&) {
    // A plug-in need not be able to serialise executables.
  }
}

}  // namespace

Loaded::Loaded(const Client& client, PJRT_LoadedExecutable* executable)
    : client_(client), executable_(executable) {
  try {
    describe(client_, executable_, [&](PJRT_Executable* described) {
      PJRT_Executable_GetCompiledMemoryStats_Args stats{};
      stats.executable = described;
      client_.plugin().call(&PJRT_Api::PJRT_Executable_GetCompiledMemoryStats, stats);
      memory_ = {stats.argument_size_in_bytes, stats.output_size_in_bytes,
                 stats.temp_size_in_bytes};
      reused_ = stats.alias_size_in_bytes;
    });
  } catch (const Failure&) {
    // A plug-in need not have memory statistics.
  }
}

Loaded::~Loaded() {
  try {
    PJRT_LoadedExecutable_Destroy_Args args{};
    args.executable = executable_;
    client_.plugin().call(&PJRT_Api::PJRT_LoadedExecutable_Destroy, args);
  } catch (const Failure&) {
    // A destructor cannot report it.
  }
}

FarPart compile_part(const Part& part, const std::vector<bool>& donated, runtime::Backend& backend,
                     const Client& client, const stablehlo::Target& target, std::string_view name,
                     const std::vector<std::pair<MeshRef, MeshRef>>& before) {
  const Program& p = *part.program;
  FarPart out;
  out.donated = donated;
  out.types = p.output_types();
  stablehlo::Exported exported;
  exported.name = "tessera";
  exported.precision = precision_text();
  exported.separate_collectives = true;
  // XLA supports collective_broadcast only on GPUs.
  exported.gathered_broadcasts =
      client.platform_name() != "cuda" && client.platform_name() != "rocm";
  exported.donated = donated;
  const std::vector<MeshRef> meshes = meshes_of(p);
  std::vector<std::int64_t> assigned;
  if (!meshes.empty()) {
    out.devices = shared_devices(meshes, backend.device_count(), name);
    out.home = runtime::intern(runtime::on_device(out.devices[0], false, &backend));
    for (const int d : out.devices) assigned.push_back(client.id_of(d));
    const stablehlo::Constraints said = said_of_values(p);
    // Values without a stated sharding are replicated.
    const Constraint whole{meshes[0], Spec(), {}};
    for (const Var v : p.inputs) {
      const Constraint c = said[v].value_or(whole);
      exported.input_shardings.push_back(c);
      out.inputs.push_back(runtime::intern({with_devices(c.mesh), c.spec, true, &backend}));
    }
    for (const Var v : p.outputs) {
      exported.output_shardings.push_back(said[v].value_or(whole));
      MeshRef mesh = said[v] ? said[v]->mesh : meshes[0];
      for (const auto& [wider, own] : before)
        if (mesh == wider) mesh = own;
      out.outputs.push_back(
          said[v] ? runtime::intern({with_devices(mesh), said[v]->spec, true, &backend}) : nullptr);
    }
    exported.shardings = true;
    exported.partition_devices = out.devices;
  }
  for (std::size_t i = 0; i < p.inputs.size(); ++i)
    exported.inputs.push_back("arg" + std::to_string(i));
  out.module = stablehlo::emit_module(p, exported, target);

  const std::string options = compile_options(assigned);
  const std::string key = key_of(client, options, out.module), id = codegen::cache_id(key);
  PJRT_LoadedExecutable* executable = read_compiled(client, id, key);
  const bool is_new = !executable;
  try {
    if (is_new) executable = compile_module(client, out.module, options);
  } catch (const Failure& failure) {
    std::rethrow_exception(client.device_error(std::string(name), failure, "the program"));
  }
  out.loaded = std::make_shared<const Loaded>(client, executable);
  if (is_new) write_compiled(client, executable, id, key);
  return out;
}

}  // namespace tessera::inline v0::platforms
