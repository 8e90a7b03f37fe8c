#include "../specs.h"
#include "programs.h"

#include "runtime/buffer.h"
#include "runtime/host/dispatcher.h"
#include "runtime/profiler.h"

#include <nlohmann/json.hpp>

#include <dirent.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <thread>

namespace ts = tessera;
namespace ops = tessera::ops;
using namespace rt;

namespace {

int threads() {
  int n = 0;
  DIR* d = opendir("/proc/self/task");
  while (readdir(d)) ++n;
  closedir(d);
  return n - 2;
}
ts::MeshShape on(std::int64_t n) { return {{"i"}, {n}}; }

// Computes x * x + y, a sum of it, and values that depend on the sum.
ts::ProgramPtr straight() {
  return program(
      {ts::Type(ts::f32, {4, 3}), ts::Type(ts::f32, {4, 3})}, [](ts::Builder&, ts::Values v) {
        ts::Value s = ops::add(ops::mul(v[0], v[0]), v[1]);
        ts::Value t = ops::reduce_sum(s, {1});
        return ts::Values{s, ops::sub(s, ops::broadcast_in_dim(t, {4, 3}, {0})), v[0], s};
      });
}

}  // namespace

TEST(Execution, EqualsTheEvaluator) {
  auto p = straight();
  std::vector<ts::HostArray> in = {counted(p->types[0], 1), counted(p->types[1], 2)};
  auto expected = evaluate(*p, in);
  auto got = run(p, in);
  ASSERT_EQ(got.size(), expected.size());
  for (std::size_t i = 0; i < got.size(); ++i)
    EXPECT_TRUE(same_bits(host(*got[i]), expected[i])) << i;
}
TEST(Execution, ResultsThatAreInputsShareTheirMemory) {
  auto p = straight();
  auto a = put(counted(p->types[0])), b = put(counted(p->types[1]));
  auto out = compile(p)->run(std::vector<ArrayDataPtr>{a, b});
  EXPECT_EQ(out[2]->shards[0].buffer, a->shards[0].buffer);
  EXPECT_EQ(out[0]->shards[0].buffer, out[3]->shards[0].buffer);
  EXPECT_NE(out[0], out[3]);  // donating one leaves the other intact
}
TEST(Execution, ProgramsOfOneStructureAreCompiledOnce) {
  EXPECT_EQ(compile(straight()), compile(straight()));
}
TEST(Execution, ManyThreadsRunOneExecutable) {
  auto p = straight();
  auto e = compile(p);
  std::vector<std::thread> all;
  std::atomic<int> wrong{0};
  for (int t = 0; t < 4; ++t)
    all.emplace_back([&, t] {
      for (int k = 0; k < 50; ++k) {
        std::vector<ts::HostArray> in = {counted(p->types[0], t + k), counted(p->types[1], t)};
        auto expected = evaluate(*p, in);
        std::vector<ArrayDataPtr> a = {put(in[0]), put(in[1])};
        auto got = e->run(a);
        for (std::size_t i = 0; i < got.size(); ++i)
          wrong += !same_bits(host(*got[i]), expected[i]);
      }
    });
  for (auto& t : all) t.join();
  EXPECT_EQ(wrong, 0);
}

TEST(Liveness, TemporariesShareMemory) {
  auto p = program({ts::Type(ts::f32, {1024})}, [](ts::Builder&, ts::Values v) {
    ts::Value x = v[0];
    // The reductions prevent the steps from being fused into one.
    for (int k = 0; k < 20; ++k)
      x = ops::add(x, ops::broadcast_in_dim(ops::reduce_sum(x, {0}), {1024}, {}));
    return ts::Values{x};
  });
  auto plan = compile(p)->memory();
  EXPECT_LE(plan.temporaries, 4 * 4096);
  EXPECT_EQ(plan.outputs, 4096);
}

