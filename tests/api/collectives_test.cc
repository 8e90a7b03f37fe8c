// The public collectives under pmap agree with worked vectors.
#include <tessera/collectives.h>
#include <tessera/creation.h>
#include <tessera/elementwise.h>
#include <tessera/manipulation.h>
#include <tessera/pmap.h>
#include <tessera/reductions.h>

#include "isolated.h"
#include "message.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <limits>
#include <type_traits>

namespace ts = tessera;
using ts::Array;

namespace {

using Floats = std::vector<float>;
Floats f32s(const Array& x) { return x.to_vector<float>(); }
using test::message;

class Collectives : public ::testing::Test {
 protected:
  void SetUp() override { ts::set_device_count(8); }
  const Array pairs = Array(Floats{0, 10, 1, 11, 2, 12, 3, 13}, {4, 2});
  const Array count = Array(Floats{0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15}, {4, 4});
  template <class F>
  Array on_devices(const Array& x, F f) {
    return ts::pmap(f, {.axis_name = "i"})(x);
  }
};

// Extreme numbers of an integer dtype, one row for each of four devices; sums wrap.
template <class T>
void check_integers() {
  constexpr T least = std::numeric_limits<T>::min(), most = std::numeric_limits<T>::max();
  constexpr std::size_t kDevices = 4, kEach = 4;
  const std::vector<T> rows = {least, most, 0,    T(most - 1), most, most,  1, T(least + 1),
                               most,  1,    most, 3,           1,    least, 0, most};
  const Array x(rows, {kDevices, kEach});
  const auto wrapped = [](T a, T b) {
    using U = std::make_unsigned_t<T>;
    return static_cast<T>(static_cast<U>(static_cast<U>(a) + static_cast<U>(b)));
  };
  const auto reduced = [&](auto combine) {
    std::vector<T> row(rows.begin(), rows.begin() + kEach);
    for (std::size_t i = kEach; i < rows.size(); ++i)
      row[i % kEach] = combine(row[i % kEach], rows[i]);
    return row;
  };
  const auto each = [&](const std::vector<T>& row) {
    std::vector<T> all;
    for (std::size_t d = 0; d < kDevices; ++d) all.insert(all.end(), row.begin(), row.end());
    return all;
  };
  const auto on = [&](auto f) {
    const Array y = ts::pmap(f, {.axis_name = "i"})(x);
    EXPECT_EQ(y.dtype(), x.dtype());
    return y.template to_vector<T>();
  };
  const auto name = std::string(ts::name_of(x.dtype()));
  const std::vector<T> sum = reduced(wrapped);
  EXPECT_EQ(on([](Array v) { return ts::psum(v, "i"); }), each(sum)) << name;
  std::vector<T> twice;
  for (T s : sum) twice.push_back(wrapped(s, s));
  EXPECT_EQ(on([](Array v) { return ts::psum(v + v, "i"); }), each(twice)) << name;
  EXPECT_EQ(on([](Array v) { return ts::pmax(v, "i"); }),
            each(reduced([](T a, T b) { return std::max(a, b); })))
      << name;
  EXPECT_EQ(on([](Array v) { return ts::pmin(v, "i"); }),
            each(reduced([](T a, T b) { return std::min(a, b); })))
      << name;
  EXPECT_EQ(on([](Array v) { return ts::psum_scatter(v, "i"); }), sum) << name;
  std::vector<T> everywhere;
  for (std::size_t d = 0; d < kDevices; ++d)
    everywhere.insert(everywhere.end(), rows.begin(), rows.end());
  EXPECT_EQ(on([](Array v) { return ts::all_gather(v, "i"); }), everywhere) << name;
  std::vector<T> turned;
  for (std::size_t i = 0; i < kEach; ++i)
    for (std::size_t d = 0; d < kDevices; ++d) turned.push_back(rows[d * kEach + i]);
  EXPECT_EQ(on([](Array v) { return ts::all_to_all(v, "i", 0, 0); }), turned) << name;
  std::vector<T> moved(rows.end() - kEach, rows.end());
  moved.insert(moved.end(), rows.begin(), rows.end() - kEach);
  EXPECT_EQ(on([](Array v) {
              return ts::ppermute(v, "i", {{0, 1}, {1, 2}, {2, 3}, {3, 0}});
            }),
            moved)
      << name;
  EXPECT_EQ(on([](Array v) { return ts::pbroadcast(v, "i", 2); }),
            each({rows.begin() + 2 * kEach, rows.begin() + 3 * kEach}))
      << name;
}

}  // namespace

