// The pool of array memory: blocks in steady use keep warm pages, whatever the pool held before.
#include "runtime/host/blocks.h"
#include "runtime/host/memory_limit.h"

#include <tessera/error.h>

#include <gtest/gtest.h>
#include <sys/resource.h>
#include <unistd.h>

#include <cstring>
#include <vector>

namespace ts = tessera;
using ts::runtime::ScopedBlock;

namespace {

constexpr std::size_t kMega = std::size_t{1} << 20;

long page_faults() {
  rusage usage;
  getrusage(RUSAGE_SELF, &usage);
  return usage.ru_minflt + usage.ru_majflt;
}

}  // namespace

TEST(Pool, ABlockInUseAgainAndAgainStaysWarmWhenThePoolIsFullOfOthers) {
  // Fill the pool beyond its limit with blocks of a size that is not requested again. They are
  // never written, so they take no memory.
  auto machine = static_cast<std::size_t>(sysconf(_SC_PHYS_PAGES)) *
                 static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
  {
    std::vector<ScopedBlock> stale;
    for (std::size_t n = 0; n < 600 * kMega + machine / 16; n += 64 * kMega)
      stale.emplace_back(64 * kMega);
  }
  auto call = [] {
    ScopedBlock a(20 * kMega), b(40 * kMega);
    std::memset(a.data(), 1, 20 * kMega);
    std::memset(b.data(), 1, 40 * kMega);
  };
  call();
  long before = page_faults();
  for (int i = 0; i < 20; ++i) call();
  // Fresh pages would fault at least once for each 2 MB of each call: 600 times.
  EXPECT_LT(page_faults() - before, 60);
}

// Blocks that are never written take no memory, so requesting all memory costs nothing.
TEST(Pool, WhatDoesNotFitIsRefusedAndWhatIsGivenBackIsNot) {
  const std::size_t eighth = static_cast<std::size_t>(ts::runtime::memory_limit()) / 8;
  for (int k = 0; k < 20; ++k) ScopedBlock block(eighth);
  {
    std::vector<ScopedBlock> held;
    for (int k = 0; k < 6; ++k) held.emplace_back(eighth);
    try {
      ScopedBlock block(3 * eighth);
      FAIL();
    } catch (const ts::DeviceError& e) {
      const std::string text = e.what();
      EXPECT_EQ(text.find("Array: there is no memory for " + std::to_string(3 * eighth) + " bytes"),
                0u)
          << text;
      EXPECT_NE(text.find(ts::runtime::bytes_text(static_cast<double>(8 * eighth))), text.npos)
          << text;
    }
    EXPECT_THROW(ScopedBlock block(std::size_t{1} << 62), ts::DeviceError);
  }
  // No block of the free list has this size, so the list is emptied to make room.
  ScopedBlock block(6 * eighth);
  EXPECT_NE(block.data(), nullptr);
}
