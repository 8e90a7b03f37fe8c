// Several sets of devices and orders of calls in one process: what happens to one does not happen
// to the others.
#include "message.h"
#include "processes/members.h"
#include "runtime/array_data.h"
#include "runtime/host/devices.h"

#include <gtest/gtest.h>

#include <array>
#include <cstddef>
#include <string>

namespace ts = tessera;

namespace {

using namespace tessera::runtime;
using processes_test::Members;
using test::message;
using ts::processes::Group;

using Texts = std::array<std::string, 2>;  // by rank

HostDevices::Options count(int n) {
  HostDevices::Options options;
  options.count = n;
  return options;
}

}  // namespace

TEST(HostDevices, HaveTheirOwnCountAndIsolation) {
  const int before = device_count();
  const bool isolated_before = isolated();
  Group alone;
  HostDevices::Options options;
  options.count = 8;
  options.isolated = true;
  HostDevices four(alone, count(4)), eight(alone, options);
  EXPECT_EQ(four.count(), 4);
  EXPECT_EQ(four.local_count(), 4);
  EXPECT_EQ(four.first_local(), 0);
  EXPECT_EQ(four.process_of(3), 0);
  EXPECT_FALSE(four.isolated());
  EXPECT_EQ(eight.count(), 8);
  EXPECT_TRUE(eight.isolated());

  four.set_count(6);
  EXPECT_EQ(four.count(), 6);
  EXPECT_EQ(eight.count(), 8);
  four.set_isolated(true);
  eight.set_isolated(false);
  EXPECT_TRUE(four.isolated());
  EXPECT_FALSE(eight.isolated());

  EXPECT_EQ(device_count(), before);
  EXPECT_EQ(isolated(), isolated_before);
  EXPECT_EQ(&own_devices(), &own_devices());
  EXPECT_EQ(own_devices().count(), before);
}

TEST(HostDevices, CountTheirOwnMemory) {
  const std::int64_t physical = physical_live(), own = memory_stats(0).live;
  Group alone;
  HostDevices one(alone, count(4)), other(alone, count(4));
  const Layout first = on_device(0, true), last = on_device(3, true);
  one.charge(first, 100, 1);
  one.charge(last, 24, 1);
  one.charge(last, 40, 1);
  EXPECT_EQ(one.memory_stats(0).live, 100);
  EXPECT_EQ(one.memory_stats(3).live, 64);
  EXPECT_EQ(other.memory_stats(0).live, 0);
  EXPECT_EQ(other.memory_stats(3).peak, 0);
  EXPECT_EQ(physical_live(), physical);
  EXPECT_EQ(memory_stats(0).live, own);

  EXPECT_EQ(message<ts::DeviceError>([&] { one.set_count(2); }),
            "set_device_count: cannot shrink from 4 to 2 devices: 2 blocks of arrays live on "
            "devices 2 to 3\n"
            "  rule: devices can go once no array lives on them\n"
            "  try: let those arrays go out of scope first, or move them with device_put");
  other.set_count(2);
  EXPECT_EQ(one.count(), 4);
  EXPECT_EQ(other.count(), 2);

  one.charge(last, -24, -1);
  EXPECT_EQ(one.memory_stats(3).live, 40);
  EXPECT_EQ(one.memory_stats(3).peak, 64);
  one.reset_peak_memory();
  EXPECT_EQ(one.memory_stats(3).peak, 40);
  one.charge(last, -40, -1);
  one.set_count(2);
  EXPECT_EQ(one.count(), 2);
}

TEST(HostDevices, SayWhyTheyCannotBe) {
  Group alone;
  HostDevices::Options none = count(0), many = count(kMaxDevices + 1);
  none.function = "make_client";
  EXPECT_EQ(message<ts::DeviceError>([&] { HostDevices devices(alone, none); }),
            "make_client: a process cannot have 0 devices\n"
            "  rule: it has from 1 to 4096\n"
            "  try: set_device_count(4)");
  EXPECT_EQ(message<ts::DeviceError>([&] { HostDevices devices(alone, many); }),
            "set_device_count: a process cannot have 4097 devices\n"
            "  rule: it has from 1 to 4096\n"
            "  try: set_device_count(4)");
  HostDevices devices(alone, count(4));
  EXPECT_EQ(message<ts::DeviceError>([&] { devices.set_count(3, [] { return 3; }); }),
            "set_device_count: cannot shrink from 4 to 3 devices: device 3 is a default device\n"
            "  rule: a device stays while new arrays are placed on it\n"
            "  try: set_default_device(\"cpu\") first, or end the scope of the DefaultDevice");
  EXPECT_EQ(message<ts::DeviceError>([&] { (void)devices.memory_stats(4); }),
            "memory_stats: there is no device 4\n"
            "  rule: devices are 0 to 3");
  EXPECT_EQ(devices.count(), 4);
}

// Two sets in each of two processes.
TEST(HostDevices, SettlingOneSetDoesNotSettleAnother) {
  Members members(true);
  members.join();
  Texts settled, uneven, made;
  members.together([&](Group& group, int rank) {
    const auto r = static_cast<std::size_t>(rank);
    HostDevices one(group, count(4)), other(group, count(4));
    EXPECT_EQ(one.local_count(), 2);
    EXPECT_EQ(one.first_local(), 2 * rank);
    EXPECT_EQ(one.process_of(1), 0);
    EXPECT_EQ(one.process_of(2), 1);
    one.settle();
    settled[r] = message<ts::DeviceError>([&] { one.set_count(8); });
    other.set_count(8);
    EXPECT_EQ(one.count(), 4);
    EXPECT_EQ(other.count(), 8);
    EXPECT_EQ(other.first_local(), 4 * rank);
    one.set_count(4);
    uneven[r] = message<ts::DeviceError>([&] { other.set_count(3); });
    made[r] = message<ts::DeviceError>([&] {
      HostDevices::Options five = count(5);
      five.function = "TESSERA_DEVICES";
      HostDevices devices(group, five);
    });
  });
  for (std::size_t r = 0; r < 2; ++r) {
    EXPECT_EQ(settled[r],
              "set_device_count: there are arrays on several of the 4 devices\n"
              "  rule: device d is of process d / (devices / processes), and stays there\n"
              "  try: call it first, or set TESSERA_DEVICES=8");
    EXPECT_EQ(uneven[r],
              "set_device_count: 3 devices for 2 processes\n"
              "  rule: each process has as many: 3 is not divisible by 2\n"
              "  try: take 4, the number of all devices");
    EXPECT_EQ(made[r],
              "TESSERA_DEVICES: 5 devices for 2 processes\n"
              "  rule: each process has as many: 5 is not divisible by 2\n"
              "  try: take 6, the number of all devices");
  }
  members.together([](Group& group, int) { group.leave(); });
}
