// What is said if a plug-in fails, and what is left then. Whole texts are compared.
#include "platforms/faults.h"

#include <cstdint>
#include <utility>

using namespace faults;
using test::message;
using ts::Array;

namespace {

std::string refusal(const char* fault) {
  const Fault is(fault);
  return message<ts::DeviceError>([&] { ts::load_platform(fault, TESSERA_FAULTY_PLUGIN); });
}
std::string cannot(const std::string& why) {
  return "load_platform: the plug-in " TESSERA_FAULTY_PLUGIN " cannot be used: " + why +
         "\n"
         "  rule: a plug-in is a shared library with PJRT's function GetPjrtApi\n"
         "  try: check the path, and that the libraries which it needs are found "
         "(ldd " TESSERA_FAULTY_PLUGIN ")";
}
std::string cannot_start(const std::string& why) {
  return "load_platform: the plug-in " TESSERA_FAULTY_PLUGIN " cannot start: " + why +
         "\n"
         "  rule: a plug-in needs its driver, and devices that this process may use\n"
         "  try: check that the vendor's own tool sees the devices (nvidia-smi, rocm-smi)";
}
std::string of_other_version(const std::string& why) {
  return "load_platform: the plug-in " TESSERA_FAULTY_PLUGIN " cannot be used: " + why +
         "\n"
         "  rule: this library speaks the versions 0.40 and all later ones before 1.0\n"
         "  try: take a plug-in of another release";
}

class Faults : public testing::Test {
 protected:
  const std::vector<ts::Device> there = load();
  const Array host = ts::arange(6.f);
  const Array x = ts::block_until_ready(ts::device_put(host, there[0]));
  /// What was on the host and on the device is as it was, and the platform works.
  void expect_unharmed(const Array& on_device) const {
    EXPECT_EQ(host.to_vector<float>(), (std::vector<float>{0, 1, 2, 3, 4, 5}));
    EXPECT_EQ(on_device.to_vector<float>(), (std::vector<float>{0, 1, 2, 3, 4, 5}));
    EXPECT_EQ((on_device * 2).to_vector<float>(), (std::vector<float>{0, 2, 4, 6, 8, 10}));
  }
};

}  // namespace

TEST(FaultsOfLoading, AreSaid) {
  EXPECT_EQ(refusal("nothing"), cannot("INTERNAL: its function GetPjrtApi returned nothing"));
  EXPECT_EQ(refusal("other_version"), of_other_version("it speaks version 1.104 of PJRT"));
  EXPECT_EQ(refusal("old"), of_other_version("it speaks version 0.20 of PJRT"));
  EXPECT_EQ(refusal("short"), of_other_version("the plug-in speaks version 0.104 of PJRT, which "
                                               "lacks a function that is needed"));
  EXPECT_EQ(refusal("initialize"), cannot_start("INTERNAL: The driver is too old."));
  EXPECT_EQ(refusal("create"), cannot_start("UNAVAILABLE: No device is visible."));
  EXPECT_EQ(refusal("no_devices"),
            "load_platform: the plug-in " TESSERA_FAULTY_PLUGIN
            " has no devices\n"
            "  try: check that the machine has one, and that this process may use it");
  EXPECT_EQ(
      message<ts::DeviceError>([] { ts::load_platform("unresolved", TESSERA_UNRESOLVED_PLUGIN); }),
      "load_platform: the plug-in " TESSERA_UNRESOLVED_PLUGIN
      " cannot be used: NOT_FOUND: " TESSERA_UNRESOLVED_PLUGIN
      ": undefined symbol: tessera_test_nowhere\n"
      "  rule: a plug-in is a shared library with PJRT's function GetPjrtApi\n"
      "  try: check the path, and that the libraries which it needs are found "
      "(ldd " TESSERA_UNRESOLVED_PLUGIN ")");
  // A platform that could not be loaded may be loaded when its fault is mended.
  EXPECT_EQ(ts::load_platform("create", TESSERA_FAULTY_PLUGIN, {{"device_count", std::int64_t{1}}}),
            (std::vector<ts::Device>{{0, "create"}}));
}

