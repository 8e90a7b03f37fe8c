// Many compilations and calls: the memory in use stays as it is.
#include "caller.h"

#include <malloc.h>
#include <sys/wait.h>

#include <array>
#include <cstdio>

using namespace caller;

namespace {

using Floats = std::vector<float>;

// Bytes that the process has allocated and not given back, in all threads.
std::int64_t allocated() { return static_cast<std::int64_t>(mallinfo2().uordblks); }

std::string doubled(std::int64_t n, const std::string& attributes = "") {
  const std::string type = "tensor<" + std::to_string(n) + "xf32>";
  return module_of("%a: " + type + attributes, type,
                   "    %0 = stablehlo.add %a, %a : " + type + "\n    return %0 : " + type + "\n");
}
void compile_and_call(const Client& client, std::int64_t n) {
  const Loaded loaded = compile(client, doubled(n));
  const Executable e = executable_of(loaded);
  const Buffer x = put(client, Floats(static_cast<std::size_t>(n), 1), {n});
  const Buffers y = run(loaded, {x.get()});
  ASSERT_EQ(get<float>(y[0])[0], 2);
}

TEST(Endurance, OfCalls) {
  const Client client = make_client(2);
  PJRT_Device* const device = device_of(client);
  const Loaded loaded = compile(client, doubled(64));
  const Loaded taking = compile(client, doubled(64, " {tf.aliasing_output = 0 : i32}"));
  const Buffer x = put(client, Floats(64, 1), {64});
  Buffer one = put(client, Floats(64, 0), {64});
  const std::int64_t live = live_bytes(device);
  std::int64_t before = 0;
  for (int i = 0; i < 20000; ++i) {
    if (i == 1000) before = allocated();  // caches are full now
    Results r = run_on(loaded, std::vector<Arguments>{{x.get()}}, 1);
    const Event ready = ready_event(r.buffers[0][0]);
    one = std::move(run_on(taking, std::vector<Arguments>{{one.get()}}, 1).buffers[0][0]);
  }
  EXPECT_EQ(live_bytes(device), live);
  EXPECT_LT(allocated() - before, 64 << 10);
}

TEST(Endurance, OfBuffers) {
  const Client client = make_client(2);
  PJRT_Device *const device = device_of(client), *const other = device_of(client, 1);
  alignas(64) static std::array<float, 64> memory{};
  const std::int64_t live = live_bytes(device), live_there = live_bytes(other);
  std::int64_t before = 0;
  for (int i = 0; i < 20000; ++i) {
    if (i == 1000) before = allocated();
    FromHost from{memory.data(), PJRT_Buffer_Type_F32, {64}};
    from.semantics = static_cast<PJRT_HostBufferSemantics>(i % 4);
    const Put made = put(client, from);
    add_reference(made.buffer);
    Floats to(64);
    const Event copied = copy_to_host(made.buffer, to.data(), 256);
    auto copy = empty<PJRT_Buffer_CopyToDevice_Args>();
    copy.buffer = made.buffer.get();
    copy.dst_device = other;
    call(&PJRT_Api::PJRT_Buffer_CopyToDevice, copy);
    const Buffer there(copy.dst_buffer);
    remove_reference(made.buffer);
    EXPECT_EQ(failure([&] { copy_to_host(there, to.data(), 1); }).substr(0, 2), "3:");
  }
  EXPECT_EQ(live_bytes(device), live);
  EXPECT_EQ(live_bytes(other), live_there);
  EXPECT_LT(allocated() - before, 64 << 10);
}

// Started by the next test, with little room for programs that nobody has any more.
TEST(Endurance, DISABLED_OfCompilationsInAProcess) {
  const Client client = make_client();
  const std::int64_t live = live_bytes(device_of(client));
  for (std::int64_t n = 1; n <= 1000; ++n) compile_and_call(client, n);
  const std::int64_t half = allocated();
  for (std::int64_t n = 1001; n <= 2000; ++n) compile_and_call(client, n);
  // Arrays become larger; the rest is the allocator's slack.
  EXPECT_LT(allocated() - half, 512 << 10);
  EXPECT_EQ(live_bytes(device_of(client)), live);
}

TEST(Endurance, OfCompilations) {
  const std::string command =
      "TESSERA_PROGRAM_CACHE_MB=1 timeout 300 /proc/" + std::to_string(getpid()) +
      "/exe --gtest_also_run_disabled_tests --gtest_filter=Endurance.DISABLED_* 2>&1";
  FILE* const child = popen(command.c_str(), "r");
  ASSERT_NE(child, nullptr);
  std::string out;
  for (int c; (c = std::fgetc(child)) != EOF;) out += static_cast<char>(c);
  const int status = pclose(child);
  EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0) << out;
}

// What is refused leaves nothing behind.
TEST(Endurance, OfErrors) {
  const Client client = make_client();
  const Loaded loaded = compile(client, doubled(4));
  const Buffer wrong = put(client, Floats(3), {3});
  const std::int64_t live = live_bytes(device_of(client));
  std::int64_t before = 0;
  for (int i = 0; i < 3000; ++i) {
    if (i == 500) before = allocated();
    EXPECT_NE(failure([&] { run_on(loaded, std::vector<Arguments>{{wrong.get()}}, 1); }), "");
    EXPECT_NE(failure([&] { compile(client, "module {"); }), "");
    EXPECT_NE(failure([&] { compile(client, doubled(4), options_for(1, 1, {9})); }), "");
    EXPECT_NE(failure([&] {
                compile(client, module_of("%a: tensor<4xf32>", "tensor<4xf32>",
                                          "    %0 = stablehlo.no_such_op %a : tensor<4xf32>\n"
                                          "    return %0 : tensor<4xf32>\n"));
              }),
              "");
  }
  EXPECT_EQ(live_bytes(device_of(client)), live);
  EXPECT_LT(allocated() - before, 64 << 10);
}

}  // namespace
