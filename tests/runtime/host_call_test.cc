// Functions of the host in programs: what they get and give, how often and in which order they are
// called, and what they may do.
#include "ops/control/host_call.h"

#include "ir/interpret.h"
#include "programs.h"
#include "runtime/host/dispatcher.h"

#include <tessera/error.h>

#include <atomic>
#include <condition_variable>
#include <mutex>
#include <stdexcept>
#include <thread>

namespace ts = tessera;
using namespace rt;
using ts::DType;
using ts::HostArray;
using ts::Type;
using ts::Value;
using ts::Values;

namespace {

// Adds `by` to each float of its first operand, and logs calls as device * 1000 + the first float.
struct Add final : ts::HostFunction {
  explicit Add(float by) : by_(by) {}
  std::string name() const override { return "add"; }
  void call(std::int64_t device, std::span<const HostArray> in,
            std::span<HostArray> out) const override {
    const float first = in[0].count() ? in[0].data<float>()[0] : -1;
    {
      const std::lock_guard lock(mutex_);
      log_.push_back(static_cast<float>(device) * 1000 + first);
    }
    for (HostArray& y : out)
      for (std::int64_t i = 0; i < y.count(); ++i)
        y.data<float>()[i] = in[0].data<float>()[i] + by_;
  }
  std::vector<float> log(bool sorted = false) const {
    const std::lock_guard lock(mutex_);
    std::vector<float> log = std::exchange(log_, {});
    if (sorted) std::sort(log.begin(), log.end());
    return log;
  }

