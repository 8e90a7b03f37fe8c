// Buffers made of a caller's memory: when it is copied and when it is shared, strides, types,
// layouts and sizes that are refused.
#include "caller.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <numeric>

using namespace caller;

namespace {

using Floats = std::vector<float>;

// Memory at which a block may be shared, or, with an offset, may not.
struct alignas(64) Room {
  std::array<float, 64> values{};
};

const std::array kSemantics{PJRT_HostBufferSemantics_kImmutableOnlyDuringCall,
                            PJRT_HostBufferSemantics_kImmutableUntilTransferCompletes,
                            PJRT_HostBufferSemantics_kImmutableZeroCopy,
                            PJRT_HostBufferSemantics_kMutableZeroCopy};

bool may_share(PJRT_HostBufferSemantics s) {
  return s >= PJRT_HostBufferSemantics_kImmutableZeroCopy;
}

Floats iota(std::size_t n) {
  Floats v(n);
  std::iota(v.begin(), v.end(), 0.0f);
  return v;
}

Loaded doubling(const Client& client, const std::string& type) {
  return compile(client, module_of("%a: " + type, type,
                                   "    %0 = stablehlo.add %a, %a : " + type +
                                       "\n    return %0 : " + type + "\n"));
}

TEST(HostBuffers, ShareMemoryOnlyIfTheCallerLendsIt) {
  const Client client = make_client();
  const Loaded doubled = doubling(client, "tensor<4xf32>");
  for (const PJRT_HostBufferSemantics s : kSemantics) {
    Room room{{1, 2, 3, 4}};
    FromHost from{room.values.data(), PJRT_Buffer_Type_F32, {4}};
    from.semantics = s;
    Put made = put(client, from);
    EXPECT_EQ(place_of(made.buffer) == room.values.data(), may_share(s)) << s;
    // The caller has its memory back at once if it was copied, and else with the buffer's end.
    EXPECT_EQ(is_ready(made.done_with_host_buffer), !may_share(s)) << s;
    Buffers results = run(doubled, {made.buffer.get()});
    EXPECT_EQ(get<float>(results[0]), (Floats{2, 4, 6, 8})) << s;
    if (!may_share(s)) room.values.fill(-1);
    EXPECT_EQ(get<float>(made.buffer), (Floats{1, 2, 3, 4})) << s;
    made.buffer.reset();
    EXPECT_TRUE(is_ready(made.done_with_host_buffer)) << s;
    wait(made.done_with_host_buffer);
  }
}

TEST(HostBuffers, GiveMemoryBackWhenTheyAreDeleted) {
  const Client client = make_client();
  Room room;
  FromHost from{room.values.data(), PJRT_Buffer_Type_F32, {64}};
  from.semantics = PJRT_HostBufferSemantics_kImmutableZeroCopy;
  const Put made = put(client, from);
  int given_back = 0;
  auto ready = empty<PJRT_Event_OnReady_Args>();
  ready.event = made.done_with_host_buffer.get();
  ready.user_arg = &given_back;
  ready.callback = [](PJRT_Error* error, void* user) {
    EXPECT_EQ(error, nullptr);
    ++*static_cast<int*>(user);
  };
  call(&PJRT_Api::PJRT_Event_OnReady, ready);
  EXPECT_EQ(given_back, 0);
  // A reference from outside outlives the deletion.
  add_reference(made.buffer);
  delete_block(made.buffer);
  EXPECT_EQ(given_back, 0);
  remove_reference(made.buffer);
  EXPECT_EQ(given_back, 1);
  EXPECT_TRUE(is_deleted(made.buffer));
}

// A result that is an argument as it is has memory of its own, since the caller may get its back.
TEST(HostBuffers, AreNotSharedWithResults) {
  const Client client = make_client();
  const Loaded same = compile(
      client, module_of("%a: tensor<4xf32>", "tensor<4xf32>", "    return %a : tensor<4xf32>\n"));
  Room room{{1, 2, 3, 4}};
  FromHost from{room.values.data(), PJRT_Buffer_Type_F32, {4}};
  from.semantics = PJRT_HostBufferSemantics_kImmutableZeroCopy;
  Put made = put(client, from);
  Buffers results = run(same, {made.buffer.get()});
  EXPECT_NE(place_of(results[0]), room.values.data());
  made.buffer.reset();
  EXPECT_TRUE(is_ready(made.done_with_host_buffer));
  room.values.fill(-1);
  EXPECT_EQ(get<float>(results[0]), (Floats{1, 2, 3, 4}));
}

TEST(HostBuffers, CopyWhatIsNotAligned) {
  const Client client = make_client();
  Room room;
  std::iota(room.values.begin(), room.values.end(), 0.0f);
  for (const PJRT_HostBufferSemantics s : kSemantics)
    for (const std::size_t offset : {std::size_t{4}, std::size_t{16}, std::size_t{1}}) {
      const char* const data = reinterpret_cast<const char*>(room.values.data()) + offset;
      FromHost from{data, PJRT_Buffer_Type_F32, {3}};
      from.semantics = s;
      const Put made = put(client, from);
      EXPECT_TRUE(is_ready(made.done_with_host_buffer));
      Floats expected(3);
      std::memcpy(expected.data(), data, 12);
      EXPECT_EQ(get<float>(made.buffer), expected) << offset;
      EXPECT_EQ(reinterpret_cast<std::uintptr_t>(place_of(made.buffer)) % 64, 0u);
    }
}

// Element i, j, k of a block is 100 i + 10 j + k wherever the caller has it.
TEST(HostBuffers, TakeAnyStrides) {
  const Client client = make_client();
  Floats expected;
  for (int i = 0; i < 2; ++i)
    for (int j = 0; j < 3; ++j)
      for (int k = 0; k < 4; ++k) expected.push_back(static_cast<float>(100 * i + 10 * j + k));
  const std::vector<Dims> strides{
      {48, 16, 4}, {4, 8, 24}, {16, 32, 4}, {-48, 16, 4}, {48, -16, -4}, {160, 48, 8}, {20, -80, 4},
  };
  for (const Dims& s : strides)
    for (const PJRT_HostBufferSemantics semantics : kSemantics) {
      alignas(64) std::array<float, 256> room{};
      std::byte* const origin = reinterpret_cast<std::byte*>(room.data() + 128);
      std::size_t at = 0;
      for (int i = 0; i < 2; ++i)
        for (int j = 0; j < 3; ++j)
          for (int k = 0; k < 4; ++k)
            std::memcpy(origin + i * s[0] + j * s[1] + k * s[2], &expected[at++], 4);
      FromHost from{origin, PJRT_Buffer_Type_F32, {2, 3, 4}, s};
      from.semantics = semantics;
      const Put made = put(client, from);
      const bool shared = may_share(semantics) && s == Dims{48, 16, 4};
      EXPECT_EQ(place_of(made.buffer) == origin, shared);
      EXPECT_EQ(is_ready(made.done_with_host_buffer), !shared);
      if (!shared) room.fill(-1);
      EXPECT_EQ(get<float>(made.buffer), expected) << testing::PrintToString(s);
    }
  // A stride of zero repeats.
  const float value = 7;
  const Put repeated = put(client, {&value, PJRT_Buffer_Type_F32, {2, 2}, {0, 0}});
  EXPECT_EQ(get<float>(repeated.buffer), (Floats{7, 7, 7, 7}));
  // Strides along dimensions of one element do not matter.
  Room room{{1, 2, 3}};
  FromHost from{room.values.data(), PJRT_Buffer_Type_F32, {1, 3, 1}, {4, 4, 1000}};
  from.semantics = PJRT_HostBufferSemantics_kImmutableZeroCopy;
  EXPECT_EQ(place_of(put(client, from).buffer), room.values.data());
}

// Enough to be copied by several workers.
TEST(HostBuffers, TakeTheTransposeOfLargeMemory) {
  const Client client = make_client();
  const std::int64_t n = 700, m = 900;
  const Floats values = iota(static_cast<std::size_t>(n * m));
  const Put made = put(client, {values.data(), PJRT_Buffer_Type_F32, {m, n}, {4, 4 * m}});
  wait(made.done_with_host_buffer);
  const Floats got = get<float>(made.buffer);
  ASSERT_EQ(got.size(), values.size());
  std::size_t wrong = 0;
  for (std::int64_t i = 0; i < m; ++i)
    for (std::int64_t j = 0; j < n; ++j)
      wrong += got[static_cast<std::size_t>(i * n + j)] != static_cast<float>(j * m + i);
  EXPECT_EQ(wrong, 0u);
}

TEST(HostBuffers, MayBeEmptyOrScalars) {
  const Client client = make_client();
  for (const PJRT_HostBufferSemantics s : kSemantics) {
    FromHost from{nullptr, PJRT_Buffer_Type_F32, {3, 0, 2}};
    from.semantics = s;
    Put made = put(client, from);
    EXPECT_EQ(dims_of(made.buffer), (Dims{3, 0, 2}));
    EXPECT_EQ(get<float>(made.buffer), Floats{});
    Buffers results = run(doubling(client, "tensor<3x0x2xf32>"), {made.buffer.get()});
    EXPECT_EQ(dims_of(results[0]), (Dims{3, 0, 2}));
    EXPECT_EQ(get<float>(results[0]), Floats{});
    made.buffer.reset();
    EXPECT_TRUE(is_ready(made.done_with_host_buffer));

    const float value = 2.5f;
    FromHost scalar{&value, PJRT_Buffer_Type_F32, {}};
    scalar.semantics = s;
    const Put one = put(client, scalar);
    EXPECT_EQ(dims_of(one.buffer), Dims{});
    EXPECT_EQ(get<float>(one.buffer), Floats{2.5f});
    EXPECT_EQ(get<float>(run(doubling(client, "tensor<f32>"), {one.buffer.get()})[0]), Floats{5});
  }
}

TEST(HostBuffers, KeepTheBytesOfEachType) {
  const Client client = make_client();
  std::vector<std::uint8_t> bytes(16 * 6);
  for (std::size_t i = 0; i < bytes.size(); ++i) bytes[i] = static_cast<std::uint8_t>(37 * i + 11);
  const std::pair<PJRT_Buffer_Type, std::size_t> types[] = {
      {PJRT_Buffer_Type_S8, 1},  {PJRT_Buffer_Type_S16, 2},  {PJRT_Buffer_Type_S32, 4},
      {PJRT_Buffer_Type_S64, 8}, {PJRT_Buffer_Type_U8, 1},   {PJRT_Buffer_Type_U16, 2},
      {PJRT_Buffer_Type_U32, 4}, {PJRT_Buffer_Type_U64, 8},  {PJRT_Buffer_Type_F16, 2},
      {PJRT_Buffer_Type_F32, 4}, {PJRT_Buffer_Type_F64, 8},  {PJRT_Buffer_Type_BF16, 2},
      {PJRT_Buffer_Type_C64, 8}, {PJRT_Buffer_Type_C128, 16}};
  for (const auto& [type, size] : types) {
    const Put made = put(client, {bytes.data(), type, {2, 3}});
    EXPECT_EQ(element_of(made.buffer), type);
    const std::vector<std::uint8_t> expected(bytes.begin(),
                                             bytes.begin() + static_cast<std::ptrdiff_t>(6 * size));
    EXPECT_EQ(get<std::uint8_t>(made.buffer), expected) << type;
    EXPECT_EQ(ask(&PJRT_Api::PJRT_Buffer_OnDeviceSizeInBytes,
                  &PJRT_Buffer_OnDeviceSizeInBytes_Args::buffer, made.buffer.get())
                  .on_device_size_in_bytes,
              6 * size);
    EXPECT_TRUE(
        ask(&PJRT_Api::PJRT_Buffer_IsOnCpu, &PJRT_Buffer_IsOnCpu_Args::buffer, made.buffer.get())
            .is_on_cpu);
  }
  const std::vector<std::uint8_t> flags{0, 1, 1, 0};
  const Put made = put(client, {flags.data(), PJRT_Buffer_Type_PRED, {4}});
  EXPECT_EQ(get<std::uint8_t>(made.buffer), flags);
}

TEST(HostBuffers, AreInTheMemoryThatIsAskedFor) {
  const Client client = make_client(2);
  const float value = 1;
  const auto made_in = [&](PJRT_Device* device, PJRT_Memory* memory) {
    FromHost from{&value, PJRT_Buffer_Type_F32, {}};
    from.device = device;
    from.memory = memory;
    return put(client, from).buffer;
  };
  PJRT_Device* const one = device_of(client, 1);
  EXPECT_EQ(device_of(made_in(nullptr, nullptr)), device_of(client, 0));
  EXPECT_EQ(device_of(made_in(one, nullptr)), one);
  EXPECT_EQ(memory_of(made_in(one, nullptr)), memories_of(one)[0]);
  for (PJRT_Memory* const m : memories_of(one)) {
    EXPECT_EQ(memory_of(made_in(nullptr, m)), m);
    EXPECT_EQ(device_of(made_in(nullptr, m)), one);
  }
}

// The order of dimensions that a caller asks for is a label, with which the block is read as well.
TEST(HostBuffers, KeepTheLayoutThatIsAskedFor) {
  const Client client = make_client();
  const Floats values = iota(6);
  const Dims order{0, 1};
  PJRT_Buffer_MemoryLayout column_major = tiled(order);
  FromHost from{values.data(), PJRT_Buffer_Type_F32, {2, 3}};
  from.layout = &column_major;
  const Put made = put(client, from);
  EXPECT_EQ(get<float>(made.buffer), values);
  const auto layout = ask(&PJRT_Api::PJRT_Buffer_GetMemoryLayout,
                          &PJRT_Buffer_GetMemoryLayout_Args::buffer, made.buffer.get())
                          .layout;
  EXPECT_EQ(layout.type, PJRT_Buffer_MemoryLayout_Type_Tiled);
  EXPECT_EQ(Dims(layout.tiled.minor_to_major,
                 layout.tiled.minor_to_major + layout.tiled.minor_to_major_size),
            order);
  EXPECT_EQ(layout.tiled.num_tiles, 0u);
  // Who reads in place would find another order than the label says.
  EXPECT_FALSE(
      ask(&PJRT_Api::PJRT_Buffer_IsOnCpu, &PJRT_Buffer_IsOnCpu_Args::buffer, made.buffer.get())
          .is_on_cpu);
  EXPECT_EQ(failure([&] { place_of(made.buffer); }),
            "12: elements of the type f32 are stored in a wider type, or dimensions in another "
            "order, than callers see; read them with ToHostBuffer");
  const Dims strides{4, 8};
  PJRT_Buffer_MemoryLayout by_strides = strided(strides);
  from.layout = &by_strides;
  EXPECT_EQ(get<float>(put(client, from).buffer), values);
}

TEST(HostBuffers, AreRefusedWithWrongSizes) {
  const Client client = make_client();
  const Floats values(64);
  const auto refused = [&](const Dims& dims, const Dims& strides = {},
                           PJRT_Buffer_MemoryLayout* layout = nullptr,
                           PJRT_Buffer_Type type = PJRT_Buffer_Type_F32) {
    FromHost from{values.data(), type, dims, strides};
    from.layout = layout;
    return failure([&] { put(client, from); });
  };
  EXPECT_EQ(refused({2, -3}), "3: BufferFromHostBuffer: dimension 1 has the size -3");
  EXPECT_EQ(refused({2, 3}, {4}), "3: BufferFromHostBuffer: there are 1 strides for 2 dimensions");
  const std::int64_t large = std::int64_t{1} << 40;
  EXPECT_EQ(refused({large, large}),
            "3: BufferFromHostBuffer: a block of 1099511627776 x 1099511627776 elements is too "
            "large");
  EXPECT_EQ(refused({large, large, 0}),
            "3: BufferFromHostBuffer: a block of 1099511627776 x 1099511627776 x 0 elements is too "
            "large");
  const Dims twice{0, 0}, tiles{8, 128}, one{4};
  PJRT_Buffer_MemoryLayout wrong = tiled(twice);
  EXPECT_EQ(refused({2, 3}, {}, &wrong),
            "3: BufferFromHostBuffer: the layout does not name each of the block's 2 dimensions "
            "once");
  const Dims order{1, 0};
  const std::size_t tile_size = 2;
  PJRT_Buffer_MemoryLayout with_tiles = tiled(order);
  with_tiles.tiled.tile_dims = tiles.data();
  with_tiles.tiled.tile_dim_sizes = &tile_size;
  with_tiles.tiled.num_tiles = 1;
  EXPECT_EQ(refused({2, 3}, {}, &with_tiles),
            "12: BufferFromHostBuffer: host memory has no tiles; give a layout without them");
  PJRT_Buffer_MemoryLayout short_strides = strided(one);
  EXPECT_EQ(refused({2, 3}, {}, &short_strides),
            "3: BufferFromHostBuffer: the layout has 1 strides, and the block 2 dimensions");
  EXPECT_EQ(refused({2}, {}, nullptr, PJRT_Buffer_Type_INVALID),
            "12: there is no element type with the number 0");
  EXPECT_EQ(refused({2}, {}, nullptr, static_cast<PJRT_Buffer_Type>(99)),
            "12: there is no element type with the number 99");
}

}  // namespace
