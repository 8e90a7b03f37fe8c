// Clients, devices, memories and topologies.
#include "caller.h"

#include <cstdlib>
#include <set>

using namespace caller;

namespace {

template <class Args>
std::string text(PJRT_Error* (*const PJRT_Api::*function)(Args*), auto field, auto* object,
                 const char* Args::*data, std::size_t Args::*size) {
  const Args args = ask(function, field, object);
  return {args.*data, args.*size};
}

PJRT_DeviceDescription* description_of(PJRT_Device* device) {
  return ask(&PJRT_Api::PJRT_Device_GetDescription, &PJRT_Device_GetDescription_Args::device,
             device)
      .device_description;
}

TEST(Plugin, SaysWhichVersionsOfStableHloItReads) {
  auto initialize = empty<PJRT_Plugin_Initialize_Args>();
  call(&PJRT_Api::PJRT_Plugin_Initialize, initialize);
  auto args = empty<PJRT_Plugin_Attributes_Args>();
  call(&PJRT_Api::PJRT_Plugin_Attributes, args);
  Texts shown;
  for (const PJRT_NamedValue& v : std::span(args.attributes, args.num_attributes)) {
    std::string line(v.name, v.name_size);
    if (v.type == PJRT_NamedValue_kInt64) line += " " + std::to_string(v.int64_value);
    if (v.type == PJRT_NamedValue_kInt64List)
      for (std::size_t i = 0; i < v.value_size; ++i)
        line += " " + std::to_string(v.int64_array_value[i]);
    shown.push_back(line);
  }
  EXPECT_EQ(shown, (Texts{"xla_version 2", "stablehlo_current_version 1 22 0",
                          "stablehlo_minimum_version 0 9 0"}));
}

TEST(Clients, HaveTheDevicesThatAreAskedFor) {
  for (const int n : {1, 3, 8}) {
    const Client client = make_client(n);
    EXPECT_EQ(devices_of(client).size(), static_cast<std::size_t>(n));
    const auto addressable = ask(&PJRT_Api::PJRT_Client_AddressableDevices,
                                 &PJRT_Client_AddressableDevices_Args::client, client.get());
    EXPECT_EQ(addressable.num_addressable_devices, static_cast<std::size_t>(n));
    for (int i = 0; i < n; ++i) {
      PJRT_Device* const d = device_of(client, static_cast<std::size_t>(i));
      EXPECT_EQ(addressable.addressable_devices[i], d);
      auto lookup = empty<PJRT_Client_LookupDevice_Args>();
      lookup.client = client.get();
      lookup.id = i;
      call(&PJRT_Api::PJRT_Client_LookupDevice, lookup);
      EXPECT_EQ(lookup.device, d);
      auto local = empty<PJRT_Client_LookupAddressableDevice_Args>();
      local.client = client.get();
      local.local_hardware_id = i;
      call(&PJRT_Api::PJRT_Client_LookupAddressableDevice, local);
      EXPECT_EQ(local.addressable_device, d);
    }
  }
  // As text too, which is how environment variables arrive.
  EXPECT_EQ(devices_of(make_client({named("device_count", "5")})).size(), 5u);
  // Those of jax.distributed are known and have no effect.
  EXPECT_EQ(devices_of(make_client({named("device_count", 2), named("node_id", std::int64_t{0}),
                                    named("num_nodes", std::int64_t{1})}))
                .size(),
            2u);
}

TEST(Clients, RefuseOtherOptions) {
  const auto refused = [](const PJRT_NamedValue& option) {
    return failure([&] { make_client({option}); });
  };
  EXPECT_EQ(refused(named("device_count", std::int64_t{0})),
            "3: the option device_count is 0, and a client has 1 to 4096 devices");
  EXPECT_EQ(refused(named("device_count", std::int64_t{4097})),
            "3: the option device_count is 4097, and a client has 1 to 4096 devices");
  EXPECT_EQ(refused(named("device_count", "8x")),
            "3: the option device_count is '8x', and a client has 1 to 4096 devices");
  PJRT_NamedValue flag = named("device_count", std::int64_t{0});
  flag.type = PJRT_NamedValue_kBool;
  flag.bool_value = true;
  EXPECT_EQ(refused(flag),
            "3: the option device_count is of another type, and a client has 1 to 4096 devices");
  EXPECT_EQ(refused(named("devices", std::int64_t{2})),
            "3: the client has no option 'devices'; it has device_count (a number) and explain (a "
            "folder)");
}

TEST(Clients, SayWhatTheyAre) {
  const Client client = make_client(2);
  PJRT_Client* const c = client.get();
  EXPECT_EQ(text(&PJRT_Api::PJRT_Client_PlatformName, &PJRT_Client_PlatformName_Args::client, c,
                 &PJRT_Client_PlatformName_Args::platform_name,
                 &PJRT_Client_PlatformName_Args::platform_name_size),
            "cpu");
  EXPECT_EQ(text(&PJRT_Api::PJRT_Client_PlatformVersion, &PJRT_Client_PlatformVersion_Args::client,
                 c, &PJRT_Client_PlatformVersion_Args::platform_version,
                 &PJRT_Client_PlatformVersion_Args::platform_version_size)
                .substr(0, 8),
            "tessera ");
  EXPECT_EQ(ask(&PJRT_Api::PJRT_Client_ProcessIndex, &PJRT_Client_ProcessIndex_Args::client, c)
                .process_index,
            0);
  auto info = empty<PJRT_Client_UpdateGlobalProcessInfo_Args>();
  info.client = c;
  call(&PJRT_Api::PJRT_Client_UpdateGlobalProcessInfo, info);
}

TEST(Clients, RefuseDevicesThatAreNotThere) {
  const Client client = make_client(2);
  for (const int id : {-1, 2}) {
    auto args = empty<PJRT_Client_LookupDevice_Args>();
    args.client = client.get();
    args.id = id;
    EXPECT_EQ(failure([&] { call(&PJRT_Api::PJRT_Client_LookupDevice, args); }),
              "3: there is no device " + std::to_string(id) + "; devices are 0 to 1");
  }
}

TEST(Clients, AssignDevicesInTheirOrder) {
  const Client client = make_client(4);
  const auto assigned = [&](int replicas, int partitions, std::size_t room = 8) {
    std::vector<int> ids(room, -1);
    auto args = empty<PJRT_Client_DefaultDeviceAssignment_Args>();
    args.client = client.get();
    args.num_replicas = replicas;
    args.num_partitions = partitions;
    args.default_assignment = ids.data();
    args.default_assignment_size = room;
    call(&PJRT_Api::PJRT_Client_DefaultDeviceAssignment, args);
    return ids;
  };
  EXPECT_EQ(assigned(2, 2), (std::vector<int>{0, 1, 2, 3, -1, -1, -1, -1}));
  EXPECT_EQ(assigned(1, 3), (std::vector<int>{0, 1, 2, -1, -1, -1, -1, -1}));
  EXPECT_EQ(failure([&] { assigned(1, 8); }),
            "3: 1 replicas of 8 partitions need 8 devices, and the client has 4");
  EXPECT_EQ(failure([&] { assigned(65536, 65536); }),
            "3: 65536 replicas of 65536 partitions need 4294967296 devices, and the client has 4");
  EXPECT_EQ(failure([&] { assigned(2, 2, 3); }), "3: the list for the assignment is too short");
}

TEST(Devices, DescribeThemselves) {
  const Client client = make_client(3);
  for (int i = 0; i < 3; ++i) {
    PJRT_Device* const device = device_of(client, static_cast<std::size_t>(i));
    PJRT_DeviceDescription* const d = description_of(device);
    EXPECT_EQ(ask(&PJRT_Api::PJRT_DeviceDescription_Id,
                  &PJRT_DeviceDescription_Id_Args::device_description, d)
                  .id,
              i);
    EXPECT_EQ(ask(&PJRT_Api::PJRT_DeviceDescription_ProcessIndex,
                  &PJRT_DeviceDescription_ProcessIndex_Args::device_description, d)
                  .process_index,
              0);
    EXPECT_EQ(text(&PJRT_Api::PJRT_DeviceDescription_Kind,
                   &PJRT_DeviceDescription_Kind_Args::device_description, d,
                   &PJRT_DeviceDescription_Kind_Args::device_kind,
                   &PJRT_DeviceDescription_Kind_Args::device_kind_size),
              "cpu");
    EXPECT_EQ(text(&PJRT_Api::PJRT_DeviceDescription_ToString,
                   &PJRT_DeviceDescription_ToString_Args::device_description, d,
                   &PJRT_DeviceDescription_ToString_Args::to_string,
                   &PJRT_DeviceDescription_ToString_Args::to_string_size),
              "TesseraDevice(id=" + std::to_string(i) + ")");
    EXPECT_EQ(text(&PJRT_Api::PJRT_DeviceDescription_DebugString,
                   &PJRT_DeviceDescription_DebugString_Args::device_description, d,
                   &PJRT_DeviceDescription_DebugString_Args::debug_string,
                   &PJRT_DeviceDescription_DebugString_Args::debug_string_size),
              "TESSERA_CPU_" + std::to_string(i));
    EXPECT_EQ(ask(&PJRT_Api::PJRT_DeviceDescription_Attributes,
                  &PJRT_DeviceDescription_Attributes_Args::device_description, d)
                  .num_attributes,
              0u);
    EXPECT_TRUE(
        ask(&PJRT_Api::PJRT_Device_IsAddressable, &PJRT_Device_IsAddressable_Args::device, device)
            .is_addressable);
    EXPECT_EQ(ask(&PJRT_Api::PJRT_Device_LocalHardwareId, &PJRT_Device_LocalHardwareId_Args::device,
                  device)
                  .local_hardware_id,
              i);
    const auto attributes =
        ask(&PJRT_Api::PJRT_Device_GetAttributes, &PJRT_Device_GetAttributes_Args::device, device);
    EXPECT_EQ(attributes.num_attributes, 0u);
    attributes.attributes_deleter(attributes.device_attributes);
  }
}

TEST(Memories, AreThreeOfEachDevice) {
  const Client client = make_client(2);
  const auto all = ask(&PJRT_Api::PJRT_Client_AddressableMemories,
                       &PJRT_Client_AddressableMemories_Args::client, client.get());
  EXPECT_EQ(all.num_addressable_memories, 6u);
  std::set<int> ids;
  for (PJRT_Device* const device : devices_of(client)) {
    Texts kinds;
    std::vector<int> kind_ids;
    for (PJRT_Memory* const m : memories_of(device)) {
      kinds.push_back(kind_of(m));
      kind_ids.push_back(
          ask(&PJRT_Api::PJRT_Memory_Kind_Id, &PJRT_Memory_Kind_Id_Args::memory, m).kind_id);
      ids.insert(ask(&PJRT_Api::PJRT_Memory_Id, &PJRT_Memory_Id_Args::memory, m).id);
      const auto devices = ask(&PJRT_Api::PJRT_Memory_AddressableByDevices,
                               &PJRT_Memory_AddressableByDevices_Args::memory, m);
      EXPECT_EQ(devices.num_devices, 1u);
      EXPECT_EQ(devices.devices[0], device);
      EXPECT_EQ(
          text(&PJRT_Api::PJRT_Memory_ToString, &PJRT_Memory_ToString_Args::memory, m,
               &PJRT_Memory_ToString_Args::to_string, &PJRT_Memory_ToString_Args::to_string_size),
          kind_of(m) +
              " memory of TesseraDevice(id=" + (device == device_of(client, 0) ? "0)" : "1)"));
      EXPECT_NE(text(&PJRT_Api::PJRT_Memory_DebugString, &PJRT_Memory_DebugString_Args::memory, m,
                     &PJRT_Memory_DebugString_Args::debug_string,
                     &PJRT_Memory_DebugString_Args::debug_string_size),
                "");
    }
    EXPECT_EQ(kinds, (Texts{"device", "pinned_host", "unpinned_host"}));
    EXPECT_EQ(kind_ids, (std::vector<int>{0, 1, 2}));
    EXPECT_EQ(
        ask(&PJRT_Api::PJRT_Device_DefaultMemory, &PJRT_Device_DefaultMemory_Args::device, device)
            .memory,
        memories_of(device)[0]);
  }
  EXPECT_EQ(ids, (std::set<int>{0, 1, 2, 3, 4, 5}));
}

TEST(Memories, AreDescribedByTheExtension) {
  const Client client = make_client();
  const PJRT_MemoryDescriptions_Extension* extension = nullptr;
  for (const PJRT_Extension_Base* e = api().extension_start; e; e = e->next)
    if (e->type == PJRT_Extension_Type_MemoryDescriptions)
      extension = reinterpret_cast<const PJRT_MemoryDescriptions_Extension*>(e);
  ASSERT_NE(extension, nullptr);
  auto args = empty<PJRT_DeviceDescription_MemoryDescriptions_Args>();
  args.device_description = description_of(device_of(client));
  check(extension->PJRT_DeviceDescription_MemoryDescriptions(&args));
  EXPECT_EQ(args.default_memory_index, 0u);
  Texts kinds;
  for (const auto* m : std::span(args.memory_descriptions, args.num_memory_descriptions)) {
    auto kind = empty<PJRT_MemoryDescription_Kind_Args>();
    kind.memory_description = m;
    check(extension->PJRT_MemoryDescription_Kind(&kind));
    EXPECT_EQ(kind.kind_id, static_cast<int>(kinds.size()));
    kinds.emplace_back(kind.kind, kind.kind_size);
  }
  EXPECT_EQ(kinds, (Texts{"device", "pinned_host", "unpinned_host"}));
}

TEST(Memories, CountWhatBuffersHave) {
  const Client client = make_client(2);
  PJRT_Device* const one = device_of(client, 1);
  const std::int64_t before = live_bytes(one), other = live_bytes(device_of(client, 0));
  Buffer x = put(client, std::vector<float>(1000), {1000}, one);
  EXPECT_EQ(live_bytes(one) - before, 4000);
  EXPECT_EQ(live_bytes(device_of(client, 0)), other);
  const auto stats =
      ask(&PJRT_Api::PJRT_Device_MemoryStats, &PJRT_Device_MemoryStats_Args::device, one);
  EXPECT_TRUE(stats.peak_bytes_in_use_is_set);
  EXPECT_GE(stats.peak_bytes_in_use, before + 4000);
  EXPECT_TRUE(stats.bytes_limit_is_set);
  EXPECT_GT(stats.bytes_limit, 1 << 20);
  EXPECT_FALSE(stats.num_allocs_is_set);
  EXPECT_FALSE(stats.pool_bytes_is_set);
  x.reset();
  EXPECT_EQ(live_bytes(one), before);
}

// --- topologies

std::string name_of(PJRT_TopologyDescription* t) {
  return text(&PJRT_Api::PJRT_TopologyDescription_PlatformName,
              &PJRT_TopologyDescription_PlatformName_Args::topology, t,
              &PJRT_TopologyDescription_PlatformName_Args::platform_name,
              &PJRT_TopologyDescription_PlatformName_Args::platform_name_size);
}
std::size_t devices_in(PJRT_TopologyDescription* t) {
  return ask(&PJRT_Api::PJRT_TopologyDescription_GetDeviceDescriptions,
             &PJRT_TopologyDescription_GetDeviceDescriptions_Args::topology, t)
      .num_descriptions;
}
std::uint64_t fingerprint_of(PJRT_TopologyDescription* t) {
  return ask(&PJRT_Api::PJRT_TopologyDescription_Fingerprint,
             &PJRT_TopologyDescription_Fingerprint_Args::topology, t)
      .fingerprint;
}
Owned<PJRT_TopologyDescription> topology_from(const std::string& bytes) {
  auto args = empty<PJRT_TopologyDescription_Deserialize_Args>();
  args.serialized_topology = bytes.data();
  args.serialized_topology_size = bytes.size();
  call(&PJRT_Api::PJRT_TopologyDescription_Deserialize, args);
  return Owned<PJRT_TopologyDescription>(args.topology);
}

TEST(Topologies, AreThoseOfTheirClients) {
  const Client client = make_client(4), same = make_client(4), other = make_client(2);
  const auto topology = [](const Client& c) {
    return ask(&PJRT_Api::PJRT_Client_TopologyDescription,
               &PJRT_Client_TopologyDescription_Args::client, c.get())
        .topology;
  };
  PJRT_TopologyDescription* const t = topology(client);
  EXPECT_EQ(t, topology(client));
  EXPECT_EQ(name_of(t), "cpu");
  EXPECT_EQ(text(&PJRT_Api::PJRT_TopologyDescription_PlatformVersion,
                 &PJRT_TopologyDescription_PlatformVersion_Args::topology, t,
                 &PJRT_TopologyDescription_PlatformVersion_Args::platform_version,
                 &PJRT_TopologyDescription_PlatformVersion_Args::platform_version_size)
                .substr(0, 8),
            "tessera ");
  EXPECT_EQ(devices_in(t), 4u);
  EXPECT_EQ(ask(&PJRT_Api::PJRT_TopologyDescription_Attributes,
                &PJRT_TopologyDescription_Attributes_Args::topology, t)
                .num_attributes,
            0u);
  EXPECT_EQ(fingerprint_of(t), fingerprint_of(topology(same)));
  EXPECT_NE(fingerprint_of(t), fingerprint_of(topology(other)));
}

TEST(Topologies, AreMadeWithoutAClientAndKept) {
  const std::vector options{named("device_count", 6)};
  auto create = empty<PJRT_TopologyDescription_Create_Args>();
  create.create_options = options.data();
  create.num_options = options.size();
  call(&PJRT_Api::PJRT_TopologyDescription_Create, create);
  const Owned<PJRT_TopologyDescription> made(create.topology);
  EXPECT_EQ(devices_in(made.get()), 6u);
  const auto bytes = ask(&PJRT_Api::PJRT_TopologyDescription_Serialize,
                         &PJRT_TopologyDescription_Serialize_Args::topology, made.get());
  const std::string kept(bytes.serialized_bytes, bytes.serialized_bytes_size);
  bytes.serialized_topology_deleter(bytes.serialized_topology);
  const auto again = topology_from(kept);
  EXPECT_EQ(devices_in(again.get()), 6u);
  EXPECT_EQ(fingerprint_of(again.get()), fingerprint_of(made.get()));
  const std::string refused = "3: these bytes are not a topology that this plug-in has written";
  for (const std::string& damaged :
       {std::string(), kept.substr(0, kept.size() - 1), kept + "x", kept + "00000000000000000000",
        std::string("tessera topology, devices: 0")})
    EXPECT_EQ(failure([&] { topology_from(damaged); }), refused) << damaged;
}

// Buffers and programs keep what they need of a client.
TEST(Clients, MayEndBeforeTheirBuffers) {
  Client client = make_client(2);
  const Buffer x = put(client, std::vector<float>{1, 2}, {2}, device_of(client, 1));
  const Loaded loaded = compile(client, module_of("%a: tensor<2xf32>", "tensor<2xf32>",
                                                  "    %0 = stablehlo.add %a, %a : tensor<2xf32>\n"
                                                  "    return %0 : tensor<2xf32>\n"));
  client.reset();
  EXPECT_EQ(get<float>(x), (std::vector<float>{1, 2}));
  EXPECT_EQ(get<float>(run(loaded, {x.get()})[0]), (std::vector<float>{2, 4}));
  EXPECT_EQ(text(&PJRT_Api::PJRT_DeviceDescription_ToString,
                 &PJRT_DeviceDescription_ToString_Args::device_description,
                 description_of(device_of(x)), &PJRT_DeviceDescription_ToString_Args::to_string,
                 &PJRT_DeviceDescription_ToString_Args::to_string_size),
            "TesseraDevice(id=1)");
}

}  // namespace
