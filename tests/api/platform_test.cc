// The behaviour of the platform "far" (tests/far.h) that users see: functions are compiled for it,
// its calls run asynchronously, and plans are its own. The behaviour that all platforms share is
// tested in tests/backends.
#include <tessera/contractions.h>
#include <tessera/creation.h>
#include <tessera/device.h>
#include <tessera/elementwise.h>
#include <tessera/grad.h>
#include <tessera/jit.h>
#include <tessera/manipulation.h>
#include <tessera/plan.h>
#include <tessera/pmap.h>
#include <tessera/reductions.h>
#include <tessera/sharding.h>

#include "api/check.h"
#include "far.h"
#include "only_cpu.h"

#include <gtest/gtest.h>

#include <sstream>

namespace ts = tessera;
using api_test::f32s;
using api_test::message;
using ts::Array;
using ts::Device;

namespace {

class Platform : public testing::Test {
 protected:
  far::Far& far = far::platform();
  std::vector<Device> there = ts::devices("far");
  Array x = ts::device_put(ts::array({{1.f, 2.f, 3.f}, {4.f, 5.f, 6.f}}), there[1]);
};
template <class T>
std::string text(const T& x) {
  std::ostringstream out;
  out << x;
  return out.str();
}

}  // namespace

TEST_F(Platform, DevicesKnowTheirs) {
  NEEDS_CPU(first);
  EXPECT_EQ(text(there), "[FarDevice(id=0), FarDevice(id=1), FarDevice(id=2)]");
  EXPECT_EQ(there[2].platform, "far");
  EXPECT_EQ(ts::devices()[0].platform, "cpu");
  EXPECT_EQ(ts::devices("cpu"), ts::devices());
  EXPECT_FALSE(there[0] == ts::devices()[0]);
  EXPECT_EQ(text(x.sharding()), "SingleDevice(FarDevice(id=1))");
  EXPECT_EQ(x.shards()[0].device, there[1]);
}

// Functions run on the platform of their arguments; uncommitted arrays follow.
TEST_F(Platform, FunctionsRunThere) {
  NEEDS_CPU(first);
  const int before = far.compiled;
  const Array y = x * 2 + ts::ones({3});
  EXPECT_EQ(text(y.sharding()), "SingleDevice(FarDevice(id=1))");
  EXPECT_EQ(f32s(y), (std::vector<float>{3, 5, 7, 9, 11, 13}));
  EXPECT_GT(far.compiled, before);

  auto loss = ts::jit([](Array a) { return ts::sum(a * a); });
  EXPECT_EQ(loss(x).item<float>(), 91);
  EXPECT_EQ(text(loss(x).sharding()), "SingleDevice(FarDevice(id=1))");
  EXPECT_EQ(f32s(ts::grad([](Array a) { return ts::sum(a * a); })(x)),
            (std::vector<float>{2, 4, 6, 8, 10, 12}));
  // The same function on the CPU: there is a program for each platform.
  EXPECT_EQ(text(loss(ts::device_get(x)).sharding()), "SingleDevice(CpuDevice(id=0))");
  EXPECT_EQ(loss(x).item<float>(), 91);
}

TEST_F(Platform, CallsReturnBeforeTheyHaveRun) {
  auto f = ts::jit([](Array a) { return a + 1; });
  Array y;
  {
    const far::HeldUp held;
    y = f(x);
    EXPECT_FALSE(y.is_ready());
    y = f(y);
  }
  EXPECT_EQ(f32s(y), (std::vector<float>{3, 4, 5, 6, 7, 8}));
}

// A program of a mesh moves arguments to the platform of its devices unless they are committed.
TEST_F(Platform, PmapTakesArgumentsFromThere) {
  NEEDS_CPU(first);
  ts::set_device_count(2);
  const auto f = ts::pmap([](Array row) { return row * 2; }, {.name = "f"});
  EXPECT_EQ(
      message<ts::ShardingError>([&] { f(x); }),
      "f: the function is over devices of 'cpu', and inputs are committed to another "
      "platform\n"
      "  - input 0, f32[2,3], is on FarDevice(id=1)\n"
      "  rule: inputs that are not committed follow; nothing else is moved between platforms\n"
      "  try: move the inputs: device_put(x, devices(\"cpu\")[0]), or device_get(x), which is "
      "not committed");
  const Array from_there = [&] {
    const ts::DefaultDevice chosen(there[1]);
    return ts::array({{1.f, 2.f, 3.f}, {4.f, 5.f, 6.f}});
  }();
  EXPECT_EQ(text(from_there.sharding()), "SingleDevice(FarDevice(id=1))");
  const Array y = f(from_there);
  EXPECT_EQ(f32s(y), (std::vector<float>{2, 4, 6, 8, 10, 12}));
  EXPECT_EQ(y.sharding().devices()[1], (Device{1}));
}

// Plans ask the platform that runs the program.
TEST_F(Platform, PlansAreThoseOfThePlatform) {
  const auto f = ts::jit([](Array a) { return ts::sin(a) + a; });
  const ts::DefaultDevice here(there[0]);
  const ts::Plan plan = f.lower(ts::abstract(ts::f32, {2, 3})).plan();
  EXPECT_EQ(plan.temporary_bytes, 24 + 24) << "the results of sin and of the sum";
  EXPECT_TRUE(plan.steps.empty());
  const ts::Mesh mesh({{"i", 2}}, {there[0], there[1]});
  const auto cut = ts::jit([](Array a) { return ts::sin(a); },
                           {.mesh = mesh, .in_shardings = ts::P("i"), .out_shardings = ts::P("i")});
  const ts::Plan divided = cut.lower(ts::abstract(ts::f32, {2, 3})).plan();
  EXPECT_EQ(divided.devices, 2);
  EXPECT_EQ(divided.temporary_bytes, 12);
  EXPECT_TRUE(divided.steps.empty());
}

TEST_F(Platform, PlansFollowTheArguments) {
  NEEDS_CPU(first);
  const auto f = ts::jit([](Array a) { return ts::sin(a) + a; });
  EXPECT_FALSE(f.lower(ts::abstract(ts::f32, {2, 3})).plan().steps.empty());
  EXPECT_FALSE(f.lower(ts::device_get(x)).plan().steps.empty());
  EXPECT_TRUE(f.lower(x).plan().steps.empty()) << "x is committed to far";
}

TEST_F(Platform, Misuse) {
  NEEDS_CPU(first);
  auto f = ts::pmap([](Array row) { return row; }, {.devices = {there[0], Device{1}}});
  EXPECT_EQ(message<ts::DeviceError>([&] {
              f(ts::ones({2, 3}));
            }),
            "pmap: the list has devices of 'far' and of 'cpu'\n"
            "  rule: the devices of one call are of one platform\n"
            "  try: take them from devices()");
  EXPECT_EQ(message<ts::DeviceError>([&] { ts::devices("nowhere"); }),
            "devices: there is no platform 'nowhere'\n"
            "  rule: this process has 'cpu', 'far'\n"
            "  try: take one of devices()");
}
