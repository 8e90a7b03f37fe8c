// Callers on several threads at once.
#include "gate.h"

#include <algorithm>
#include <array>
#include <atomic>
#include <barrier>
#include <functional>
#include <thread>

using namespace caller;

namespace {

using Floats = std::vector<float>;

// Runs `f(0)` and so on, one on each thread, and lets them begin together.
void at_once(int threads, const std::function<void(int)>& f) {
  std::barrier begin(threads);
  std::vector<std::thread> all;
  for (int t = 0; t < threads; ++t)
    all.emplace_back([&, t] {
      begin.arrive_and_wait();
      try {
        f(t);
      } catch (const std::exception& e) {
        ADD_FAILURE() << e.what();
      }
    });
  for (std::thread& t : all) t.join();
}

// x * factor + i, of a type of n elements.
std::string scaled(int factor, int n) {
  const std::string type = "tensor<" + std::to_string(n) + "xf32>";
  return module_of("%a: " + type, type,
                   "    %c = stablehlo.constant dense<" + std::to_string(factor) + ".0> : " + type +
                       "\n    %0 = stablehlo.multiply %a, %c : " + type +
                       "\n    return %0 : " + type + "\n");
}

// The same program on both threads, and others on each.
TEST(Threads, CompileAndCallAtOnce) {
  const Client client = make_client(2);
  at_once(2, [&](int t) {
    const Buffer x =
        put(client, Floats{1, 2, 3, 4}, {4}, device_of(client, static_cast<std::size_t>(t)));
    for (int i = 1; i <= 20; ++i) {
      const int own = 100 * (t + 1) + i;
      const Loaded mine = compile(client, scaled(own, 4), options_for(1, 1, {t}));
      const Loaded same = compile(client, scaled(i, 4), options_for(1, 1, {t}));
      for (const auto& [loaded, factor] : {std::pair{&mine, own}, std::pair{&same, i}}) {
        const Buffers y = run(*loaded, {x.get()});
        const auto f = static_cast<float>(factor);
        ASSERT_EQ(get<float>(y[0]), (Floats{f, 2 * f, 3 * f, 4 * f}));
      }
    }
  });
}

TEST(Threads, ShareOneProgram) {
  const Client client = make_client();
  // Small ones run in the caller's thread, large ones in the queue.
  for (const int n : {4, 300000}) {
    const Loaded loaded = compile(client, scaled(3, n));
    const Buffer x = put(client, Floats(static_cast<std::size_t>(n), 2), {n});
    at_once(4, [&](int) {
      for (int i = 0; i < 50; ++i) {
        const Buffers y = run(loaded, {x.get()});
        const Floats values = get<float>(y[0]);
        ASSERT_EQ(std::count(values.begin(), values.end(), 6.0f), n);
      }
    });
  }
}

// Each buffer is taken by exactly one of the calls that want it.
TEST(Threads, TakeABufferOnce) {
  const Client client = make_client();
  const Loaded taking =
      compile(client, module_of("%a: tensor<4xf32> {tf.aliasing_output = 0 : i32}", "tensor<4xf32>",
                                "    %0 = stablehlo.add %a, %a : tensor<4xf32>\n"
                                "    return %0 : tensor<4xf32>\n"));
  constexpr int kBuffers = 300;
  std::vector<Buffer> all;
  for (int i = 0; i < kBuffers; ++i)
    all.push_back(put(client, Floats(4, static_cast<float>(i)), {4}));
  std::array<std::atomic<int>, kBuffers> taken{};
  std::atomic<int> refused{0};
  at_once(3, [&](int) {
    for (std::size_t i = 0; i < kBuffers; ++i) {
      Buffers y;
      const std::string text = failure([&] { y = run(taking, {all[i].get()}); });
      if (text.empty()) {
        ++taken[i];
        EXPECT_EQ(get<float>(y[0]), Floats(4, 2 * static_cast<float>(i)));
      } else {
        ++refused;
        EXPECT_EQ(text, "3: Execute: argument 0 of the program 'm' has been deleted or donated");
      }
      EXPECT_TRUE(is_deleted(all[i]));
    }
  });
  for (std::size_t i = 0; i < kBuffers; ++i) ASSERT_EQ(taken[i], 1) << i;
  EXPECT_EQ(refused, 2 * kBuffers);
}

// One thread reads and calls while another deletes.
TEST(Threads, DeleteWhatOthersRead) {
  const Client client = make_client();
  const Loaded loaded = compile(client, scaled(2, 1000));
  for (int i = 0; i < 200; ++i) {
    const Buffer x = put(client, Floats(1000, static_cast<float>(i)), {1000});
    at_once(3, [&](int t) {
      if (t == 0) return delete_block(x);
      Floats values;
      const std::string text =
          failure([&] { values = t == 1 ? get<float>(x) : get<float>(run(loaded, {x.get()})[0]); });
      if (text.empty())
        EXPECT_EQ(values, Floats(1000, static_cast<float>(t == 1 ? i : 2 * i)));
      else
        EXPECT_NE(text.find("has been deleted or donated"), text.npos) << text;
    });
    EXPECT_TRUE(is_deleted(x));
  }
}

TEST(Threads, ReferToABufferAtOnce) {
  const Client client = make_client();
  alignas(64) static std::array<float, 4> memory{1, 2, 3, 4};
  FromHost from{memory.data(), PJRT_Buffer_Type_F32, {4}};
  from.semantics = PJRT_HostBufferSemantics_kImmutableZeroCopy;
  const Put lent = put(client, from);
  add_reference(lent.buffer);
  at_once(4, [&](int) {
    for (int i = 0; i < 2000; ++i) {
      add_reference(lent.buffer);
      remove_reference(lent.buffer);
    }
  });
  delete_block(lent.buffer);
  EXPECT_FALSE(is_ready(lent.done_with_host_buffer));
  remove_reference(lent.buffer);
  EXPECT_TRUE(is_ready(lent.done_with_host_buffer));
}

TEST(Threads, HaveClientsOfTheirOwn) {
  at_once(3, [&](int t) {
    for (int i = 0; i < 20; ++i) {
      const Client client = make_client(1 + (t + i) % 4);
      const Buffer x = put(client, Floats{1, 2}, {2});
      const Loaded loaded = compile(client, scaled(t + 2, 2));
      const auto f = static_cast<float>(t + 2);
      ASSERT_EQ(get<float>(run(loaded, {x.get()})[0]), (Floats{f, 2 * f}));
    }
  });
}

// Others may go on to call while a thread waits.
TEST(Threads, WaitForTheCallsThatAreThere) {
  const Client client = make_client();
  const Loaded loaded = compile(client, scaled(2, 1000000));
  const Buffer x = put(client, Floats(1000000, 1), {1000000});
  std::atomic<bool> stop{false};
  std::atomic<int> calls{0};
  std::thread going_on([&] {
    for (; !stop; ++calls) run_on(loaded, std::vector<Arguments>{{x.get()}}, 1);
  });
  while (calls < 20) std::this_thread::yield();
  for (int i = 0; i < 5; ++i) symbol<void()>("tessera_pjrt_wait")();
  stop = true;
  going_on.join();
}

// A call that has to wait stops none of another thread's that does not need it.
TEST(Threads, DoNotWaitForOthersCalls) {
  Gate gate;
  const Client client = make_client();
  const Loaded gated = compile(client, Gate::module());
  const Buffer matrix = put(client, Floats(256 * 256), {256, 256});
  const Buffer four = put(client, Floats{1, 2, 3, 4}, {4});
  Results r = run_on(gated, std::vector<Arguments>{{matrix.get(), four.get()}}, 2);
  at_once(2, [&](int t) {
    const Loaded loaded = compile(client, scaled(t + 2, t == 0 ? 4 : 3000000));
    const Buffer x =
        t == 0 ? put(client, Floats(4, 1), {4}) : put(client, Floats(3000000, 1), {3000000});
    EXPECT_EQ(get<float>(run(loaded, {x.get()})[0])[3], static_cast<float>(t + 2));
  });
  EXPECT_FALSE(is_ready(r.complete[0]));
  gate.open();
  EXPECT_EQ(get<float>(r.buffers[0][1]), (Floats{2, 3, 4, 5}));
}

}  // namespace
