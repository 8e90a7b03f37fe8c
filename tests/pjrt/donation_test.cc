// Arguments that a call takes: which ones, when their memory becomes a result's, and when not.
#include "gate.h"

#include <array>
#include <numeric>

using namespace caller;

namespace {

using Floats = std::vector<float>;

const std::string kV = "tensor<4xf32>";

// Adds one to an argument of this type with these attributes.
Loaded next(const Client& client, const std::string& attributes, const std::string& type = kV) {
  return compile(client, module_of("%a: " + type + attributes, type,
                                   "    %c = stablehlo.constant dense<1.0> : " + type +
                                       "\n    %0 = stablehlo.add %a, %c : " + type +
                                       "\n    return %0 : " + type + "\n"));
}
Buffer four(const Client& client) { return put(client, Floats{1, 2, 3, 4}, {4}); }

const std::string kAliased = " {tf.aliasing_output = 0 : i32}";
const std::string kDonor = " {jax.buffer_donor = true}";

TEST(Donation, GivesTheMemoryToTheResult) {
  const Client client = make_client();
  for (const std::string& attributes : {kAliased, kDonor}) {
    const Loaded taking = next(client, attributes);
    const Buffer x = four(client);
    const void* const place = place_of(x);
    const Buffers y = run(taking, {x.get()});
    EXPECT_TRUE(is_deleted(x));
    EXPECT_EQ(place_of(y[0]), place);
    EXPECT_EQ(get<float>(y[0]), (Floats{2, 3, 4, 5}));
    EXPECT_EQ(failure([&] { run(taking, {x.get()}); }),
              "3: Execute: argument 0 of the program 'm' has been deleted or donated");
  }
  // Without being declared it is not taken.
  const Buffer x = four(client);
  const Buffers y = run(next(client, ""), {x.get()});
  EXPECT_FALSE(is_deleted(x));
  EXPECT_NE(place_of(y[0]), place_of(x));
}

TEST(Donation, IsCountedOnce) {
  const Client client = make_client();
  PJRT_Device* const device = device_of(client);
  const std::string type = "tensor<100000xf32>";
  const Loaded taking = next(client, kAliased, type);
  const std::int64_t before = live_bytes(device);
  Buffer x = put(client, Floats(100000), {100000});
  for (int i = 1; i <= 20; ++i) {
    Buffers y = run(taking, {x.get()});
    x = std::move(y[0]);
    wait(ready_event(x));
    EXPECT_EQ(live_bytes(device) - before, 400000);
  }
  EXPECT_EQ(get<float>(x), Floats(100000, 20));
  x.reset();
  EXPECT_EQ(live_bytes(device), before);
}

TEST(Donation, IsRefusedByTheCaller) {
  const Client client = make_client();
  const Loaded taking = next(client, kAliased);
  const Buffer x = four(client);
  const Buffers y = run(taking, {x.get()}, {.not_donated = {0}});
  EXPECT_FALSE(is_deleted(x));
  EXPECT_EQ(get<float>(x), (Floats{1, 2, 3, 4}));
  EXPECT_EQ(get<float>(y[0]), (Floats{2, 3, 4, 5}));
  // Numbers of no argument are ignored.
  run(taking, {x.get()}, {.not_donated = {7, -1, 0}});
  EXPECT_FALSE(is_deleted(x));
}

// An argument that may serve any result is taken only if one has its size and no other argument.
TEST(Donation, OfWhatNoResultNeedsLeavesItAlive) {
  const Client client = make_client();
  const Loaded mixed =
      compile(client, module_of("%a: tensor<4xf32> {jax.buffer_donor = true}, "
                                "%b: tensor<4xf32> {jax.buffer_donor = true}, "
                                "%c: tensor<2xf32> {jax.buffer_donor = true}, "
                                "%d: tensor<8xi8> {jax.buffer_donor = true}",
                                "tensor<4xf32>, tensor<2xf32>",
                                "    %0 = stablehlo.add %a, %b : tensor<4xf32>\n"
                                "    %1 = stablehlo.add %c, %c : tensor<2xf32>\n"
                                "    return %0, %1 : tensor<4xf32>, tensor<2xf32>\n"));
  const Buffer a = four(client), b = four(client), c = put(client, Floats{1, 2}, {2}),
               d = put(client, std::vector<std::int8_t>(8, 1), {8});
  const Buffers r = run(mixed, {a.get(), b.get(), c.get(), d.get()});
  EXPECT_TRUE(is_deleted(a));
  EXPECT_FALSE(is_deleted(b));
  EXPECT_TRUE(is_deleted(c));
  EXPECT_FALSE(is_deleted(d));
  EXPECT_EQ(get<float>(b), (Floats{1, 2, 3, 4}));
  EXPECT_EQ(get<float>(r[0]), (Floats{2, 4, 6, 8}));
  EXPECT_EQ(get<float>(r[1]), (Floats{2, 4}));
}

TEST(Donation, OfAnArgumentThatIsReturnedMovesIt) {
  const Client client = make_client();
  const Loaded swapped =
      compile(client, module_of("%a: tensor<4xf32> {tf.aliasing_output = 1 : i32}, "
                                "%b: tensor<4xf32> {tf.aliasing_output = 0 : i32}",
                                "tensor<4xf32>, tensor<4xf32>",
                                "    return %b, %a : tensor<4xf32>, tensor<4xf32>\n"));
  const Buffer a = four(client), b = put(client, Floats{5, 6, 7, 8}, {4});
  const Buffers r = run(swapped, {a.get(), b.get()});
  EXPECT_TRUE(is_deleted(a));
  EXPECT_TRUE(is_deleted(b));
  EXPECT_EQ(get<float>(r[0]), (Floats{5, 6, 7, 8}));
  EXPECT_EQ(get<float>(r[1]), (Floats{1, 2, 3, 4}));
}

TEST(Donation, TakesNoBufferTwice) {
  const Client client = make_client();
  const std::string types = "%a: tensor<4xf32> {tf.aliasing_output = 0 : i32}, %b: tensor<4xf32>";
  const std::string body =
      "    %0 = stablehlo.add %a, %b : tensor<4xf32>\n    return %0 : tensor<4xf32>\n";
  const Loaded one = compile(client, module_of(types, kV, body));
  const Buffer x = four(client);
  EXPECT_EQ(failure([&] {
              run(one, {x.get(), x.get()});
            }),
            "3: Attempt to use a buffer that was previously donated in the same call to Execute() "
            "(flattened argument 1, replica 0). Give the argument an array of its own.");
  const Loaded both =
      compile(client, module_of("%a: tensor<4xf32> {tf.aliasing_output = 0 : i32}, "
                                "%b: tensor<4xf32> {tf.aliasing_output = 1 : i32}",
                                "tensor<4xf32>, tensor<4xf32>",
                                "    %0 = stablehlo.add %a, %b : tensor<4xf32>\n"
                                "    return %0, %a : tensor<4xf32>, tensor<4xf32>\n"));
  EXPECT_EQ(failure([&] {
              run(both, {x.get(), x.get()});
            }),
            "3: Attempt to donate the same buffer twice in Execute() (flattened argument 1, "
            "replica 0). Give each donated argument an array of its own.");
  // The refused call has taken no buffer.
  EXPECT_FALSE(is_deleted(x));
  EXPECT_EQ(get<float>(x), (Floats{1, 2, 3, 4}));
  // Nor has a call that names another argument wrongly.
  const Buffer wrong = put(client, Floats{1}, {1});
  EXPECT_EQ(failure([&] {
              run(one, {x.get(), wrong.get()});
            }),
            "3: Execute: argument 1 of the program 'm' is f32[4] on each device, and gets f32[1]");
  EXPECT_FALSE(is_deleted(x));
  EXPECT_EQ(get<float>(run(one, {x.get(), four(client).get()})[0]), (Floats{2, 4, 6, 8}));
}

TEST(Donation, LeavesLentMemoryAlone) {
  const Client client = make_client();
  alignas(64) std::array<float, 4> memory{1, 2, 3, 4};
  FromHost from{memory.data(), PJRT_Buffer_Type_F32, {4}};
  for (const auto s :
       {PJRT_HostBufferSemantics_kImmutableZeroCopy, PJRT_HostBufferSemantics_kMutableZeroCopy}) {
    from.semantics = s;
    const Put lent = put(client, from);
    const Buffers y = run(next(client, kAliased), {lent.buffer.get()});
    EXPECT_TRUE(is_deleted(lent.buffer));
    EXPECT_EQ(get<float>(y[0]), (Floats{2, 3, 4, 5}));
    EXPECT_EQ(memory, (std::array<float, 4>{1, 2, 3, 4}));
    EXPECT_TRUE(is_ready(lent.done_with_host_buffer));
  }
}

// A reader that has begun sees the value of the buffer when it began.
TEST(Donation, WaitsForReaders) {
  Gate gate;
  const Client client = make_client();
  const Loaded gated = compile(client, Gate::module()), taking = next(client, kAliased);
  const Buffer matrix = put(client, Floats(256 * 256), {256, 256}), x = four(client);
  Results r = run_on(gated, std::vector<Arguments>{{matrix.get(), x.get()}}, 2);
  const Buffers y = run(taking, {x.get()});
  EXPECT_TRUE(is_deleted(x));
  gate.open();
  EXPECT_EQ(get<float>(y[0]), (Floats{2, 3, 4, 5}));
  EXPECT_EQ(get<float>(r.buffers[0][1]), (Floats{2, 3, 4, 5}));
}

// A copy to the host that was asked for before the donation.
TEST(Donation, LeavesCopiesTheirValues) {
  const Client client = make_client();
  const std::string type = "tensor<100000xf32>";
  const Loaded taking = next(client, kAliased, type);
  Buffer x = put(client, Floats(100000), {100000});
  std::vector<Floats> seen(30, Floats(100000));
  std::vector<Event> copied;
  for (Floats& to : seen) {
    copied.push_back(copy_to_host(x, to.data(), 400000));
    Buffers y = run(taking, {x.get()});
    x = std::move(y[0]);
  }
  for (std::size_t i = 0; i < seen.size(); ++i) {
    wait(copied[i]);
    EXPECT_EQ(seen[i], Floats(100000, static_cast<float>(i)));
  }
}

TEST(Donation, OfACallThatFailsIsDecidedByWhetherItBegan) {
  const Client client = make_client();
  const std::string type = "tensor<4xf32>";
  const Loaded taking = next(client, kAliased);
  Gate gate;
  gate.fail_with("no");
  const Loaded gated = compile(client, Gate::module());
  const Buffer matrix = put(client, Floats(256 * 256), {256, 256}), x = four(client);
  Results r = run_on(gated, std::vector<Arguments>{{matrix.get(), x.get()}}, 2);
  gate.open();
  // A call of what failed fails too.
  EXPECT_EQ(failure([&] { get<float>(run(taking, {r.buffers[0][1].get()})[0]); }),
            "13: a callback failed: no");
  EXPECT_EQ(get<float>(x), (Floats{1, 2, 3, 4}));
}

}  // namespace
