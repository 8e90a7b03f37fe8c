// Every platform keeps the promises of runtime/backend.h: the CPU, and one whose memory is not the
// host's and that is plugged in here.
#include "../specs.h"
#include "far.h"
#include "programs.h"

#include <thread>

namespace ts = tessera;
namespace ops = tessera::ops;
using namespace rt;

namespace {

class Platforms : public testing::TestWithParam<const char*> {
 protected:
  Devices devices{3};
  Backend& backend =
      std::string(GetParam()) == "far" ? far::platform() : tessera::runtime::default_backend();

  LayoutPtr on(int device) { return intern(on_device(device, true, &backend)); }
  LayoutPtr over_three(const std::string& text) {
    return intern(
        {ts::MeshRef(ts::DeviceMesh{{{"i"}, {3}}, {2, 0, 1}}), spec(text), true, &backend});
  }
};
INSTANTIATE_TEST_SUITE_P(All, Platforms, testing::Values("cpu", "far"),
                         [](const auto& info) { return std::string(info.param); });

const ts::Type kType(ts::f32, {6, 3});
ts::ProgramPtr doubled() {
  return program({kType}, [](ts::Builder&, ts::Values v) {
    return ts::Values{ops::add(v[0], v[0]), ops::neg(v[0])};
  });
}
void wait_for(const std::shared_ptr<Completion>& c) {
  if (c) c->wait();
}

}  // namespace

TEST_P(Platforms, AreFoundByName) {
  EXPECT_EQ(find_backend(GetParam()), &backend);
  EXPECT_EQ(backend.platform(), GetParam());
  EXPECT_EQ(backend.device_count(), 3);
}

TEST_P(Platforms, GiveBackTheBlocksThatTheyGot) {
  const ts::HostArray values = counted(kType);
  const ArrayDataPtr host = put(values);
  const Placed there = backend.to_device(kType, host->shards[0], 1);
  const Placed copy = [&] {
    wait_for(there.pending);
    return backend.copy(kType, there.shard, 2);
  }();
  wait_for(copy.pending);
  for (const Shard& s : {there.shard, copy.shard}) {
    ts::HostArray got(kType.dtype, kType.shape);
    wait_for(backend.to_host(kType, s, got.bytes));
    EXPECT_TRUE(same_bits(got, values));
  }
}

TEST_P(Platforms, HoldArraysWholeAndCut) {
  const ts::HostArray values = counted(kType);
  for (const LayoutPtr& layout :
       {on(0), on(2), over_three(""), over_three("i"), over_three(";i")}) {
    const ArrayDataPtr there = relayout(put(values), layout);
    EXPECT_EQ(there->layout, layout);
    EXPECT_EQ(there->shards.size(), layout->devices().size());
    EXPECT_TRUE(same_bits(host(*there), values)) << to_string(layout->spec);
    // From there to every other place, and home.
    for (const LayoutPtr& next : {on(1), over_three("i"), default_layout()})
      EXPECT_TRUE(same_bits(host(*relayout(there, next)), values))
          << to_string(layout->spec) << " to " << to_string(next->spec);
    const auto* view = reinterpret_cast<const float*>(host_view(*there));
    for (std::int64_t i = 0; i < values.count(); ++i) EXPECT_EQ(view[i], values.number(i));
  }
}

TEST_P(Platforms, RunProgramsWhereTheirInputsAre) {
  const ts::HostArray values = counted(kType);
  const auto expected = evaluate(*doubled(), std::vector{values});
  const auto executable = compile(doubled(), {"doubled", {}}, backend);
  EXPECT_EQ(executable->options().name, "doubled");
  EXPECT_FALSE(executable->schedule().empty());
  for (const ArrayDataPtr& in : {put(values), relayout(put(values), on(2))}) {
    const auto out = executable->run(std::vector{in});
    ASSERT_EQ(out.size(), 2u);
    for (std::size_t k = 0; k < 2; ++k) {
      EXPECT_EQ(out[k]->layout->backend, &backend);
      EXPECT_EQ(out[k]->layout->devices(), in->layout->devices());
      EXPECT_TRUE(same_bits(host(*out[k]), expected[k]));
    }
    // What it gave goes in again.
    EXPECT_TRUE(same_bits(host(*executable->run(std::vector{out[1]})[1]), values));
  }
}

