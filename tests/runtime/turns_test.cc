// Calls that communicate run in the order in which they were made, whatever their estimated
// duration.
#include "programs.h"

#include "runtime/profiler.h"
#include "runtime/turns.h"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <array>
#include <map>
#include <thread>

namespace ts = tessera;
namespace ops = tessera::ops;
using namespace rt;

namespace {

// A psum over two devices after `work` rounds of arithmetic. Different values of `number` give
// different programs.
std::shared_ptr<const Executable> with_psum(const std::string& name, int work, int number) {
  Sharded s({{"i"}, {2}}, {ts::Type(ts::f32, {2, 4096})}, {"i"}, {"i"},
            [&](ts::Builder& b, ts::Values v) {
              for (int k = 0; k < work; ++k) v[0] = ops::sin(ops::mul(v[0], v[0]));
              ts::Value n = ops::broadcast_in_dim(
                  ops::constant(b, ts::scalar_literal(ts::f32, double(number))), {1, 4096}, {});
              return ts::Values{ops::psum(ops::add(v[0], n), {"i"}, 2)};
            });
  return compile(s.whole(), {name, {}});
}
void dense(const std::vector<ArrayDataPtr>& arrays) {
  for (const auto& a : arrays) (void)host(*a);
}
ArrayDataPtr input() { return put(counted(ts::Type(ts::f32, {2, 4096}))); }

struct Ran {
  std::string name;
  double begin, end;
};
// The calls of a recorded trace, in the order in which they began.
std::vector<Ran> calls_in(const std::string& trace) {
  std::vector<Ran> ran;
  const nlohmann::json all = nlohmann::json::parse(trace);
  for (const auto& e : all["traceEvents"])
    if (e["ph"] == "X" && e["cat"] == "call")
      ran.push_back({e["name"], e["ts"], e["ts"].get<double>() + e["dur"].get<double>()});
  std::sort(ran.begin(), ran.end(), [](const Ran& a, const Ran& b) { return a.begin < b.begin; });
  return ran;
}

constexpr int kLong = 400, kShort = 0;

}  // namespace

TEST(Turns, AreOfProgramsWithCollectives) {
  const ts::Type t(ts::f32, {4});
  auto plain = program({t}, [](ts::Builder&, ts::Values v) { return ts::Values{ops::neg(v[0])}; });
  auto sums = program(
      {t}, [](ts::Builder&, ts::Values v) { return ts::Values{ops::psum(v[0], {"i"}, 2)}; });
  EXPECT_FALSE(communicates(*plain));
  EXPECT_TRUE(communicates(*sums));
  EXPECT_TRUE(communicates(with_psum("nested", kShort, 99)->program()));
}

TEST(Turns, OneAfterTheOther) {
  Turns turns;
  std::optional<Turn> first = turns.at_once();
  ASSERT_TRUE(first);
  EXPECT_FALSE(turns.at_once());
  std::atomic<int> passed{0};
  std::vector<std::thread> others;
  for (int k = 0; k < 3; ++k)
    others.emplace_back([&] {
      const Turn mine = turns.behind_all();
      mine.wait();
      ++passed;
    });
  std::this_thread::sleep_for(std::chrono::milliseconds(20));
  EXPECT_EQ(passed, 0);
  first.reset();
  for (auto& t : others) t.join();
  EXPECT_EQ(passed, 3);
  EXPECT_TRUE(turns.at_once());
}

TEST(Turns, OrdersAreIndependent) {
  Turns one, other;
  std::optional<Turn> first = one.at_once();
  ASSERT_TRUE(first);
  Turn second = one.behind_all();
  for (int k = 0; k < 3; ++k) {
    std::optional<Turn> theirs = other.at_once();
    ASSERT_TRUE(theirs) << k;
    EXPECT_FALSE(other.at_once());
    theirs->wait();
  }
  EXPECT_TRUE(own_turns().at_once());
  EXPECT_FALSE(one.at_once());
  first.reset();
  EXPECT_FALSE(one.at_once()) << "the second turn is not over";
  second.wait();
  // A turn can be handed over, also to one of another order.
  Turn moved = std::move(second);
  EXPECT_FALSE(one.at_once());
  moved = other.behind_all();
  EXPECT_FALSE(other.at_once());
}

