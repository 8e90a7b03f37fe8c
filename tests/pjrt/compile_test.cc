// What callers ask of compiled programs, and what is refused.
#include "caller.h"

#include <fstream>
#include <sstream>

using namespace caller;

namespace {

using Floats = std::vector<float>;

const std::string kDoubled = module_of("%a: tensor<4xf32>", "tensor<4xf32>",
                                       "    %0 = stablehlo.add %a, %a : tensor<4xf32>\n"
                                       "    return %0 : tensor<4xf32>\n",
                                       "jit_doubled");

std::string file(const std::string& path) {
  std::ifstream in(TESSERA_SOURCE_DIR "/" + path, std::ios::binary);
  std::stringstream text;
  text << in.rdbuf();
  EXPECT_GT(text.str().size(), 0u) << path;
  return text.str();
}

std::string name_of(const Loaded& loaded) {
  const Executable e = executable_of(loaded);
  const auto args =
      ask(&PJRT_Api::PJRT_Executable_Name, &PJRT_Executable_Name_Args::executable, e.get());
  return {args.executable_name, args.executable_name_size};
}
std::string fingerprint_of(const Executable& e) {
  const auto args = ask(&PJRT_Api::PJRT_Executable_Fingerprint,
                        &PJRT_Executable_Fingerprint_Args::executable, e.get());
  return {args.executable_fingerprint, args.executable_fingerprint_size};
}
std::string fingerprint_of(const Loaded& loaded) {
  const auto args = ask(&PJRT_Api::PJRT_LoadedExecutable_Fingerprint,
                        &PJRT_LoadedExecutable_Fingerprint_Args::executable, loaded.get());
  EXPECT_EQ(std::string(args.executable_fingerprint, args.executable_fingerprint_size),
            fingerprint_of(executable_of(loaded)));
  return {args.executable_fingerprint, args.executable_fingerprint_size};
}

TEST(Compiled, SaysWhatItIs) {
  const Client client = make_client();
  const Loaded loaded = compile(
      client,
      module_of("%a: tensor<4xf32>, %t: !stablehlo.token, %b: tensor<2x3xi8>",
                "tensor<2x3xi8>, !stablehlo.token, tensor<f32>, tensor<4xf32>",
                "    %0 = stablehlo.add %b, %b : tensor<2x3xi8>\n"
                "    %c = stablehlo.constant dense<2.0> : tensor<f32>\n"
                "    %1 = stablehlo.add %a, %a : tensor<4xf32>\n"
                "    return %0, %t, %c, %1 : tensor<2x3xi8>, !stablehlo.token, tensor<f32>, "
                "tensor<4xf32>\n",
                "jit_step"),
      options_for(1, 1, {0}));
  EXPECT_EQ(name_of(loaded), "jit_step");
  EXPECT_EQ(results_of(loaded), 4u);
  const Executable e = executable_of(loaded);
  EXPECT_EQ(ask(&PJRT_Api::PJRT_Executable_NumReplicas,
                &PJRT_Executable_NumReplicas_Args::executable, e.get())
                .num_replicas,
            1u);
  EXPECT_EQ(ask(&PJRT_Api::PJRT_Executable_NumPartitions,
                &PJRT_Executable_NumPartitions_Args::executable, e.get())
                .num_partitions,
            1u);
  const auto types = ask(&PJRT_Api::PJRT_Executable_OutputElementTypes,
                         &PJRT_Executable_OutputElementTypes_Args::executable, e.get());
  EXPECT_EQ(
      std::vector<std::uint32_t>(types.output_types, types.output_types + types.num_output_types),
      (std::vector<std::uint32_t>{PJRT_Buffer_Type_S8, PJRT_Buffer_Type_TOKEN, PJRT_Buffer_Type_F32,
                                  PJRT_Buffer_Type_F32}));
  const auto dims = ask(&PJRT_Api::PJRT_Executable_OutputDimensions,
                        &PJRT_Executable_OutputDimensions_Args::executable, e.get());
  EXPECT_EQ(dims.num_outputs, 4u);
  EXPECT_EQ(std::vector<std::size_t>(dims.dim_sizes, dims.dim_sizes + 4),
            (std::vector<std::size_t>{2, 1, 0, 1}));
  EXPECT_EQ(Dims(dims.dims, dims.dims + 4), (Dims{2, 3, 0, 4}));
  EXPECT_EQ(ask(&PJRT_Api::PJRT_Executable_SizeOfGeneratedCodeInBytes,
                &PJRT_Executable_SizeOfGeneratedCodeInBytes_Args::executable, e.get())
                .size_in_bytes,
            0);
}

TEST(Compiled, NamesItsDevices) {
  const Client client = make_client(4);
  const Loaded loaded = compile(client, kDoubled, options_for(1, 1, {2}));
  const auto devices =
      ask(&PJRT_Api::PJRT_LoadedExecutable_AddressableDevices,
          &PJRT_LoadedExecutable_AddressableDevices_Args::executable, loaded.get());
  ASSERT_EQ(devices.num_addressable_devices, 1u);
  EXPECT_EQ(devices.addressable_devices[0], device_of(client, 2));
  const auto assigned =
      ask(&PJRT_Api::PJRT_LoadedExecutable_GetDeviceAssignment,
          &PJRT_LoadedExecutable_GetDeviceAssignment_Args::executable, loaded.get());
  EXPECT_EQ(std::string(assigned.serialized_bytes, assigned.serialized_bytes_size),
            assignment(1, 1, {2}));
  assigned.serialized_device_assignment_deleter(assigned.serialized_device_assignment);
  const Buffer x = put(client, Floats{1, 2, 3, 4}, {4}, device_of(client, 2));
  const Buffers y = run(loaded, {x.get()});
  EXPECT_EQ(device_of(y[0]), device_of(client, 2));
}

// The caller chooses the device with each call.
TEST(Compiled, IsPortableIfTheOptionsSaySo) {
  const Client client = make_client(3);
  const Loaded loaded = compile(client, kDoubled, options_for(1, 1) + Proto().number(4, 1).text());
  for (PJRT_Device* const d : devices_of(client)) {
    const Buffer x = put(client, Floats{1, 2, 3, 4}, {4}, d);
    const Buffers y = run(loaded, {x.get()}, {.device = d});
    EXPECT_EQ(device_of(y[0]), d);
    EXPECT_EQ(get<float>(y[0]), (Floats{2, 4, 6, 8}));
  }
}

TEST(Compiled, IsReadFromBytecodeToo) {
  const Client client = make_client();
  const Loaded loaded = compile(client, file("tests/stablehlo/exported/dense.mlirbc"));
  EXPECT_EQ(name_of(loaded), "jit_dense");
  EXPECT_EQ(results_of(loaded), 3u);
  // The softmax of tanh(0), the sum of tanh(0), and its first largest element.
  const Buffer x = put(client, Floats(12), {4, 3}), w = put(client, Floats(15, 1), {3, 5});
  const Buffers r = run(loaded, {x.get(), w.get()});
  EXPECT_EQ(get<float>(r[0]), Floats(20, 0.2f));
  EXPECT_EQ(get<float>(r[1]), Floats(5, 0));
  EXPECT_EQ(get<std::int32_t>(r[2]), std::vector<std::int32_t>(4, 0));
}

TEST(Compiled, HasAFingerprintOfItsCodeAndOptions) {
  const Client client = make_client(2);
  const std::string one = fingerprint_of(compile(client, kDoubled));
  EXPECT_EQ(one.size(), 48u);
  EXPECT_EQ(fingerprint_of(compile(client, kDoubled)), one);
  EXPECT_EQ(fingerprint_of(compile(make_client(), kDoubled)), one);
  EXPECT_NE(fingerprint_of(compile(client, kDoubled, options_for(1, 1, {1}))), one);
  std::string other = kDoubled;
  other.replace(other.find("add"), 3, "multiply");
  EXPECT_NE(fingerprint_of(compile(client, other)), one);
}

TEST(Compiled, CountsItsWork) {
  const Client client = make_client();
  const Executable e = executable_of(compile(
      client, module_of("%a: tensor<8x16xf32>, %b: tensor<16x4xf32>", "tensor<8x4xf32>",
                        "    %0 = stablehlo.dot_general %a, %b, contracting_dims = [1] x [0] : "
                        "(tensor<8x16xf32>, tensor<16x4xf32>) -> tensor<8x4xf32>\n"
                        "    return %0 : tensor<8x4xf32>\n")));
  const auto costs = ask(&PJRT_Api::PJRT_Executable_GetCostAnalysis,
                         &PJRT_Executable_GetCostAnalysis_Args::executable, e.get());
  ASSERT_EQ(costs.num_properties, 2u);
  EXPECT_EQ(std::string(costs.properties[0].name, costs.properties[0].name_size), "flops");
  EXPECT_EQ(costs.properties[0].type, PJRT_NamedValue_kFloat);
  EXPECT_EQ(costs.properties[0].float_value, 2.0f * 8 * 16 * 4);
  EXPECT_EQ(std::string(costs.properties[1].name, costs.properties[1].name_size), "bytes accessed");
  EXPECT_EQ(costs.properties[1].float_value, 4.0f * (8 * 16 + 16 * 4 + 8 * 4));
}

TEST(Compiled, CountsItsMemory) {
  const Client client = make_client();
  const Executable e = executable_of(compile(
      client, module_of("%a: tensor<100xf32> {tf.aliasing_output = 0 : i32}, %b: tensor<10xf32>",
                        "tensor<100xf32>, tensor<10xf32>",
                        "    %0 = stablehlo.add %a, %a : tensor<100xf32>\n"
                        "    %1 = stablehlo.add %b, %b : tensor<10xf32>\n"
                        "    return %0, %1 : tensor<100xf32>, tensor<10xf32>\n")));
  const auto m = ask(&PJRT_Api::PJRT_Executable_GetCompiledMemoryStats,
                     &PJRT_Executable_GetCompiledMemoryStats_Args::executable, e.get());
  EXPECT_EQ(m.argument_size_in_bytes, 440);
  EXPECT_EQ(m.output_size_in_bytes, 440);
  EXPECT_EQ(m.alias_size_in_bytes, 400);
  EXPECT_GE(m.temp_size_in_bytes, 0);
  EXPECT_EQ(m.peak_memory_in_bytes, 480 + m.temp_size_in_bytes);
  EXPECT_EQ(m.total_size_in_bytes, 480 + m.temp_size_in_bytes);
  EXPECT_EQ(m.host_argument_size_in_bytes, 0);
}

// --- memories and layouts

Texts kinds(const char* const* data, const std::size_t* sizes, std::size_t n) {
  Texts out;
  for (std::size_t i = 0; i < n; ++i) out.emplace_back(data[i], sizes[i]);
  return out;
}

TEST(Compiled, SaysInWhichMemoriesItsArraysAre) {
  const Client client = make_client();
  const Loaded loaded = compile(
      client, module_of("%a: tensor<4xf32> {mhlo.memory_kind = \"pinned_host\"}, "
                        "%b: tensor<4xf32>",
                        "tensor<4xf32>, tensor<4xf32> {mhlo.memory_kind = \"unpinned_host\"}",
                        "    %0 = stablehlo.add %a, %b : tensor<4xf32>\n"
                        "    return %0, %0 : tensor<4xf32>, tensor<4xf32>\n"));
  const Executable e = executable_of(loaded);
  const auto results = ask(&PJRT_Api::PJRT_Executable_OutputMemoryKinds,
                           &PJRT_Executable_OutputMemoryKinds_Args::executable, e.get());
  EXPECT_EQ(kinds(results.memory_kinds, results.memory_kind_sizes, results.num_outputs),
            (Texts{"device", "unpinned_host"}));
  const auto parameters = ask(&PJRT_Api::PJRT_Executable_ParameterMemoryKinds,
                              &PJRT_Executable_ParameterMemoryKinds_Args::executable, e.get());
  EXPECT_EQ(kinds(parameters.memory_kinds, parameters.memory_kind_sizes, parameters.num_parameters),
            (Texts{"pinned_host", "device"}));
  const Buffer a = put(client, Floats{1, 2, 3, 4}, {4}), b = put(client, Floats(4, 1), {4});
  const Buffers r = run(loaded, {a.get(), b.get()});
  EXPECT_EQ(kind_of(memory_of(r[0])), "device");
  EXPECT_EQ(kind_of(memory_of(r[1])), "unpinned_host");
  EXPECT_EQ(get<float>(r[1]), (Floats{2, 3, 4, 5}));
  // The same value twice is two blocks.
  EXPECT_NE(place_of(r[0]), place_of(r[1]));
  EXPECT_EQ(failure([&] {
              compile(client, module_of("%a: tensor<f32> {mhlo.memory_kind = \"moon\"}",
                                        "tensor<f32>", "    return %a : tensor<f32>\n"));
            }),
            "3: a is in a memory of unknown kind, moon");
}

TEST(Compiled, KeepsLayoutsOfArgumentsAndResults) {
  const PJRT_Layouts_Extension* extension = nullptr;
  for (const PJRT_Extension_Base* x = api().extension_start; x; x = x->next)
    if (x->type == PJRT_Extension_Type_Layouts)
      extension = reinterpret_cast<const PJRT_Layouts_Extension*>(x);
  ASSERT_NE(extension, nullptr);
  const auto text = [&](PJRT_Layouts_MemoryLayout* layout) {
    auto args = empty<PJRT_Layouts_MemoryLayout_Serialize_Args>();
    args.layout = layout;
    check(extension->PJRT_Layouts_MemoryLayout_Serialize(&args));
    const std::string shown(args.serialized_bytes, args.serialized_bytes_size);
    args.serialized_layout_deleter(args.serialized_layout);
    return shown;
  };
  const Client client = make_client();
  const Loaded loaded = compile(
      client, module_of("%a: tensor<2x3xf32> {mhlo.layout_mode = \"{0,1}\"}, %b: tensor<2x3xf32>",
                        "tensor<2x3xf32> {mhlo.layout_mode = \"{0,1}\"}, tensor<2x3xf32>",
                        "    %0 = stablehlo.add %a, %b : tensor<2x3xf32>\n"
                        "    return %0, %0 : tensor<2x3xf32>, tensor<2x3xf32>\n"));
  const Executable e = executable_of(loaded);
  auto results = empty<PJRT_Layouts_PJRT_Executable_GetOutputLayouts_Args>();
  results.executable = e.get();
  check(extension->PJRT_Layouts_PJRT_Executable_GetOutputLayouts(&results));
  ASSERT_EQ(results.num_outputs, 2u);
  EXPECT_EQ(text(results.layouts[0]), "{0,1}");
  EXPECT_EQ(text(results.layouts[1]), "{1,0}");
  // The layouts of a program live as long as it, also if a caller destroys them.
  auto destroy = empty<PJRT_Layouts_MemoryLayout_Destroy_Args>();
  destroy.layout = results.layouts[0];
  check(extension->PJRT_Layouts_MemoryLayout_Destroy(&destroy));
  EXPECT_EQ(text(results.layouts[0]), "{0,1}");
  auto parameters = empty<PJRT_Layouts_PJRT_Executable_GetParameterLayouts_Args>();
  parameters.executable = e.get();
  check(extension->PJRT_Layouts_PJRT_Executable_GetParameterLayouts(&parameters));
  ASSERT_EQ(parameters.num_parameters, 2u);
  EXPECT_EQ(text(parameters.layouts[0]), "{0,1}");
  EXPECT_EQ(text(parameters.layouts[1]), "{1,0}");
  const Floats values{0, 1, 2, 3, 4, 5};
  const Buffer a = put(client, values, {2, 3}), b = put(client, Floats(6, 1), {2, 3});
  const Buffers r = run(loaded, {a.get(), b.get()});
  auto layout = empty<PJRT_Layouts_PJRT_Buffer_MemoryLayout_Args>();
  layout.buffer = r[0].get();
  check(extension->PJRT_Layouts_PJRT_Buffer_MemoryLayout(&layout));
  EXPECT_EQ(text(layout.layout), "{0,1}");
  destroy.layout = layout.layout;
  check(extension->PJRT_Layouts_MemoryLayout_Destroy(&destroy));
  EXPECT_EQ(get<float>(r[0]), (Floats{1, 2, 3, 4, 5, 6}));
}

// --- programs as bytes

std::string serialized(const Executable& e) {
  const auto args = ask(&PJRT_Api::PJRT_Executable_Serialize,
                        &PJRT_Executable_Serialize_Args::executable, e.get());
  std::string bytes(args.serialized_bytes, args.serialized_bytes_size);
  args.serialized_executable_deleter(args.serialized_executable);
  return bytes;
}
Loaded deserialized(const Client& client, const std::string& bytes,
                    const std::string* options = nullptr) {
  auto args = empty<PJRT_Executable_DeserializeAndLoad_Args>();
  args.client = client.get();
  args.serialized_executable = bytes.data();
  args.serialized_executable_size = bytes.size();
  if (options) {
    args.overridden_serialized_compile_options = options->data();
    args.overridden_serialized_compile_options_size = options->size();
  }
  call(&PJRT_Api::PJRT_Executable_DeserializeAndLoad, args);
  return Loaded(args.loaded_executable);
}

TEST(SerializedPrograms, RunAgain) {
  const Client client = make_client(3);
  const Loaded loaded = compile(client, kDoubled, options_for(1, 1, {1}));
  const std::string bytes = serialized(executable_of(loaded));
  const Buffer x = put(client, Floats{1, 2, 3, 4}, {4}, device_of(client, 1));
  const Loaded again = deserialized(client, bytes);
  EXPECT_EQ(fingerprint_of(again), fingerprint_of(loaded));
  Buffers y = run(again, {x.get()});
  EXPECT_EQ(get<float>(y[0]), (Floats{2, 4, 6, 8}));
  EXPECT_EQ(device_of(y[0]), device_of(client, 1));
  // With other options, on another device.
  const std::string options = options_for(1, 1, {2});
  y = run(deserialized(client, bytes, &options), {x.get()});
  EXPECT_EQ(device_of(y[0]), device_of(client, 2));
}

TEST(SerializedPrograms, AreRefusedIfTheyAreDamaged) {
  const Client client = make_client();
  const std::string bytes = serialized(executable_of(compile(client, kDoubled)));
  const std::string refused =
      "3: these bytes are not an executable that this version of the plug-in has written";
  for (std::size_t n = 0; n < bytes.size(); ++n)
    ASSERT_EQ(failure([&] { deserialized(client, bytes.substr(0, n)); }), refused) << n;
  EXPECT_EQ(failure([&] { deserialized(client, bytes + "x"); }), refused);
  EXPECT_EQ(failure([&] { deserialized(client, kDoubled); }), refused);
}

TEST(Programs, AreCompiledForATopologyAndLoadedLater) {
  const Client client = make_client(2);
  PJRT_TopologyDescription* const topology =
      ask(&PJRT_Api::PJRT_Client_TopologyDescription, &PJRT_Client_TopologyDescription_Args::client,
          client.get())
          .topology;
  PJRT_Program program = program_of(kDoubled);
  const std::string options = options_for(1, 1, {1});
  auto args = empty<PJRT_Compile_Args>();
  args.topology = topology;
  args.program = &program;
  args.compile_options = options.data();
  args.compile_options_size = options.size();
  call(&PJRT_Api::PJRT_Compile, args);
  const Executable e(args.executable);
  EXPECT_EQ(fingerprint_of(e), fingerprint_of(compile(client, kDoubled, options)));
  const auto given = ask(&PJRT_Api::PJRT_Executable_GetCompileOptions,
                         &PJRT_Executable_GetCompileOptions_Args::executable, e.get());
  EXPECT_EQ(std::string(given.serialized_bytes, given.serialized_bytes_size), options);
  given.serialized_compile_options_deleter(given.serialized_compile_options);
  auto load = empty<PJRT_Client_Load_Args>();
  load.client = client.get();
  load.executable = e.get();
  call(&PJRT_Api::PJRT_Client_Load, load);
  const Loaded loaded(load.loaded_executable);
  const Buffer x = put(client, Floats{1, 2, 3, 4}, {4}, device_of(client, 1));
  EXPECT_EQ(get<float>(run(loaded, {x.get()})[0]), (Floats{2, 4, 6, 8}));
}

// Callers ask for the size first.
TEST(Programs, AreShownAsTheyWereGiven) {
  const Client client = make_client();
  const Executable e = executable_of(compile(client, kDoubled));
  auto program = empty<PJRT_Program>();
  auto args = empty<PJRT_Executable_OptimizedProgram_Args>();
  args.executable = e.get();
  args.program = &program;
  call(&PJRT_Api::PJRT_Executable_OptimizedProgram, args);
  EXPECT_EQ(std::string(program.format, program.format_size), "mlir");
  EXPECT_EQ(program.code_size, kDoubled.size());
  std::string room(kDoubled.size(), ' ');
  program.code = room.data();
  program.code_size = room.size() - 1;
  EXPECT_EQ(failure([&] { call(&PJRT_Api::PJRT_Executable_OptimizedProgram, args); }),
            "3: OptimizedProgram: the program has " + std::to_string(room.size()) +
                " bytes, and there is room for " + std::to_string(room.size() - 1));
  program.code_size = room.size();
  call(&PJRT_Api::PJRT_Executable_OptimizedProgram, args);
  EXPECT_EQ(room, kDoubled);
}

TEST(Programs, CanBeDeleted) {
  const Client client = make_client();
  const Loaded loaded = compile(client, kDoubled);
  const Executable e = executable_of(loaded);
  const Buffer x = put(client, Floats{1, 2, 3, 4}, {4});
  const auto deleted = [&] {
    return ask(&PJRT_Api::PJRT_LoadedExecutable_IsDeleted,
               &PJRT_LoadedExecutable_IsDeleted_Args::executable, loaded.get())
        .is_deleted;
  };
  EXPECT_FALSE(deleted());
  ask(&PJRT_Api::PJRT_LoadedExecutable_Delete, &PJRT_LoadedExecutable_Delete_Args::executable,
      loaded.get());
  EXPECT_TRUE(deleted());
  EXPECT_EQ(failure([&] { run(loaded, {x.get()}); }),
            "3: Execute: the program 'jit_doubled' has been deleted");
  EXPECT_EQ(fingerprint_of(e).size(), 48u);
}

// --- options

std::string refused_option(const std::string& name, const Proto& value) {
  static const Client client = make_client();
  return failure([&] { compile(client, kDoubled, options_for(1, 1) + override_of(name, value)); });
}
Proto text(const std::string& value) { return Proto().bytes(1, value); }

TEST(CompileOptions, HaveNamesAndTypes) {
  EXPECT_EQ(refused_option("xla_cpu_enable_fast_math", Proto().number(2, 1)), "");
  EXPECT_EQ(refused_option("xla_cpu_enable_fast_math", text("True")), "");
  EXPECT_EQ(refused_option("xla_backend_optimization_level", text("-3")), "");
  EXPECT_EQ(refused_option("xla_gpu_some_new_option", text("anything")), "");
  EXPECT_EQ(refused_option("exec_time_optimization_effort", text("0.5")), "");
  EXPECT_EQ(refused_option("invalid_key", text("invalid_value")),
            "3: No such compile option: 'invalid_key'. Options are named as XLA's, which all begin "
            "with 'xla_'; they do not change how Tessera compiles.");
  EXPECT_EQ(refused_option("", text("x")),
            "3: No such compile option: ''. Options are named as XLA's, which all begin with "
            "'xla_'; they do not change how Tessera compiles.");
  EXPECT_EQ(refused_option("xla_embed_ir_in_executable", text("invalid_value")),
            "3: While setting option xla_embed_ir_in_executable, 'invalid_value' is not a valid "
            "bool value.");
  EXPECT_EQ(refused_option("xla_dump_max_hlo_modules", text("1.5")),
            "3: While setting option xla_dump_max_hlo_modules, '1.5' is not a valid int value.");
  EXPECT_EQ(refused_option("xla_dump_to", Proto().number(3, 7)),
            "3: While setting option xla_dump_to: it takes a text.");
}

TEST(CompileOptions, AreWholeMessages) {
  const Client client = make_client(2);
  const std::string whole = options_for(1, 2, {0, 1});
  EXPECT_EQ(
      failure([&] { compile(client, kDoubled, whole.substr(0, whole.size() - 1)); }).substr(0, 3),
      "3: ");
  // Fields of later versions are skipped, whatever their kind.
  std::string later = options_for(1, 1);
  later += Proto().number(100, 7).bytes(101, "later").text();
  later += std::string("\xb5\x06\x01\x02\x03\x04", 6);                   // 102, four bytes
  later += std::string("\xb9\x06\x01\x02\x03\x04\x05\x06\x07\x08", 10);  // 103, eight bytes
  EXPECT_EQ(failure([&] { compile(client, kDoubled, later); }), "");
}

TEST(CompileOptions, NameDevicesThatAreThere) {
  const Client client = make_client(4);
  const auto refused = [&](const std::string& options) {
    return failure([&] { compile(client, kDoubled, options); });
  };
  EXPECT_EQ(refused(options_for(1, 1, {4})), "3: there is no device 4; devices are 0 to 3");
  EXPECT_EQ(refused(options_for(1, 1, {-1})), "3: there is no device -1; devices are 0 to 3");
  EXPECT_EQ(refused(options_for(1, 2, {1, 1})), "3: the device assignment names device 1 twice");
  EXPECT_EQ(refused(options_for(1, 8)),
            "3: 1 replicas of 8 partitions need 8 devices, and the client has 4");
  EXPECT_EQ(refused(options_for(100, 100)),
            "3: 100 replicas of 100 partitions are more than 4096 devices");
  EXPECT_EQ(refused(options_for(std::int64_t{1} << 62, 4)),
            "3: 4611686018427387904 replicas of 4 partitions are more than 4096 devices");
  const std::string few =
      Proto()
          .bytes(3, Proto().number(4, 1).number(5, 2).bytes(9, assignment(1, 1, {0})).text())
          .text();
  EXPECT_EQ(refused(few),
            "3: the device assignment names 1 devices, and 1 replicas of 2 partitions need 2");
  const std::string incomplete =
      Proto()
          .bytes(3, Proto()
                        .number(4, 1)
                        .number(5, 2)
                        .bytes(9, Proto().number(1, 1).number(2, 2).text())
                        .text())
          .text();
  EXPECT_EQ(refused(incomplete),
            "3: the device assignment does not name a device for each of 1 replicas and 2 "
            "partitions");
  EXPECT_EQ(refused(options_for(2, 1)),
            "12: the program 'jit_doubled' is for 2 replicas, and does not say what each of them "
            "does");
}

// --- programs that are refused

TEST(Programs, AreModulesOfOneFormat) {
  const Client client = make_client();
  EXPECT_EQ(failure([&] { compile(client, kDoubled, "", "hlo"); }),
            "12: Compile: a program in the format 'hlo'; this plug-in reads 'mlir', a StableHLO "
            "module as bytecode or text");
  EXPECT_EQ(failure([&] { compile(client, kDoubled + kDoubled); }),
            "3: a program is one module, and here are 2");
  EXPECT_EQ(failure([&] { compile(client, ""); }), "3: a program is one module, and here are 0");
  const auto code = [&](const std::string& module) {
    return failure([&] { compile(client, module); }).substr(0, 3);
  };
  EXPECT_EQ(code("module @m {"), "3: ");
  EXPECT_EQ(code("module @m {}"), "3: ");
  EXPECT_EQ(code(std::string("ML\xefR", 4)), "3: ");
  const std::string bytecode = file("tests/stablehlo/exported/dense.mlirbc");
  for (std::size_t n = 4; n < bytecode.size(); n += 61)
    ASSERT_EQ(code(bytecode.substr(0, n)), "3: ") << n;
  EXPECT_EQ(
      code(module_of("%a: tensor<?xf32>", "tensor<?xf32>", "    return %a : tensor<?xf32>\n")),
      "3: ");
}

TEST(Programs, NameTheOperationThatIsRefused) {
  const Client client = make_client();
  const std::string text = failure([&] {
    compile(client, module_of("%a: tensor<4xf32>", "tensor<4xf32>",
                              "    %0 = stablehlo.custom_call @no_such_target(%a) : "
                              "(tensor<4xf32>) -> tensor<4xf32>\n"
                              "    return %0 : tensor<4xf32>\n"));
  });
  EXPECT_EQ(text.substr(0, 3), "3: ");
  EXPECT_NE(text.find("no_such_target"), text.npos) << text;
}

}  // namespace
