// Events: of calls that are under way, of callers' own, and of those whose owner is gone.
#include "gate.h"

#include <array>
#include <numeric>
#include <optional>
#include <thread>

using namespace caller;

namespace {

using Floats = std::vector<float>;

// What callbacks of events were told: "" for success.
struct Told {
  std::mutex mutex;
  std::condition_variable changed;
  Texts texts;

  static void callback(PJRT_Error* error, void* user) {
    auto& told = *static_cast<Told*>(user);
    const std::string text = error ? failure([&] { check(error); }) : "";
    const std::lock_guard lock(told.mutex);
    told.texts.push_back(text);
    told.changed.notify_all();
  }
  Texts after(std::size_t n) {
    std::unique_lock lock(mutex);
    changed.wait(lock, [&] { return texts.size() >= n; });
    return texts;
  }
  std::size_t count() {
    const std::lock_guard lock(mutex);
    return texts.size();
  }
};

void on_ready(PJRT_Event* event, Told& told) {
  auto args = empty<PJRT_Event_OnReady_Args>();
  args.event = event;
  args.callback = &Told::callback;
  args.user_arg = &told;
  call(&PJRT_Api::PJRT_Event_OnReady, args);
}
std::string error_of(const Event& event) {
  return failure(
      [&] { ask(&PJRT_Api::PJRT_Event_Error, &PJRT_Event_Error_Args::event, event.get()); });
}

// A call that waits behind the gate.
class PendingCall : public testing::Test {
 protected:
  Results start() {
    return run_on(gated_, std::vector<Arguments>{{matrix_.get(), four_.get()}}, 2);
  }

