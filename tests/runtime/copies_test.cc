// Copies in the order of memory, by one thread or several, compared with a loop over elements.
#include "runtime/host/copies.h"

#include <gtest/gtest.h>

#include <algorithm>

#include <cstring>
#include <random>
#include <string>
#include <vector>

namespace ts = tessera;
using ts::BoxCopy;
using ts::Shape;
using ts::runtime::copy_all;
using ts::runtime::PlacedBox;

namespace {

// An array that consists of `grid` blocks of shape `block`, with `bytes` per element.
struct Grid {
  Shape grid, block;
  std::int64_t bytes;

  Shape whole() const {
    Shape s = grid;
    for (int d = 0; d < s.rank(); ++d) s[d] *= block[d];
    return s;
  }
  std::int64_t block_bytes() const { return block.count() * bytes; }
  // Calls f(offset in the whole array, offset in the consecutive blocks) for each element.
  template <class F>
  void each(F f) const {
    const Shape all = whole(), strides = ts::byte_strides(all, bytes),
                inside = ts::byte_strides(block, bytes);
    for (std::int64_t i = 0; i < all.count(); ++i) {
      std::int64_t rest = i, number = 0, at = 0, stride = 1;
      for (int d = all.rank(); d-- > 0; rest /= all[d]) {
        const std::int64_t x = rest % all[d];
        number += x / block[d] * stride;
        stride *= grid[d];
        at += x % block[d] * inside[d];
      }
      f(i * bytes, number * block_bytes() + at);
    }
  }
  // The copy between the whole array and one of its blocks.
  BoxCopy box(bool gather) const {
    const Shape strides = ts::byte_strides(whole(), bytes), inside = ts::byte_strides(block, bytes);
    return gather ? BoxCopy(block, inside, strides, bytes) : BoxCopy(block, strides, inside, bytes);
  }
  std::vector<PlacedBox> copies(const BoxCopy& box, const std::byte* from, std::byte* to,
                                bool gather) const {
    const Shape all = whole(), strides = ts::byte_strides(all, bytes);
    std::vector<PlacedBox> list;
    for (std::int64_t b = 0; b < grid.count(); ++b) {
      std::int64_t rest = b, offset = 0;
      for (int d = all.rank(); d-- > 0; rest /= grid[d])
        offset += rest % grid[d] * block[d] * strides[d];
      list.push_back({&box, gather ? BoxCopy::Way{from + b * block_bytes(), to + offset}
                                   : BoxCopy::Way{from + offset, to + b * block_bytes()}});
    }
    return list;
  }
};

std::vector<std::byte> random_bytes(std::size_t n, std::mt19937& random) {
  std::vector<std::byte> bytes(n);
  for (std::size_t i = 0; i < n; i += 4) {
    const std::uint32_t some = random();
    std::memcpy(bytes.data() + i, &some, std::min<std::size_t>(4, n - i));
  }
  return bytes;
}

// Checks copies that begin `off` bytes after a cache line, with guard bytes on both sides.
void check(const Grid& g, std::size_t off, bool spread, std::mt19937& random) {
  const auto n = static_cast<std::size_t>(g.whole().count() * g.bytes);
  const std::vector<std::byte> source = random_bytes(n + 64, random);
  for (bool gather : {false, true}) {
    constexpr std::size_t kGuard = 64;
    const std::byte guard{0xa5};
    std::vector<std::byte> memory(n + 3 * kGuard, guard), expected = memory;
    const BoxCopy box = g.box(gather), equal = box;
    std::vector<PlacedBox> list =
        g.copies(box, source.data() + off, memory.data() + kGuard + off, gather);
    for (std::size_t i = 0; i < list.size(); i += 3) list[i].box = &equal;
    std::shuffle(list.begin(), list.end(), random);
    copy_all(list, spread);
    g.each([&](std::int64_t whole, std::int64_t blocks) {
      std::memcpy(expected.data() + kGuard + off + (gather ? whole : blocks),
                  source.data() + off + (gather ? blocks : whole),
                  static_cast<std::size_t>(g.bytes));
    });
    ASSERT_TRUE(memory == expected)
        << "grid " << ts::to_string(g.grid) << " of blocks " << ts::to_string(g.block) << ", "
        << g.bytes << " bytes, off " << off << (gather ? ", gathered" : ", scattered");
  }
}

}  // namespace

// Sizes above and below one task's share, with lines from one element to whole blocks.
TEST(Copies, GridsOfBlocks) {
  std::mt19937 random(7);
  const auto draw = [&](std::int64_t low, std::int64_t high) {
    return std::uniform_int_distribution<std::int64_t>(low, high)(random);
  };
  for (int i = 0; i < 300; ++i) {
    Grid g{{}, {}, std::int64_t{1} << draw(0, 4)};
    const std::int64_t rank = draw(0, 3), most = i % 4 ? 12 : 90;
    for (std::int64_t d = 0; d < rank; ++d) {
      g.grid.push_back(draw(1, 5));
      g.block.push_back(draw(i % 10 ? 1 : 0, most));
    }
    if (rank && i % 3 == 0) g.block[static_cast<int>(rank) - 1] = draw(100, 700);
    if (g.whole().count() * g.bytes > 1 << 21) continue;
    check(g, static_cast<std::size_t>(draw(0, 64)), i % 2, random);
    if (HasFatalFailure()) return;
  }
}

// Arrays larger than the caches: columns, rows, both, one block, and lines that do not begin at a
// cache line.
TEST(Copies, PastTheCaches) {
  std::mt19937 random(8);
  for (const auto& [g, off] : {std::pair{Grid{{1, 4}, {4096, 129}, 16}, 0},
                               {Grid{{4, 1}, {256, 2053}, 16}, 64},
                               {Grid{{2, 3}, {1024, 343}, 16}, 3},
                               {Grid{{1}, {(2 << 20) + 7}, 16}, 5},
                               {Grid{{8, 1, 2}, {32, 129, 64}, 16}, 8}}) {
    check(g, static_cast<std::size_t>(off), true, random);
    if (HasFatalFailure()) return;
  }
}

// Copying the lines of several boxes in parts of any length copies the boxes.
TEST(Copies, PartsOfLines) {
  std::mt19937 random(9);
  const Grid g{{3, 2, 4}, {5, 7, 150}, 4};
  const std::vector<std::byte> source =
      random_bytes(static_cast<std::size_t>(g.whole().count() * g.bytes), random);
  std::vector<std::byte> once(source.size()), parts(source.size());
  const BoxCopy box = g.box(true);
  const std::vector<PlacedBox> first = g.copies(box, source.data(), once.data(), true),
                               then = g.copies(box, source.data(), parts.data(), true);
  for (const PlacedBox& c : first) box.run(c.way.from, c.way.to);
  for (std::size_t b = 0; b < then.size(); b += 4) {
    std::vector<BoxCopy::Way> ways;
    for (std::size_t k = b; k < b + 4; ++k) ways.push_back(then[k].way);
    EXPECT_EQ(box.lines(), 35);
    EXPECT_EQ(box.line_bytes(), 600);
    for (std::int64_t begin = 0; begin < box.lines();) {
      const std::int64_t end =
          std::min(box.lines(), begin + 1 + static_cast<std::int64_t>(random() % 9));
      box.run(ways, begin, end, BoxCopy::Stores::past_caches);
      begin = end;
    }
  }
  EXPECT_TRUE(once == parts);
}