TEST_F(Collectives, IntegersAtTheirEnds) {
  check_integers<std::int8_t>();
  check_integers<std::int16_t>();
  check_integers<std::int32_t>();
  check_integers<std::int64_t>();
  check_integers<std::uint8_t>();
  check_integers<std::uint16_t>();
  check_integers<std::uint32_t>();
  check_integers<std::uint64_t>();
}

TEST_F(Collectives, Reductions) {
  EXPECT_EQ(f32s(on_devices(pairs, [](Array x) { return ts::psum(x, "i"); })),
            (Floats{6, 46, 6, 46, 6, 46, 6, 46}));
  EXPECT_EQ(f32s(on_devices(pairs, [](Array x) { return ts::pmean(x, "i"); })),
            (Floats{1.5, 11.5, 1.5, 11.5, 1.5, 11.5, 1.5, 11.5}));
  EXPECT_EQ(f32s(on_devices(pairs, [](Array x) { return ts::pmax(x, "i"); })),
            (Floats{3, 13, 3, 13, 3, 13, 3, 13}));
  EXPECT_EQ(f32s(on_devices(pairs, [](Array x) { return ts::pmin(x, "i"); })),
            (Floats{0, 10, 0, 10, 0, 10, 0, 10}));
  EXPECT_EQ(f32s(on_devices(pairs,
                            [](Array x) {
                              return ts::psum(x, "i", {{0, 2}, {1, 3}});
                            })),
            (Floats{2, 22, 4, 24, 2, 22, 4, 24}));
}

TEST_F(Collectives, Movement) {
  Array all = on_devices(pairs, [](Array x) { return ts::all_gather(x, "i"); });
  EXPECT_EQ(all.shape(), (ts::Shape{4, 4, 2}));
  EXPECT_EQ(f32s(all[1]), f32s(pairs));
  EXPECT_EQ(
      f32s(on_devices(pairs, [](Array x) { return ts::all_gather(x, "i", {.axis = -1}); })[3]),
      (Floats{0, 1, 2, 3, 10, 11, 12, 13}));
  EXPECT_EQ(
      on_devices(pairs, [](Array x) { return ts::all_gather(x, "i", {.tiled = true}); }).shape(),
      (ts::Shape{4, 8}));
  EXPECT_EQ(f32s(on_devices(count, [](Array x) { return ts::psum_scatter(x, "i"); })),
            (Floats{24, 28, 32, 36}));
  EXPECT_EQ(
      on_devices(count, [](Array x) { return ts::psum_scatter(x, "i", {.tiled = true}); }).shape(),
      (ts::Shape{4, 1}));
  Floats turned{0, 4, 8, 12, 1, 5, 9, 13, 2, 6, 10, 14, 3, 7, 11, 15};
  EXPECT_EQ(f32s(on_devices(count, [](Array x) { return ts::all_to_all(x, "i", 0, 0); })), turned);
  EXPECT_EQ(f32s(on_devices(count, [](Array x) { return ts::pswapaxes(x, "i", 0); })), turned);
  EXPECT_EQ(f32s(on_devices(pairs,
                            [](Array x) {
                              return ts::ppermute(x, "i", {{0, 1}, {1, 2}});
                            })),
            (Floats{0, 0, 0, 10, 1, 11, 0, 0}));
  EXPECT_EQ(f32s(on_devices(pairs,
                            [](Array x) {
                              return ts::pshuffle(x, "i", {3, 0, 1, 2});
                            })),
            (Floats{3, 13, 0, 10, 1, 11, 2, 12}));
  EXPECT_EQ(f32s(on_devices(pairs, [](Array x) { return ts::pbroadcast(x, "i", 2); })),
            (Floats{2, 12, 2, 12, 2, 12, 2, 12}));
}

TEST_F(Collectives, NumbersAreKnownWhileTracing) {
  std::int64_t size = 0;
  int sum = 0;
  float mean = 0;
  Array y = ts::pmap(
      [&](Array x) {
        size = ts::axis_size("i");
        sum = ts::psum(1, "i").item<int>();
        mean = ts::pmean(2.5f, "i").item<float>();
        return x * ts::psum(2.0, "i") + ts::axis_index("i");
      },
      {.axis_name = "i"})(Array(Floats{1, 1, 1}));
  EXPECT_EQ(size, 3);
  EXPECT_EQ(sum, 3);
  EXPECT_EQ(mean, 2.5f);
  EXPECT_EQ(f32s(y), (Floats{6, 7, 8}));
}

