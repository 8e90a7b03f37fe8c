// The behaviour of each platform that users see: placement, calls, errors, and the default device.
#include "backends/platforms.h"
#include "message.h"

#include <tessera/contractions.h>
#include <tessera/creation.h>
#include <tessera/debug.h>
#include <tessera/distributed.h>
#include <tessera/elementwise.h>
#include <tessera/functional.h>
#include <tessera/grad.h>
#include <tessera/jit.h>
#include <tessera/manipulation.h>
#include <tessera/mesh.h>
#include <tessera/operators.h>
#include <tessera/pmap.h>
#include <tessera/reductions.h>
#include <tessera/sharding.h>

#include <memory>
#include <sstream>
#include <thread>

using namespace backends;
using test::message;
using ts::Array;

namespace {

using Floats = std::vector<float>;

class Arrays : public OnEachPlatform {
 protected:
  const Floats values{1, 2, 3, 4, 5, 6};
  Array fresh() const { return Array(values, {2, 3}); }
  Array x = ts::device_put(fresh(), device(last));

  std::string single(int id) const { return "SingleDevice(" + text(id) + ")"; }
  static std::string place(const Array& a) {
    std::ostringstream out;
    out << a.sharding();
    return out.str();
  }
  static Floats floats(const Array& a) { return a.to_vector<float>(); }
  /// How errors name the owner of the platform's devices.
  std::string owner() const { return name == "cpu" ? "this process" : "'" + name + "'"; }
  std::string ids() const { return "0 to " + std::to_string(backend.device_count() - 1); }
};
ON_EACH_PLATFORM(Arrays);

class Defaults : public Arrays {};
ON_EACH_PLATFORM(Defaults);

}  // namespace

TEST_P(Arrays, AreReadAndPrinted) {
  EXPECT_EQ(place(x), single(last));
  EXPECT_EQ(floats(x), values);
  EXPECT_EQ(to_string(x), "[[1. 2. 3.]\n [4. 5. 6.]]");
  EXPECT_EQ(x(1, 2).item<float>(), 6);
  EXPECT_EQ(floats(x[1]), (Floats{4, 5, 6}));
  EXPECT_EQ(x.host<float>()[4], 5);
  EXPECT_EQ(floats(x.copy()), values);
  EXPECT_EQ(place(x.copy()), single(last));
  EXPECT_EQ(x.shards()[0].device, device(last));
  const Array home = ts::device_get(x);
  EXPECT_EQ(place(home), "SingleDevice(CpuDevice(id=0))");
  EXPECT_EQ(floats(home), values);
}

TEST_P(Arrays, CallsRunWhereTheyAre) {
  const Array y = x * 2 + ts::ones({3});
  EXPECT_EQ(place(y), single(last));
  EXPECT_EQ(floats(y), (Floats{3, 5, 7, 9, 11, 13}));
  auto loss = ts::jit([](Array a) { return ts::sum(a * a); });
  EXPECT_EQ(loss(x).item<float>(), 91);
  EXPECT_EQ(place(loss(x)), single(last));
  EXPECT_EQ(floats(ts::grad([](Array a) { return ts::sum(a * a); })(x)),
            (Floats{2, 4, 6, 8, 10, 12}));
  EXPECT_EQ(floats(ts::dot(x, ts::transpose(x))), (Floats{14, 32, 32, 77}));
  // The same function runs on another platform, and then on this one again.
  EXPECT_EQ(place(loss(ts::device_get(x))), "SingleDevice(CpuDevice(id=0))");
  EXPECT_EQ(place(loss(x)), single(last));
}

TEST_P(Arrays, DonatedArraysAreGone) {
  auto f = ts::jit([](Array a) { return a + 1; }, {.donate = {0}});
  Array big = ts::device_put(ts::ones({64, 64}), device(last));
  EXPECT_EQ(ts::sum(f(big)).item<float>(), 8192);
  EXPECT_TRUE(big.is_deleted());
  const std::string refusal = message<ts::TraceError>([&] { big + 1; });
  EXPECT_TRUE(refusal.starts_with("add: the array f32[64,64] was donated to jit(")) << refusal;
}