TEST(Sharing, UniformValuesAreComputedAndStoredOnce) {
  Devices devices(8);
  Sharded s(on(8), {ts::Type(ts::f32, {8, 1024})}, {"i"}, {"", "i", "i"},
            [](ts::Builder&, ts::Values v) {
              ts::Value total = ops::psum(v[0], {"i"}, 8);
              ts::Value twice = ops::add(total, total);
              return ts::Values{twice, twice, ops::neg(v[0])};
            });
  auto in = put(counted(s.wholes[0]));
  auto physical = physical_memory_stats().live;
  auto logical = memory_stats(5).live;
  auto out = compile(s.whole())->run(std::vector<ArrayDataPtr>{in});
  // Two blocks of 4 KiB that all devices share, and one of 4 KiB for each device.
  EXPECT_EQ(physical_memory_stats().live - physical, 2 * 4096 + 8 * 4096);
  EXPECT_EQ(memory_stats(5).live - logical, 3 * 4096);
  for (auto& shard : out[0]->shards) EXPECT_EQ(shard.buffer, out[0]->shards[0].buffer);
  EXPECT_TRUE(out[1]->uniform);
  EXPECT_EQ(out[1]->type.shape, (ts::Shape{8, 1024}));
  // The next call knows that this input is uniform, so it stores the negation once, too.
  Sharded next(on(8), {ts::Type(ts::f32, {8, 1024})}, {"i"}, {"i"},
               [](ts::Builder&, ts::Values v) { return ts::Values{ops::neg(v[0])}; });
  auto again = compile(next.whole())->run(std::vector<ArrayDataPtr>{out[1]});
  EXPECT_TRUE(again[0]->uniform);
  EXPECT_EQ(host(*again[0]).number(5 * 1024 + 7), -host(*out[0]).number(7));
}
TEST(Sharing, ShardsGoInAndOutWithoutCopies) {
  Devices devices(4);
  Sharded s(on(4), {ts::Type(ts::f32, {4, 16})}, {"i"}, {"i", "i"}, [](ts::Builder&, ts::Values v) {
    return ts::Values{ops::neg(v[0]), v[0]};
  });
  auto e = compile(s.whole());
  auto first = e->run(std::vector<ArrayDataPtr>{put(counted(s.wholes[0]))});
  auto second = e->run(std::vector<ArrayDataPtr>{first[0]});
  for (int d = 0; d < 4; ++d) {
    EXPECT_EQ(second[1]->shards[d].buffer, first[0]->shards[d].buffer);
    EXPECT_EQ(second[1]->shards[d].offset, first[0]->shards[d].offset);
    EXPECT_EQ(first[0]->shards[d].offset, static_cast<std::size_t>(d) * 64);
  }
  BufferPtr hold;
  EXPECT_EQ(dense_bytes(*first[0], hold), first[0]->shards[0].buffer->host_data());
}
TEST(Sharing, NinetySixDevicesTakeNoThreads) {
  Devices devices(96);
  Sharded s(on(96), {ts::Type(ts::f32, {96, 4096})}, {"i"}, {"i"}, [](ts::Builder&, ts::Values v) {
    ts::Value x = v[0];
    for (int k = 0; k < 5; ++k) x = ops::sub(x, ops::psum(ops::mul(x, x), {"i"}, 96));
    return ts::Values{x};
  });
  s.check();
  int before = threads();
  Devices more(192);
  Sharded t(on(192), {ts::Type(ts::f32, {192, 4096})}, {"i"}, {"i"},
            [](ts::Builder&, ts::Values v) {
              return ts::Values{ops::add(v[0], ops::psum(v[0], {"i"}, 192))};
            });
  t.check();
  EXPECT_EQ(threads(), before);
}
TEST(Sharing, RegionsPassBlocksOn) {
  Devices devices(4);
  ts::MeshShape mesh = on(4);
  ts::ProgramPtr body = program({ts::Type(ts::f32, {1, 8})}, [](ts::Builder&, ts::Values v) {
    return ts::Values{ops::neg(v[0])};
  });
  ts::Builder b("twice");
  ts::Values x = {b.input(ts::Type(ts::f32, {4, 8}))};
  x = ops::shard_map(b, body, x, first_devices(mesh), specs({"i"}), specs({"i"}), false);
  x = ops::shard_map(b, body, x, first_devices(mesh), specs({"i"}), specs({"i"}), false);
  ts::Value outside = ops::add(x[0], x[0]);
  auto p = b.finish(ts::Values{x[0], outside});
  auto in = counted(p->types[0]);
  auto out = run(p, {in});
  EXPECT_TRUE(same_bits(host(*out[0]), in));
  for (int i = 0; i < 32; ++i) EXPECT_EQ(host(*out[1]).number(i), 2 * in.number(i));
  EXPECT_EQ(compile(p)->schedule().find("assemble"), std::string::npos);
}