TEST(Turns, ShortCallsDoNotOvertakeLongOnes) {
  Devices devices(2);
  const auto slow = with_psum("slow", kLong, 97), quick = with_psum("quick", kShort, 98);
  auto other =
      compile(program({ts::Type(ts::f32, {8})},
                      [](ts::Builder&, ts::Values v) { return ts::Values{ops::neg(v[0])}; }),
              {"other", {}});
  const ArrayDataPtr x = input(), y = put(counted(ts::Type(ts::f32, {8})));
  for (const auto& e : {slow, quick}) dense(e->run(std::vector{x}));
  other->run(std::vector{y});
  profiler::start();
  std::vector<ArrayDataPtr> all, apart;
  for (const auto& e : {slow, quick, quick, slow, quick}) {
    all.push_back(e->run(std::vector{x})[0]);
    apart.push_back(other->run(std::vector{y})[0]);
  }
  // Calls that do not communicate wait for no others.
  for (const auto& a : apart) EXPECT_EQ(a->pending, nullptr);
  for (const auto& a : all) dense({a});
  std::vector<Ran> ran = calls_in(profiler::trace(std::array{profiler::stop()}));
  std::erase_if(ran, [](const Ran& r) { return r.name == "other"; });
  ASSERT_EQ(ran.size(), 5u);
  const char* order[] = {"slow", "quick", "quick", "slow", "quick"};
  for (std::size_t k = 0; k < 5; ++k) {
    EXPECT_EQ(ran[k].name, order[k]) << k;
    if (k) {
      EXPECT_GE(ran[k].begin, ran[k - 1].end) << k;
    }
  }
  // If no call is ahead of it, a short call runs on its caller's thread.
  EXPECT_EQ(quick->run(std::vector{x})[0]->pending, nullptr);
}

// Several threads make long and short calls, more in all than the queue holds.
TEST(Turns, AreKeptByManyThreads) {
  Devices devices(2);
  constexpr int kThreads = 3, kKinds = 4, kRounds = 6;
  std::vector<std::vector<std::shared_ptr<const Executable>>> programs(kThreads);
  const ArrayDataPtr x = input();
  for (int t = 0; t < kThreads; ++t)
    for (int k = 0; k < kKinds; ++k) {
      const std::string name = std::to_string(t) + "." + std::to_string(k);
      programs[t].push_back(with_psum(name, k == 1 || k == 2 ? kLong / 4 : kShort, t * 10 + k));
      dense(programs[t].back()->run(std::vector{x}));
    }
  profiler::start();
  std::vector<std::thread> threads;
  for (int t = 0; t < kThreads; ++t)
    threads.emplace_back([&, t] {
      std::vector<ArrayDataPtr> results;
      for (int r = 0; r < kRounds; ++r)
        for (const auto& e : programs[t]) results.push_back(e->run(std::vector{x})[0]);
      for (const auto& a : results) dense({a});
    });
  for (auto& t : threads) t.join();
  const std::vector<Ran> ran = calls_in(profiler::trace(std::array{profiler::stop()}));
  ASSERT_EQ(ran.size(), std::size_t{kThreads * kKinds * kRounds});
  std::map<char, int> next;
  for (std::size_t i = 0; i < ran.size(); ++i) {
    if (i) {
      EXPECT_GE(ran[i].begin, ran[i - 1].end) << ran[i - 1].name << " and " << ran[i].name;
    }
    EXPECT_EQ(ran[i].name.back() - '0', next[ran[i].name[0]]++ % kKinds) << i;
  }
}
