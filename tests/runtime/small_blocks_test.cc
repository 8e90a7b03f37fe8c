// The lists of small blocks that each thread keeps, and the return of these blocks to the pool.
#include "runtime/host/small_blocks.h"
#include "runtime/host/accounting.h"
#include "runtime/host/blocks.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <set>
#include <thread>
#include <vector>

using namespace tessera;
using runtime::Block;

namespace {

std::vector<Block> taken(int n, std::size_t bytes) {
  std::vector<Block> blocks;
  for (int i = 0; i < n; ++i) blocks.push_back(runtime::acquire_block(bytes));
  return blocks;
}
void give_back(const std::vector<Block>& blocks) {
  for (const Block& b : blocks) runtime::release_block(b);
}
std::set<std::byte*> places(const std::vector<Block>& blocks) {
  std::set<std::byte*> all;
  for (const Block& b : blocks) all.insert(b.data);
  return all;
}

TEST(SmallBlocks, AreTakenAgainByTheThreadThatGaveThemBack) {
  const Block a = runtime::acquire_block(100), b = runtime::acquire_block(100);
  EXPECT_NE(a.data, b.data);
  runtime::release_block(a);
  runtime::release_block(b);
  const Block again = runtime::acquire_block(97);  // in the same size class
  EXPECT_EQ(again.data, b.data);
  EXPECT_EQ(runtime::acquire_block(112).data, a.data);
}

// No block is handed out twice, whichever lists it has passed through.
TEST(SmallBlocks, AreOnePlaceEach) {
  for (std::size_t bytes : {1, 64, 65, 300, 4096, 4097, 100000}) {
    std::vector<Block> blocks = taken(100, bytes);
    EXPECT_EQ(places(blocks).size(), 100u) << bytes;
    give_back(blocks);
    std::vector<Block> here, there;
    std::thread other([&] { there = taken(50, bytes); });
    here = taken(50, bytes);
    other.join();
    std::vector<Block> both = here;
    both.insert(both.end(), there.begin(), there.end());
    EXPECT_EQ(places(both).size(), 100u) << bytes;
    give_back(both);
  }
}

// When a thread ends, its blocks return to the pool, and the next request gets one of them.
TEST(SmallBlocks, ComeBackWhenTheirThreadEnds) {
  const std::size_t bytes = 2049;  // in a size class that no other test uses
  std::set<std::byte*> kept;
  std::thread([&] {
    const std::vector<Block> blocks = taken(runtime::SmallBlocks::kEach, bytes);
    kept = places(blocks);
    give_back(blocks);
  }).join();
  std::set<std::byte*> found;
  std::thread([&] {
    const std::vector<Block> blocks = taken(runtime::SmallBlocks::kEach, bytes);
    found = places(blocks);
    give_back(blocks);
  }).join();
  EXPECT_EQ(found, kept);
}

// Arrays in thread_local variables may be destroyed after the thread's list.
TEST(SmallBlocks, MayBeGivenBackAfterTheirList) {
  struct Late {
    Block block;
    ~Late() {
      if (block.data) runtime::release_block(block);
    }
  };
  const std::int64_t before = runtime::physical_live();
  std::thread([] {
    thread_local Late late;  // constructed before the list, so destroyed after it
    late.block = runtime::acquire_block(50);
    runtime::release_block(runtime::acquire_block(50));
  }).join();
  EXPECT_EQ(runtime::physical_live(), before);
}

TEST(SmallBlocks, AreCountedWhileTheyAreHeld) {
  const std::int64_t before = runtime::physical_live();
  const std::vector<Block> blocks = taken(20, 64);
  EXPECT_EQ(runtime::physical_live(), before + 20 * 64);
  give_back(blocks);
  EXPECT_EQ(runtime::physical_live(), before);
}

}  // namespace
