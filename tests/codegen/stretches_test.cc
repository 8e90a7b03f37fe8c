// Kernels that read contiguous ranges of their operands read the right ones, and are compiled once
// for all rows.
#include "codegen/kernel/kernel.h"

#include <tessera/tessera.h>

#include <gtest/gtest.h>

#include <cmath>
#include <numeric>
#include <vector>

namespace {

namespace ts = tessera;
using ts::Array;

// The number of kernels that calling `run` compiles.
template <class F>
std::int64_t kernels_of(F run) {
  const auto made = [] {
    const ts::codegen::KernelStats s = ts::codegen::kernel_stats();
    return s.compiled + s.from_disk;
  };
  const std::int64_t before = made();
  run();
  return made() - before;
}

std::vector<float> values(const Array& x) { return x.to_vector<float>(); }

Array rows(int n, int width) {
  return ts::arange(n * width).reshape(n, width).astype(ts::f32) * 0.125f;
}

// Programs write operands in any order; the kernel follows from what the results need.
TEST(Stretches, KernelsThatComputeTheSameAreCompiledOnceInAnyOrderOfTheirEquations) {
  const Array x = rows(37, 5), y = 1 - x;
  const auto first = ts::jit([](Array x, Array y) {
    const Array left = ts::cos(x), right = ts::exp(y);
    return left * 3.0f - right;
  });
  const auto second = ts::jit([](Array x, Array y) {
    const Array right = ts::exp(y), left = ts::cos(x);
    return left * 3.0f - right;
  });
  std::vector<float> one, other;
  EXPECT_EQ(kernels_of([&] { one = values(first(x, y)); }), 1);
  EXPECT_EQ(kernels_of([&] { other = values(second(x, y)); }), 0);
  EXPECT_EQ(one, other);
}

TEST(Stretches, RowsAreCompiledOnce) {
  constexpr int kRows = 700;
  const Array x = rows(kRows, 3);
  const auto f = ts::jit([](Array x) {
    std::vector<Array> out;
    for (int i = 0; i < kRows; ++i) out.push_back(ts::sin(x[i]) * x[i]);
    return ts::stack(out, 0);
  });
  Array y;
  EXPECT_LE(kernels_of([&] { y = f(x).block_until_ready(); }), 4);
  const std::vector<float> in = values(x), got = values(y);
  const std::vector<float> wanted = values(ts::sin(x) * x);
  EXPECT_EQ(got, wanted);
}

// A slice of each array, and its gradient: ten times the slices need no more kernels.
TEST(Stretches, GradientsOfPiecesAreCompiledOnce) {
  const auto made = [](int pieces) {
    std::vector<Array> p;
    for (int i = 0; i < pieces; ++i) p.push_back(ts::full({3}, static_cast<float>(i) + 0.5f));
    std::vector<Array> g;
    const std::int64_t kernels = kernels_of([&] {
      g = ts::grad([](std::vector<Array> p) { return ts::sum(ts::square(ts::concatenate(p, 0))); })(
          p);
      ts::block_until_ready(g);
    });
    for (int i = 0; i < pieces; ++i)
      EXPECT_EQ(values(g[static_cast<std::size_t>(i)]),
                std::vector<float>(3, 2 * static_cast<float>(i) + 1));
    return kernels;
  };
  EXPECT_LE(made(40), 10);
  EXPECT_LE(made(400), 10);
}

// Without the pass there are as many kernels as rows, with the same results.
TEST(Stretches, AreAPassThatCanBeLeftOut) {
  const Array x = rows(40, 3);
  const auto rows_of = [&](auto f) {
    const auto run = ts::jit([&](Array x) {
      std::vector<Array> out;
      for (int i = 0; i < 40; ++i) out.push_back(f(x[i]));
      return ts::stack(out, 0);
    });
    Array y;
    const std::int64_t kernels = kernels_of([&] { y = run(x).block_until_ready(); });
    return std::pair(kernels, values(y));
  };
  const auto f = [](const Array& row) { return ts::cos(row * 0.75) * row; };
  setenv("TESSERA_DISABLE_PASSES", "stretches", 1);
  const auto [many, plain] = rows_of(f);
  unsetenv("TESSERA_DISABLE_PASSES");
  const auto [few, got] = rows_of(f);
  EXPECT_GE(many, 40);
  EXPECT_LE(few, 4);
  EXPECT_EQ(got, plain);
  EXPECT_EQ(got, values(f(x)));
}

// A range, a selection that is not a range, and both from one operand give the expected numbers.
TEST(Stretches, AreTheRightOnes) {
  const Array x = ts::arange(60).reshape(3, 4, 5).astype(ts::f32);
  const std::vector<float> at = values(x);
  const auto expect = [&](const char* what, auto f, auto wanted, std::size_t n) {
    std::vector<float> w;
    for (std::size_t i = 0; i < n; ++i) w.push_back(wanted(i));
    EXPECT_EQ(values(ts::jit(f)(x)), w) << what;
  };
  expect(
      "the middle", [](Array x) { return x[1] * 2; }, [&](std::size_t i) { return 2 * at[20 + i]; },
      20);
  expect(
      "rows of the last", [](Array x) { return x[2](ts::range(1, 3)) + 1; },
      [&](std::size_t i) { return at[45 + i] + 1; }, 10);
  expect(
      "within a row", [](Array x) { return x[1][2](ts::range(1, 4)) + 1; },
      [&](std::size_t i) { return at[31 + i] + 1; }, 3);
  expect(
      "one element", [](Array x) { return x[2][3][4] + 1; },
      [&](std::size_t) { return at[59] + 1; }, 1);
  expect(
      "columns, which are none",
      [](Array x) {
        return ts::reshape(x, {12, 5})(ts::all, ts::range(1, 3)) * 3;
      },
      [&](std::size_t i) { return 3 * at[i / 2 * 5 + 1 + i % 2]; }, 24);
  expect(
      "every second, which is none", [](Array x) { return ts::ravel(x)(ts::range(1, 60, 2)) * 3; },
      [&](std::size_t i) { return 3 * at[2 * i + 1]; }, 30);
  expect(
      "two that overlap",
      [](Array x) {
        const Array v = ts::ravel(x);
        return v(ts::range(1, 60)) * v(ts::range(0, 59));
      },
      [&](std::size_t i) { return at[i + 1] * at[i]; }, 59);
  expect(
      "one twice", [](Array x) { return x[1] * x[1] + ts::exp(x[1] * 0); },
      [&](std::size_t i) { return at[20 + i] * at[20 + i] + 1; }, 20);
  expect(
      "with all of it",
      [](Array x) { return ts::reshape(x, {60}) + ts::sum(x[1]) + ts::reshape(x, {60}); },
      [&](std::size_t i) { return 2 * at[i] + std::accumulate(&at[20], &at[40], 0.0f); }, 60);
  expect(
      "one beside the other way",
      [](Array x) {
        return x[0] + ts::transpose(ts::reshape(x[2], {5, 4}));
      },
      [&](std::size_t i) { return at[i] + at[40 + i % 5 * 4 + i / 5]; }, 20);
}

// The range itself is a result too, unchanged and changed.
TEST(Stretches, AreResults) {
  const Array x = rows(6, 4);
  const auto [one, two, sum] = ts::jit([](Array x) {
    const Array piece = x(ts::range(2, 4));
    return std::tuple(piece, ts::negative(piece), ts::sum(piece));
  })(x);
  const std::vector<float> at = values(x);
  float total = 0;
  for (std::size_t i = 0; i < 8; ++i) {
    EXPECT_EQ(values(one)[i], at[8 + i]);
    EXPECT_EQ(values(two)[i], -at[8 + i]);
    total += at[8 + i];
  }
  EXPECT_EQ(sum.item<float>(), total);
}

// A result as large as the range, or as the operand, in donated memory.
TEST(Stretches, OfDonatedArguments) {
  const auto f = ts::jit(
      [](Array x, Array y) {
        const Array head = x(ts::range(0, 4));
        return std::pair(head + 1, y * ts::sum(x(ts::range(4, 8))));
      },
      {.donate = {0, 1}});
  for (int turn = 0; turn < 3; ++turn) {
    auto [a, b] = f(rows(8, 1), rows(4, 1));
    EXPECT_EQ(values(a), (std::vector<float>{1, 1.125f, 1.25f, 1.375f}));
    EXPECT_EQ(values(b), (std::vector<float>{0, 0.34375f, 0.6875f, 1.03125f}));
  }
}

// Ranges are read in a loop whose carry is updated in place, and on devices that have different
// rows.
TEST(Stretches, InLoopsAndOnDevices) {
  ts::set_device_count(4);
  const Array x = rows(4, 6);
  const auto turns = [](Array v) {
    return ts::fori_loop(
        0, 3,
        [](Array, Array v) {
          const Array low = v(ts::range(0, 3)), high = v(ts::range(3, 6));
          return ts::concatenate({high + 1, low * 2}, 0);
        },
        v);
  };
  const auto by_hand = [](std::vector<float> v) {
    for (int turn = 0; turn < 3; ++turn)
      v = {v[3] + 1, v[4] + 1, v[5] + 1, v[0] * 2, v[1] * 2, v[2] * 2};
    return v;
  };
  const std::vector<float> at = values(x), mapped = values(ts::pmap(turns)(x));
  for (std::size_t d = 0; d < 4; ++d) {
    const std::vector<float> wanted =
        by_hand({at.begin() + static_cast<std::ptrdiff_t>(6 * d),
                 at.begin() + static_cast<std::ptrdiff_t>(6 * d + 6)});
    EXPECT_EQ(values(ts::jit(turns)(x[static_cast<int>(d)])), wanted);
    EXPECT_EQ(std::vector<float>(mapped.begin() + static_cast<std::ptrdiff_t>(6 * d),
                                 mapped.begin() + static_cast<std::ptrdiff_t>(6 * d + 6)),
              wanted);
  }
}

// At these sizes, an algorithm quadratic in the number of slices would take minutes.
TEST(ManyPieces, TakeFewKernels) {
  constexpr int kPieces = 20000;
  std::vector<Array> pieces;
  std::vector<float> wanted;
  for (int i = 0; i < kPieces; ++i) {
    pieces.push_back(ts::full({3}, static_cast<float>(i)));
    wanted.insert(wanted.end(), 3, static_cast<float>(i));
  }
  ts::block_until_ready(pieces);
  Array whole;
  EXPECT_EQ(kernels_of([&] { whole = ts::concatenate(pieces, 0).block_until_ready(); }), 0);
  EXPECT_EQ(values(whole), wanted);

  const auto join = ts::jit([](std::vector<Array> p) { return ts::concatenate(p, 0); });
  EXPECT_EQ(kernels_of([&] { whole = join(pieces).block_until_ready(); }), 0);
  EXPECT_EQ(values(whole), wanted);

  const auto doubled = ts::jit([](std::vector<Array> p) {
    for (Array& x : p) x = x * 2;
    return p;
  });
  std::vector<Array> twice;
  EXPECT_LE(kernels_of([&] { twice = ts::block_until_ready(doubled(pieces)); }), 4);
  ASSERT_EQ(twice.size(), pieces.size());
  for (std::size_t i = 0; i < twice.size(); i += 999)
    EXPECT_EQ(values(twice[i]), std::vector<float>(3, 2 * static_cast<float>(i)));

  const auto stacked = ts::jit([](Array x) {
    std::vector<Array> out;
    for (int i = 5000; i-- > 0;) out.push_back(x[i]);
    return ts::stack(out, 0);
  });
  const Array x = rows(5000, 3);
  EXPECT_LE(kernels_of([&] { whole = stacked(x).block_until_ready(); }), 4);
  EXPECT_TRUE(ts::array_equal(whole, ts::flip(x, 0)));
}

}  // namespace
