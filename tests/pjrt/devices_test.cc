// Programs for several devices: the blocks of arguments and results, and the shardings that callers
// are told.
#include "gate.h"

#include <algorithm>
#include <numeric>

using namespace caller;

namespace {

using Floats = std::vector<float>;
using Ids = std::vector<std::int64_t>;

Ids iota(std::int64_t n) {
  Ids ids(static_cast<std::size_t>(n));
  std::iota(ids.begin(), ids.end(), 0);
  return ids;
}

// Shardings as callers are told them: the message OpSharding.
std::string replicated() { return Proto().number(1, 0).text(); }
std::string tiled_over(const Ids& tiles, const Ids& devices, bool last_repeats = false) {
  Proto out;
  out.number(1, 3).packed(3, tiles).packed(4, devices);
  if (last_repeats) out.number(6, 1);
  return out.text();
}

struct Shardings {
  Texts parameters, outputs;
};
Shardings shardings_of(const Loaded& loaded) {
  const PJRT_Shardings_Extension* extension = nullptr;
  for (const PJRT_Extension_Base* e = api().extension_start; e; e = e->next)
    if (e->type == PJRT_Extension_Type_Shardings)
      extension = reinterpret_cast<const PJRT_Shardings_Extension*>(e);
  const Executable e = executable_of(loaded);
  Shardings all;
  auto parameters = empty<PJRT_Shardings_PJRT_Executable_ParameterShardings_Args>();
  parameters.executable = e.get();
  check(extension->PJRT_Shardings_PJRT_Executable_ParameterShardings(&parameters));
  for (std::size_t i = 0; i < parameters.num_parameters; ++i)
    all.parameters.emplace_back(parameters.shardings[i], parameters.sharding_sizes[i]);
  auto outputs = empty<PJRT_Shardings_PJRT_Executable_OutputShardings_Args>();
  outputs.executable = e.get();
  check(extension->PJRT_Shardings_PJRT_Executable_OutputShardings(&outputs));
  for (std::size_t i = 0; i < outputs.num_outputs; ++i)
    all.outputs.emplace_back(outputs.shardings[i], outputs.sharding_sizes[i]);
  return all;
}

const std::string kMesh = "  sdy.mesh @mesh = <[\"x\"=2, \"y\"=4]>\n";
std::string sharded(const std::string& spec) {
  return " {sdy.sharding = #sdy.sharding<@mesh, [" + spec + "]>}";
}

// The values 0, 1, ... of an array of 8 rows and 4 columns: the block of these rows and columns.
Floats block(int row, int rows, int column, int columns, float scale = 1) {
  Floats values;
  for (int i = row; i < row + rows; ++i)
    for (int j = column; j < column + columns; ++j)
      values.push_back(scale * static_cast<float>(4 * i + j));
  return values;
}

class EightDevices : public testing::Test {
 protected:
  // Doubles an array of 8 rows and 4 columns.
  Loaded doubled(const std::string& argument, const std::string& result, const Ids& ids = iota(8)) {
    return compile(client_,
                   module_of("%a: tensor<8x4xf32>" + argument, "tensor<8x4xf32>" + result,
                             "    %0 = stablehlo.add %a, %a : tensor<8x4xf32>\n"
                             "    return %0 : tensor<8x4xf32>\n",
                             "m", kMesh),
                   options_for(1, 8, ids));
  }
  // The argument whose block on the device at position d is `blocks(d)`.
  template <class F>
  Buffers put_all(const Dims& dims, F&& blocks, const Ids& ids = iota(8)) {
    Buffers all;
    for (std::size_t d = 0; d < ids.size(); ++d)
      all.push_back(put(client_, blocks(static_cast<int>(d)), dims,
                        device_of(client_, static_cast<std::size_t>(ids[d]))));
    return all;
  }
  static std::vector<Arguments> lists(const Buffers& x) {
    std::vector<Arguments> all;
    for (const Buffer& b : x) all.push_back({b.get()});
    return all;
  }