TEST_P(Arrays, ErrorsOfProgramsReachTheReader) {
  const auto f = ts::jit([](Array a) {
    ts::debug::check(ts::log(a), {.name = "log a"});
    return a + 1;
  });
  EXPECT_EQ(floats(f(x)), (Floats{2, 3, 4, 5, 6, 7}));
  const Array negative = ts::device_put(Array(Floats{1, -2}), device(last));
  const std::string error =
      "debug::check: 1 of 2 elements of 'log a' is refused; the first is nan at [1]\n"
      "  rule: no NaN, no infinity\n"
      "  try: check what it is made of, or debug::print it";
  // The error is thrown by the call or when its result is read.
  const std::string read = message<ts::CheckError>([&] { (void)floats(f(negative)); });
  EXPECT_TRUE(read.ends_with(error)) << read;
  const std::string used = message<ts::CheckError>([&] { (void)floats(f(negative) * 2); });
  EXPECT_TRUE(used.ends_with(error)) << used;
  EXPECT_EQ(floats(f(x)), (Floats{2, 3, 4, 5, 6, 7}));
}

TEST_P(Arrays, ShardingsLieOnOnePlatform) {
  std::vector<ts::Device> order{device(last)};
  if (count > 1) order.push_back(device(0));
  const auto n = static_cast<std::int64_t>(order.size());
  const ts::Sharding rows(ts::Mesh({{"i", n}}, order), ts::P("i"));
  const Array y = ts::device_put(ts::device_get(x), rows);
  EXPECT_EQ(y.sharding(), rows);
  EXPECT_EQ(floats(y), values);
  EXPECT_EQ(floats(y.shards().back().data), n == 2 ? (Floats{4, 5, 6}) : values);
  EXPECT_EQ(floats(ts::device_put(y, device(last))), values);
}

TEST_P(Arrays, DevicesThatAreNotThereAreRefused) {
  const int beyond = backend.device_count();
  const ts::Device none{beyond, backend.platform()};
  const std::string advice = name == "cpu" ? "call set_device_count(" + std::to_string(beyond + 1) +
                                                 ") first, or set TESSERA_DEVICES"
                                           : "take one of devices()";
  const auto refusal = [&](const char* function) {
    return std::string(function) + ": there is no device " + std::to_string(beyond) +
           "\n  rule: " + owner() + " has devices " + ids() + "\n  try: " + advice;
  };
  EXPECT_EQ(message<ts::DeviceError>([&] { ts::device_put(x, none); }), refusal("device_put"));
  EXPECT_EQ(message<ts::DeviceError>([&] { ts::memory_stats(none); }), refusal("memory_stats"));
  EXPECT_EQ(message<ts::DeviceError>([&] { ts::set_default_device(none); }),
            refusal("set_default_device"));
  EXPECT_EQ(message<ts::DeviceError>([&] { ts::DefaultDevice here(none); }),
            refusal("DefaultDevice"));
  EXPECT_EQ(message<ts::DeviceError>([&] { ts::process_of(none); }),
            "process_of: there is no device " + std::to_string(beyond) + "\n  rule: devices are " +
                ids() + "\n  try: take one of devices()");
  EXPECT_EQ(message<ts::DeviceError>([&] {
              ts::Mesh({{"i", 1}}, {none});
            }),
            "Mesh: there is no device " + std::to_string(beyond) + "\n  rule: '" + name +
                "' has devices " + ids() + "\n  try: take some of devices()");
  EXPECT_EQ(ts::process_of(device(last)), 0);
}

TEST_P(Arrays, PlatformsAreNotMixed) {
  if (name == "cpu") GTEST_SKIP() << "it is the other platform";
  const Array here = ts::device_put(ts::ones({2, 3}), ts::Device{0});
  EXPECT_EQ(
      message<ts::ShardingError>([&] { x + here; }),
      "add: the inputs are committed to different devices\n"
      "  - input 0, f32[2,3], is on " +
          text(last) +
          "\n"
          "  - input 1, f32[2,3], is on CpuDevice(id=0)\n"
          "  rule: a computation runs on one device; inputs that are not committed follow those "
          "that are\n"
          "  try: move one of them: device_put(x, device), or device_get(x), which is not "
          "committed");
  EXPECT_EQ(message<ts::ShardingError>([&] {
              ts::Mesh({{"i", 2}}, {device(0), ts::Device{1}});
            }),
            "Mesh: the devices are of the platforms '" + name +
                "' and 'cpu'\n"
                "  rule: an array lies on one platform\n"
                "  try: a mesh a platform");
}

TEST_P(Arrays, MemoryIsCounted) {
  // Work of earlier tests that the device still has in its queue may hold memory; reading waits.
  (void)ts::device_put(ts::ones({1}), device(last)).item<float>();
  const ts::MemoryStats before = ts::memory_stats(device(last));
  const Array more = ts::device_put(ts::ones({1024}), device(last));
  more.block_until_ready();
  const ts::MemoryStats now = ts::memory_stats(device(last));
  if (now.peak == 0) GTEST_SKIP() << "the platform does not count";
  EXPECT_GE(now.live, before.live + 4096);
  EXPECT_GE(now.peak, now.live);
}

