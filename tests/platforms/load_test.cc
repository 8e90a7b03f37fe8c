// Loading plug-ins, and what is said if that fails.
#include "message.h"

#include <tessera/creation.h>
#include <tessera/platform.h>

#include <gtest/gtest.h>

#include <cstdio>
#include <cstdlib>

namespace ts = tessera;
using test::message;

namespace {

std::string refusal(std::string_view name, std::string_view path = {}) {
  return message<ts::DeviceError>([&] { ts::load_platform(name, path); });
}

}  // namespace

TEST(LoadPlatform, TheDevicesOfThePlugin) {
  const std::vector<ts::Device> devices =
      ts::load_platform("mine", TESSERA_PJRT_LIBRARY, {{"device_count", std::int64_t{2}}});
  EXPECT_EQ(devices, (std::vector<ts::Device>{{0, "mine"}, {1, "mine"}}));
  EXPECT_EQ(ts::devices("mine"), devices);
  EXPECT_EQ(ts::load_platform("mine"), devices) << "it is loaded already";
  EXPECT_EQ(ts::load_platform("mine", TESSERA_PJRT_LIBRARY), devices);
  EXPECT_EQ(refusal("mine", "/other.so"),
            "load_platform: the platform 'mine' is loaded from " TESSERA_PJRT_LIBRARY
            " already\n"
            "  rule: a platform stays loaded until the process ends\n"
            "  try: give the plug-in at /other.so another name");
  const ts::PlatformInfo info = ts::platform_info("mine");
  EXPECT_EQ(info.name, "mine");
  EXPECT_EQ(info.plugin, TESSERA_PJRT_LIBRARY);
  EXPECT_EQ(info.reports, "cpu");
  EXPECT_EQ(info.device, "cpu");
}

TEST(LoadPlatform, SaysWhatCannotBeLoaded) {
  EXPECT_EQ(refusal("gone", "/nowhere/plugin.so"),
            "load_platform: the plug-in /nowhere/plugin.so cannot be used: NOT_FOUND: "
            "/nowhere/plugin.so: cannot open shared object file: No such file or directory\n"
            "  rule: a plug-in is a shared library with PJRT's function GetPjrtApi\n"
            "  try: check the path, and that the libraries which it needs are found (ldd "
            "/nowhere/plugin.so)");
  EXPECT_EQ(refusal("libc", "libc.so.6"),
            "load_platform: the plug-in libc.so.6 cannot be used: INVALID_ARGUMENT: it has no "
            "function GetPjrtApi, so it is no plug-in\n"
            "  rule: a plug-in is a shared library with PJRT's function GetPjrtApi\n"
            "  try: check the path, and that the libraries which it needs are found (ldd "
            "libc.so.6)");
  // Options do not change what is said of a library that is no plug-in.
  EXPECT_EQ(message<ts::DeviceError>([] {
              ts::load_platform("libc", "libc.so.6", {{"device_count", std::int64_t{2}}});
            }),
            refusal("libc", "libc.so.6"));
  EXPECT_EQ(refusal("cpu"),
            "load_platform: the platform 'cpu' is always loaded\n"
            "  rule: a name has letters, digits and underscores, and is not that of another "
            "platform\n"
            "  try: load_platform(\"xla_cpu\", path)");
  EXPECT_EQ(refusal("unheard_of"),
            "load_platform: there is no plug-in for the platform 'unheard_of'\n"
            "  - not in PJRT_NAMES_AND_LIBRARY_PATHS\n"
            "  rule: of other platforms than cuda, rocm and tpu the path of the plug-in is needed\n"
            "  try: load_platform(\"unheard_of\", \"/path/to/plugin.so\")");
}

TEST(LoadPlatform, OptionsThatThePlugInRefuses) {
  EXPECT_EQ(message<ts::DeviceError>([] {
              ts::load_platform("options", TESSERA_PJRT_LIBRARY, {{"unheard_of", std::int64_t{1}}});
            }),
            "load_platform: the plug-in " TESSERA_PJRT_LIBRARY
            " refuses its options: INVALID_ARGUMENT: the client has no option 'unheard_of'; it has "
            "device_count (a number) and explain (a folder)\n"
            "  rule: each plug-in has options of its own, with types of their own\n"
            "  try: check the names and the types of the options");
}

// A process that the environment sends to a platform which has no plug-in here.
namespace {
[[noreturn]] void print_what_is_missing() {
  ::setenv("TESSERA_PLATFORM", "tpu", 1);
  for (const char* variable : {"VIRTUAL_ENV", "CONDA_PREFIX", "HOME"}) ::unsetenv(variable);
  std::fprintf(stderr, "%s\n", message<ts::DeviceError>([] { (void)ts::ones({1}); }).c_str());
  std::exit(0);
}
}  // namespace
TEST(LoadPlatformDeathTest, WhatTheEnvironmentAsksFor) {
  testing::FLAGS_gtest_death_test_style = "threadsafe";
  EXPECT_EXIT(print_what_is_missing(), testing::ExitedWithCode(0),
              "TESSERA_PLATFORM=/path/to/plugin.so");
}
