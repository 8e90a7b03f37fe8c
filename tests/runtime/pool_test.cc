// The pool of array memory: what runs now finds warm pages, whatever ran before.
#include "runtime/buffer.h"

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
  // More than the pool keeps, in blocks that nobody asks for again. They are never written, so they
  // take no memory.
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
