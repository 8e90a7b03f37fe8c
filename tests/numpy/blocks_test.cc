// Blocks at starts given by data, and concatenations of many pieces.
#include <tessera/tessera.h>

#include <gtest/gtest.h>

#include <algorithm>

namespace ts = tessera;
using ts::Array;

namespace {

constexpr std::int64_t kRows = 7, kColumns = 5;

/// A negative start counts from the end, and is clamped so that the block is inside.
std::int64_t placed(std::int64_t start, std::int64_t size, std::int64_t extent) {
  if (start < 0) start += extent;
  return std::clamp<std::int64_t>(start, 0, extent - size);
}

Array numbered() { return ts::arange(kRows * kColumns).reshape(kRows, kColumns); }
/// Its block of three rows and two columns.
std::vector<int> block(std::int64_t row, std::int64_t column) {
  std::vector<int> b;
  for (std::int64_t i = 0; i < 3; ++i)
    for (std::int64_t j = 0; j < 2; ++j)
      b.push_back(static_cast<int>((row + i) * kColumns + column + j));
  return b;
}

}  // namespace

TEST(Blocks, StartsCountFromTheEnd) {
  Array x = numbered();
  auto traced = ts::jit([](Array x, Array i, Array j) {
    return ts::dynamic_slice(x, {i, j}, {3, 2});
  });
  for (ts::DType dtype : {ts::i32, ts::i8, ts::i64})
    for (std::int64_t i = -9; i < 9; ++i)
      for (std::int64_t j : {-6, -5, -1, 0, 4}) {
        const std::vector<int> expected = block(placed(i, 3, kRows), placed(j, 2, kColumns));
        Array at_i = ts::full({}, static_cast<double>(i), dtype),
              at_j = ts::full({}, static_cast<double>(j), dtype);
        EXPECT_EQ(ts::dynamic_slice(x, {at_i, at_j}, {3, 2}).to_vector<int>(), expected)
            << i << " " << j;
        EXPECT_EQ(traced(x, at_i, at_j).to_vector<int>(), expected) << i << " " << j;
      }
}

TEST(Blocks, UpdatesCountFromTheEnd) {
  Array x = numbered(), part = ts::full({3, 2}, -1, ts::i32);
  for (std::int64_t i = -9; i < 9; ++i) {
    std::vector<int> expected = x.to_vector<int>();
    for (int k : block(placed(i, 3, kRows), placed(-2, 2, kColumns)))
      expected[static_cast<std::size_t>(k)] = -1;
    Array got = ts::dynamic_update_slice(x, part, {Array(static_cast<int>(i)), Array(-2)});
    EXPECT_EQ(got.to_vector<int>(), expected) << i;
  }
}

TEST(Blocks, StartsOfAMappedFunctionCountFromTheEnd) {
  Array x = ts::arange(6), starts = ts::array({-6, -2, 0, 5});
  Array got = ts::vmap([&](Array i) { return ts::dynamic_slice(x, {i}, {2}); })(starts);
  EXPECT_TRUE(ts::array_equal(got, ts::array({{0, 1}, {4, 5}, {0, 1}, {4, 5}})));
}

// The order of additions in a mapped sum is that of the operand's own axis.
TEST(Blocks, AMappedNewAxisKeepsItsOrder) {
  Array x = ts::array({{1.0f, 2.0f, 3.0f}, {4.0f, 5.0f, 6.0f}});
  Array got =
      ts::vmap([](Array x) { return ts::expand_dims(x, 0) + ts::sin(x); }, {.in_axes = {1}})(x);
  Array columns = ts::transpose(x);
  EXPECT_TRUE(ts::array_equal(got, ts::reshape(columns + ts::sin(columns), {3, 1, 2})));
}

TEST(Pieces, ManyAreInTheirPlaces) {
  for (int axis : {0, 1}) {
    std::vector<Array> pieces;
    std::vector<float> expected;
    for (int k = 0; k < 100; ++k) pieces.push_back(ts::full({2, 2}, static_cast<float>(k)));
    Array got = ts::concatenate(pieces, axis);
    Array wanted = ts::broadcast_to(ts::arange(100).astype(ts::f32).reshape(100, 1), {100, 2});
    wanted = ts::broadcast_to(wanted.reshape(1, 200), {2, 200});
    if (axis == 0) wanted = ts::transpose(wanted);
    EXPECT_TRUE(ts::array_equal(got, wanted)) << axis;
  }
}

TEST(Pieces, OfOneArrayAreTakenTogether) {
  constexpr int kAll = 60;
  Array x = ts::arange(kAll * 3).reshape(kAll, 3).astype(ts::f32);
  auto put = [](const std::vector<int>& order) {
    return [order](Array x) {
      std::vector<Array> rows;
      for (int i : order) rows.push_back(x[i]);
      return ts::stack(rows, 0);
    };
  };
  std::vector<int> all(kAll), back, odd, mixed;
  for (int i = 0; i < kAll; ++i) all[static_cast<std::size_t>(i)] = i;
  back.assign(all.rbegin(), all.rend());
  for (int i = 1; i < kAll; i += 2) odd.push_back(i);
  for (int i = 0; i < kAll; ++i) mixed.push_back(i * 37 % kAll);
  for (const std::vector<int>& order : {all, back, odd, mixed}) {
    Array expected = ts::take(x, Array(order), 0);
    EXPECT_TRUE(ts::array_equal(ts::jit(put(order))(x), expected));
    auto weighted = [&](Array a) { return ts::sum(put(order)(a) * expected); };
    Array gradient = ts::jit(ts::grad(weighted))(x);
    Array by_take =
        ts::grad([&](Array a) { return ts::sum(ts::take(a, Array(order), 0) * expected); })(x);
    EXPECT_TRUE(ts::array_equal(gradient, by_take));
  }
}
