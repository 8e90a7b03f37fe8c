// The table of functions: its version and sizes, and what the functions say that do nothing.
#include "caller.h"

#include <algorithm>
#include <cstring>
#include <map>

using namespace caller;

namespace {

// The functions of the table as words.
std::span<const std::uintptr_t> slots() {
  const auto* begin = reinterpret_cast<const std::uintptr_t*>(&api().PJRT_Error_Destroy);
  const auto* end = reinterpret_cast<const std::uintptr_t*>(reinterpret_cast<const char*>(&api()) +
                                                            api().struct_size);
  return {begin, end};
}

template <class Args>
std::string answer(PJRT_Error* (*const PJRT_Api::*function)(Args*)) {
  auto args = empty<Args>();
  return failure([&] { call(function, args); });
}

TEST(Table, HasTheVersionThatItAnnounces) {
  EXPECT_EQ(api().struct_size, 1120u);
  EXPECT_EQ(api().struct_size, sizeof(PJRT_Api));
  EXPECT_EQ(api().pjrt_api_version.struct_size, 24u);
  EXPECT_EQ(api().pjrt_api_version.major_version, 0);
  EXPECT_EQ(api().pjrt_api_version.minor_version, 104);
  EXPECT_EQ(symbol<const PJRT_Api*()>("GetPjrtApi")(), &api());
}

TEST(Table, HasAFunctionInEverySlot) {
  EXPECT_EQ(slots().size(), 135u);
  for (std::size_t i = 0; i < slots().size(); ++i) EXPECT_NE(slots()[i], 0u) << "slot " << i;
}

TEST(Table, ListsItsExtensions) {
  std::map<std::uint32_t, std::size_t> sizes;
  for (const PJRT_Extension_Base* e = api().extension_start; e; e = e->next)
    EXPECT_TRUE(sizes.emplace(e->type, e->struct_size).second) << "twice: " << e->type;
  const std::map<std::uint32_t, std::size_t> expected{
      {PJRT_Extension_Type_Profiler, 40},
      {PJRT_Extension_Type_Layouts, sizeof(PJRT_Layouts_Extension)},
      {PJRT_Extension_Type_MemoryDescriptions, sizeof(PJRT_MemoryDescriptions_Extension)},
      {PJRT_Extension_Type_Shardings, sizeof(PJRT_Shardings_Extension)}};
  EXPECT_EQ(sizes, expected);
}

// All of them, so that a new one is noticed.
TEST(Table, SaysWhatIsUnimplemented) {
  const std::string text =
      "12: Tessera's plug-in does not have this function, because nothing needs it where devices "
      "share the memory of the host; report the program that calls it";
  const Texts answers{answer(&PJRT_Api::PJRT_CopyToDeviceStream_Destroy),
                      answer(&PJRT_Api::PJRT_CopyToDeviceStream_AddChunk),
                      answer(&PJRT_Api::PJRT_CopyToDeviceStream_TotalBytes),
                      answer(&PJRT_Api::PJRT_CopyToDeviceStream_GranuleSize),
                      answer(&PJRT_Api::PJRT_CopyToDeviceStream_CurrentBytes),
                      answer(&PJRT_Api::PJRT_AsyncHostToDeviceTransferManager_Destroy),
                      answer(&PJRT_Api::PJRT_AsyncHostToDeviceTransferManager_TransferData),
                      answer(&PJRT_Api::PJRT_Client_CreateBuffersForAsyncHostToDevice),
                      answer(&PJRT_Api::PJRT_AsyncHostToDeviceTransferManager_RetrieveBuffer),
                      answer(&PJRT_Api::PJRT_AsyncHostToDeviceTransferManager_Device),
                      answer(&PJRT_Api::PJRT_AsyncHostToDeviceTransferManager_BufferCount),
                      answer(&PJRT_Api::PJRT_AsyncHostToDeviceTransferManager_BufferSize),
                      answer(&PJRT_Api::PJRT_AsyncHostToDeviceTransferManager_SetBufferError),
                      answer(&PJRT_Api::PJRT_AsyncHostToDeviceTransferManager_AddMetadata),
                      answer(&PJRT_Api::PJRT_AsyncHostToDeviceTransferManager_TransferLiteral),
                      answer(&PJRT_Api::PJRT_Client_DmaMap),
                      answer(&PJRT_Api::PJRT_Client_DmaUnmap),
                      answer(&PJRT_Api::PJRT_Client_CreateAliasBuffer),
                      answer(&PJRT_Api::PJRT_Client_FulfillAliasBuffer),
                      answer(&PJRT_Api::PJRT_Buffer_CopyRawToHostFuture),
                      answer(&PJRT_Api::PJRT_Device_PoisonExecution),
                      answer(&PJRT_Api::PJRT_Device_CreateAsyncTrackingEvent),
                      answer(&PJRT_Api::PJRT_AsyncTrackingEvent_Destroy),
                      answer(&PJRT_Api::PJRT_Buffer_DonateWithControlDependency)};
  for (std::size_t i = 0; i < answers.size(); ++i) EXPECT_EQ(answers[i], text) << i;
}

// The end of a struct whose last field is an int32 or a bool is not part of its size.
TEST(Table, TakesStructsWithoutTheirPadding) {
  const Client client = make_client(2);
  auto id = empty<PJRT_Client_LookupDevice_Args>();
  id.client = client.get();
  id.id = 1;
  call(&PJRT_Api::PJRT_Client_LookupDevice, id);
  EXPECT_EQ(id.device, device_of(client, 1));
  auto index = empty<PJRT_Client_ProcessIndex_Args>();
  index.struct_size = 28;
  index.client = client.get();
  index.process_index = -1;
  call(&PJRT_Api::PJRT_Client_ProcessIndex, index);
  EXPECT_EQ(index.process_index, 0);
  auto addressable = empty<PJRT_Device_IsAddressable_Args>();
  addressable.struct_size = 25;
  addressable.device = id.device;
  call(&PJRT_Api::PJRT_Device_IsAddressable, addressable);
  EXPECT_TRUE(addressable.is_addressable);
}

TEST(Table, RefusesStructsThatAreTooSmall) {
  const Client client = make_client();
  auto name = empty<PJRT_Client_PlatformName_Args>();
  name.struct_size = 24;
  name.client = client.get();
  EXPECT_EQ(failure([&] { call(&PJRT_Api::PJRT_Client_PlatformName, name); }),
            "3: a struct of arguments has 24 bytes, and this function uses 40; the caller speaks "
            "an earlier version of PJRT than 0.104");
  EXPECT_EQ(name.platform_name, nullptr);
  PJRT_Program program = program_of("");
  auto compiling = empty<PJRT_Client_Compile_Args>();
  compiling.struct_size = 0;
  compiling.client = client.get();
  compiling.program = &program;
  EXPECT_EQ(failure([&] { call(&PJRT_Api::PJRT_Client_Compile, compiling); }),
            "3: a struct of arguments has 0 bytes, and this function uses 56; the caller speaks an "
            "earlier version of PJRT than 0.104");
}

// Callers of earlier versions have shorter structs, behind which other memory begins.
template <class Args, class Field>
Args shortened(Field Args::*first_missing) {
  auto args = empty<Args>();
  auto* const begin = reinterpret_cast<unsigned char*>(&args);
  auto* const end = reinterpret_cast<unsigned char*>(&(args.*first_missing));
  args.struct_size = static_cast<std::size_t>(end - begin);
  std::memset(end, 0x5a, sizeof args - args.struct_size);
  return args;
}
template <class Args>
bool is_untouched(const Args& args) {
  const auto* const begin = reinterpret_cast<const unsigned char*>(&args);
  return std::all_of(begin + args.struct_size, begin + sizeof args,
                     [](unsigned char c) { return c == 0x5a; });
}

TEST(Table, ReadsAndWritesNoFieldThatTheCallerLacks) {
  auto create = shortened(&PJRT_Client_Create_Args::kv_try_get_callback);
  call(&PJRT_Api::PJRT_Client_Create, create);
  EXPECT_TRUE(is_untouched(create));
  const Client client(create.client);

  auto stats = shortened(&PJRT_Device_MemoryStats_Args::pool_bytes);
  stats.device = device_of(client);
  call(&PJRT_Api::PJRT_Device_MemoryStats, stats);
  EXPECT_TRUE(is_untouched(stats));

  alignas(64) float memory[4] = {1, 2, 3, 4};
  const Dims dims{4};
  auto view = shortened(&PJRT_Client_CreateViewOfDeviceBuffer_Args::memory);
  view.client = client.get();
  view.device_buffer_ptr = memory;
  view.dims = dims.data();
  view.num_dims = dims.size();
  view.element_type = PJRT_Buffer_Type_F32;
  view.device = device_of(client);
  call(&PJRT_Api::PJRT_Client_CreateViewOfDeviceBuffer, view);
  EXPECT_TRUE(is_untouched(view));
  const Buffer x(view.buffer);
  EXPECT_EQ(get<float>(x), (std::vector<float>{1, 2, 3, 4}));

  const Loaded loaded = compile(client, module_of("%a: tensor<4xf32>", "tensor<4xf32>",
                                                  "    %0 = stablehlo.add %a, %a : tensor<4xf32>\n"
                                                  "    return %0 : tensor<4xf32>\n"));
  const Executable executable = executable_of(loaded);
  auto memory_stats = shortened(&PJRT_Executable_GetCompiledMemoryStats_Args::peak_memory_in_bytes);
  memory_stats.executable = executable.get();
  call(&PJRT_Api::PJRT_Executable_GetCompiledMemoryStats, memory_stats);
  EXPECT_TRUE(is_untouched(memory_stats));
  EXPECT_EQ(memory_stats.argument_size_in_bytes, 16);

  auto options = shortened(&PJRT_ExecuteOptions::non_donatable_input_indices);
  PJRT_Buffer* const arguments[] = {x.get()};
  PJRT_Buffer* const* lists[] = {arguments};
  PJRT_Buffer* outputs[] = {nullptr};
  PJRT_Buffer** output_lists[] = {outputs};
  auto execute = shortened(&PJRT_LoadedExecutable_Execute_Args::execute_device);
  execute.executable = loaded.get();
  execute.options = &options;
  execute.argument_lists = lists;
  execute.num_devices = 1;
  execute.num_args = 1;
  execute.output_lists = output_lists;
  call(&PJRT_Api::PJRT_LoadedExecutable_Execute, execute);
  EXPECT_TRUE(is_untouched(execute));
  EXPECT_EQ(get<float>(Buffer(outputs[0])), (std::vector<float>{2, 4, 6, 8}));

  const auto bytes = ask(&PJRT_Api::PJRT_Executable_Serialize,
                         &PJRT_Executable_Serialize_Args::executable, executable.get());
  auto load =
      shortened(&PJRT_Executable_DeserializeAndLoad_Args::overridden_serialized_compile_options);
  load.client = client.get();
  load.serialized_executable = bytes.serialized_bytes;
  load.serialized_executable_size = bytes.serialized_bytes_size;
  call(&PJRT_Api::PJRT_Executable_DeserializeAndLoad, load);
  EXPECT_TRUE(is_untouched(load));
  bytes.serialized_executable_deleter(bytes.serialized_executable);
  const Loaded again(load.loaded_executable);
  EXPECT_EQ(get<float>(run(again, {x.get()})[0]), (std::vector<float>{2, 4, 6, 8}));
}

// Errors carry nothing but their code and text.
TEST(Table, GivesErrorsWithoutPayloads) {
  auto args = empty<PJRT_Client_Compile_Args>();
  args.struct_size = 0;
  PJRT_Error* const error = api().PJRT_Client_Compile(&args);
  ASSERT_NE(error, nullptr);
  auto each = empty<PJRT_Error_ForEachPayload_Args>();
  int visits = 0;
  each.error = error;
  each.user_arg = &visits;
  each.visitor = [](const char*, std::size_t, const char*, std::size_t, void* user) {
    ++*static_cast<int*>(user);
  };
  EXPECT_EQ(api().PJRT_Error_ForEachPayload(&each), nullptr);
  EXPECT_EQ(visits, 0);
  EXPECT_EQ(taken(error).code, 3u);
}

}  // namespace