// A crash of the plug-in ends the process, which says before whose it was.
TEST(FaultsOfLoadingDeathTest, ACrashSaysWhose) {
  testing::FLAGS_gtest_death_test_style = "threadsafe";
  const Fault is("crash");
  EXPECT_EXIT(ts::load_platform("crash", TESSERA_FAULTY_PLUGIN), testing::KilledBySignal(SIGABRT),
              "load_platform: the plug-in " TESSERA_FAULTY_PLUGIN " crashed while it was loaded");
}

TEST_F(Faults, NoMemoryForAnArray) {
  const Array more = ts::device_put(ts::ones({1024}), there[0]),
              other = ts::device_put(host, there[1]);
  std::string text;
  {
    const Fault is("memory");
    text = message<ts::DeviceError>([&] { ts::device_put(ts::ones({32, 32}), there[0]); });
  }
  EXPECT_EQ(text,
            "device_put: there is no memory on the device: RESOURCE_EXHAUSTED: Out of memory "
            "allocating 4096 bytes.\n"
            "  - asked for: f32[32,32], 4096 B, on FaultyDevice(id=0)\n"
            "  - 1 block f32[1024] has 4096 B\n"
            "  - 1 block f32[6] has 24 B\n"
            "  - the plug-in has 3072.0 KiB in use of 4096.0 KiB\n"
            "  try: donate arguments that are not needed any more, or free arrays; "
            "memory_stats(device) says what is in use");
  expect_unharmed(x);
}

TEST_F(Faults, NoMemoryForACall) {
  const auto f = ts::jit([](Array a) { return ts::outer(a, a); }, {.name = "pairs"});
  (void)f(x).block_until_ready();
  std::string text;
  {
    const Fault is("memory_of_call");
    text = message<ts::DeviceError>([&] { f(x); });
  }
  // What the plug-in says at the end is its own count.
  EXPECT_TRUE(text.starts_with(
      "pairs: there is no memory on the device: RESOURCE_EXHAUSTED: Out of memory allocating 4096 "
      "bytes.\n"
      "  - asked for: the results of the call, 144 B, and temporaries, 64 B, on each of 1 device\n"
      "  - 1 block f32[6] has 24 B\n"
      "  - the plug-in has "))
      << text;
  expect_unharmed(x);
}

TEST_F(Faults, ADeviceIsLostBeforeACall) {
  const auto f = ts::jit([](Array a) { return a + 1; }, {.donate = {0}, .name = "next"});
  Array given = ts::block_until_ready(ts::device_put(host, there[0]));
  (void)f(ts::device_put(host, there[0])).block_until_ready();
  {
    const Fault is("lost");
    EXPECT_EQ(message<ts::DeviceError>([&] { f(given); }),
              "next: UNAVAILABLE: The device has fallen off the bus.");
  }
  // The call had not begun, so its argument is given back.
  expect_unharmed(given);
  EXPECT_EQ(f(given).to_vector<float>(), (std::vector<float>{1, 2, 3, 4, 5, 6}));
}

TEST_F(Faults, ADeviceIsLostInTheMiddleOfACall) {
  const auto f = ts::jit([](Array a) { return a + 1; }, {.name = "next"});
  (void)f(x).block_until_ready();
  Array y;
  {
    const Fault is("lost_later");
    y = f(x);
  }
  const std::string lost = "next: UNAVAILABLE: The device has fallen off the bus.";
  EXPECT_EQ(message<ts::DeviceError>([&] { y.to_vector<float>(); }), lost);
  EXPECT_EQ(message<ts::DeviceError>([&] { y.block_until_ready(); }), lost) << "again";
  expect_unharmed(x);
}

TEST_F(Faults, ADeviceIsLostWhileAResultIsRead) {
  const Array y = ts::block_until_ready(x + 1);
  {
    const Fault is("lost_at_reading");
    EXPECT_EQ(message<ts::DeviceError>([&] { y.to_vector<float>(); }),
              "to_vector: UNAVAILABLE: The device has fallen off the bus.");
  }
  EXPECT_EQ(y.to_vector<float>(), (std::vector<float>{1, 2, 3, 4, 5, 6}));
  expect_unharmed(x);
}

