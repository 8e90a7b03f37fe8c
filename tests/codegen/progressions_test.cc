// A compressed function of integers that is mostly regular agrees with a table of its values.
#include "codegen/tape/progressions.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <map>
#include <numeric>
#include <random>
#include <utility>
#include <vector>

namespace {

using tessera::tape::Progressions;
using Table = std::map<std::int64_t, std::int64_t>;

// Looks up each of the `keys` keys, and some beyond; returns the bytes of the compressed function.
std::size_t bytes_when_right(const Table& table, std::int64_t keys) {
  const std::vector<std::pair<std::int64_t, std::int64_t>> entries(table.begin(), table.end());
  const Progressions p{entries};
  for (std::int64_t k = 0; k < keys + 3; ++k) {
    const auto it = table.find(k);
    EXPECT_EQ(p.at(k, -7), it == table.end() ? -7 : it->second) << k;
  }
  return p.bytes();
}

}  // namespace

TEST(Progressions, OfNone) {
  EXPECT_EQ(Progressions().at(0), -1);
  EXPECT_EQ(bytes_when_right({}, 4), 0u);
  EXPECT_EQ(bytes_when_right({{3, 5}}, 6), 24u);
}

// The devices of one process along one axis, and those of one column of two axes; the process that
// owns each device; and numbers with strides.
TEST(Progressions, OfAMeshDoNotGrowWithIt) {
  const auto one = [](std::int64_t n) {
    Table t;
    for (std::int64_t i = 0; i < 8; ++i) t[24 + i] = i;
    return bytes_when_right(t, n);
  };
  EXPECT_EQ(one(64), one(4096));
  const auto rows = [](std::int64_t n) {  // the second of four columns, of eight rows each
    Table t;
    for (std::int64_t i = 0; i < 8; ++i) t[i * n + n / 4] = i;
    return bytes_when_right(t, 8 * n);
  };
  EXPECT_EQ(rows(16), rows(512));
  const auto owners = [](std::int64_t n) {
    Table t;
    for (std::int64_t i = 0; i < n; ++i) t[i] = i / 8 % (n / 8);
    return bytes_when_right(t, n);
  };
  EXPECT_EQ(owners(64), owners(4096));
  const auto numbers =
      [](std::int64_t n) {  // numbers with strides, which begin again for each owner
        Table t;
        for (std::int64_t i = 0; i < n; ++i) t[3 * i] = i % 8 / 2 + i / 32;
        return bytes_when_right(t, 3 * n);
      };
  EXPECT_EQ(numbers(64), numbers(1024));
}

TEST(Progressions, OfAnythingAreRight) {
  std::mt19937 random(5);
  for (int turn = 0; turn < 300; ++turn) {
    const auto draw = [&](std::int64_t n) { return static_cast<std::int64_t>(random() % n); };
    const std::int64_t keys = 1 + draw(90), some = 1 + draw(4), wide = 1 + draw(6);
    Table t;
    for (std::int64_t k = 0; k < keys; ++k) {
      if (draw(4) >= some) continue;
      t[k] = turn % 3 == 0 ? draw(3) : turn % 3 == 1 ? k / wide % 3 : k % wide + draw(8) / 7;
    }
    bytes_when_right(t, keys);
    if (testing::Test::HasFailure()) FAIL() << "turn " << turn;
  }
  std::vector<std::int64_t> shuffled(200);
  std::iota(shuffled.begin(), shuffled.end(), 0);
  std::shuffle(shuffled.begin(), shuffled.end(), random);
  Table t;
  for (std::int64_t k = 0; k < 200; ++k) t[k] = shuffled[static_cast<std::size_t>(k)];
  EXPECT_LT(bytes_when_right(t, 200), 200u * 48);
}
