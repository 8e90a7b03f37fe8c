// A child of fork computes like any other process, whatever the parent's threads were doing.
#include "life/spawn.h"

#include <gtest/gtest.h>

namespace {

using Case = std::tuple<std::string, std::string>;  // state, how the child ends

class Forks : public testing::TestWithParam<Case> {};

}  // namespace

TEST_P(Forks, ChildrenComputeAndEnd) {
  const auto& [state, how] = GetParam();
  for (int round = 0; round < life::rounds(); ++round) {
    const life::Ended e =
        life::run({state, how, "main", std::to_string(round % 10)}, {"TESSERA_WORKERS=2"});
    EXPECT_FALSE(e.hung) << e;
    EXPECT_EQ(e.code, 7) << e;
  }
}

INSTANTIATE_TEST_SUITE_P(
    Matrix, Forks,
    testing::Combine(testing::Values("idle", "first", "queued", "loop", "collective", "tracing",
                                     "compiling", "eager", "calls", "computing", "reading",
                                     "queueing", "mapping", "prefetching", "profiling", "warning",
                                     "clearing"),
                     testing::Values("fork__exit", "fork_exit", "fork_idle")),
    [](const auto& info) { return std::get<0>(info.param) + "_" + std::get<1>(info.param); });
