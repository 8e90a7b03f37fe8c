// Results of gathered operations that are handed from thread to thread.
#include <tessera/array.h>
#include <tessera/creation.h>
#include <tessera/device.h>
#include <tessera/eager.h>

#include <gtest/gtest.h>

#include <thread>
#include <vector>

namespace ts = tessera;
using ts::Array;

namespace {

class GatherThreads : public testing::Test {
 protected:
  void SetUp() override { ts::set_eager(ts::Eager::gathered); }
  void TearDown() override { ts::set_eager(before_); }

 private:
  const ts::Eager before_ = ts::eager();
};

}  // namespace

TEST_F(GatherThreads, ArraysOfOtherThreads) {
  constexpr int kThreads = 4, kRounds = 25;
  const Array x = ts::block_until_ready(ts::arange(7));
  for (int round = 0; round < kRounds; ++round) {
    std::vector<Array> made(kThreads), used(kThreads);
    std::vector<std::thread> threads;
    for (int t = 0; t < kThreads; ++t)
      threads.emplace_back([&, t] { made[static_cast<std::size_t>(t)] = (x + t) * (round + 1); });
    for (std::thread& t : threads) t.join();  // which end before anything has run
    threads.clear();
    for (int t = 0; t < kThreads; ++t)
      threads.emplace_back([&, t] {
        Array sum = made[static_cast<std::size_t>(t)];
        for (const Array& other : made) sum = sum + other;
        used[static_cast<std::size_t>(t)] = sum;
        if (t % 2) (void)made[0].to_vector<int>();
      });
    for (std::thread& t : threads) t.join();
    for (int t = 0; t < kThreads; ++t)
      for (int i = 0; i < 7; ++i) {
        int want = (i + t) * (round + 1);
        for (int other = 0; other < kThreads; ++other) want += (i + other) * (round + 1);
        EXPECT_EQ(used[static_cast<std::size_t>(t)][i].item<int>(), want);
      }
  }
}

// One thread appends to its chain while another one reads the results of it.
TEST_F(GatherThreads, AChainIsReadWhileItGrows) {
  Array x = ts::block_until_ready(ts::arange(3));
  std::thread reader;
  for (int i = 0; i < 200; ++i) {
    x = x + 1;
    if (reader.joinable()) reader.join();
    reader = std::thread([got = x, i] { EXPECT_EQ(got[0].item<int>(), i + 1); });
  }
  reader.join();
  EXPECT_EQ(x.to_vector<int>(), (std::vector<int>{200, 201, 202}));
}