namespace {
ts::ProgramPtr large() {  // large enough to be queued
  return program({ts::Type(ts::f32, {1 << 20})}, [](ts::Builder&, ts::Values v) {
    ts::Value x = v[0];
    for (int k = 0; k < 4; ++k)
      x = ops::add(x, ops::broadcast_in_dim(ops::reduce_max(x, {0}), {1 << 20}, {}));
    return ts::Values{x};
  });
}
}  // namespace

TEST(Queue, LargeCallsArePendingAndReadsWait) {
  auto p = large();
  auto in = counted(p->types[0]);
  auto expected = evaluate(*p, std::vector<ts::HostArray>{in});
  auto e = compile(p);
  std::vector<ArrayDataPtr> x = {put(in)};
  auto out = e->run(x);
  EXPECT_NE(out[0]->pending, nullptr);
  x = {};
  EXPECT_TRUE(same_bits(host(*out[0]), expected[0]));
}
TEST(Queue, CallsRunInOrderBehindABoundedQueue) {
  auto e = compile(large());
  std::vector<ArrayDataPtr> x = {put(counted(e->program().types[0]))};
  for (int k = 0; k < 20; ++k) {
    x = e->run(x);
    EXPECT_LE(calls_in_flight(), 10);
  }
  std::vector<ts::HostArray> y = {counted(e->program().types[0])};
  for (int k = 0; k < 20; ++k) y = evaluate(e->program(), y);
  EXPECT_TRUE(same_bits(host(*x[0]), y[0]));
}

TEST(Checkpoints, WhatIsComputedAgainWaitsForItsCotangent) {
  // Eight layers and their backward pass, which sorts each layer's input again, followed by a sum
  // over the devices. If all were sorted early, the copies would take 8 * 64 KiB on each device.
  Devices devices(2);
  auto again =
      program({ts::Type(ts::f32, {1, 16384}), ts::Type(ts::f32, {1, 16384})},
              [](ts::Builder&, ts::Values v) {
                ts::Value h = ops::sort(ts::Values{v[0]}, 1)[0];
                ts::Value m = ops::psum(ops::reduce_max(h, {1}), {"i"}, 2);
                return ts::Values{ops::sub(
                    v[1], ops::mul(ops::sub(h, v[0]), ops::broadcast_in_dim(m, {1, 16384}, {0})))};
              });
  Sharded s(on(2), {ts::Type(ts::f32, {2, 16384})}, {"i"}, {"i"},
            [&](ts::Builder& b, ts::Values v) {
              std::vector<ts::Value> x = {v[0]};
              for (int k = 0; k < 8; ++k)
                x.push_back(ops::sub(x.back(), ops::psum(x.back(), {"i"}, 2)));
              ts::Value ct = x.back();
              for (int k = 8; k-- > 0;)
                ct = ops::remat(b, again, ts::Values{x[static_cast<std::size_t>(k)], ct})[0];
              return ts::Values{ct};
            });
  s.check();
  auto plan = compile(s.whole())->memory();
  // On each device, the inputs of the layers and a few blocks for the layer being computed.
  EXPECT_LE(plan.temporaries, (8 + 5) * 2 * 65536);
}

