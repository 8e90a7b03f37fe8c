// If the system cannot start a thread, the library works without it, and starts one later when it
// can. No lock is held while user code runs. Objects that were moved from throw an error that says
// so.
#include <tessera/tessera.h>

#include <dlfcn.h>
#include <gtest/gtest.h>
#include <pthread.h>

#include <atomic>
#include <cerrno>
#include <functional>

namespace ts = tessera;
using ts::Array;

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define LIFE_OWN_PTHREAD_CREATE 0
#elif defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
#define LIFE_OWN_PTHREAD_CREATE 0
#else
#define LIFE_OWN_PTHREAD_CREATE 1
#endif
#else
#define LIFE_OWN_PTHREAD_CREATE 1
#endif

namespace {

std::atomic<bool> no_threads{false};

std::string error_of(const std::function<void()>& f) {
  try {
    f();
  } catch (const ts::Error& e) {
    return e.what();
  }
  return "no error";
}

}  // namespace

#if LIFE_OWN_PTHREAD_CREATE
extern "C" int pthread_create(pthread_t* thread, const pthread_attr_t* attr, void* (*start)(void*),
                              void* argument) {
  static const auto system =
      reinterpret_cast<decltype(&pthread_create)>(::dlsym(RTLD_NEXT, "pthread_create"));
  return no_threads ? EAGAIN : system(thread, attr, start, argument);
}

// This runs first in this process, before any worker exists.
TEST(Threads, WhatTheSystemDoesNotGiveIsDoneWithout) {
  const Array x = ts::full({300, 300}, 0.5f);
  auto f = ts::jit([](Array a) { return ts::matmul(a, a) * 0.01f + ts::sin(a) * 0; });
  auto map = ts::pmap([](Array a) { return a + ts::psum(ts::sum(a), "i"); });
  ts::set_device_count(4);
  for (const bool without : {true, false, true}) {
    no_threads = without;
    Array y = x;
    for (int i = 0; i < 3; ++i) y = f(y);
    const Array z = map(ts::ones({4, 100000}));
    const Array many =
        ts::jit([](Array a) {
          return std::pair(ts::cumsum(ts::exp(a), 0) * 0 + 3, ts::max(ts::tanh(a), 1) * 0 + 4);
        })(x)
            .second;
    no_threads = false;
    // 0.5, then 300 times 0.5 squared times 0.01, ...
    float expected = 0.5f;
    for (int i = 0; i < 3; ++i) expected = 300 * expected * expected * 0.01f;
    EXPECT_NEAR(y(7, 9).item<float>(), expected, 1e-5 * expected);
    EXPECT_EQ(z(3, 99999).item<float>(), 400001.0f);
    EXPECT_EQ(many(5).item<float>(), 4.0f);
  }
}

TEST(Threads, APrefetchWithoutAThreadIsAnError) {
  no_threads = true;
  const std::string text = error_of(
      [] { ts::data::Prefetch<Array> p([]() -> std::optional<Array> { return std::nullopt; }); });
  no_threads = false;
  EXPECT_EQ(text.substr(0, 42), "Prefetch: the system has no thread for it:") << text;
}
#endif

TEST(Warnings, AHandlerMayCallWhatItIsWarnedAbout) {
  auto f = ts::jit([](Array x, int n) { return x + n; });
  std::atomic<int> handled{0};
  auto before = ts::set_warning_handler([&](const std::string&) {
    ++handled;
    EXPECT_EQ(f(ts::ones({2}), 100).to_vector<float>()[1], 101.0f);
    EXPECT_EQ(f(ts::ones({2}), 1000).to_vector<float>()[1], 1001.0f);
  });
  for (int n = 0; n < 20; ++n) f(ts::ones({2}), n);
  ts::set_warning_handler(std::move(before));
  EXPECT_EQ(handled, 1);
}

TEST(MovedFunctions, SaySo) {
  const Array x = ts::ones({2});
  auto jitted = ts::jit([](Array a) { return a * 2; });  // its line is in the error texts
  const int line = __LINE__ - 1;
  auto text = [&](const char* what, int l) {
    return std::string(what) +
           ": it is used after it was moved away: std::move, or a move into a container, left "
           "nothing in it\n"
           "  rule: a copy shares its programs with the original, so that copying costs nothing\n"
           "  from: threads_test.cc:" +
           std::to_string(l) +
           "\n"
           "  try: use what it was moved to, or copy it instead of moving it";
  };
  auto there = std::move(jitted);
  EXPECT_EQ(error_of([&] { jitted(x); }), text("jit", line));
  EXPECT_EQ(error_of([&] { jitted.lower(x); }), text("jit", line));
  EXPECT_EQ(error_of([&] { (void)jitted.trace_count(); }), text("jit", line));
  EXPECT_EQ(there(x).to_vector<float>()[0], 2.0f);

  auto lowered = there.lower(x);
  auto compiled = lowered.compile();
  auto program = std::move(compiled);
  auto of_lowering = std::move(lowered);
  EXPECT_EQ(error_of([&] { compiled(x); }), text("the program", line));
  EXPECT_EQ(error_of([&] { (void)compiled.memory(); }), text("the program", line));
  EXPECT_EQ(error_of([&] { (void)lowered.ir(); }), text("the program", line));
  EXPECT_EQ(program(x).to_vector<float>()[0], 2.0f);

  auto mapped = ts::pmap([](Array a) { return a; });
  auto map = std::move(mapped);
  EXPECT_EQ(error_of([&] { mapped(x); }), text("pmap", __LINE__ - 2));
  EXPECT_EQ(error_of([&] { (void)mapped.trace_count(); }), text("pmap", __LINE__ - 3));

  auto same = [](Array a) { return a; };
  auto tangent = [](Array a, Array t) { return std::pair(a, t); };
  auto rule = ts::custom_jvp(same, tangent);
  const int of_rule = __LINE__ - 1;
  auto ruled = std::move(rule);
  EXPECT_EQ(error_of([&] { rule(x); }), text("custom_jvp", of_rule));

  auto [y, back] = ts::vjp([](Array a) { return a * a; }, x);
  auto pulled = std::move(back);
  EXPECT_NE(error_of([&] { back(y); }).find("it is used after it was moved away"),
            std::string::npos);
  EXPECT_EQ(pulled(y).to_vector<float>()[0], 2.0f);
}