 private:
  const float by_;
  mutable std::mutex mutex_;
  mutable std::vector<float> log_;
};

// Runs any code.
struct Doing final : ts::HostFunction {
  using Code = std::function<void(std::span<const HostArray>, std::span<HostArray>)>;
  explicit Doing(Code code) : code_(std::move(code)) {}
  std::string name() const override { return "run"; }
  void call(std::int64_t, std::span<const HostArray> in, std::span<HostArray> out) const override {
    code_(in, out);
  }
  const Code code_;
};

const Type kScalar(DType::float32, {}), kPair(DType::float32, {2});

Value yes(ts::Builder& b) { return ts::ops::constant(b, ts::scalar_literal(DType::boolean, 1.0)); }
Value zero(ts::Builder& b) { return ts::ops::constant(b, ts::scalar_literal(DType::int32, 0.0)); }

Values effect(Value x, const std::shared_ptr<const ts::HostFunction>& f,
              const std::vector<Type>& results) {
  ts::Builder& b = *x.builder;
  return ts::ops::host_call(yes(b), zero(b), f, results, Values{x});
}
Values pure(Value x, const std::shared_ptr<const ts::HostFunction>& f,
            const std::vector<Type>& results) {
  return ts::ops::pure_host_call(*x.builder, f, results, Values{x});
}

HostArray floats(const ts::Shape& shape, const std::vector<float>& values) {
  HostArray a(DType::float32, shape);
  std::copy(values.begin(), values.end(), a.data<float>());
  return a;
}
std::vector<double> result(const std::vector<ArrayDataPtr>& results, std::size_t i = 0) {
  if (results.at(i)->pending) results[i]->pending->wait();
  return numbers(host(*results[i]));
}

// Compiled and with evaluators.
class HostCalls : public testing::TestWithParam<bool> {
 protected:
  Evaluated evaluated_{GetParam()};
};
INSTANTIATE_TEST_SUITE_P(, HostCalls, testing::Bool(),
                         [](const auto& info) { return info.param ? "Evaluated" : "Compiled"; });

using Numbers = std::vector<double>;
using Log = std::vector<float>;

TEST_P(HostCalls, GetArraysAndGiveArrays) {
  const auto add = std::make_shared<const Add>(10.f);
  for (const bool has_effect : {false, true}) {
    const auto p = program({kPair}, [&](ts::Builder&, Values in) {
      const Values y = has_effect ? effect(in[0], add, {kPair}) : pure(in[0], add, {kPair});
      return Values{ts::ops::mul(y[0], in[0])};
    });
    EXPECT_EQ(result(run(p, {floats({2}, {1, 2})})), (Numbers{11, 24}));
    EXPECT_EQ(add->log(), Log{1});
  }
}

TEST_P(HostCalls, AreRemovedOnlyWithoutEffects) {
  const auto add = std::make_shared<const Add>(0.f);
  const auto p = program({kPair}, [&](ts::Builder&, Values in) {
    pure(in[0], add, {kPair});
    return Values{ts::ops::neg(in[0])};
  });
  EXPECT_EQ(result(run(p, {floats({2}, {1, 2})})), (Numbers{-1, -2}));
  // The evaluators run the program as it was written.
  EXPECT_EQ(add->log(), GetParam() ? Log{1} : Log{});
  const auto kept = std::make_shared<const Add>(0.f);
  const auto q = program({kPair}, [&](ts::Builder&, Values in) {
    effect(in[0], kept, {});
    effect(ts::ops::neg(in[0]), kept, {kPair});
    effect(in[0], kept, {});
    return Values{ts::ops::neg(in[0])};
  });
  EXPECT_EQ(result(run(q, {floats({2}, {1, 2})})), (Numbers{-1, -2}));
  EXPECT_EQ(kept->log(), (Log{1, -1, 1}));
}

TEST_P(HostCalls, AreCalledEachTimeThatALoopTurns) {
  const auto add = std::make_shared<const Add>(1.f), unused = std::make_shared<const Add>(0.f);
  const auto body = program({kScalar, kScalar, kScalar}, [&](ts::Builder&, Values in) {
    effect(in[0], unused, {});  // a constant of the loop
    const Value y = effect(in[1], add, {kScalar})[0];
    effect(in[2], unused, {});
    return Values{y, pure(y, add, {kScalar})[0]};
  });
  const auto p =
      program({kScalar, kScalar, Type(DType::float32, {3})}, [&](ts::Builder& b, Values in) {
        return ts::ops::scan(body, Values{in[0]}, Values{in[1]}, Values{in[2]}, 3, false, b);
      });
  const auto out = run(p, {floats({}, {100}), floats({}, {0}), floats({3}, {7, 8, 9})});
  EXPECT_EQ(result(out, 0), Numbers{3});
  EXPECT_EQ(result(out, 1), (Numbers{2, 3, 4}));
  EXPECT_EQ(add->log(), (Log{0, 1, 1, 2, 2, 3}));
  EXPECT_EQ(unused->log(), (Log{100, 7, 100, 8, 100, 9}));
}

TEST_P(HostCalls, DecideWhenALoopEnds) {
  const auto add = std::make_shared<const Add>(1.f);
  const auto small =
      std::make_shared<const Doing>([](std::span<const HostArray> in, std::span<HostArray> out) {
        *out[0].data<bool>() = *in[0].data<float>() < 4;
      });
  const auto goes_on = program({kScalar}, [&](ts::Builder&, Values in) {
    return pure(in[0], small, {Type(DType::boolean, {})});
  });
  const auto body =
      program({kScalar}, [&](ts::Builder&, Values in) { return effect(in[0], add, {kScalar}); });
  const auto p = program({kScalar}, [&](ts::Builder&, Values in) {
    return ts::ops::while_(goes_on, body, Values{}, Values{}, in);
  });
  EXPECT_EQ(result(run(p, {floats({}, {1.5f})})), Numbers{4.5});
  EXPECT_EQ(add->log(), (Log{1.5f, 2.5f, 3.5f}));
}

TEST_P(HostCalls, OfABranchAreCalledIfItIsTaken) {
  const auto add = std::make_shared<const Add>(1.f), other = std::make_shared<const Add>(2.f);
  ts::Programs branches;
  for (const auto& f : {add, other})
    branches.push_back(
        program({kScalar}, [&](ts::Builder&, Values in) { return effect(in[0], f, {kScalar}); }));
  const auto p = program({Type(DType::int32, {}), kScalar}, [&](ts::Builder&, Values in) {
    return ts::ops::cond(in[0], branches, Values{in[1]});
  });
  HostArray index(DType::int32, {});
  *index.data<std::int32_t>() = 1;
  EXPECT_EQ(result(run(p, {index, floats({}, {5})})), Numbers{7});
  EXPECT_EQ(add->log(), Log{});
  EXPECT_EQ(other->log(), Log{5});
}

TEST_P(HostCalls, GiveZerosWhereTheyAreNotCalled) {
  const auto add = std::make_shared<const Add>(1.f);
  const auto p = program({Type(DType::boolean, {}), kPair}, [&](ts::Builder& b, Values in) {
    return ts::ops::host_call(in[0], zero(b), add, std::vector{kPair}, Values{in[1]});
  });
  HostArray no(DType::boolean, {});
  *no.data<bool>() = false;
  EXPECT_EQ(result(run(p, {no, floats({2}, {1, 2})})), (Numbers{0, 0}));
  EXPECT_EQ(add->log(), Log{});
}

TEST_P(HostCalls, UnderVmapAreCalledForEachMember) {
  const auto add = std::make_shared<const Add>(1.f);
  for (const bool has_effect : {false, true}) {
    const auto one = program({kPair, kScalar}, [&](ts::Builder& b, Values in) {
      const Value sum = ts::ops::add(in[0], ts::ops::broadcast_in_dim(in[1], {2}, {}));
      return has_effect
                 ? ts::ops::host_call(yes(b), zero(b), add, std::vector{kPair}, Values{sum, in[1]})
                 : ts::ops::pure_host_call(b, add, std::vector{kPair}, Values{sum, in[1]});
    });
    const auto p = ts::batch_program(*one, {1, ts::kUnbatched}, 3, "").program;
    EXPECT_EQ(result(run(p, {floats({2, 3}, {1, 2, 3, 4, 5, 6}), floats({}, {10})})),
              (Numbers{12, 15, 13, 16, 14, 17}));
    EXPECT_EQ(add->log(), (Log{11, 12, 13}));
  }
}

TEST_P(HostCalls, HaveOperandsAndResultsWithoutElements) {
  const Type none(DType::float32, {2, 0});
  const auto add = std::make_shared<const Add>(1.f);
  const auto p =
      program({none}, [&](ts::Builder&, Values in) { return effect(in[0], add, {none}); });
  EXPECT_EQ(result(run(p, {floats({2, 0}, {})})), Numbers{});
  EXPECT_EQ(add->log(), Log{-1});
}

TEST_P(HostCalls, FailWithTheTextOfTheirException) {
  const auto fails = std::make_shared<const Doing>(
      [](auto, auto) { throw std::runtime_error("the host has no answer"); });
  const auto p =
      program({kPair}, [&](ts::Builder&, Values in) { return pure(in[0], fails, {kPair}); });
  try {
    result(run(p, {floats({2}, {1, 2})}));
    ADD_FAILURE() << "nothing was thrown";
  } catch (const std::runtime_error& e) {
    EXPECT_STREQ(e.what(), "the host has no answer");
  }
}

TEST_P(HostCalls, MayCallPrograms) {
  // Long enough to be queued.
  const Type large(DType::float32, {2048, 512});
  const auto inner = program({large}, [](ts::Builder&, Values in) {
    return Values{ts::ops::reduce_sum(ts::ops::exp(in[0]), {0, 1})};
  });
  const auto f =
      std::make_shared<const Doing>([&](std::span<const HostArray>, std::span<HostArray> out) {
        const HostArray zeros(DType::float32, large.shape);
        std::fill_n(zeros.bytes, zeros.size_bytes(), std::byte{0});
        const auto r = run(inner, {zeros});
        EXPECT_TRUE(!r[0]->pending || r[0]->pending->done());
        *out[0].data<float>() = static_cast<float>(result(r)[0]);
      });
  const auto p =
      program({kScalar}, [&](ts::Builder&, Values in) { return effect(in[0], f, {kScalar}); });
  EXPECT_EQ(result(run(p, {floats({}, {1})})), Numbers{2048. * 512});
}

// As a loop that feeds a program from another thread, which computes what it feeds.
TEST_P(HostCalls, MayWaitForOtherThreadsThatCallPrograms) {
  if (GetParam()) GTEST_SKIP() << "0 checked: calls of evaluators do not overtake yet";
  std::mutex mutex;
  std::condition_variable changed;
  bool called = false, answered = false;
  const auto f =
      std::make_shared<const Doing>([&](std::span<const HostArray>, std::span<HostArray> out) {
        std::unique_lock lock(mutex);
        called = true;
        changed.notify_all();
        changed.wait(lock, [&] { return answered; });
        *out[0].data<float>() = 1;
      });
  const auto waits =
      program({kScalar}, [&](ts::Builder&, Values in) { return effect(in[0], f, {kScalar}); });
  const auto waiting = run(waits, {floats({}, {1})});
  {
    std::unique_lock lock(mutex);
    changed.wait(lock, [&] { return called; });
  }
  const auto add = std::make_shared<const Add>(1.f);
  const auto later = program({kScalar}, [&](ts::Builder& b, Values in) {
    return ts::ops::host_call(yes(b), zero(b), add, std::vector{kScalar}, in, {.ordered = false});
  });
  EXPECT_EQ(result(run(later, {floats({}, {41})})), Numbers{42});
  {
    const std::lock_guard lock(mutex);
    answered = true;
  }
  changed.notify_all();
  EXPECT_EQ(result(waiting), Numbers{1});
}

TEST_P(HostCalls, InOrderedProgramsKeepTheOrderOfTheCalls) {
  std::atomic<bool> first_is_over{false};
  const auto slow = std::make_shared<const Doing>([&](auto, auto) {
    std::this_thread::sleep_for(std::chrono::milliseconds(100));
    first_is_over.store(true);
  });
  const auto sees =
      std::make_shared<const Doing>([&](std::span<const HostArray>, std::span<HostArray> out) {
        *out[0].data<float>() = first_is_over.load() ? 1 : 0;
      });
  const auto p = program({kScalar}, [&](ts::Builder&, Values in) {
    effect(in[0], slow, {});
    return in;
  });
  const auto q =
      program({kScalar}, [&](ts::Builder&, Values in) { return effect(in[0], sees, {kScalar}); });
  run(p, {floats({}, {1})});
  EXPECT_EQ(result(run(q, {floats({}, {1})})), Numbers{1});
  wait_for_calls();
}

TEST_P(HostCalls, OfDevicesGetTheirParts) {
  const Devices devices(4);
  const auto add = std::make_shared<const Add>(1.f);
  const ts::MeshShape mesh{{"i"}, {4}};
  const Sharded each(mesh, {Type(DType::float32, {8})}, {"i"}, {"i"},
                     [&](ts::Builder& b, Values in) {
                       return ts::ops::host_call(yes(b), ts::ops::axis_index(b, {"i"}, 4), add,
                                                 std::vector{kPair}, in);
                     });
  const std::vector<HostArray> x{floats({8}, {0, 1, 2, 3, 4, 5, 6, 7})};
  EXPECT_EQ(result(run(each.whole(), x)), (Numbers{1, 2, 3, 4, 5, 6, 7, 8}));
  EXPECT_EQ(add->log(true), (Log{0, 1002, 2004, 3006}));

  // Equal operands: a call with side effects is made by each device, a pure one once.
  for (const bool has_effect : {true, false}) {
    const Sharded same(mesh, {kPair}, {""}, {""}, [&](ts::Builder& b, Values in) {
      if (!has_effect) return pure(in[0], add, {kPair});
      ts::ops::host_call(yes(b), ts::ops::axis_index(b, {"i"}, 4), add, std::vector<Type>{}, in);
      return in;
    });
    run(same.whole(), {floats({2}, {5, 6})});
    wait_for_calls();
    EXPECT_EQ(add->log(true), has_effect ? (Log{5, 1005, 2005, 3005}) : Log{5});
  }
}

}  // namespace
