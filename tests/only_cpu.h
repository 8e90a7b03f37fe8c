// Tests that need a property of the CPU backend, and are skipped where the suites run on another
// platform (TESSERA_PLATFORM): tests/platforms/suites.py counts them by reason, and
// docs/platforms.md has the table.
#pragma once

#include <gtest/gtest.h>

#include <cstdlib>

namespace test {

/// A property that programs may rely on where the CPU computes, and not elsewhere.
enum class Cpu {
  devices,
  memory,
  in_place,
  same_bits,
  subnormals,
  equal_zeros,
  schedules,
  host_calls,
  first,
  after_exit,
  packed,
  sizes,
  sums,
};

inline const char* because(Cpu property) {
  switch (property) {
    case Cpu::devices: return "the number of devices is a setting, and they are named CPU";
    case Cpu::memory: return "bytes are counted exactly, and memory that devices share once";
    case Cpu::in_place: return "arrays are read, shared and reused in place";
    case Cpu::same_bits: return "the same bits on any number of devices, and under each rewriting";
    case Cpu::subnormals: return "subnormal numbers are computed, or flushed as a setting says";
    case Cpu::equal_zeros: return "zeros of both signs are equal where values are ordered";
    case Cpu::schedules: return "schedules, profiles and counts of work are those of our compiler";
    case Cpu::host_calls: return "callbacks, prints and checks run in the middle of a program";
    case Cpu::first: return "the CPU's first device is the default";
    case Cpu::after_exit: return "programs run after the end of the process has begun";
    case Cpu::packed: return "operands that calls read again are packed once and kept";
    case Cpu::sizes: return "sizes that no machine holds are refused before memory is asked for";
    case Cpu::sums: return "sums are as accurate as pairwise ones";
  }
  return "";
}

inline bool on_another_platform() {
  const char* platform = std::getenv("TESSERA_PLATFORM");
  return platform && *platform;
}

}  // namespace test

/// Skips the rest of a test on other platforms.
#define NEEDS_CPU(property)        \
  if (test::on_another_platform()) \
  GTEST_SKIP() << "needs the CPU backend: " << test::because(test::Cpu::property)