TEST_F(Collectives, DtypesAndTrees) {
  Array flags = Array(std::vector<bool>{true, false, true, true});
  Array counted = on_devices(flags, [](Array x) { return ts::psum(x, "i"); });
  EXPECT_EQ(counted.dtype(), ts::i32);
  EXPECT_EQ(counted.to_vector<std::int32_t>(), (std::vector<std::int32_t>{3, 3, 3, 3}));
  EXPECT_EQ(
      on_devices(Array(std::vector<std::int32_t>{1, 2}), [](Array x) { return ts::pmean(x, "i"); })
          .dtype(),
      ts::f32);
  auto [a, b] = ts::pmap(
      [](Array x) {
        return ts::psum(std::pair(x, std::vector<Array>{x * 2, x * 3}), "i");
      },
      {.axis_name = "i"})(pairs);
  EXPECT_EQ(f32s(a[0]), (Floats{6, 46}));
  EXPECT_EQ(f32s(b[1][2]), (Floats{18, 138}));
}

// A permutation of an argument's blocks does not copy. Devices that share memory pass a block on by
// its address; isolated ones copy it.
TEST_F(Collectives, PermutedArgumentsAreCopiedOnlyBetweenIsolatedDevices) {
  const ts::Permutation around{{0, 1}, {1, 2}, {2, 3}, {3, 0}};
  auto data = [](const Array& x, int device) {
    return x.shards()[static_cast<std::size_t>(device)].data.host<float>().data();
  };
  Array x = ts::pmap([](Array v) { return v * 1; })(pairs);
  Array once = on_devices(x, [&](Array v) { return ts::ppermute(v, "i", around); });
  Array twice = on_devices(
      x, [&](Array v) { return ts::ppermute(ts::ppermute(v, "i", around), "i", around); });
  EXPECT_EQ(f32s(once), (Floats{3, 13, 0, 10, 1, 11, 2, 12}));
  EXPECT_EQ(f32s(twice), (Floats{2, 12, 3, 13, 0, 10, 1, 11}));
  for (int d = 0; d < 4; ++d) {
    EXPECT_EQ(data(once, (d + 1) % 4) == data(x, d), !test::isolated());
    EXPECT_EQ(data(twice, (d + 2) % 4) == data(x, d), !test::isolated());
  }
  // An array that is not sharded yet, an operand used beside its permutation, and a donated one.
  auto difference = [&](Array v) { return v - ts::ppermute(v, "i", around); };
  Floats want{-3, -3, 1, 1, 1, 1, 1, 1};
  EXPECT_EQ(f32s(on_devices(pairs, difference)), want);
  Array y = ts::pmap([](Array v) { return v * 1; })(pairs);
  EXPECT_EQ(f32s(ts::pmap(difference, {.axis_name = "i", .donate = {0}})(std::move(y))), want);
}

TEST_F(Collectives, Errors) {
  std::string text = message<ts::CollectiveError>([&] { ts::psum(pairs, "batch"); });
  EXPECT_EQ(text,
            "psum: there is no axis 'batch' here\n"
            "  rule: no axis is bound: a name is bound inside a function given to pmap, vmap or "
            "shard_map\n"
            "  try: call it inside pmap(f, {.axis_name = \"batch\"}), or vmap likewise");
  text = message<ts::CollectiveError>(
      [&] { on_devices(pairs, [](Array x) { return ts::psum(x, "batch"); }); });
  EXPECT_NE(text.find("rule: the bound axes are 'i' (pmap, size 4)"), std::string::npos) << text;
  text = message<ts::CollectiveError>([&] {
    on_devices(pairs, [](Array x) { return ts::pshuffle(x, "i", {0, 0, 1, 2}); });
  });
  EXPECT_EQ(
      text.substr(0, text.find("\n  from")),
      "pshuffle: {0, 0, 1, 2} is no permutation of the 4 members of the axis\n  rule: each number "
      "in [0, 4) appears once\n  try: use ppermute where some members send or receive nothing");
  text = message<ts::CollectiveError>([&] {
    on_devices(pairs, [](Array x) { return ts::psum(x, {"i", "i"}); });
  });
  EXPECT_EQ(text.substr(0, text.find("\n")), "psum: axis 'i' is named twice");
}
