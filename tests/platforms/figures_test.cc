// Figures of a platform: random bits, memory, profiles, plans, and what a call sends.
#include <tessera/tessera.h>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include <unistd.h>

#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

namespace ts = tessera;
using ts::Array;

namespace {

std::vector<ts::Device> load() {
  if (const char* other = std::getenv("TESSERA_TEST_PLUGIN"))  // such as XLA's for CPUs
    return ts::load_platform("theirs", other, {{"cpu_device_count", std::int64_t{2}}});
  return ts::load_platform("mine", TESSERA_PJRT_LIBRARY, {{"device_count", std::int64_t{2}}});
}

class Figures : public testing::Test {
 protected:
  const std::vector<ts::Device> there = load();
  /// Whether f gives the same bits there and on the CPU.
  template <class F>
  void expect_same_bits(F f) const {
    const Array key = ts::random::key(17);
    const Array got = ts::device_get(ts::jit(f)(ts::device_put(key, there[1]))),
                want = ts::jit(f)(key);
    EXPECT_EQ(got.dtype(), want.dtype());
    EXPECT_TRUE(ts::array_equal(got, want).item<bool>()) << got << "\n" << want;
  }
};

}  // namespace

TEST_F(Figures, RandomBitsAreTheSame) {
  using namespace ts::random;
  expect_same_bits([](Array k) { return ts::random::split(k, 7); });
  expect_same_bits([](Array k) { return fold_in(k, 12345); });
  for (const ts::DType d :
       {ts::DType::uint8, ts::DType::uint16, ts::DType::uint32, ts::DType::uint64})
    expect_same_bits([d](Array k) { return bits(k, {1001}, d); });
  for (const ts::DType d : {ts::f32, ts::f64, ts::DType::bfloat16, ts::DType::float16})
    expect_same_bits([d](Array k) { return uniform(k, {1001}, d); });
  for (const ts::DType d : {ts::DType::int8, ts::DType::int32, ts::DType::uint32, ts::DType::int64})
    expect_same_bits([d](Array k) { return randint(k, {1001}, 3, 101, d); });
  expect_same_bits([](Array k) { return permutation(k, 1001); });
  expect_same_bits([](Array k) { return bernoulli(k, 0.3, ts::Shape{1001}); });
  expect_same_bits([](Array k) { return choice(k, 100, {40}, false); });
}

TEST_F(Figures, MemoryIsCounted) {
  const std::int64_t before = ts::memory_stats(there[1]).live;
  Array x = ts::block_until_ready(ts::device_put(ts::ones({1000}), there[1]));
  EXPECT_GE(ts::memory_stats(there[1]).live - before, 4000);
  EXPECT_GE(ts::memory_stats(there[1]).peak, ts::memory_stats(there[1]).live);
  x = Array();
  EXPECT_EQ(ts::memory_stats(there[1]).live, before);
}

// Each call is an event on its device's row.
TEST_F(Figures, ProfilesHaveThePrograms) {
  const auto f = ts::jit([](Array a) { return ts::dot(a, a); }, {.name = "squared"});
  const Array x = ts::device_put(ts::ones({200, 200}), there[1]);
  (void)f(x).block_until_ready();
  const std::string path = (std::filesystem::temp_directory_path() /
                            ("tessera_profile_" + std::to_string(::getpid()) + ".json"))
                               .string();
  ts::Profile profile(path);
  for (int k = 0; k < 3; ++k) (void)f(x).block_until_ready();
  profile.finish();
  std::ifstream file(path);
  const nlohmann::json trace = nlohmann::json::parse(file);
  std::filesystem::remove(path);
  int calls = 0;
  double end = 0;
  nlohmann::json row;
  for (const auto& e : trace["traceEvents"])
    if (e["name"] == "squared" && e["cat"] == "program") {
      ++calls;
      EXPECT_GT(e["dur"].get<double>(), 0);
      EXPECT_GE(e["ts"].get<double>(), end - 0.001) << "one after the other";
      end = e["ts"].get<double>() + e["dur"].get<double>();
      row = e["tid"];
    }
  EXPECT_EQ(calls, 3);
  std::string name;
  for (const auto& e : trace["traceEvents"])
    if (e["name"] == "thread_name" && e.contains("tid") && e["tid"] == row && e["pid"] == 1)
      name = e["args"]["name"];
  EXPECT_EQ(name, std::string(there[1].platform) + " device 1");
}

// The text of a compiled function says what is sent to the host and back.
TEST_F(Figures, WhatIsSentIsSaid) {
  const auto f = ts::jit([](Array a) { return ts::real(ts::linalg::eigvals(a + 1)) * 2; });
  const Array x = ts::device_put(ts::eye(3), there[0]);
  const std::string text = f.lower(x).compile().schedule();
  const std::string platform(there[0].platform);
  EXPECT_NE(text.find("part 1 of 3, on " + platform + ", compiled by "), std::string::npos) << text;
  EXPECT_NE(text.find("part 2 of 3, on the host:\n"
                      "  // receives f32[3,3], 36 B, from " +
                      platform + "\n"),
            std::string::npos)
      << text;
  EXPECT_NE(text.find("part 3 of 3, on " + platform), std::string::npos) << text;
  EXPECT_NE(text.find("  // receives c64[3], 24 B, from the host\n"), std::string::npos) << text;
}

// The memory of a plan is that of the plug-in's compiler.
TEST_F(Figures, PlansHaveTheMemoryOfThePlugin) {
  const ts::DefaultDevice chosen(there[0]);
  const auto f = ts::jit([](Array a) { return a * 2 + 1; }, {.donate = {0}});
  const ts::Plan plan = f.explain(ts::ones({1000}));
  EXPECT_EQ(plan.argument_bytes, 4000);
  EXPECT_EQ(plan.result_bytes, 4000);
  EXPECT_GE(plan.temporary_bytes, 0);
  EXPECT_TRUE(plan.steps.empty()) << "these would be the CPU's";
}
