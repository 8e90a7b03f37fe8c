// Functions of the host that programs call, through the interface that the package jax-tessera uses.
#include "caller.h"
#include "pjrt/callbacks_abi.h"

#include <atomic>
#include <cstring>
#include <mutex>
#include <thread>
#include <utility>

using namespace caller;

namespace {

using Floats = std::vector<float>;

// The calls of functions: "7 on 0: 11[2] 11[] -> 11[2]", with element types by their numbers.
struct Log {
  std::mutex mutex;
  Texts lines;
};
Log& log() {
  static Log all;
  return all;
}
std::string shown(std::int32_t n, const TesseraArray* arrays) {
  std::string text;
  for (const TesseraArray& a : std::span(arrays, static_cast<std::size_t>(n))) {
    text += " " + std::to_string(a.type) + "[";
    for (int d = 0; d < a.rank; ++d) text += (d ? "," : "") + std::to_string(a.dims[d]);
    text += "]";
  }
  return text;
}
std::int64_t count(const TesseraArray& a) {
  std::int64_t n = 1;
  for (int d = 0; d < a.rank; ++d) n *= a.dims[d];
  return n;
}

// Function 13 fails; all others write the first bytes of their first operand, or their number, to
// all results.
int enter(std::int64_t index, std::int64_t device, std::int32_t n_operands,
          const TesseraArray* operands, std::int32_t n_results, const TesseraArray* results,
          char* error, std::size_t error_size) {
  {
    const std::lock_guard lock(log().mutex);
    log().lines.push_back(std::to_string(index) + " on " + std::to_string(device) + ":" +
                          shown(n_operands, operands) + " ->" + shown(n_results, results));
  }
  if (index == 13) {
    std::strncpy(error, "ValueError: unlucky\n  in line 1", error_size);
    return 1;
  }
  if (index == 14) {  // fails without a word
    return 2;
  }
  for (const TesseraArray& r : std::span(results, static_cast<std::size_t>(n_results))) {
    const std::size_t size = r.type == PJRT_Buffer_Type_F32 ? 4 : 1;
    const auto number = static_cast<float>(index);
    for (std::int64_t i = 0; i < count(r); ++i) {
      const void* from = n_operands && count(operands[0])
                             ? static_cast<const char*>(operands[0].data) +
                                   i % count(operands[0]) * static_cast<std::int64_t>(size)
                             : reinterpret_cast<const char*>(&number);
      std::memcpy(static_cast<char*>(r.data) + i * static_cast<std::int64_t>(size), from, size);
    }
  }
  return 0;
}

std::string call_of(int index, const std::string& operands, const std::string& types,
                    bool effect = true) {
  return "stablehlo.custom_call @tessera_python_callback(" + operands +
         ") {api_version = 4 : i32, backend_config = {}, has_side_effect = " +
         (effect ? "true" : "false") + ", mhlo.backend_config = {index = " + std::to_string(index) +
         " : i64}} : " + types + "\n";
}
std::string echo(int index) {
  return module_of("%a: tensor<2xf32>", "tensor<2xf32>",
                   "    %0 = " + call_of(index, "%a", "(tensor<2xf32>) -> tensor<2xf32>") +
                       "    return %0 : tensor<2xf32>\n",
                   "jit_echo");
}
std::int64_t users(std::int64_t index) {
  return symbol<std::int64_t(std::int64_t)>("tessera_pjrt_callback_users")(index);
}

class Callbacks : public testing::Test {
 protected:
  static void set(TesseraCallback callback) {
    symbol<void(TesseraCallback)>("tessera_pjrt_set_callback")(callback);
  }
  void SetUp() override {
    log().lines.clear();
    set(&enter);
  }
  void TearDown() override { set(nullptr); }
  Texts taken_log() {
    symbol<void()>("tessera_pjrt_wait")();
    const std::lock_guard lock(log().mutex);
    return std::exchange(log().lines, {});
  }
  const Client client_ = make_client(4);
  const Buffer x_ = put(client_, Floats{1, 2}, {2});
};

TEST_F(Callbacks, GetOperandsAndGiveResults) {
  const Loaded loaded = compile(
      client_,
      module_of("%a: tensor<2xf32>, %b: tensor<2x3xi4>, %t: !stablehlo.token",
                "tensor<2xf32>, tensor<2x3xi4>, tensor<f32>, !stablehlo.token",
                "    %0 = " + call_of(7, "%a", "(tensor<2xf32>) -> tensor<2xf32>") + "    %1 = " +
                    call_of(8, "%b", "(tensor<2x3xi4>) -> tensor<2x3xi4>") + "    %2:2 = " +
                    call_of(9, "%t", "(!stablehlo.token) -> (!stablehlo.token, tensor<f32>)") +
                    "    return %0, %1, %2#1, %2#0 : tensor<2xf32>, tensor<2x3xi4>, tensor<f32>, "
                    "!stablehlo.token\n"));
  const std::vector<std::int8_t> narrow{-8, -1, 0, 1, 7, 3};
  const Put b = put(client_, {narrow.data(), PJRT_Buffer_Type_S4, {2, 3}});
  const Put token = put(client_, {nullptr, PJRT_Buffer_Type_TOKEN, {0}});
  const Buffers r = run(loaded, {x_.get(), b.buffer.get(), token.buffer.get()});
  EXPECT_EQ(get<float>(r[0]), (Floats{1, 2}));
  EXPECT_EQ(get<std::int8_t>(r[1]), narrow);
  EXPECT_EQ(get<float>(r[2]), Floats{9});
  EXPECT_EQ(element_of(r[3]), PJRT_Buffer_Type_TOKEN);
  EXPECT_EQ(taken_log(),
            (Texts{"7 on 0: 11[2] -> 11[2]", "8 on 0: 21[2,3] -> 21[2,3]", "9 on 0: -> 11[]"}));
}

TEST_F(Callbacks, WithoutOperandsRunInCallsOnlyAndDecideLoops) {
  const Loaded loaded = compile(
      client_,
      module_of("%x: tensor<i32>", "tensor<i32>",
                "    %f = " + call_of(5, "", "() -> tensor<f32>") +
                    "    %n = stablehlo.convert %f : (tensor<f32>) -> tensor<i32>\n"
                    "    %zero = stablehlo.constant dense<0> : tensor<i32>\n"
                    "    %one = stablehlo.constant dense<1> : tensor<i32>\n"
                    "    %r:2 = stablehlo.while(%i = %zero, %c = %x) : tensor<i32>, tensor<i32>\n"
                    "    cond {\n"
                    "      %p = stablehlo.compare LT, %i, %n, SIGNED : (tensor<i32>, tensor<i32>) "
                    "-> tensor<i1>\n"
                    "      stablehlo.return %p : tensor<i1>\n"
                    "    } do {\n"
                    "      %j = stablehlo.add %i, %one : tensor<i32>\n"
                    "      %d = stablehlo.add %c, %c : tensor<i32>\n"
                    "      stablehlo.return %j, %d : tensor<i32>, tensor<i32>\n"
                    "    }\n"
                    "    return %r#1 : tensor<i32>\n"));
  EXPECT_EQ(taken_log(), Texts{});
  const Buffer x = put(client_, std::vector<std::int32_t>{3}, {});
  EXPECT_EQ(get<std::int32_t>(run(loaded, {x.get()})[0]), std::vector<std::int32_t>{3 << 5});
  EXPECT_EQ(taken_log(), Texts{"5 on 0: -> 11[]"});
}

TEST_F(Callbacks, FailWithTheirText) {
  const Loaded loaded = compile(client_, echo(13)), silent = compile(client_, echo(14));
  const auto error = [&](const Loaded& l) {
    return failure([&] { get<float>(run(l, {x_.get()})[0]); });
  };
  EXPECT_EQ(error(loaded), "13: a callback failed: ValueError: unlucky\n  in line 1");
  EXPECT_EQ(error(silent), "13: a callback failed: ");
  // The call itself fails, since the function fails at once.
  EXPECT_EQ(failure([&] { (void)run(loaded, {x_.get()}); }),
            "13: a callback failed: ValueError: unlucky\n  in line 1");
  set(nullptr);
  EXPECT_EQ(error(loaded),
            "9: a program calls a function of Python, but Python has ended, or the package "
            "jax-tessera is not loaded");
}

// Python ends behind this, while threads of its go on to call.
TEST_F(Callbacks, AreOverOnceTheFunctionIsTakenAway) {
  static std::atomic<bool> is_over;
  is_over = false;
  set([](std::int64_t, std::int64_t, std::int32_t, const TesseraArray*, std::int32_t,
         const TesseraArray*, char*, std::size_t) {
    EXPECT_FALSE(is_over);
    for (int i = 0; i < 50; ++i) std::this_thread::yield();
    EXPECT_FALSE(is_over);
    return 0;
  });
  const Loaded loaded = compile(client_, echo(7));
  std::atomic<bool> stop{false};
  std::atomic<int> calls{0};
  std::vector<std::thread> going_on;
  for (int t = 0; t < 3; ++t)
    going_on.emplace_back([&] {
      for (; !stop; ++calls) (void)failure([&] { wait(ready_event(run(loaded, {x_.get()})[0])); });
    });
  while (calls < 30) std::this_thread::yield();
  set(nullptr);
  is_over = true;
  const int before = calls;
  while (calls < before + 30) std::this_thread::yield();
  stop = true;
  for (std::thread& t : going_on) t.join();
}

TEST_F(Callbacks, AreCountedByTheirPrograms) {
  EXPECT_EQ(users(77), 0);
  Loaded one = compile(client_, echo(77));
  EXPECT_EQ(users(77), 1);
  Loaded two = compile(client_, echo(77), options_for(1, 1, {1}));
  const Executable e = executable_of(two);
  EXPECT_EQ(users(77), 2);
  one.reset();
  two.reset();
  EXPECT_EQ(users(77), 1);  // the description still has it
}

TEST_F(Callbacks, AreGoneWithTheirPrograms) {
  for (int i = 0; i < 50; ++i) {
    const Loaded loaded = compile(client_, echo(78));
    EXPECT_EQ(get<float>(run(loaded, {x_.get()})[0]), (Floats{1, 2}));
  }
  EXPECT_EQ(users(78), 0);
  for (int i = 0; i < 5; ++i) {  // on several devices too
    const Loaded loaded =
        compile(client_,
                module_of("%a: tensor<8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{\"x\"}]>}",
                          "tensor<8xf32>",
                          "    %0 = " + call_of(78, "%a", "(tensor<8xf32>) -> tensor<8xf32>") +
                              "    return %0 : tensor<8xf32>\n",
                          "m", "  sdy.mesh @mesh = <[\"x\"=4]>\n"),
                options_for(1, 4, {0, 1, 2, 3}));
    const Buffers x = [&] {
      Buffers blocks;
      for (std::size_t d = 0; d < 4; ++d)
        blocks.push_back(
            put(client_, Floats(2, static_cast<float>(d)), {2}, device_of(client_, d)));
      return blocks;
    }();
    std::vector<Arguments> lists;
    for (const Buffer& b : x) lists.push_back({b.get()});
    const Results r = run_on(loaded, lists, 1);
    EXPECT_EQ(get<float>(r.buffers[0][0])[0], 0);
    wait(r.complete[0]);
  }
  EXPECT_EQ(users(78), 0);
}

// The text of such a program could not be read again.
TEST_F(Callbacks, CannotBeSerialized) {
  const Executable e = executable_of(compile(client_, echo(7)));
  EXPECT_EQ(failure([&] {
              ask(&PJRT_Api::PJRT_Executable_Serialize, &PJRT_Executable_Serialize_Args::executable,
                  e.get());
            }),
            "12: the program 'jit_echo' calls functions of this Python process, so it cannot be "
            "serialized");
}

// Effects stay in the order of the program, also over calls.
TEST_F(Callbacks, KeepTheirOrder) {
  std::string body;
  for (int i = 20; i < 40; ++i) body += "    " + call_of(i, "%a", "(tensor<2xf32>) -> ()");
  const Loaded loaded = compile(client_, module_of("%a: tensor<2xf32>", "tensor<2xf32>",
                                                   body + "    return %a : tensor<2xf32>\n"));
  Texts expected;
  for (int n = 0; n < 5; ++n) {
    run(loaded, {x_.get()});
    for (int i = 20; i < 40; ++i) expected.push_back(std::to_string(i) + " on 0: 11[2] ->");
  }
  EXPECT_EQ(taken_log(), expected);
}

// On a device other than the first.
TEST_F(Callbacks, RunOnTheDeviceOfTheirProgram) {
  const Loaded loaded = compile(client_, echo(7), options_for(1, 1, {2}));
  const Buffer x = put(client_, Floats{1, 2}, {2}, device_of(client_, 2));
  const Buffers y = run(loaded, {x.get()});
  EXPECT_EQ(device_of(y[0]), device_of(client_, 2));
  EXPECT_EQ(get<float>(y[0]), (Floats{1, 2}));
}

}  // namespace
