// Weights that calls keep in packed form: results follow what the caller does with its memory.
#include "caller.h"

#include <array>

using namespace caller;

namespace {

using Floats = std::vector<float>;

constexpr std::int64_t kRows = 8, kInner = 256, kColumns = 512;
const std::string kX = "tensor<8x256xf32>", kW = "tensor<256x512xf32>", kY = "tensor<8x512xf32>";

Loaded product(const Client& client) {
  return compile(client,
                 module_of("%x: " + kX + ", %w: " + kW, kY,
                           "    %0 = stablehlo.dot_general %x, %w, contracting_dims = [1] "
                           "x [0] : (" +
                               kX + ", " + kW + ") -> " + kY + "\n    return %0 : " + kY + "\n"));
}
// Halves the weights in their memory.
Loaded halving(const Client& client) {
  return compile(client, module_of("%w: " + kW + " {tf.aliasing_output = 0 : i32}", kW,
                                   "    %c = stablehlo.constant dense<0.5> : " + kW +
                                       "\n    %0 = stablehlo.multiply %w, %c : " + kW +
                                       "\n    return %0 : " + kW + "\n"));
}
Floats all(std::int64_t count, float value) {
  return Floats(static_cast<std::size_t>(count), value);
}
Floats expected(float weight) { return all(kRows * kColumns, weight * static_cast<float>(kInner)); }

alignas(64) std::array<float, kInner * kColumns> memory;

}  // namespace

TEST(PackedOperands, DonatedWeightsGiveNewOnes) {
  const Client client = make_client();
  const Loaded multiply = product(client), halve = halving(client);
  const Buffer x = put(client, all(kRows * kInner, 1), {kRows, kInner});
  Buffer w = put(client, all(kInner * kColumns, 8), {kInner, kColumns});
  float weight = 8;
  for (int round = 0; round < 3; ++round, weight /= 2) {
    for (int call = 0; call < 3; ++call)
      EXPECT_EQ(get<float>(run(multiply, {x.get(), w.get()})[0]), expected(weight));
    const void* const place = place_of(w);
    // A call that is still in the queue reads the weights before they are written over.
    const Buffers late = run(multiply, {x.get(), w.get()});
    Buffers next = run(halve, {w.get()});
    w = std::move(next[0]);
    EXPECT_EQ(get<float>(late[0]), expected(weight));
    if (round == 0) {
      EXPECT_EQ(place_of(w), place);
    }
  }
}

TEST(PackedOperands, ViewsOfOthersAreReadInEachCall) {
  const Client client = make_client();
  const Loaded multiply = product(client);
  const Buffer x = put(client, all(kRows * kInner, 1), {kRows, kInner});
  auto args = empty<PJRT_Client_CreateViewOfDeviceBuffer_Args>();
  args.client = client.get();
  args.device_buffer_ptr = memory.data();
  const Dims dims{kInner, kColumns};
  args.dims = dims.data();
  args.num_dims = dims.size();
  args.element_type = PJRT_Buffer_Type_F32;
  args.device = device_of(client);
  call(&PJRT_Api::PJRT_Client_CreateViewOfDeviceBuffer, args);
  const Buffer w(args.buffer);
  for (float weight = 1; weight < 5; ++weight) {
    memory.fill(weight);
    EXPECT_EQ(get<float>(run(multiply, {x.get(), w.get()})[0]), expected(weight));
  }
}

// Callers who lend memory for good promise not to change it, so its packed form is kept: a caller
// who breaks the promise reads the old weights. Others may change their memory at once, or later.
TEST(PackedOperands, LentMemoryIsKeptAsPromised) {
  const Client client = make_client();
  const Loaded multiply = product(client);
  const Buffer x = put(client, all(kRows * kInner, 1), {kRows, kInner});
  for (const auto& [semantics, sees_last] :
       {std::pair(PJRT_HostBufferSemantics_kImmutableOnlyDuringCall, false),
        {PJRT_HostBufferSemantics_kImmutableZeroCopy, false},
        {PJRT_HostBufferSemantics_kMutableZeroCopy, true}}) {
    memory.fill(1);
    FromHost from{memory.data(), PJRT_Buffer_Type_F32, {kInner, kColumns}};
    from.semantics = semantics;
    const Put w = put(client, from);
    for (int call = 0; call < 3; ++call)
      EXPECT_EQ(get<float>(run(multiply, {x.get(), w.buffer.get()})[0]), expected(1)) << semantics;
    memory.fill(2);
    EXPECT_EQ(get<float>(run(multiply, {x.get(), w.buffer.get()})[0]), expected(sees_last ? 2 : 1))
        << semantics;
  }
}