TEST(Queue, ErrorsSurfaceWhereResultsAreReadAndNameTheCall) {
  Devices devices(2);
  const std::int64_t n = 1 << 20;
  auto sum = program({ts::Type(ts::f32, {n})}, [](ts::Builder&, ts::Values v) {
    return ts::Values{ops::psum(v[0], {"i"}, 2)};
  });
  auto neg = program({ts::Type(ts::f32, {n})},
                     [](ts::Builder&, ts::Values v) { return ts::Values{ops::neg(v[0])}; });
  Sharded s(on(2), {ts::Type(ts::i32, {2}), ts::Type(ts::f32, {2 * n})}, {"i", "i"}, {"i"},
            [&](ts::Builder&, ts::Values v) {
              ts::Values operands = {v[1]};
              return ops::cond(ops::reshape(v[0], {}), {sum, neg}, operands);
            });
  ts::HostArray index(ts::i32, {2});
  index.data<std::int32_t>()[0] = 0;
  index.data<std::int32_t>()[1] = 1;
  auto out = compile(s.whole(), {"step", {}})
                 ->run(std::vector<ArrayDataPtr>{put(index), put(counted(s.wholes[1]))});
  ASSERT_NE(out[0]->pending, nullptr);
  auto next =
      compile(program({ts::Type(ts::f32, {2 * n})},
                      [](ts::Builder&, ts::Values v) { return ts::Values{ops::neg(v[0])}; }),
              {"next", {}});
  // A call whose input failed fails as well, at once or when its result is read.
  EXPECT_THROW(host(*next->run(out)[0]), ts::CollectiveError);
  for (int again = 0; again < 2; ++again) {
    try {
      host(*out[0]);
      FAIL();
    } catch (const ts::CollectiveError& e) {
      EXPECT_EQ(std::string(e.what()).find(
                    "in the call of 'step', which ran asynchronously:\n"
                    "cond: devices disagree on the branch: device 0 has 0, device 1 has 1"),
                0u)
          << e.what();
      EXPECT_EQ(e.calls(), std::vector<std::string>{"step"});
      EXPECT_EQ(e.headline(),
                "cond: devices disagree on the branch: device 0 has 0, device 1 has 1");
      EXPECT_EQ(e.rule(),
                "the body has collectives, in which all devices take part, so all have to take the "
                "same way");
    }
  }
}

#ifndef __SANITIZE_THREAD__  // it does not support threads in a forked child
TEST(Process, AForkedChildComputesByItself) {
  auto p = large();
  auto in = counted(p->types[0]);
  auto e = compile(p);
  std::vector<ArrayDataPtr> x = {put(in)};
  auto expected = host(*e->run(x)[0]);
  pid_t child = fork();
  if (child == 0) {
    alarm(60);
    _exit(same_bits(host(*e->run(x)[0]), expected) ? 0 : 1);
  }
  int status = -1;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0);
}
#endif
TEST(Process, ExitWaitsForTheQueue) {
  auto leave = [] {
    auto e = compile(large());
    std::vector<ArrayDataPtr> x = {put(counted(e->program().types[0]))};
    for (int k = 0; k < 4; ++k) x = e->run(x);
    std::exit(0);
  };
  testing::GTEST_FLAG(death_test_style) = "threadsafe";
  EXPECT_EXIT(leave(), testing::ExitedWithCode(0), "");
}

TEST(Donation, MemoryIsReusedWhereNobodyElseHasIt) {
  auto p =
      program({ts::Type(ts::f32, {1000}), ts::Type(ts::f32, {})}, [](ts::Builder&, ts::Values v) {
        return ts::Values{ops::sub(v[0], ops::broadcast_in_dim(v[1], {1000}, {}))};
      });
  auto e = compile(p, {"step", {true, false}});
  std::vector<ArrayDataPtr> in = {put(counted(p->types[0])), put(counted(p->types[1]))};
  auto expected = evaluate(*p, std::vector<ts::HostArray>{host(*in[0]), host(*in[1])});
  auto* memory = in[0]->shards[0].buffer->host_data();
  auto out = e->run(in);
  EXPECT_EQ(out[0]->shards[0].buffer->host_data(), memory);
  EXPECT_TRUE(in[0]->deleted());
  EXPECT_TRUE(same_bits(host(*out[0]), expected[0]));
  EXPECT_EQ(in[0]->shards.size(), 0u) << "it lets go of memory that it cannot be read from";
  EXPECT_THROW(e->run(in), ts::TraceError);

  // The memory is not reused, because a view of it exists.
  std::vector<ArrayDataPtr> shared = {put(counted(p->types[0])), put(counted(p->types[1]))};
  auto view = row_view(shared[0], 3);
  auto other = e->run(shared);
  EXPECT_NE(other[0]->shards[0].buffer, view->shards[0].buffer);
  EXPECT_EQ(host(*view).number(0), counted(p->types[0]).number(3));
}
TEST(Donation, ShardsAreReusedToo) {
  Devices devices(4);
  Sharded s(on(4), {ts::Type(ts::f32, {4, 64})}, {"i"}, {"i"}, [](ts::Builder&, ts::Values v) {
    return ts::Values{ops::sub(v[0], ops::psum(v[0], {"i"}, 4))};
  });
  auto warm = compile(s.whole())->run(std::vector<ArrayDataPtr>{put(counted(s.wholes[0]))});
  auto expected = s.oracle({host(*warm[0])});
  auto* memory = warm[0]->shards[0].buffer->host_data();
  auto out = compile(s.whole(), {"step", {true}})->run(warm);
  EXPECT_EQ(out[0]->shards[0].buffer->host_data(), memory);
  EXPECT_TRUE(same_bits(host(*out[0]), expected[0]));
}