TEST_F(Faults, TheCompilerFails) {
  // A number of this process, so that no earlier run has left the program in the cache on disk.
  const auto n = static_cast<float>(::getpid());
  const auto f = ts::jit([n](Array a) { return a * 7 - n; }, {.name = "unheard"});
  {
    const Fault is("compile");
    EXPECT_EQ(message<ts::DeviceError>([&] { f(x); }),
              "unheard: INTERNAL: The compiler has lost its way.");
  }
  EXPECT_EQ((f(x) + n).to_vector<float>(), (std::vector<float>{0, 7, 14, 21, 28, 35}));
  expect_unharmed(x);
}

// Operations that were gathered fail where they are read, each time.
TEST_F(Faults, NoMemoryForAChain) {
  const Array y = x * 2, z = ts::outer(y, y) + 1;
  std::string text;
  {
    const Fault is("memory_of_call");
    text = message<ts::DeviceError>([&] { z.block_until_ready(); });
  }
  EXPECT_TRUE(text.starts_with(
      "multiply, outer, add: there is no memory on the device: RESOURCE_EXHAUSTED: Out of memory "
      "allocating 4096 bytes.\n"
      "  - asked for: the results of the call, 168 B, and temporaries, "))
      << text;
  EXPECT_EQ(message<ts::DeviceError>([&] { (void)y.to_vector<float>(); }), text);
  EXPECT_EQ(message<ts::DeviceError>([&] { (void)(y + 1); }), text);
  expect_unharmed(x);
}

TEST_F(Faults, ADeviceIsLostInTheMiddleOfAChain) {
  const Array warm = ts::block_until_ready(x * 5 - 1);
  Array y = x * 5 - 1;
  {
    const Fault is("lost_later");
    (void)y.shards();
  }
  const std::string lost = "multiply, subtract: UNAVAILABLE: The device has fallen off the bus.";
  EXPECT_EQ(message<ts::DeviceError>([&] { (void)y.to_vector<float>(); }), lost);
  EXPECT_EQ(message<ts::DeviceError>([&] { y.block_until_ready(); }), lost) << "again";
  expect_unharmed(x);
}

TEST_F(Faults, TheCompilerFailsForAChain) {
  // A shape of this process, so that no earlier run has left the program in the cache on disk.
  const Array y = x * 2, z = ts::broadcast_to(y[0], {std::int64_t{::getpid()}}) + 1;
  {
    const Fault is("compile");
    const std::string text = message<ts::DeviceError>([&] { z.block_until_ready(); });
    EXPECT_NE(text.find(": INTERNAL: The compiler has lost its way."), std::string::npos) << text;
  }
  EXPECT_NE(message<ts::DeviceError>([&] { (void)y.to_vector<float>(); }), "nothing thrown");
  expect_unharmed(x);
}

// The process waits for what is under way, and destructors of static objects that come later get
// an error instead of a plug-in that is gone.
TEST(FaultsDeathTest, ResultsThatAreNeverRead) {
  testing::FLAGS_gtest_death_test_style = "threadsafe";
  EXPECT_EXIT(
      {
        const Array x = ts::device_put(ts::ones({300, 300}), load()[0]);
        Array y = x;
        const auto f = ts::jit([](Array a) { return ts::dot(a, a) / 300; });
        for (int i = 0; i < 20; ++i) y = f(y);
        std::exit(0);
      },
      testing::ExitedWithCode(0), "");
}
namespace {
struct ReadsAtTheEnd {
  Array x;
  ~ReadsAtTheEnd() {
    if (x.is_empty()) return;
    const std::string text = message<ts::DeviceError>([&] { x.to_vector<float>(); });
    std::fprintf(stderr, "%s\n", text.c_str());
  }
};
ReadsAtTheEnd at_the_end;
}  // namespace
TEST(FaultsDeathTest, ReadingAfterTheEnd) {
  testing::FLAGS_gtest_death_test_style = "threadsafe";
  EXPECT_EXIT(
      {
        at_the_end.x = ts::block_until_ready(ts::device_put(ts::ones({3}), load()[0]) + 1);
        std::exit(0);
      },
      testing::ExitedWithCode(0),
      "to_vector: UNAVAILABLE: the process ends, and the plug-in may have ended before");
}
