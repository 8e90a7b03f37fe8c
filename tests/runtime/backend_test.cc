// The freedoms that runtime/backend.h gives a platform with its own memory and queue, tested on the
// platform "far", and completions. Promises of every platform are tested in tests/backends.
#include "far.h"
#include "programs.h"

#include <thread>

namespace ts = tessera;
namespace ops = tessera::ops;
using namespace rt;

namespace {

const ts::Type kType(ts::f32, {6, 3});
ts::ProgramPtr doubled() {
  return program({kType}, [](ts::Builder&, ts::Values v) {
    return ts::Values{ops::add(v[0], v[0]), ops::neg(v[0])};
  });
}

}  // namespace

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