  const Client client_ = make_client(8);
};

// Device d is at (d / 4, d % 4) of the mesh.
TEST_F(EightDevices, TakeAndGiveTheirBlocks) {
  const Loaded loaded = doubled(sharded("{\"x\"}, {\"y\"}"), sharded("{\"y\"}, {\"x\"}"));
  const Shardings told = shardings_of(loaded);
  EXPECT_EQ(told.parameters, Texts{tiled_over({2, 4}, iota(8))});
  EXPECT_EQ(told.outputs, Texts{tiled_over({4, 2}, {0, 4, 1, 5, 2, 6, 3, 7})});
  const Buffers x = put_all({4, 1}, [](int d) { return block(d / 4 * 4, 4, d % 4, 1); });
  const Results r = run_on(loaded, lists(x), 1);
  for (int d = 0; d < 8; ++d) {
    const auto at = static_cast<std::size_t>(d);
    EXPECT_EQ(dims_of(r.buffers[at][0]), (Dims{2, 2}));
    EXPECT_EQ(device_of(r.buffers[at][0]), device_of(client_, at));
    EXPECT_EQ(get<float>(r.buffers[at][0]), block(d % 4 * 2, 2, d / 4 * 2, 2, 2)) << d;
    wait(r.complete[at]);
    EXPECT_EQ(get<float>(x[at]), block(d / 4 * 4, 4, d % 4, 1));
  }
}

// The devices of the assignment are the mesh's in its order.
TEST_F(EightDevices, MayBeInAnyOrder) {
  const Ids ids{3, 1, 7, 5, 0, 2, 6, 4};
  const Loaded loaded = doubled(sharded("{\"x\", \"y\"}, {}"), sharded("{}, {\"y\"}"), ids);
  const Buffers x = put_all(
      {1, 4}, [](int d) { return block(d, 1, 0, 4); }, ids);
  const Results r = run_on(loaded, lists(x), 1);
  for (int d = 0; d < 8; ++d) {
    const auto at = static_cast<std::size_t>(d);
    EXPECT_EQ(device_of(r.buffers[at][0]), device_of(client_, static_cast<std::size_t>(ids[at])));
    EXPECT_EQ(get<float>(r.buffers[at][0]), block(0, 8, d % 4, 1, 2)) << d;
  }
}

TEST_F(EightDevices, AreToldShardingsThatNobodyDeclared) {
  const Loaded loaded = doubled(sharded("{\"x\"}, {}"), "");
  const Shardings told = shardings_of(loaded);
  EXPECT_EQ(told.parameters, Texts{tiled_over({2, 1, 4}, iota(8), true)});
  ASSERT_EQ(told.outputs.size(), 1u);
  const Buffers x = put_all({4, 4}, [](int d) { return block(d / 4 * 4, 4, 0, 4); });
  const Results r = run_on(loaded, lists(x), 1);
  // Elementwise results lie as their operands.
  EXPECT_EQ(told.outputs[0], tiled_over({2, 1, 4}, iota(8), true));
  for (std::size_t d = 0; d < 8; ++d)
    EXPECT_EQ(get<float>(r.buffers[d][0]), block(static_cast<int>(d) / 4 * 4, 4, 0, 4, 2));
  // What nobody says anything of, each device has whole.
  const Shardings whole = shardings_of(doubled("", ""));
  EXPECT_EQ(whole.parameters, Texts{replicated()});
  EXPECT_EQ(whole.outputs, Texts{replicated()});
  // A program of one device has none.
  const Executable one = executable_of(compile(
      client_, module_of("%a: tensor<f32>", "tensor<f32>", "    return %a : tensor<f32>\n")));
  for (const PJRT_Extension_Base* e = api().extension_start; e; e = e->next)
    if (e->type == PJRT_Extension_Type_Shardings) {
      auto args = empty<PJRT_Shardings_PJRT_Executable_OutputShardings_Args>();
      args.executable = one.get();
      check(reinterpret_cast<const PJRT_Shardings_Extension*>(e)
                ->PJRT_Shardings_PJRT_Executable_OutputShardings(&args));
      EXPECT_EQ(args.shardings, nullptr);
    }
}

TEST_F(EightDevices, AddOverTheirAxes) {
  const Loaded loaded = compile(
      client_,
      module_of("%a: tensor<8x4xf32>" + sharded("{\"x\"}, {\"y\"}"),
                "tensor<8xf32>" + sharded("{\"x\"}") + ", tensor<f32>" + sharded(""),
                "    %z = stablehlo.constant dense<0.0> : tensor<f32>\n"
                "    %0 = stablehlo.reduce(%a init: %z) applies stablehlo.add across dimensions = "
                "[1] : (tensor<8x4xf32>, tensor<f32>) -> tensor<8xf32>\n"
                "    %1 = stablehlo.reduce(%0 init: %z) applies stablehlo.add across dimensions = "
                "[0] : (tensor<8xf32>, tensor<f32>) -> tensor<f32>\n"
                "    return %0, %1 : tensor<8xf32>, tensor<f32>\n",
                "m", kMesh),
      options_for(1, 8, iota(8)));
  const Buffers x = put_all({4, 1}, [](int d) { return block(d / 4 * 4, 4, d % 4, 1); });
  const Results r = run_on(loaded, lists(x), 2);
  for (int d = 0; d < 8; ++d) {
    Floats rows;
    for (int i = d / 4 * 4; i < d / 4 * 4 + 4; ++i) rows.push_back(static_cast<float>(16 * i + 6));
    const auto at = static_cast<std::size_t>(d);
    EXPECT_EQ(get<float>(r.buffers[at][0]), rows);
    EXPECT_EQ(get<float>(r.buffers[at][1]), Floats{496});
  }
}

// A block that all devices have is stored once, but each device's buffer has a life of its own.
TEST_F(EightDevices, MayTakeOneOfEqualBlocks) {
  const Loaded loaded = doubled(sharded("{}, {}"), sharded("{}, {}"));
  const Buffers x = put_all({8, 4}, [](int) { return block(0, 8, 0, 4); });
  Results r = run_on(loaded, lists(x), 1);
  const auto taking_on = [&](std::int64_t device) {
    return compile(
        client_,
        module_of("%a: tensor<8x4xf32> {tf.aliasing_output = 0 : i32}", "tensor<8x4xf32>",
                  "    %0 = stablehlo.negate %a : tensor<8x4xf32>\n"
                  "    return %0 : tensor<8x4xf32>\n"),
        options_for(1, 1, {device}));
  };
  const Buffers one = run(taking_on(1), {r.buffers[1][0].get()});
  EXPECT_TRUE(is_deleted(r.buffers[1][0]));
  EXPECT_EQ(get<float>(one[0]), block(0, 8, 0, 4, -2));
  for (std::size_t d = 0; d < 8; ++d) {
    if (d == 1) continue;
    EXPECT_FALSE(is_deleted(r.buffers[d][0]));
    EXPECT_EQ(get<float>(r.buffers[d][0]), block(0, 8, 0, 4, 2)) << d;
  }
  delete_block(r.buffers[0][0]);
  const Buffers two = run(taking_on(2), {r.buffers[2][0].get()});
  EXPECT_EQ(get<float>(r.buffers[7][0]), block(0, 8, 0, 4, 2));
  EXPECT_EQ(get<float>(two[0]), block(0, 8, 0, 4, -2));
}

TEST_F(EightDevices, TakeDonatedBlocks) {
  const std::string type = "tensor<8000xf32>";
  const Loaded loaded = compile(
      client_,
      module_of("%a: " + type +
                    " {sdy.sharding = #sdy.sharding<@mesh, [{\"x\", \"y\"}]>, "
                    "tf.aliasing_output = 0 : i32}",
                type + sharded("{\"x\", \"y\"}"),
                "    %0 = stablehlo.add %a, %a : " + type + "\n    return %0 : " + type + "\n", "m",
                kMesh),
      options_for(1, 8, iota(8)));
  const auto ones = [](int d) { return Floats(1000, static_cast<float>(d + 1)); };
  const auto twice = [](std::size_t d) { return Floats(1000, 2.0f * static_cast<float>(d + 1)); };
  const std::int64_t before = live_bytes(device_of(client_, 5));
  {
    // Blocks that the caller made one by one are first moved beside each other, where the next call
    // finds them.
    Buffers x = put_all({1000}, ones);
    std::vector<const void*> places(8);
    for (int step = 1; step <= 3; ++step) {
      Results r = run_on(loaded, lists(x), 1);
      for (std::size_t d = 0; d < 8; ++d) {
        EXPECT_TRUE(is_deleted(x[d]));
        x[d] = std::move(r.buffers[d][0]);
        const float value = static_cast<float>(d + 1) * static_cast<float>(1 << step);
        EXPECT_EQ(get<float>(x[d]), Floats(1000, value));
        if (step > 1) {
          EXPECT_EQ(place_of(x[d]), places[d]) << step;
        }
        places[d] = place_of(x[d]);
      }
    }
    EXPECT_EQ(live_bytes(device_of(client_, 5)) - before, 4000);
  }
  EXPECT_EQ(live_bytes(device_of(client_, 5)), before);
  {  // Somebody reads one of the blocks, which stays as it is.
    const Buffers x = put_all({1000}, ones);
    add_reference(x[3]);
    const auto* const read = static_cast<const float*>(place_of(x[3]));
    const Results r = run_on(loaded, lists(x), 1);
    for (std::size_t d = 0; d < 8; ++d) {
      EXPECT_TRUE(is_deleted(x[d]));
      EXPECT_EQ(get<float>(r.buffers[d][0]), twice(d));
    }
    EXPECT_EQ(Floats(read, read + 1000), ones(3));
    remove_reference(x[3]);
  }
  // One of the blocks was taken before: the others stay.
  const Buffers x = put_all({1000}, ones);
  delete_block(x[6]);
  EXPECT_EQ(failure([&] { run_on(loaded, lists(x), 1); }),
            "3: Execute: argument 0 of the program 'm' has been deleted or donated");
  for (std::size_t d = 0; d < 6; ++d) {
    EXPECT_FALSE(is_deleted(x[d]));
    EXPECT_EQ(get<float>(x[d]), ones(static_cast<int>(d)));
  }
}

TEST_F(EightDevices, AreRefusedWithWrongBlocks) {
  const Loaded loaded = doubled(sharded("{\"x\"}, {\"y\"}"), "");
  Buffers x = put_all({4, 1}, [](int) { return Floats(4); });
  std::vector<Arguments> all = lists(x);
  all.pop_back();
  EXPECT_EQ(failure([&] { run_on(loaded, all, 1); }),
            "3: Execute: the program 'm' is for 8 devices, and gets arguments for 7");
  x[7] = put(client_, Floats(4), {1, 4}, device_of(client_, 7));
  EXPECT_EQ(failure([&] { run_on(loaded, lists(x), 1); }),
            "3: Execute: argument 0 of the program 'm' is f32[4,1] on each device, and gets "
            "f32[1,4]");
  std::vector<Arguments> two(8, Arguments{x[0].get(), x[0].get()});
  EXPECT_EQ(failure([&] { run_on(loaded, two, 1); }),
            "3: Execute: the program 'm' takes 1 arguments, and gets 2");
}

// A pmap: each replica runs the module on values of its own.
TEST_F(EightDevices, MayBeReplicas) {
  const std::string module =
      "module @jit_pmap attributes {mhlo.num_partitions = 1 : i32, mhlo.num_replicas = 4 : i32} {\n"
      "  func.func public @main(%a: tensor<2xf32>) -> (tensor<2xf32>, tensor<ui32>) {\n"
      "    %0 = \"stablehlo.all_reduce\"(%a) <{channel_handle = #stablehlo.channel_handle<handle = "
      "1, type = 0>, replica_groups = dense<[[0, 1, 2, 3]]> : tensor<1x4xi64>}> ({\n"
      "    ^bb0(%p: tensor<f32>, %q: tensor<f32>):\n"
      "      %s = stablehlo.add %p, %q : tensor<f32>\n"
      "      stablehlo.return %s : tensor<f32>\n"
      "    }) : (tensor<2xf32>) -> tensor<2xf32>\n"
      "    %1 = stablehlo.replica_id : tensor<ui32>\n"
      "    return %0, %1 : tensor<2xf32>, tensor<ui32>\n"
      "  }\n"
      "}\n";
  const Ids ids{2, 3, 0, 1};
  const Loaded loaded = compile(client_, module, options_for(4, 1, ids));
  const auto logical =
      ask(&PJRT_Api::PJRT_LoadedExecutable_AddressableDeviceLogicalIds,
          &PJRT_LoadedExecutable_AddressableDeviceLogicalIds_Args::executable, loaded.get());
  ASSERT_EQ(logical.num_addressable_device_logical_ids, 4u);
  EXPECT_EQ(logical.addressable_device_logical_ids[3].replica, 3);
  EXPECT_EQ(logical.addressable_device_logical_ids[3].partition, 0);
  const Buffers x = put_all(
      {2},
      [](int d) {
        return Floats{static_cast<float>(d), static_cast<float>(10 * d)};
      },
      ids);
  const Results r = run_on(loaded, lists(x), 2);
  for (std::size_t d = 0; d < 4; ++d) {
    EXPECT_EQ(device_of(r.buffers[d][0]), device_of(client_, static_cast<std::size_t>(ids[d])));
    EXPECT_EQ(get<float>(r.buffers[d][0]), (Floats{6, 60}));
    EXPECT_EQ(get<std::int32_t>(r.buffers[d][1]), std::vector{static_cast<std::int32_t>(d)});
  }
}

// One call's blocks complete together, also for those that are on several devices.
TEST_F(EightDevices, WaitForBlocksThatAreNotThereYet) {
  Gate gate;
  const Loaded gated = compile(client_, Gate::module(), options_for(1, 1, {3}));
  const Buffer matrix = put(client_, Floats(256 * 256), {256, 256}, device_of(client_, 3));
  const Buffer four = put(client_, Floats{1, 2, 3, 4}, {4}, device_of(client_, 3));
  Results late = run_on(gated, std::vector<Arguments>{{matrix.get(), four.get()}}, 2);
  const Loaded loaded = compile(
      client_,
      module_of("%a: tensor<32xf32>" + sharded("{\"x\", \"y\"}"), "tensor<f32>",
                "    %z = stablehlo.constant dense<0.0> : tensor<f32>\n"
                "    %0 = stablehlo.reduce(%a init: %z) applies stablehlo.add across dimensions = "
                "[0] : (tensor<32xf32>, tensor<f32>) -> tensor<f32>\n"
                "    return %0 : tensor<f32>\n",
                "m", kMesh),
      options_for(1, 8, iota(8)));
  const Buffers x = put_all({4}, [](int) { return Floats(4, 1); });
  std::vector<Arguments> all = lists(x);
  all[3] = {late.buffers[0][1].get()};
  const Results r = run_on(loaded, all, 1);
  for (std::size_t d = 0; d < 8; ++d) {
    EXPECT_FALSE(is_ready(r.complete[d]));
    EXPECT_FALSE(is_ready(ready_event(r.buffers[d][0])));
  }
  gate.open();
  for (std::size_t d = 0; d < 8; ++d) EXPECT_EQ(get<float>(r.buffers[d][0]), Floats{28 + 14});
}

}  // namespace