// The default device.

TEST_P(Defaults, NewArraysArePlacedThere) {
  const ts::DefaultDevice here(device(last));
  EXPECT_EQ(ts::default_device(), device(last));
  EXPECT_EQ(ts::default_backend(), name);
  EXPECT_EQ(place(fresh()), single(last));
  EXPECT_EQ(place(ts::zeros({3})), single(last));
  EXPECT_EQ(place(ts::arange(4)), single(last));
  EXPECT_EQ(floats(fresh()), values);
  EXPECT_EQ(floats(ts::zeros({3})), (Floats{0, 0, 0}));
  alignas(64) static float memory[] = {7, 8, 9};
  const Array adopted = Array::adopt(ts::f32, {3}, memory, nullptr);
  EXPECT_EQ(place(adopted), single(last));
  EXPECT_EQ(floats(adopted), (Floats{7, 8, 9}));
}

TEST_P(Defaults, UncommittedComputationsRunThere) {
  const Array before = fresh();
  const auto f = ts::jit([](Array a) { return a * 2; });
  EXPECT_EQ(place(f(before)), "SingleDevice(CpuDevice(id=0))");
  {
    const ts::DefaultDevice here(device(last));
    for (const Array& y : {f(before), f(fresh()), before * 2, before + before, 2 * fresh()}) {
      EXPECT_EQ(place(y), single(last));
      EXPECT_EQ(floats(y), (Floats{2, 4, 6, 8, 10, 12}));
    }
    EXPECT_EQ(place(before), "SingleDevice(CpuDevice(id=0))") << "what exists stays";
    EXPECT_EQ(place(Array(1.5) + 1), single(last));
    // Committed arguments override the default device.
    EXPECT_EQ(place(f(ts::device_put(before, device(0)))), single(0));
    EXPECT_EQ(place(ts::device_put(before, ts::Device{1}) + fresh()),
              "SingleDevice(CpuDevice(id=1))");
    EXPECT_EQ(place(ts::device_get(f(before))), "SingleDevice(CpuDevice(id=0))");
  }
  EXPECT_EQ(place(f(before)), "SingleDevice(CpuDevice(id=0))");
  EXPECT_EQ(place(f(x)), single(last)) << "x is committed";
}

TEST_P(Defaults, UncommittedResultsAreNotBoundToIt) {
  const Array there = [&] {
    const ts::DefaultDevice here(device(0));
    return fresh() + 1;
  }();
  EXPECT_EQ(place(there), single(0));
  EXPECT_EQ(place(there + x), single(last)) << "what is not committed follows";
  // Without a default device, arrays of other platforms are moved to the CPU for the computation.
  EXPECT_EQ(place(there + 1), "SingleDevice(CpuDevice(id=0))");
  EXPECT_EQ(floats(there + 1), (Floats{3, 4, 5, 6, 7, 8}));
}

TEST_P(Defaults, ScopesNestAndBelongToTheirThread) {
  const ts::DefaultDevice outer(device(last));
  {
    const ts::DefaultDevice inner("cpu");
    EXPECT_EQ(ts::default_device(), ts::Device{0});
    EXPECT_EQ(place(fresh()), "SingleDevice(CpuDevice(id=0))");
  }
  EXPECT_EQ(ts::default_device(), device(last));
  std::thread([&] {
    EXPECT_EQ(ts::default_device(), ts::Device{0});
    EXPECT_EQ(place(fresh() + 1), "SingleDevice(CpuDevice(id=0))");
    const ts::DefaultDevice own(device(0));
    EXPECT_EQ(place(fresh() + 1), single(0));
  }).join();
  EXPECT_EQ(place(fresh() + 1), single(last));
}

TEST_P(Defaults, ScopesEndInAnyOrderAndOnOtherThreads) {
  auto first = std::make_unique<ts::DefaultDevice>("cpu");
  auto second = std::make_unique<ts::DefaultDevice>(device(last));
  first.reset();
  EXPECT_EQ(ts::default_device(), device(last)) << "the newest that is left";
  auto third = std::make_unique<ts::DefaultDevice>("cpu");
  std::thread([&] { third.reset(); }).join();
  EXPECT_EQ(ts::default_device(), device(last));
  EXPECT_EQ(place(fresh() + 1), single(last));
  std::thread([&] { second.reset(); }).join();
  EXPECT_EQ(ts::default_device(), ts::Device{0});
  // With a scope on any thread, this one looks for its own.
  std::unique_ptr<ts::DefaultDevice> outlives;
  std::thread([&] { outlives = std::make_unique<ts::DefaultDevice>(device(last)); }).join();
  EXPECT_EQ(ts::default_device(), ts::Device{0});
  EXPECT_EQ(place(fresh() + 1), "SingleDevice(CpuDevice(id=0))");
  outlives.reset();
  EXPECT_EQ(ts::default_device(), ts::Device{0});
}