  Gate gate_;
  const Client client_ = make_client(2);
  const Loaded gated_ = compile(client_, Gate::module());
  const Buffer matrix_ = put(client_, Floats(256 * 256), {256, 256});
  const Buffer four_ = put(client_, Floats{1, 2, 3, 4}, {4});
};

TEST_F(PendingCall, ReturnsAtOnce) {
  Results r = start();
  const Event ready = ready_event(r.buffers[0][1]);
  EXPECT_FALSE(is_ready(ready));
  EXPECT_FALSE(is_ready(r.complete[0]));
  EXPECT_EQ(error_of(ready), "9: the event is not ready");
  EXPECT_EQ(dims_of(r.buffers[0][1]), Dims{4});
  Told told;
  on_ready(ready.get(), told);
  on_ready(ready.get(), told);
  on_ready(r.complete[0].get(), told);
  EXPECT_EQ(told.count(), 0u);
  gate_.open();
  EXPECT_EQ(told.after(3), (Texts{"", "", ""}));
  wait(ready);
  EXPECT_TRUE(is_ready(ready));
  EXPECT_EQ(error_of(ready), "");
  // Now a callback is called at once.
  on_ready(ready.get(), told);
  EXPECT_EQ(told.count(), 4u);
  EXPECT_EQ(get<float>(r.buffers[0][0]), Floats{1});
  EXPECT_EQ(get<float>(r.buffers[0][1]), (Floats{2, 3, 4, 5}));
}

TEST_F(PendingCall, GoesOnWithoutItsEventsAndBuffers) {
  Told told;
  {
    Results r = start();
    on_ready(r.complete[0].get(), told);
    on_ready(ready_event(r.buffers[0][0]).get(), told);
  }
  EXPECT_EQ(told.count(), 0u);
  gate_.open();
  EXPECT_EQ(told.after(2), (Texts{"", ""}));
  EXPECT_EQ(gate_.calls(), 1);
}

TEST_F(PendingCall, GoesOnWithoutItsProgramAndArguments) {
  std::optional<Results> r;
  {
    const Loaded gated = compile(client_, Gate::module());
    const Buffer matrix = put(client_, Floats(256 * 256), {256, 256});
    const Buffer four = put(client_, Floats{5, 6, 7, 8}, {4});
    r = run_on(gated, std::vector<Arguments>{{matrix.get(), four.get()}}, 2);
    delete_block(four);
  }
  gate_.open();
  EXPECT_EQ(get<float>(r->buffers[0][1]), (Floats{6, 7, 8, 9}));
}

TEST_F(PendingCall, IsReadWhenItIsDone) {
  Results r = start();
  Floats to(4);
  const Event copied = copy_to_host(r.buffers[0][1], to.data(), 16);
  EXPECT_FALSE(is_ready(copied));
  // The copy needs the block and not its buffer.
  r.buffers[0][1].reset();
  gate_.open();
  wait(copied);
  EXPECT_EQ(to, (Floats{2, 3, 4, 5}));
}

TEST_F(PendingCall, GivesItsResultsToOthers) {
  const Loaded doubled =
      compile(client_, module_of("%a: tensor<4xf32>", "tensor<4xf32>",
                                 "    %0 = stablehlo.add %a, %a : tensor<4xf32>\n"
                                 "    return %0 : tensor<4xf32>\n"));
  Results r = start();
  Buffers next = run(doubled, {r.buffers[0][1].get()});
  auto copy = empty<PJRT_Buffer_CopyToDevice_Args>();
  copy.buffer = next[0].get();
  copy.dst_device = device_of(client_, 1);
  call(&PJRT_Api::PJRT_Buffer_CopyToDevice, copy);
  const Buffer there(copy.dst_buffer);
  EXPECT_FALSE(is_ready(ready_event(there)));
  r.buffers.clear();
  next.clear();
  gate_.open();
  EXPECT_EQ(get<float>(there), (Floats{4, 6, 8, 10}));
}

// The memory that the caller lent stays in use as long as the call.
TEST_F(PendingCall, KeepsLentMemory) {
  alignas(64) std::array<float, 4> memory{1, 2, 3, 4};
  FromHost from{memory.data(), PJRT_Buffer_Type_F32, {4}};
  from.semantics = PJRT_HostBufferSemantics_kImmutableZeroCopy;
  Put lent = put(client_, from);
  Results r = run_on(gated_, std::vector<Arguments>{{matrix_.get(), lent.buffer.get()}}, 2);
  lent.buffer.reset();
  EXPECT_FALSE(is_ready(lent.done_with_host_buffer));
  gate_.open();
  wait(r.complete[0]);
  wait(lent.done_with_host_buffer);
  EXPECT_EQ(get<float>(r.buffers[0][1]), (Floats{2, 3, 4, 5}));
}

TEST_F(PendingCall, FailsWithWhatItsFunctionSays) {
  const Loaded doubled =
      compile(client_, module_of("%a: tensor<4xf32>", "tensor<4xf32>",
                                 "    %0 = stablehlo.add %a, %a : tensor<4xf32>\n"
                                 "    return %0 : tensor<4xf32>\n"));
  gate_.fail_with("nothing works");
  Results r = start();
  Told told;
  on_ready(r.complete[0].get(), told);
  Buffers next = run(doubled, {r.buffers[0][1].get()});
  on_ready(ready_event(next[0]).get(), told);
  gate_.open();
  const std::string expected = "13: a callback failed: nothing works";
  for (const std::string& text : told.after(2)) EXPECT_NE(text.find("nothing works"), text.npos);
  EXPECT_EQ(failure([&] { get<float>(r.buffers[0][0]); }), expected);
  EXPECT_EQ(failure([&] { wait(r.complete[0]); }), expected);
  EXPECT_EQ(error_of(r.complete[0]), expected);
  EXPECT_EQ(error_of(r.complete[0]), expected);
  // What it read is as before, and the next call is another one.
  gate_.fail_with("");
  EXPECT_EQ(get<float>(four_), (Floats{1, 2, 3, 4}));
  EXPECT_EQ(get<float>(start().buffers[0][0]), Floats{2});
}

// Buffers may be donated before they are written, and then hold what the caller of the second call
// was given.
TEST_F(PendingCall, IsTakenBeforeItIsDone) {
  const Loaded taken = compile(
      client_, module_of("%a: tensor<4xf32> {tf.aliasing_output = 0 : i32}", "tensor<4xf32>",
                         "    %0 = stablehlo.add %a, %a : tensor<4xf32>\n"
                         "    return %0 : tensor<4xf32>\n"));
  Results r = start();
  Buffers next = run(taken, {r.buffers[0][1].get()});
  EXPECT_TRUE(is_deleted(r.buffers[0][1]));
  EXPECT_FALSE(is_deleted(next[0]));
  gate_.open();
  EXPECT_EQ(get<float>(next[0]), (Floats{4, 6, 8, 10}));
  EXPECT_EQ(get<float>(r.buffers[0][0]), Floats{1});
}

// --- events of the caller

Event own_event() {
  auto args = empty<PJRT_Event_Create_Args>();
  call(&PJRT_Api::PJRT_Event_Create, args);
  return Event(args.event);
}
std::string set(const Event& event, std::uint32_t code = 0, std::string_view text = "") {
  auto args = empty<PJRT_Event_Set_Args>();
  args.event = event.get();
  args.error_code = code;
  args.error_message = text.data();
  args.error_message_size = text.size();
  return failure([&] { call(&PJRT_Api::PJRT_Event_Set, args); });
}

TEST(OwnEvents, AreSetOnce) {
  const Event good = own_event(), bad = own_event();
  Told told;
  on_ready(good.get(), told);
  on_ready(bad.get(), told);
  EXPECT_FALSE(is_ready(good));
  std::thread waiting([&] { wait(good); });
  EXPECT_EQ(set(good), "");
  waiting.join();
  EXPECT_TRUE(is_ready(good));
  EXPECT_EQ(set(bad, PJRT_Error_Code_OUT_OF_RANGE, "too far"), "");
  EXPECT_EQ(told.after(2), (Texts{"", "11: too far"}));
  EXPECT_EQ(error_of(bad), "11: too far");
  EXPECT_EQ(set(good), "9: the event was set before");
  EXPECT_EQ(set(bad), "9: the event was set before");
  const Client client = make_client();
  const Event other = ready_event(put(client, Floats{1}, {1}));
  EXPECT_EQ(set(other), "3: only an event that PJRT_Event_Create made can be set");
}

TEST(OwnEvents, MayEndUnset) {
  Told told;
  {
    const Event event = own_event();
    on_ready(event.get(), told);
  }
  EXPECT_EQ(told.count(), 0u);
}

}  // namespace
