// What callers do with buffers: read, copy, view, delete and refer to them.
#include "caller.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <numeric>

using namespace caller;

namespace {

using Floats = std::vector<float>;

Floats iota(std::size_t n) {
  Floats v(n);
  std::iota(v.begin(), v.end(), 0.0f);
  return v;
}

// A program that takes its argument and gives one more than it.
Loaded taking(const Client& client, const std::string& type) {
  return compile(client, module_of("%a: " + type + " {tf.aliasing_output = 0 : i32}", type,
                                   "    %c = stablehlo.constant dense<1.0> : " + type +
                                       "\n    %0 = stablehlo.add %a, %c : " + type +
                                       "\n    return %0 : " + type + "\n"));
}

// --- reading

TEST(ToHost, SaysHowMuchRoomItNeeds) {
  const Client client = make_client();
  const Buffer x = put(client, iota(6), {2, 3});
  const auto size =
      ask(&PJRT_Api::PJRT_Buffer_ToHostBuffer, &PJRT_Buffer_ToHostBuffer_Args::src, x.get());
  EXPECT_EQ(size.dst_size, 24u);
  EXPECT_EQ(size.event, nullptr);
  float room[6];
  EXPECT_EQ(failure([&] { copy_to_host(x, room, 23); }),
            "3: ToHostBuffer: the block has 24 bytes, and there is room for 23");
}

TEST(ToHost, TakesLayouts) {
  const Client client = make_client();
  const Buffer x = put(client, iota(6), {2, 3});
  Floats to(12, -1);
  const auto read = [&](PJRT_Buffer_MemoryLayout layout, std::size_t elements = 6) {
    std::fill(to.begin(), to.end(), -1.0f);
    wait(copy_to_host(x, to.data(), elements * 4, &layout));
    return Floats(to.begin(), to.begin() + static_cast<std::ptrdiff_t>(elements));
  };
  const Dims rows{1, 0}, columns{0, 1}, transposed{4, 8}, apart{24, 8};
  EXPECT_EQ(read(tiled(rows)), iota(6));
  EXPECT_EQ(read(tiled(columns)), (Floats{0, 3, 1, 4, 2, 5}));
  EXPECT_EQ(read(strided(transposed)), (Floats{0, 3, 1, 4, 2, 5}));
  EXPECT_EQ(read(strided(apart), 12), (Floats{0, -1, 1, -1, 2, -1, 3, -1, 4, -1, 5, -1}));
  // They must not leave the room.
  const std::string refused =
      "3: ToHostBuffer: the layout's strides leave the 24 bytes that there is room for";
  for (const Dims& outside : {Dims{12, 8}, Dims{-12, 4}, Dims{std::int64_t{1} << 62, 4}}) {
    EXPECT_EQ(failure([&] { read(strided(outside)); }), refused) << testing::PrintToString(outside);
  }
}

TEST(ToHost, CopiesRawBytes) {
  const Client client = make_client();
  const Buffer x = put(client, iota(6), {2, 3});
  const auto raw = [&](std::int64_t offset, std::int64_t size) {
    std::vector<char> bytes(24, 'x');
    auto args = empty<PJRT_Buffer_CopyRawToHost_Args>();
    args.buffer = x.get();
    args.dst = bytes.data();
    args.offset = offset;
    args.transfer_size = size;
    call(&PJRT_Api::PJRT_Buffer_CopyRawToHost, args);
    wait(Event(args.event));
    return std::string(bytes.begin(), bytes.end());
  };
  const Floats values = iota(6);
  const std::string all(reinterpret_cast<const char*>(values.data()), 24);
  EXPECT_EQ(raw(0, 24), all);
  EXPECT_EQ(raw(5, 7), all.substr(5, 7) + std::string(17, 'x'));
  EXPECT_EQ(raw(24, 0), std::string(24, 'x'));
  const std::int64_t most = std::numeric_limits<std::int64_t>::max();
  for (const auto& [offset, size] :
       {std::pair<std::int64_t, std::int64_t>{1, 24}, {-1, 4}, {0, -1}, {most, 1}, {1, most}})
    EXPECT_EQ(failure([&] { raw(offset, size); }),
              "3: CopyRawToHost: " + std::to_string(size) + " bytes from byte " +
                  std::to_string(offset) + " of a block of 24");
}

// The bytes are those of the layout that the caller asked for.
TEST(ToHost, CopiesRawBytesInTheOrderOfTheLayout) {
  const Client client = make_client();
  const std::vector<std::uint8_t> values{1, 2, 3, 4, 5, 6};
  const Dims columns{0, 1};
  PJRT_Buffer_MemoryLayout layout = tiled(columns);
  for (const PJRT_Buffer_Type type : {PJRT_Buffer_Type_U8, PJRT_Buffer_Type_U4}) {
    FromHost from{values.data(), type, {2, 3}};
    from.layout = &layout;
    const Put made = put(client, from);
    std::vector<std::uint8_t> bytes(4);
    auto args = empty<PJRT_Buffer_CopyRawToHost_Args>();
    args.buffer = made.buffer.get();
    args.dst = bytes.data();
    args.offset = 1;
    args.transfer_size = 4;
    call(&PJRT_Api::PJRT_Buffer_CopyRawToHost, args);
    wait(Event(args.event));
    EXPECT_EQ(bytes, (std::vector<std::uint8_t>{4, 2, 5, 3})) << type;
  }
}

TEST(Buffers, DescribeThemselves) {
  const Client client = make_client();
  const Buffer x = put(client, iota(6), {2, 3});
  const auto unpadded = ask(&PJRT_Api::PJRT_Buffer_UnpaddedDimensions,
                            &PJRT_Buffer_UnpaddedDimensions_Args::buffer, x.get());
  EXPECT_EQ(Dims(unpadded.unpadded_dims, unpadded.unpadded_dims + unpadded.num_dims), (Dims{2, 3}));
  EXPECT_EQ(ask(&PJRT_Api::PJRT_Buffer_DynamicDimensionIndices,
                &PJRT_Buffer_DynamicDimensionIndices_Args::buffer, x.get())
                .num_dynamic_dims,
            0u);
  EXPECT_EQ(
      ask(&PJRT_Api::PJRT_Buffer_UnsafePointer, &PJRT_Buffer_UnsafePointer_Args::buffer, x.get())
          .buffer_pointer,
      reinterpret_cast<std::uintptr_t>(place_of(x)));
  EXPECT_TRUE(is_ready(ready_event(x)));
  // In place, as NumPy reads it.
  EXPECT_EQ(std::memcmp(place_of(x), iota(6).data(), 24), 0);
}

TEST(Layouts, AreTextsOfTheExtension) {
  const PJRT_Layouts_Extension* extension = nullptr;
  for (const PJRT_Extension_Base* e = api().extension_start; e; e = e->next)
    if (e->type == PJRT_Extension_Type_Layouts)
      extension = reinterpret_cast<const PJRT_Layouts_Extension*>(e);
  ASSERT_NE(extension, nullptr);
  const auto taken_text = [&](PJRT_Layouts_MemoryLayout* layout) {
    auto args = empty<PJRT_Layouts_MemoryLayout_Serialize_Args>();
    args.layout = layout;
    check(extension->PJRT_Layouts_MemoryLayout_Serialize(&args));
    const std::string text(args.serialized_bytes, args.serialized_bytes_size);
    args.serialized_layout_deleter(args.serialized_layout);
    auto destroy = empty<PJRT_Layouts_MemoryLayout_Destroy_Args>();
    destroy.layout = layout;
    check(extension->PJRT_Layouts_MemoryLayout_Destroy(&destroy));
    return text;
  };
  const Client client = make_client();
  auto buffer = empty<PJRT_Layouts_PJRT_Buffer_MemoryLayout_Args>();
  const Buffer x = put(client, iota(24), {2, 3, 4});
  buffer.buffer = x.get();
  check(extension->PJRT_Layouts_PJRT_Buffer_MemoryLayout(&buffer));
  EXPECT_EQ(taken_text(buffer.layout), "{2,1,0}");
  const Dims dims{5, 6};
  auto of_client = empty<PJRT_Layouts_PJRT_Client_GetDefaultLayout_Args>();
  of_client.client = client.get();
  of_client.type = PJRT_Buffer_Type_F32;
  of_client.dims = dims.data();
  of_client.num_dims = dims.size();
  check(extension->PJRT_Layouts_PJRT_Client_GetDefaultLayout(&of_client));
  EXPECT_EQ(taken_text(of_client.layout), "{1,0}");
  auto of_topology = empty<PJRT_Layouts_PJRT_Topology_GetDefaultLayout_Args>();
  of_topology.topology_description =
      ask(&PJRT_Api::PJRT_Client_TopologyDescription, &PJRT_Client_TopologyDescription_Args::client,
          client.get())
          .topology;
  check(extension->PJRT_Layouts_PJRT_Topology_GetDefaultLayout(&of_topology));
  EXPECT_EQ(taken_text(of_topology.layout), "{}");
}

// --- the end of a block

TEST(DeletedBuffers, SaySo) {
  const Client client = make_client(2);
  const Buffer x = put(client, iota(6), {2, 3});
  EXPECT_FALSE(is_deleted(x));
  const std::int64_t before = live_bytes(device_of(client));
  delete_block(x);
  EXPECT_EQ(before - live_bytes(device_of(client)), 24);
  EXPECT_TRUE(is_deleted(x));
  delete_block(x);
  EXPECT_EQ(dims_of(x), (Dims{2, 3}));
  EXPECT_EQ(element_of(x), PJRT_Buffer_Type_F32);
  EXPECT_EQ(device_of(x), device_of(client));
  const auto refused = [](const std::string& function) {
    return "3: " + function + ": the buffer has been deleted or donated: f32[2,3]";
  };
  EXPECT_EQ(failure([&] { get<float>(x); }), refused("ToHostBuffer"));
  EXPECT_EQ(failure([&] { ready_event(x); }), refused("ReadyEvent"));
  EXPECT_EQ(failure([&] { place_of(x); }), refused("OpaqueDeviceMemoryDataPointer"));
  EXPECT_EQ(failure([&] { add_reference(x); }), refused("IncreaseExternalReferenceCount"));
  EXPECT_EQ(failure([&] {
              ask(&PJRT_Api::PJRT_Buffer_UnsafePointer, &PJRT_Buffer_UnsafePointer_Args::buffer,
                  x.get());
            }),
            refused("UnsafePointer"));
  EXPECT_EQ(failure([&] {
              auto args = empty<PJRT_Buffer_CopyToDevice_Args>();
              args.buffer = x.get();
              args.dst_device = device_of(client, 1);
              call(&PJRT_Api::PJRT_Buffer_CopyToDevice, args);
            }),
            refused("CopyToDevice"));
  EXPECT_EQ(failure([&] {
              auto args = empty<PJRT_Buffer_CopyToMemory_Args>();
              args.buffer = x.get();
              args.dst_memory = memories_of(device_of(client))[1];
              call(&PJRT_Api::PJRT_Buffer_CopyToMemory, args);
            }),
            refused("CopyToMemory"));
  const Loaded next = taking(client, "tensor<2x3xf32>");
  EXPECT_EQ(failure([&] { run(next, {x.get()}); }),
            "3: Execute: argument 0 of the program 'm' has been deleted or donated");
}

TEST(References, KeepTheMemoryAsItIs) {
  const Client client = make_client();
  const Loaded next = taking(client, "tensor<6xf32>");
  const Buffer x = put(client, iota(6), {6});
  add_reference(x);
  add_reference(x);
  const auto* const place = static_cast<const float*>(place_of(x));
  Buffers y = run(next, {x.get()});
  EXPECT_TRUE(is_deleted(x));
  EXPECT_EQ(get<float>(y[0]), (Floats{1, 2, 3, 4, 5, 6}));
  EXPECT_NE(place_of(y[0]), place);
  EXPECT_EQ(Floats(place, place + 6), iota(6));
  remove_reference(x);
  EXPECT_EQ(Floats(place, place + 6), iota(6));
  remove_reference(x);
  EXPECT_EQ(failure([&] { remove_reference(x); }),
            "3: there is no external reference to take away");
  // Without references, the memory is taken.
  const Buffer z = put(client, iota(6), {6});
  add_reference(z);
  remove_reference(z);
  const void* const before = place_of(z);
  EXPECT_EQ(place_of(run(next, {z.get()})[0]), before);
}

// --- copies and views

TEST(Copies, LiveOnTheirOwn) {
  const Client client = make_client(2);
  const Loaded next = taking(client, "tensor<6xf32>");
  PJRT_Device* const one = device_of(client, 1);
  const auto copied = [&](const Buffer& x, PJRT_Device* device) {
    auto args = empty<PJRT_Buffer_CopyToDevice_Args>();
    args.buffer = x.get();
    args.dst_device = device;
    call(&PJRT_Api::PJRT_Buffer_CopyToDevice, args);
    return Buffer(args.dst_buffer);
  };
  const auto moved = [&](const Buffer& x, PJRT_Memory* memory) {
    auto args = empty<PJRT_Buffer_CopyToMemory_Args>();
    args.buffer = x.get();
    args.dst_memory = memory;
    call(&PJRT_Api::PJRT_Buffer_CopyToMemory, args);
    return Buffer(args.dst_buffer);
  };
  const Buffer x = put(client, iota(6), {6});
  const Buffer there = copied(x, one);
  EXPECT_EQ(device_of(there), one);
  EXPECT_EQ(memory_of(there), memories_of(one)[0]);
  const Buffer pinned = moved(x, memories_of(one)[1]);
  EXPECT_EQ(kind_of(memory_of(pinned)), "pinned_host");
  // A call that takes one of them leaves the others their values, in either order.
  EXPECT_EQ(get<float>(run(next, {x.get()})[0]), (Floats{1, 2, 3, 4, 5, 6}));
  EXPECT_TRUE(is_deleted(x));
  EXPECT_EQ(get<float>(there), iota(6));
  EXPECT_EQ(get<float>(run(next, {there.get()})[0]), (Floats{1, 2, 3, 4, 5, 6}));
  EXPECT_EQ(get<float>(pinned), iota(6));
  delete_block(there);
  EXPECT_EQ(get<float>(pinned), iota(6));
}

Buffer cast(const Buffer& x, PJRT_Buffer_Type type, const Dims& dims) {
  auto args = empty<PJRT_Buffer_Bitcast_Args>();
  args.buffer = x.get();
  args.element_type = type;
  args.dims = dims.data();
  args.num_dims = dims.size();
  call(&PJRT_Api::PJRT_Buffer_Bitcast, args);
  return Buffer(args.out_buffer);
}

TEST(Bitcasts, ReadTheSameBytes) {
  const Client client = make_client();
  const Buffer x = put(client, Floats{1, -2, 0, 4}, {4});
  const Buffer bits = cast(x, PJRT_Buffer_Type_S32, {2, 2});
  EXPECT_EQ(dims_of(bits), (Dims{2, 2}));
  EXPECT_EQ(get<std::int32_t>(bits),
            (std::vector<std::int32_t>{0x3f800000, static_cast<std::int32_t>(0xc0000000), 0,
                                       0x40800000}));
  // A call that takes one of them leaves the other its value.
  const Loaded next = taking(client, "tensor<4xf32>");
  EXPECT_EQ(get<float>(run(next, {x.get()})[0]), (Floats{2, -1, 1, 5}));
  EXPECT_EQ(get<std::int32_t>(bits)[0], 0x3f800000);
  const Buffer back = cast(bits, PJRT_Buffer_Type_F32, {4});
  delete_block(bits);
  EXPECT_EQ(get<float>(run(next, {back.get()})[0]), (Floats{2, -1, 1, 5}));

  const Buffer y = put(client, Floats{1, 2, 3, 4}, {4});
  EXPECT_EQ(failure([&] { cast(y, PJRT_Buffer_Type_S32, {3}); }),
            "3: Bitcast: the block has 16 bytes, and i32[3] takes 12");
  EXPECT_EQ(failure([&] { cast(y, PJRT_Buffer_Type_S4, {16}); }),
            "12: Bitcast: elements narrower than a dtype are stored in a wider one");
}

struct Deleted {
  int times = 0;
  void* memory = nullptr;
};
Buffer view(const Client& client, void* memory, const Dims& dims, Deleted& deleted,
            PJRT_Buffer_MemoryLayout* layout = nullptr,
            PJRT_Buffer_Type type = PJRT_Buffer_Type_F32) {
  auto args = empty<PJRT_Client_CreateViewOfDeviceBuffer_Args>();
  args.client = client.get();
  args.device_buffer_ptr = memory;
  args.dims = dims.data();
  args.num_dims = dims.size();
  args.element_type = type;
  args.layout = layout;
  args.device = device_of(client);
  args.on_delete_callback = [](void* data, void* user) {
    auto& d = *static_cast<Deleted*>(user);
    ++d.times;
    d.memory = data;
  };
  args.on_delete_callback_arg = &deleted;
  call(&PJRT_Api::PJRT_Client_CreateViewOfDeviceBuffer, args);
  return Buffer(args.buffer);
}

TEST(Views, TellWhenTheyEnd) {
  const Client client = make_client();
  alignas(64) std::array<float, 8> memory{1, 2, 3, 4, 5, 6, 7, 8};
  Deleted deleted;
  Buffer x = view(client, memory.data(), {4}, deleted);
  EXPECT_EQ(place_of(x), memory.data());
  // The view sees what its owner writes.
  memory[1] = 20;
  EXPECT_EQ(get<float>(x), (Floats{1, 20, 3, 4}));
  EXPECT_EQ(deleted.times, 0);
  // A call that takes it does not write to memory of others.
  const Loaded next = taking(client, "tensor<4xf32>");
  EXPECT_EQ(get<float>(run(next, {x.get()})[0]), (Floats{2, 21, 4, 5}));
  EXPECT_TRUE(is_deleted(x));
  EXPECT_EQ(deleted.times, 1);
  EXPECT_EQ(deleted.memory, memory.data());
  EXPECT_EQ(memory, (std::array<float, 8>{1, 20, 3, 4, 5, 6, 7, 8}));
  x.reset();
  EXPECT_EQ(deleted.times, 1);
}

TEST(Views, CopyOrRefuseWhatTheyCannotShare) {
  const Client client = make_client();
  alignas(64) std::array<float, 8> memory{1, 2, 3, 4, 5, 6, 7, 8};
  Deleted misaligned, transposed;
  EXPECT_EQ(
      failure([&] { view(client, memory.data() + 1, {4}, misaligned); }),
      "3: CreateViewOfDeviceBuffer: memory whose address is not aligned to 64 bytes cannot be "
      "shared. Copy it first.");
  EXPECT_EQ(misaligned.times, 0);
  const Dims columns{0, 1};
  PJRT_Buffer_MemoryLayout layout = tiled(columns);
  const Buffer y = view(client, memory.data(), {2, 3}, transposed, &layout);
  EXPECT_EQ(transposed.times, 1);
  EXPECT_EQ(get<float>(y), (Floats{1, 3, 5, 2, 4, 6}));
  Deleted refused;
  EXPECT_EQ(failure([&] { view(client, memory.data(), {-1}, refused); }),
            "3: CreateViewOfDeviceBuffer: dimension 0 has the size -1");
}

// --- buffers without contents

Buffer uninitialized(const Client& client, PJRT_Buffer_Type type, const Dims& dims) {
  auto args = empty<PJRT_Client_CreateUninitializedBuffer_Args>();
  args.client = client.get();
  args.shape_dims = dims.data();
  args.shape_num_dims = dims.size();
  args.shape_element_type = type;
  args.device = device_of(client);
  call(&PJRT_Api::PJRT_Client_CreateUninitializedBuffer, args);
  return Buffer(args.buffer);
}

TEST(UninitializedBuffers, HoldValuesOfTheirType) {
  const Client client = make_client();
  const Buffer x = uninitialized(client, PJRT_Buffer_Type_F32, {3, 2});
  EXPECT_EQ(dims_of(x), (Dims{3, 2}));
  EXPECT_EQ(get<float>(x).size(), 6u);
  EXPECT_TRUE(is_ready(ready_event(x)));
  for (const std::uint8_t flag :
       get<std::uint8_t>(uninitialized(client, PJRT_Buffer_Type_PRED, {1000})))
    ASSERT_LE(flag, 1);
  for (const std::int8_t n : get<std::int8_t>(uninitialized(client, PJRT_Buffer_Type_S4, {1000})))
    ASSERT_TRUE(n >= -8 && n <= 7);
}

Buffer failed(const Client& client, std::uint32_t code, std::string_view text) {
  const Dims dims{4};
  auto args = empty<PJRT_Client_CreateErrorBuffer_Args>();
  args.client = client.get();
  args.error_code = code;
  args.error_message = text.data();
  args.error_message_size = text.size();
  args.shape_dims = dims.data();
  args.shape_num_dims = dims.size();
  args.shape_element_type = PJRT_Buffer_Type_F32;
  args.memory = memories_of(device_of(client))[0];
  call(&PJRT_Api::PJRT_Client_CreateErrorBuffer, args);
  return Buffer(args.buffer);
}

TEST(ErrorBuffers, FailWithTheirError) {
  const Client client = make_client();
  const Buffer x = failed(client, PJRT_Error_Code_RESOURCE_EXHAUSTED, "no room for it");
  EXPECT_EQ(dims_of(x), Dims{4});
  EXPECT_FALSE(is_deleted(x));
  const Event ready = ready_event(x);
  EXPECT_TRUE(is_ready(ready));
  for (int i = 0; i < 2; ++i) {
    EXPECT_EQ(failure([&] { wait(ready); }), "8: no room for it");
    EXPECT_EQ(failure([&] {
                ask(&PJRT_Api::PJRT_Event_Error, &PJRT_Event_Error_Args::event, ready.get());
              }),
              "8: no room for it");
  }
  EXPECT_EQ(failure([&] { get<float>(x); }), "8: no room for it");
  // So do the calls that get it, whether they take it or not.
  const Loaded next = taking(client, "tensor<4xf32>");
  const std::string called =
      failure([&] { get<float>(run(next, {x.get()}, {.not_donated = {0}})[0]); });
  EXPECT_EQ(called, "8: no room for it");
  EXPECT_EQ(failure([&] { get<float>(run(next, {x.get()})[0]); }), "8: no room for it");
}

}  // namespace
