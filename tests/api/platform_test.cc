// Arrays and functions on a platform that is not the CPU (tests/far.h).
#include <tessera/contractions.h>
#include <tessera/creation.h>
#include <tessera/device.h>
#include <tessera/elementwise.h>
#include <tessera/grad.h>
#include <tessera/jit.h>
#include <tessera/manipulation.h>
#include <tessera/pmap.h>
#include <tessera/reductions.h>
#include <tessera/sharding.h>

#include "api/check.h"
#include "far.h"

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
  EXPECT_EQ(text(there), "[FarDevice(id=0), FarDevice(id=1), FarDevice(id=2)]");
  EXPECT_EQ(there[2].platform, "far");
  EXPECT_EQ(ts::devices()[0].platform, "cpu");
  EXPECT_EQ(ts::devices("cpu"), ts::devices());
  EXPECT_FALSE(there[0] == ts::devices()[0]);
  EXPECT_EQ(text(x.sharding()), "SingleDevice(FarDevice(id=1))");
  EXPECT_EQ(x.shards()[0].device, there[1]);
}

TEST_F(Platform, ArraysAreReadAndPrinted) {
  EXPECT_EQ(f32s(x), (std::vector<float>{1, 2, 3, 4, 5, 6}));
  EXPECT_EQ(text(x), "[[1. 2. 3.]\n [4. 5. 6.]]");
  EXPECT_EQ(x(1, 2).item<float>(), 6);
  EXPECT_EQ(f32s(x[1]), (std::vector<float>{4, 5, 6}));
  EXPECT_EQ(x.host<float>()[4], 5);
  EXPECT_EQ(f32s(x.copy()), f32s(x));
  EXPECT_EQ(text(x.copy().sharding()), "SingleDevice(FarDevice(id=1))");
  const Array home = ts::device_get(x);
  EXPECT_EQ(text(home.sharding()), "SingleDevice(CpuDevice(id=0))");
  EXPECT_EQ(f32s(home), f32s(x));
  EXPECT_EQ(text(ts::device_put(x, there[2]).sharding()), "SingleDevice(FarDevice(id=2))");
}

// Functions run where their arguments are; what is not committed follows.
TEST_F(Platform, FunctionsRunThere) {
  const int before = far.compiled;
  const Array y = x * 2 + ts::ones({3});
  EXPECT_GT(far.compiled, before);
  EXPECT_EQ(text(y.sharding()), "SingleDevice(FarDevice(id=1))");
  EXPECT_EQ(f32s(y), (std::vector<float>{3, 5, 7, 9, 11, 13}));

  auto loss = ts::jit([](Array a) { return ts::sum(a * a); });
  EXPECT_EQ(loss(x).item<float>(), 91);
  EXPECT_EQ(text(loss(x).sharding()), "SingleDevice(FarDevice(id=1))");
  EXPECT_EQ(f32s(ts::grad([](Array a) { return ts::sum(a * a); })(x)),
            (std::vector<float>{2, 4, 6, 8, 10, 12}));
  // The same function at home: a program for each platform.
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

// A program of a mesh moves its arguments to the platform of its devices.
TEST_F(Platform, PmapTakesArgumentsFromThere) {
  ts::set_device_count(2);
  const Array y = ts::pmap([](Array row) { return row * 2; })(x);
  EXPECT_EQ(f32s(y), (std::vector<float>{2, 4, 6, 8, 10, 12}));
  EXPECT_EQ(y.sharding().devices()[1], (Device{1}));
}

TEST_F(Platform, ShardingsAreOfOne) {
  const ts::Sharding rows(ts::Mesh({{"i", 2}}, {there[2], there[0]}), ts::P("i"));
  const Array y = ts::device_put(ts::device_get(x), rows);
  EXPECT_EQ(y.sharding(), rows);
  EXPECT_EQ(f32s(y), f32s(x));
  EXPECT_EQ(f32s(y.shards()[1].data), (std::vector<float>{4, 5, 6}));
  EXPECT_EQ(message<ts::ShardingError>([&] {
              ts::Mesh({{"i", 2}}, {there[0], Device{1}});
            }),
            "Mesh: the devices are of the platforms 'far' and 'cpu'\n"
            "  rule: an array lies on one platform\n"
            "  try: a mesh a platform");
}

TEST_F(Platform, Misuse) {
  const Array here = ts::device_put(ts::ones({2, 3}), Device{0});
  EXPECT_EQ(message<ts::ShardingError>([&] { x + here; }),
            "add: the inputs are committed to different devices\n"
            "  - input 0, f32[2,3], is on FarDevice(id=1)\n"
            "  - input 1, f32[2,3], is on CpuDevice(id=0)\n"
            "  rule: a computation runs on one device; inputs that are not committed follow those "
            "that are\n"
            "  try: move one of them: device_put(x, device), or device_get(x), which is not "
            "committed");
  EXPECT_EQ(message<ts::DeviceError>([&] { ts::devices("nowhere"); }),
            "devices: there is no platform 'nowhere'\n"
            "  rule: this process has 'cpu', 'far'\n"
            "  try: take one of devices()");
  EXPECT_EQ(message<ts::DeviceError>([&] {
              ts::device_put(x, Device{7, "far"});
            }),
            "device_put: there is no device 7\n"
            "  rule: 'far' has devices 0 to 2\n"
            "  try: take one of devices()");
  auto f = ts::pmap([](Array row) { return row; }, {.devices = {there[0], Device{1}}});
  EXPECT_EQ(message<ts::DeviceError>([&] { f(here); }),
            "pmap: the list has devices of 'far' and of 'cpu'\n"
            "  rule: the devices of one call are of one platform\n"
            "  try: take them from devices()");
}
