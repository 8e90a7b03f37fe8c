// Whatever the state, the way and the thread in which a process ends, it has the right exit code
// and all of its output.
#include "life/spawn.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <tuple>

namespace {

using Case = std::tuple<std::string, std::string, std::string>;  // state, way, who

constexpr const char* kStates[] = {"idle",    "first",     "queued",   "loop",        "collective",
                                   "tracing", "compiling", "eager",    "calls",       "computing",
                                   "reading", "queueing",  "mapping",  "prefetching", "profiling",
                                   "warning", "clearing",  "sharding", "checking"};

std::vector<Case> cases() {
  std::vector<Case> all;
  for (const char* state : kStates) {
    for (const char* who : {"main", "other"})
      for (const char* way : {"exit", "quick_exit", "throw"}) all.emplace_back(state, way, who);
    all.emplace_back(state, "return", "main");
  }
  // main ends its thread, and another thread ends the process.
  for (const char* state : kStates) all.emplace_back(state, "pthread_exit", "main");
  return all;
}

class Exits : public testing::TestWithParam<Case> {};

std::string all_lines() {
  std::string text;
  for (int i = 0; i < 40; ++i) text += "line " + std::to_string(i) + "\n";
  return text;
}

}  // namespace

TEST_P(Exits, WithTheRightCodeAndAllOutput) {
  const auto& [state, way, who] = GetParam();
  for (int round = 0; round < life::rounds(); ++round) {
    const life::Ended e =
        life::run({state, way, who, std::to_string(round % 10)}, {"TESSERA_WORKERS=2"});
    EXPECT_FALSE(e.hung) << e;
    if (way == "throw") {
      EXPECT_EQ(e.signal, SIGABRT) << e;
      continue;
    }
    EXPECT_EQ(e.code, 7) << e;
    // full({2, 2}, 1.5): 4 times 3, then 4 elements of 2 * 1.5 * 1.5 * 0.01.
    const bool has_statics = way == "return" || way == "exit" || way == "pthread_exit";
    EXPECT_EQ(e.out, all_lines() + (has_statics ? "static 12 0.18 4\n" : "")) << e;
  }
}

INSTANTIATE_TEST_SUITE_P(Matrix, Exits, testing::ValuesIn(cases()), [](const auto& info) {
  return std::get<0>(info.param) + "_" + std::get<1>(info.param) + "_" + std::get<2>(info.param);
});

// OpenBLAS's threads wait for memory that they never get. Below some limit the program is not even
// loaded, which the system reports by a code of its own.
TEST(ExitsUnderALimit, OfTheAddressSpace) {
  int ended = 0;
  for (int megabytes = 100; megabytes <= 1000; megabytes += 50) {
    const life::Ended e = life::run({"limited", std::to_string(megabytes)});
    EXPECT_FALSE(e.hung) << megabytes << ": " << e;
    if (e.out.empty()) continue;
    EXPECT_EQ(e.out, "began\n") << megabytes << ": " << e;
    EXPECT_EQ(e.code, 7) << megabytes << ": " << e;
    ++ended;
  }
  EXPECT_GT(ended, 0);
}