TEST(Donation, AFailedCallGivesBackWhatItHasNotWrittenTo) {
  Devices devices(2);
  const ts::Type kBlock(ts::f32, {64});
  auto sum = program(
      {kBlock}, [](ts::Builder&, ts::Values v) { return ts::Values{ops::psum(v[0], {"i"}, 2)}; });
  auto neg =
      program({kBlock}, [](ts::Builder&, ts::Values v) { return ts::Values{ops::neg(v[0])}; });
  // The predicate, the state that is updated in place, and an argument whose type no result has.
  Sharded s(on(2), {ts::Type(ts::i32, {2}), ts::Type(ts::f32, {128}), ts::Type(ts::i32, {4})},
            {"i", "i", "i"}, {"i", "i", "i"}, [&](ts::Builder&, ts::Values v) {
              ts::Values operands = {ops::neg(v[1])};
              ts::Values out = ops::cond(ops::reshape(v[0], {}), {sum, neg}, operands);
              out.push_back(ops::convert(ops::slice(v[2], {0}, {1}, {1}), ts::f32));
              out.push_back(operands[0]);
              return out;
            });
  std::vector<ArrayDataPtr> in =
      compile(Sharded(on(2), s.wholes, {"i", "i", "i"}, {"i", "i", "i"},
                      [](ts::Builder&, ts::Values v) {
                        return ts::Values{
                            ops::reshape(ops::axis_index(*v[0].builder, {"i"}, 2), {1}), v[1],
                            v[2]};
                      })
                  .whole())
          ->run(std::vector<ArrayDataPtr>{put(counted(s.wholes[0])), put(counted(s.wholes[1])),
                                          put(counted(s.wholes[2]))});
  EXPECT_THROW(compile(s.whole(), {"step", {false, true, true}})->run(in), ts::CollectiveError);
  EXPECT_FALSE(in[0]->deleted());
  EXPECT_FALSE(in[2]->deleted());
  EXPECT_EQ(host(*in[2]).number(1), counted(s.wholes[2]).number(1));
  EXPECT_TRUE(in[1]->deleted());
  EXPECT_EQ(
      deleted_message("add", *in[1]).str(),
      "add: the array f32[128] was donated to step, which failed when it had begun to write "
      "over it\n"
      "  rule: a call that fails gives back the donated arrays that it has not written to\n"
      "  try: start again from a copy that the call did not get, or do not donate what has to "
      "outlive a failure");
}

namespace {

// A computation that has ended, with or without an error.
struct Ended : Completion {
  bool failed;
  explicit Ended(bool f) : failed(f) {}
  void wait() override {
    if (failed) throw ts::DeviceError("the input failed");
  }
  bool done() const override { return false; }
  void then(Then) override {}
};

}  // namespace

// A queued call that fails also releases the memory that was donated to it.
TEST(Donation, AFailedCallInTheQueueGivesBackToo) {
  const ts::Type kType(ts::f32, {2000});
  auto p = program({kType, kType},
                   [](ts::Builder&, ts::Values v) { return ts::Values{ops::add(v[0], v[1])}; });
  for (bool fails : {false, true}) {
    std::vector<ArrayDataPtr> in = {put(counted(kType)), put(counted(kType))};
    auto* memory = in[0]->shards[0].buffer->host_data();
    in[1]->pending = std::make_shared<Ended>(fails);
    auto out = compile(p, {"step", {true, false}})->run(in);
    EXPECT_TRUE(fails || in[0]->deleted());
    EXPECT_EQ(out[0]->shards[0].buffer->host_data(), memory);
    if (!fails) {
      EXPECT_EQ(host(*out[0]).number(7), 2 * counted(kType).number(7));
      EXPECT_EQ(in[0]->shards.size(), 0u);
      continue;
    }
    EXPECT_THROW(out[0]->pending->wait(), ts::DeviceError);
    EXPECT_FALSE(in[0]->deleted());
    EXPECT_TRUE(same_bits(host(*in[0]), counted(kType)));
  }
}

