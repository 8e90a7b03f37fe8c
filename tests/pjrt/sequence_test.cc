// The calls that JAX makes, in its order: its start, a compilation, a call and the reading of a
// result.
#include "caller.h"

#include <cstring>

using namespace caller;

namespace {

using Floats = std::vector<float>;

template <class Extension>
const Extension& extension(std::uint32_t type) {
  for (const PJRT_Extension_Base* e = api().extension_start; e; e = e->next)
    if (e->type == type) return *reinterpret_cast<const Extension*>(e);
  throw std::runtime_error("no extension " + std::to_string(type));
}

// What JAX keeps of a client after its start.
struct Started {
  Client client;
  std::vector<PJRT_Device*> devices;
  std::vector<PJRT_Memory*> default_memories;
};

Started start(int devices) {
  auto initialize = empty<PJRT_Plugin_Initialize_Args>();
  call(&PJRT_Api::PJRT_Plugin_Initialize, initialize);
  Started s{make_client(devices)};
  PJRT_Client* const client = s.client.get();
  PJRT_TopologyDescription* const topology =
      ask(&PJRT_Api::PJRT_Client_TopologyDescription, &PJRT_Client_TopologyDescription_Args::client,
          client)
          .topology;
  const auto of_topology = [&](auto function, auto field) {
    return ask(function, field, topology);
  };
  of_topology(&PJRT_Api::PJRT_TopologyDescription_PlatformVersion,
              &PJRT_TopologyDescription_PlatformVersion_Args::topology);
  of_topology(&PJRT_Api::PJRT_TopologyDescription_PlatformName,
              &PJRT_TopologyDescription_PlatformName_Args::topology);
  of_topology(&PJRT_Api::PJRT_TopologyDescription_Attributes,
              &PJRT_TopologyDescription_Attributes_Args::topology);
  ask(&PJRT_Api::PJRT_Client_PlatformVersion, &PJRT_Client_PlatformVersion_Args::client, client);
  ask(&PJRT_Api::PJRT_Client_PlatformName, &PJRT_Client_PlatformName_Args::client, client);
  for (PJRT_Device* const d : devices_of(s.client)) {
    PJRT_DeviceDescription* const description =
        ask(&PJRT_Api::PJRT_Device_GetDescription, &PJRT_Device_GetDescription_Args::device, d)
            .device_description;
    ask(&PJRT_Api::PJRT_DeviceDescription_Attributes,
        &PJRT_DeviceDescription_Attributes_Args::device_description, description);
    const auto attributes =
        ask(&PJRT_Api::PJRT_Device_GetAttributes, &PJRT_Device_GetAttributes_Args::device, d);
    attributes.attributes_deleter(attributes.device_attributes);
    s.devices.push_back(d);
  }
  ask(&PJRT_Api::PJRT_Client_AddressableDevices, &PJRT_Client_AddressableDevices_Args::client,
      client);
  ask(&PJRT_Api::PJRT_Client_AddressableMemories, &PJRT_Client_AddressableMemories_Args::client,
      client);
  for (PJRT_Device* const d : s.devices)
    for (PJRT_Memory* const m : memories_of(d))
      EXPECT_EQ(ask(&PJRT_Api::PJRT_Memory_AddressableByDevices,
                    &PJRT_Memory_AddressableByDevices_Args::memory, m)
                    .devices[0],
                d);
  auto attributes = empty<PJRT_Plugin_Attributes_Args>();
  call(&PJRT_Api::PJRT_Plugin_Attributes, attributes);
  for (PJRT_Device* const d : s.devices) {
    EXPECT_TRUE(
        ask(&PJRT_Api::PJRT_Device_IsAddressable, &PJRT_Device_IsAddressable_Args::device, d)
            .is_addressable);
    s.default_memories.push_back(
        ask(&PJRT_Api::PJRT_Device_DefaultMemory, &PJRT_Device_DefaultMemory_Args::device, d)
            .memory);
  }
  return s;
}

// A struct as JAX fills it: its size ends with the last field.
template <class Args, class Field>
Args sized_to(Field Args::*last) {
  Args args{};
  args.struct_size = static_cast<std::size_t>(reinterpret_cast<char*>(&(args.*last)) -
                                              reinterpret_cast<char*>(&args)) +
                     sizeof(Field);
  return args;
}

Buffer from_numpy(const Started& jax, const void* data, PJRT_Buffer_Type type, const Dims& dims,
                  std::size_t device, Event& done) {
  auto args = sized_to(&PJRT_Client_BufferFromHostBuffer_Args::buffer);
  args.client = jax.client.get();
  args.data = data;
  args.type = type;
  args.dims = dims.data();
  args.num_dims = dims.size();
  args.host_buffer_semantics = PJRT_HostBufferSemantics_kImmutableZeroCopy;
  args.memory = jax.default_memories.at(device);
  call(&PJRT_Api::PJRT_Client_BufferFromHostBuffer, args);
  done.reset(args.done_with_host_buffer);
  return Buffer(args.buffer);
}

Floats read(const Buffer& buffer) {
  EXPECT_EQ(element_of(buffer), PJRT_Buffer_Type_F32);
  std::size_t n = 1;
  for (const std::int64_t d : dims_of(buffer)) n *= static_cast<std::size_t>(d);
  EXPECT_TRUE(ask(&PJRT_Api::PJRT_Buffer_IsOnCpu, &PJRT_Buffer_IsOnCpu_Args::buffer, buffer.get())
                  .is_on_cpu);
  ask(&PJRT_Api::PJRT_Buffer_DynamicDimensionIndices,
      &PJRT_Buffer_DynamicDimensionIndices_Args::buffer, buffer.get());
  add_reference(buffer);
  const auto* const data = static_cast<const float*>(place_of(buffer));
  const Event ready = ready_event(buffer);
  if (!is_ready(ready)) wait(ready);
  EXPECT_EQ(api().PJRT_Event_Error != nullptr, true);
  ask(&PJRT_Api::PJRT_Event_Error, &PJRT_Event_Error_Args::event, ready.get());
  const Floats values(data, data + n);
  remove_reference(buffer);
  return values;
}

struct Completions {
  std::mutex mutex;
  int count = 0;
};

void play(int devices, const std::string& module, const std::string& options,
          const Floats& expected_of_each) {
  Started jax = start(devices);
  // A compilation.
  PJRT_TopologyDescription* const topology =
      ask(&PJRT_Api::PJRT_Client_TopologyDescription, &PJRT_Client_TopologyDescription_Args::client,
          jax.client.get())
          .topology;
  ask(&PJRT_Api::PJRT_TopologyDescription_Fingerprint,
      &PJRT_TopologyDescription_Fingerprint_Args::topology, topology);
  ask(&PJRT_Api::PJRT_Device_MemoryStats, &PJRT_Device_MemoryStats_Args::device, jax.devices[0]);
  const Loaded loaded = compile(jax.client, module, options);
  const Executable executable = executable_of(loaded);
  const auto on = ask(&PJRT_Api::PJRT_LoadedExecutable_AddressableDevices,
                      &PJRT_LoadedExecutable_AddressableDevices_Args::executable, loaded.get());
  EXPECT_EQ(std::vector<PJRT_Device*>(on.addressable_devices,
                                      on.addressable_devices + on.num_addressable_devices),
            jax.devices);
  const auto ids =
      ask(&PJRT_Api::PJRT_LoadedExecutable_AddressableDeviceLogicalIds,
          &PJRT_LoadedExecutable_AddressableDeviceLogicalIds_Args::executable, loaded.get());
  ASSERT_EQ(ids.num_addressable_device_logical_ids, static_cast<std::size_t>(devices));
  for (int d = 0; d < devices; ++d) {
    EXPECT_EQ(ids.addressable_device_logical_ids[d].replica, 0);
    EXPECT_EQ(ids.addressable_device_logical_ids[d].partition, d);
  }
  const auto assigned =
      ask(&PJRT_Api::PJRT_LoadedExecutable_GetDeviceAssignment,
          &PJRT_LoadedExecutable_GetDeviceAssignment_Args::executable, loaded.get());
  std::vector<std::int64_t> all;
  for (int d = 0; d < devices; ++d) all.push_back(d);
  EXPECT_EQ(std::string(assigned.serialized_bytes, assigned.serialized_bytes_size),
            assignment(1, devices, all));
  assigned.serialized_device_assignment_deleter(assigned.serialized_device_assignment);
  const auto kinds = ask(&PJRT_Api::PJRT_Executable_OutputMemoryKinds,
                         &PJRT_Executable_OutputMemoryKinds_Args::executable, executable.get());
  EXPECT_EQ(kinds.num_outputs, 1u);
  const auto& shardings = extension<PJRT_Shardings_Extension>(PJRT_Extension_Type_Shardings);
  auto given = empty<PJRT_Shardings_PJRT_Executable_OutputShardings_Args>();
  given.executable = executable.get();
  check(shardings.PJRT_Shardings_PJRT_Executable_OutputShardings(&given));
  EXPECT_EQ(given.shardings == nullptr, devices == 1);
  const auto& layouts = extension<PJRT_Layouts_Extension>(PJRT_Extension_Type_Layouts);
  auto of_outputs = empty<PJRT_Layouts_PJRT_Executable_GetOutputLayouts_Args>();
  of_outputs.executable = executable.get();
  check(layouts.PJRT_Layouts_PJRT_Executable_GetOutputLayouts(&of_outputs));
  EXPECT_EQ(of_outputs.num_outputs, 1u);
  EXPECT_EQ(ask(&PJRT_Api::PJRT_Executable_NumPartitions,
                &PJRT_Executable_NumPartitions_Args::executable, executable.get())
                .num_partitions,
            static_cast<std::size_t>(devices));

  // A call. The arguments are NumPy's, aligned to 16 bytes, and an array of JAX's.
  alignas(64) static const float numbers[8] = {0, 1, 2, 3, 4, 5, 6, 7};
  std::vector<Buffers> arguments;
  std::vector<Event> done(static_cast<std::size_t>(devices) * 2);
  for (std::size_t d = 0; d < static_cast<std::size_t>(devices); ++d) {
    arguments.emplace_back();
    arguments.back().push_back(
        from_numpy(jax, numbers + 4, PJRT_Buffer_Type_F32, {4}, d, done[2 * d]));
    arguments.back().push_back(
        from_numpy(jax, numbers, PJRT_Buffer_Type_F32, {4}, d, done[2 * d + 1]));
    for (const Buffer& b : arguments.back()) EXPECT_FALSE(is_deleted(b));
  }
  auto context = empty<PJRT_ExecuteContext_Create_Args>();
  call(&PJRT_Api::PJRT_ExecuteContext_Create, context);
  const std::size_t outputs = ask(&PJRT_Api::PJRT_Executable_NumOutputs,
                                  &PJRT_Executable_NumOutputs_Args::executable, executable.get())
                                  .num_outputs;
  auto how = empty<PJRT_ExecuteOptions>();
  how.launch_id = 1;
  how.context = context.context;
  how.call_location = "sequence_test.cc:1";
  std::vector<Arguments> lists;
  for (const Buffers& b : arguments) lists.push_back(pointers(b));
  std::vector<PJRT_Buffer* const*> list_pointers;
  for (const Arguments& l : lists) list_pointers.push_back(l.data());
  std::vector<std::vector<PJRT_Buffer*>> made(lists.size(), std::vector<PJRT_Buffer*>(outputs));
  std::vector<PJRT_Buffer**> made_pointers;
  for (auto& m : made) made_pointers.push_back(m.data());
  std::vector<PJRT_Event*> complete(lists.size());
  auto execute = sized_to(&PJRT_LoadedExecutable_Execute_Args::execute_device);
  execute.executable = loaded.get();
  execute.options = &how;
  execute.argument_lists = list_pointers.data();
  execute.num_devices = lists.size();
  execute.num_args = 2;
  execute.output_lists = made_pointers.data();
  execute.device_complete_events = complete.data();
  call(&PJRT_Api::PJRT_LoadedExecutable_Execute, execute);
  Completions completions;
  for (PJRT_Event* const e : complete) {
    auto ready = empty<PJRT_Event_OnReady_Args>();
    ready.event = e;
    ready.user_arg = &completions;
    ready.callback = [](PJRT_Error* error, void* user) {
      EXPECT_EQ(error, nullptr);
      auto& c = *static_cast<Completions*>(user);
      const std::lock_guard lock(c.mutex);
      ++c.count;
    };
    call(&PJRT_Api::PJRT_Event_OnReady, ready);
    Destroy()(e);
  }
  Destroy()(context.context);

  for (std::size_t d = 0; d < made.size(); ++d) {
    const Buffer result(made[d][0]);
    EXPECT_EQ(device_of(result), jax.devices[d]);
    EXPECT_EQ(memory_of(result), jax.default_memories[d]);
    EXPECT_EQ(kind_of(memory_of(result)), "device");
    EXPECT_EQ(read(result), expected_of_each);
  }
  const std::lock_guard lock(completions.mutex);
  EXPECT_EQ(completions.count, devices);
}

TEST(Sequence, OfOneDevice) {
  play(1,
       module_of("%a: tensor<4xf32> {mhlo.layout_mode = \"default\"}, %b: tensor<4xf32>",
                 "tensor<4xf32> {jax.result_info = \"result\"}",
                 "    %0 = stablehlo.multiply %a, %b : tensor<4xf32>\n"
                 "    %1 = stablehlo.add %0, %a : tensor<4xf32>\n"
                 "    return %1 : tensor<4xf32>\n",
                 "jit_f"),
       options_for(1, 1, {0}), {4, 10, 18, 28});
}

TEST(Sequence, OfFourDevices) {
  play(4,
       module_of("%a: tensor<16xf32> {sdy.sharding = #sdy.sharding<@mesh, [{\"x\"}]>}, "
                 "%b: tensor<16xf32> {sdy.sharding = #sdy.sharding<@mesh, [{\"x\"}]>}",
                 "tensor<16xf32> {sdy.sharding = #sdy.sharding<@mesh, [{\"x\"}]>}",
                 "    %0 = stablehlo.multiply %a, %b : tensor<16xf32>\n"
                 "    %1 = stablehlo.add %0, %a : tensor<16xf32>\n"
                 "    return %1 : tensor<16xf32>\n",
                 "jit_f", "  sdy.mesh @mesh = <[\"x\"=4]>\n"),
       options_for(1, 4, {0, 1, 2, 3}), {4, 10, 18, 28});
}

}  // namespace