TEST_P(Platforms, TakeDonatedInputs) {
  const ts::HostArray values = counted(kType);
  const auto executable = compile(doubled(), {"doubled", {true}}, backend);
  const ArrayDataPtr in = relayout(put(values), on(1));
  const auto out = executable->run(std::vector{in});
  EXPECT_TRUE(in->deleted());
  EXPECT_TRUE(same_bits(host(*out[0]), evaluate(*doubled(), std::vector{values})[0]));
  EXPECT_THROW(executable->run(std::vector{in}), ts::TraceError);
}

TEST(Far, RunsBehindTheCaller) {
  const ts::HostArray values = counted(kType);
  std::vector<ArrayDataPtr> out;
  std::atomic<int> ended{0};
  {
    const far::HeldUp held;
    const ArrayDataPtr in = relayout(put(values), intern(on_device(0, true, &far::platform())));
    out = compile(doubled(), {}, far::platform())->run(std::vector{in});
    ASSERT_NE(out[0]->pending, nullptr);
    EXPECT_FALSE(out[0]->pending->done());
    out[0]->pending->then([&](const std::exception_ptr& e) { ended += e ? 100 : 1; });
    EXPECT_EQ(ended, 0);
  }
  out[0]->pending->wait();
  EXPECT_TRUE(same_bits(host(*out[1]), evaluate(*doubled(), std::vector{values})[1]));
  EXPECT_EQ(ended, 1);
  out[0]->pending->then([&](const std::exception_ptr& e) { ended += e ? 100 : 1; });
  EXPECT_EQ(ended, 2);
}

TEST(Far, MemoryIsNotReadInPlace) {
  const ArrayDataPtr there =
      relayout(put(counted(kType)), intern(on_device(0, true, &far::platform())));
  BufferPtr hold;
  EXPECT_FALSE(there->shards[0].buffer->is_host());
  EXPECT_EQ(dense_view(*there, hold), nullptr);
  EXPECT_EQ(row_view(there, 0), nullptr);
  EXPECT_EQ(stack_of_one(there, 2), nullptr);
  EXPECT_THROW(there->shards[0].buffer->host_data(), ts::InternalError);
}

TEST(Far, CopiesBetweenItsDevicesWithoutTheHost) {
  far::Far& far = far::platform();
  const ArrayDataPtr there = relayout(put(counted(kType)), intern(on_device(0, true, &far)));
  const int before = far.copied;
  const ArrayDataPtr moved = relayout(there, intern(on_device(1, true, &far)));
  EXPECT_EQ(far.copied, before + 1);
  EXPECT_TRUE(same_bits(host(*moved), counted(kType)));
}

// --- completions

TEST(Completions, AllOfSeveral) {
  EXPECT_EQ(all_of({}), nullptr);
  EXPECT_EQ(all_of({nullptr, nullptr}), nullptr);
  auto a = std::make_shared<Event>(), b = std::make_shared<Event>();
  EXPECT_EQ(all_of({nullptr, a}), a);
  const auto both = all_of({a, b});
  std::string said;
  both->then([&](const std::exception_ptr& e) {
    try {
      if (e) std::rethrow_exception(e);
      said = "well";
    } catch (const ts::Error& error) {
      said = error.what();
    }
  });
  EXPECT_FALSE(both->done());
  b->end(std::make_exception_ptr(ts::Error("b failed")));
  EXPECT_FALSE(both->done());
  EXPECT_EQ(said, "");
  a->end(std::make_exception_ptr(ts::Error("a failed")));
  EXPECT_TRUE(both->done());
  EXPECT_EQ(said, "a failed");
  for (int k = 0; k < 2; ++k) EXPECT_THROW(both->wait(), ts::Error);
}

TEST(Completions, OfQueuedCallsTellWhoAsksToBeTold) {
  auto p = program({ts::Type(ts::f32, {400, 400})}, [](ts::Builder&, ts::Values v) {
    for (int k = 0; k < 20; ++k) v[0] = ops::mul(ops::sin(v[0]), v[0]);
    return v;
  });
  const auto out = compile(p)->run(std::vector{put(counted(p->types[0]))});
  ASSERT_NE(out[0]->pending, nullptr);
  std::atomic<bool> told{false};
  out[0]->pending->then([&](const std::exception_ptr& e) { told = !e; });
  out[0]->pending->wait();
  while (!told) std::this_thread::yield();
}