// A chain of queued calls reuses one block, although the queue holds references to it meanwhile.
TEST(Donation, AChainInTheQueueReusesOnePieceOfMemory) {
  auto e = compile(large(), {"step", {true}});
  std::vector<ArrayDataPtr> x = {put(counted(e->program().types[0]))};
  std::vector<ArrayDataPtr> kept = x;  // handles of donated arrays hold no memory
  auto* memory = x[0]->shards[0].buffer->host_data();
  for (int k = 0; k < 6; ++k) {
    x = e->run(x);
    kept.push_back(x[0]);
    EXPECT_EQ(x[0]->shards[0].buffer->host_data(), memory) << k;
  }
  x[0]->pending->wait();
}

TEST(Donation, AnArrayGivenTwiceIsNotOverwritten) {
  Devices devices(2);
  Sharded s(on(2), {ts::Type(ts::f32, {2, 64}), ts::Type(ts::f32, {2, 64})}, {"i", "i"}, {"i", "i"},
            [](ts::Builder&, ts::Values v) {
              ts::Value first = ops::psum(ops::neg(v[0]), {"i"}, 2);
              return ts::Values{ops::add(first, v[0]),
                                ops::sub(v[1], ops::psum(ops::add(first, v[0]), {"i"}, 2))};
            });
  auto x = compile(Sharded(on(2), {ts::Type(ts::f32, {2, 64})}, {"i"}, {"i"},
                           [](ts::Builder&, ts::Values v) { return ts::Values{ops::neg(v[0])}; })
                       .whole())
               ->run(std::vector<ArrayDataPtr>{put(counted(s.wholes[0]))})[0];
  auto expected = s.oracle({host(*x), host(*x)});
  auto out = compile(s.whole(), {"step", {true, false}})->run(std::vector<ArrayDataPtr>{x, x});
  for (int k : {0, 1}) EXPECT_TRUE(same_bits(host(*out[k]), expected[k])) << k;
}

TEST(Devices, CallsOnDevicesThatAreGoneSayHowManyThereAre) {
  Sharded s(on(3), {ts::Type(ts::f32, {3})}, {"i"}, {"i"},
            [](ts::Builder&, ts::Values v) { return ts::Values{ops::neg(v[0])}; });
  Devices devices(2);
  auto e = compile(s.whole(), {"step", {}});
  try {
    e->run(std::vector<ArrayDataPtr>{put(counted(s.wholes[0]))});
    FAIL();
  } catch (const ts::DeviceError& error) {
    EXPECT_STREQ(error.what(),
                 "step: the call runs on device 2, and there are 2\n"
                 "  rule: devices are 0 to 1\n"
                 "  try: call set_device_count(3) first");
  }
}

TEST(Profiler, RowsForDevicesAndCollectives) {
  Devices devices(2);
  Sharded s(on(2), {ts::Type(ts::f32, {2, 4})}, {"i"}, {"i"}, [](ts::Builder&, ts::Values v) {
    return ts::Values{ops::sub(v[0], ops::psum(ops::mul(v[0], v[0]), {"i"}, 2))};
  });
  auto e = compile(s.whole(), {"measured", {}});
  profiler::start();
  e->run(std::vector<ArrayDataPtr>{put(counted(s.wholes[0]))});
  auto trace = nlohmann::json::parse(profiler::trace(std::array{profiler::stop()}));
  std::set<std::string> rows, names;
  for (auto& event : trace["traceEvents"]) {
    if (event["name"] == "thread_name") rows.insert(event["args"]["name"]);
    names.insert(event["name"]);
  }
  EXPECT_TRUE(rows.count("device 0") && rows.count("device 1") && rows.count("collectives"));
  EXPECT_TRUE(names.count("psum") && (names.count("measured") || names.count("mapped")));
}