TEST_P(Defaults, OneChoiceIsForAllThreads) {
  ts::set_default_device(device(last));
  std::thread([&] { EXPECT_EQ(place(fresh() + 1), single(last)); }).join();
  {
    const ts::DefaultDevice home("cpu");
    EXPECT_EQ(place(fresh() + 1), "SingleDevice(CpuDevice(id=0))");
    std::thread([&] { EXPECT_EQ(place(fresh() + 1), single(last)); }).join();
  }
  EXPECT_EQ(place(fresh() + 1), single(last));
  ts::set_default_device(name);
  EXPECT_EQ(ts::default_device(), device(0));
  ts::set_default_device("cpu");
  EXPECT_EQ(ts::default_device(), ts::Device{0});
  EXPECT_EQ(ts::default_backend(), "cpu");
  EXPECT_EQ(place(fresh() + 1), "SingleDevice(CpuDevice(id=0))");
}

// Functions without a device argument use the devices of the default device's platform.
TEST_P(Defaults, ItsPlatformGivesTheDevices) {
  const ts::DefaultDevice here(device(last));
  const int n = backend.device_count();
  EXPECT_EQ(ts::device_count(), n);
  EXPECT_EQ(ts::devices(), ts::devices(name));
  EXPECT_EQ(ts::local_device_count(), n);
  EXPECT_EQ(ts::local_devices(), ts::devices());
  EXPECT_EQ(ts::Mesh({{"i", n}}).devices(), ts::devices());
  const ts::Sharding rows(ts::Mesh({{"i", 1}}), ts::P("i"));
  EXPECT_EQ(rows.devices()[0], device(0));
  const std::string some = std::to_string(n + 1) + " entries are to be mapped over " +
                           std::to_string(n) + (n == 1 ? " device\n" : " devices\n");
  const std::string refusal = message<ts::DeviceError>([&] {
    ts::pmap([](Array row) { return row; })(ts::ones({n + 1, 2}));
  });
  EXPECT_NE(refusal.find(": " + some), std::string::npos) << refusal;
  EXPECT_EQ(refusal.find("set_device_count") != std::string::npos, name == "cpu") << refusal;
}

TEST_P(Defaults, PlatformsThatAreNotThereAreRefused) {
  const std::string error = message<ts::DeviceError>([] { ts::set_default_device("nowhere"); });
  EXPECT_EQ(error.substr(0, error.find("  rule")),
            "set_default_device: there is no platform 'nowhere'\n");
  EXPECT_EQ(ts::default_device(), ts::Device{0});
}

TEST(DefaultsOfTheCpu, ADefaultDeviceStays) {
  const rt::Devices devices(4);
  const auto shrink = [] { return message<ts::DeviceError>([] { ts::set_device_count(2); }); };
  const std::string refusal =
      "set_device_count: cannot shrink from 4 to 2 devices: device 3 is a default device\n"
      "  rule: a device stays while new arrays are placed on it\n"
      "  try: set_default_device(\"cpu\") first, or end the scope of the DefaultDevice";
  {
    const ts::DefaultDevice scope(ts::Device{3});
    EXPECT_EQ(shrink(), refusal);
  }
  ts::set_default_device(ts::Device{3});
  EXPECT_EQ(shrink(), refusal);
  ts::set_default_device("cpu");
  EXPECT_EQ(shrink(), "nothing thrown");
  EXPECT_EQ(ts::device_count(), 2);
}

// Without a default device, a row stays on its device, and results computed from it do, too.
TEST(DefaultsOfTheCpu, RowsStayUnlessADeviceIsChosen) {
  const rt::Devices devices(3);
  const Array rows = ts::pmap([](Array row) { return row; })(ts::arange(6).reshape({3, 2}));
  const auto place = [](const Array& a) {
    std::ostringstream out;
    out << a.sharding();
    return out.str();
  };
  EXPECT_EQ(place(rows[2] + 1), "SingleDevice(CpuDevice(id=2))");
  const ts::DefaultDevice here(ts::Device{1});
  EXPECT_EQ(place(rows[2] + 1), "SingleDevice(CpuDevice(id=1))");
}
