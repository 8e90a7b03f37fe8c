// Weights that are packed once and kept beside their array: results have the bits that they have
// without, and nothing stays when the weights change or go.
#include <tessera/array.h>
#include <tessera/cache.h>
#include <tessera/contractions.h>
#include <tessera/control_flow.h>
#include <tessera/convolution.h>
#include <tessera/creation.h>
#include <tessera/device.h>
#include <tessera/elementwise.h>
#include <tessera/grad.h>
#include <tessera/jit.h>
#include <tessera/manipulation.h>
#include <tessera/operators.h>
#include <tessera/reductions.h>
#include <tessera/sharding.h>
#include <tessera/stablehlo.h>

#include "api/check.h"
#include "only_cpu.h"

#include <gtest/gtest.h>

#include <cstring>
#include <functional>
#include <limits>
#include <thread>

namespace ts = tessera;
using ts::Array;
using ts::Shape;

namespace {

using Floats = std::vector<float>;

// Numbers whose sums round.
Array drawn(const Shape& shape, int seed = 0) {
  Floats values(static_cast<std::size_t>(shape.count()));
  std::uint32_t state = 12345u + static_cast<std::uint32_t>(seed) * 7919u;
  for (float& v : values) {
    state = state * 1664525u + 1013904223u;
    v = static_cast<float>(state >> 8) / 16777216.0f - 0.5f;
  }
  return Array(std::span<const float>(values), shape);
}

std::vector<std::byte> bits(const Array& x) {
  const Floats values = ts::astype(x, ts::f32).to_vector<float>();
  std::vector<std::byte> bytes(values.size() * sizeof(float));
  std::memcpy(bytes.data(), values.data(), bytes.size());
  return bytes;
}

class PackedOperands : public testing::Test {
 protected:
  void SetUp() override {
    NEEDS_CPU(packed);
    ts::clear_caches();
  }
  void TearDown() override { ts::set_operand_cache_limit(limit_); }

  // The result without packed operands that are kept.
  std::vector<std::byte> without(const std::function<Array()>& f) const {
    ts::set_operand_cache_limit(0);
    const std::vector<std::byte> expected = bits(f());
    EXPECT_EQ(ts::operand_cache_stats().bytes, 0);
    ts::set_operand_cache_limit(limit_);
    return expected;
  }
  // Calls f four times, and expects as many kept operands after the second call.
  void check(const std::function<Array()>& f, std::int64_t operands) const {
    const std::vector<std::byte> expected = without(f);
    const std::int64_t before = ts::operand_cache_stats().operands;
    for (int call = 0; call < 4; ++call) EXPECT_EQ(bits(f()), expected) << "call " << call;
    EXPECT_EQ(ts::operand_cache_stats().operands - before, operands);
  }

  const std::int64_t limit_ = ts::operand_cache_limit();
};

std::int64_t kept_bytes() { return ts::operand_cache_stats().bytes; }

}  // namespace

TEST_F(PackedOperands, ProductsKeepTheirBits) {
  struct Case {
    std::int64_t m, k, n;
    bool turned;
    std::int64_t kept;
  };
  // A few rows of a row-major matrix are multiplied where it is, and lines of few rows, too.
  for (const Case& c : {Case{1, 512, 512, false, 0},
                        {3, 700, 300, false, 0},
                        {4, 512, 512, false, 1},
                        {8, 512, 2048, false, 1},
                        {9, 1030, 257, false, 1},
                        {20, 300, 1000, false, 1},
                        {200, 128, 640, false, 1},
                        {517, 300, 1000, false, 1},
                        {5, 512, 512, true, 0},
                        {16, 512, 512, true, 1},
                        {300, 96, 130, true, 1}}) {
    SCOPED_TRACE(testing::Message() << c.m << " " << c.k << " " << c.n << " " << c.turned);
    const Array x = drawn({c.m, c.k}), w = drawn(c.turned ? Shape{c.n, c.k} : Shape{c.k, c.n}, 1),
                b = drawn({c.n}, 2);
    const auto plain = ts::jit([turned = c.turned](Array x, Array w) {
      return ts::einsum(turned ? "mk,nk->mn" : "mk,kn->mn", x, w);
    });
    check([&] { return plain(x, w); }, c.kept);
    const Array again = w.copy();
    const auto dense = ts::jit([turned = c.turned](Array x, Array w, Array b) {
      return ts::tanh(ts::einsum(turned ? "mk,nk->mn" : "mk,kn->mn", x, w) + b);
    });
    check([&] { return dense(x, again, b); }, c.kept);
  }
}

TEST_F(PackedOperands, OtherTypesAndBatchesKeepTheirBits) {
  for (const ts::DType dtype : {ts::f64, ts::bf16, ts::f16})
    for (const std::int64_t m : {8, 40, 300}) {
      SCOPED_TRACE(testing::Message() << ts::to_string(dtype) << " " << m);
      const Array x = ts::astype(drawn({m, 512}), dtype),
                  w = ts::astype(drawn({512, 384}, 1), dtype);
      const std::vector<std::byte> expected = without([&] { return ts::matmul(x, w); });
      for (int call = 0; call < 3; ++call) EXPECT_EQ(bits(ts::matmul(x, w)), expected);
    }
  const Array x = drawn({3, 100, 256}), w = drawn({3, 256, 200}, 1);
  check([&] { return ts::matmul(x, w); }, 1);
}

TEST_F(PackedOperands, ConvolutionsKeepTheirBits) {
  struct Case {
    Shape image, kernel;
    std::int64_t stride, groups;
  };
  for (const Case& c : {Case{{1, 7, 7, 64}, {1, 1, 64, 96}, 1, 1},
                        {{1, 7, 7, 64}, {3, 3, 64, 80}, 1, 1},
                        {{2, 14, 14, 64}, {3, 3, 64, 64}, 1, 1},
                        {{1, 14, 14, 32}, {3, 3, 1, 32}, 1, 32},  // read where they are
                        {{1, 28, 28, 64}, {1, 1, 64, 128}, 2, 1},
                        {{1, 40, 40, 3}, {5, 5, 3, 4}, 1, 1},
                        {{4, 20, 20, 16}, {3, 3, 16, 48}, 2, 1}}) {
    SCOPED_TRACE(testing::Message() << ts::to_string(c.image) << " " << ts::to_string(c.kernel));
    const Array x = drawn(c.image), w = drawn(c.kernel, 1);
    const auto f = ts::jit([&c](Array x, Array w) {
      return ts::conv(x, w, {.strides = {c.stride, c.stride}, .feature_group_count = c.groups});
    });
    check([&] { return f(x, w); }, c.groups > 1 ? 0 : 1);
    // Its gradient with respect to the image reads the weights, too, in an order of its own.
    const auto g = ts::jit([&f](Array x, Array w) {
      return ts::grad([&](Array y) { return ts::sum(ts::sin(f(y, w))); })(x);
    });
    const std::vector<std::byte> expected = without([&] { return g(x, w); });
    for (int call = 0; call < 3; ++call) EXPECT_EQ(bits(g(x, w)), expected);
  }
  // Padding is not multiplied by an infinite weight.
  Floats weights = drawn({3, 3, 64, 64}).to_vector<float>();
  weights[7] = std::numeric_limits<float>::infinity();
  const Array x = drawn({1, 7, 7, 64}), w(std::span<const float>(weights), {3, 3, 64, 64});
  check([&] { return ts::conv(x, w); }, 1);
}

TEST_F(PackedOperands, LoopsReadThemInEachTurn) {
  const auto f = ts::jit([](Array xs, Array w, Array u) {
    auto step = [&](Array h, Array x) {
      h = ts::tanh(ts::matmul(x, w) + ts::matmul(h, u));
      return std::pair(h, ts::sum(h));
    };
    auto [h, sums] = ts::scan(step, ts::zeros({8, 512}), xs);
    return ts::concatenate({ts::reshape(h, {-1}), sums}, 0);
  });
  const Array xs = drawn({5, 8, 256}), w = drawn({256, 512}, 1), u = drawn({512, 512}, 2);
  check([&] { return f(xs, w, u); }, 2);
  const auto while_loop = ts::jit([](Array n, Array h, Array u) {
    return ts::while_loop([&](std::pair<Array, Array> c) { return c.first < n; },
                          [&](std::pair<Array, Array> c) {
                            return std::pair(c.first + 1, ts::tanh(ts::matmul(c.second, u)));
                          },
                          std::pair(Array(0), h))
        .second;
  });
  const Array v = drawn({512, 512}, 3);
  check([&] { return while_loop(Array(4), drawn({16, 512}, 4), v); }, 1);
  // A scan takes a row of the weights in each turn.
  const auto layers = ts::jit([](Array h, Array stack) {
    auto layer = [](Array h, Array w) {
      h = ts::tanh(ts::matmul(h, w));
      return std::pair(h, ts::sum(h));
    };
    auto [last, sums] = ts::scan(layer, h, stack);
    return ts::concatenate({ts::reshape(last, {-1}), sums}, 0);
  });
  const Array stack = drawn({5, 384, 384}, 8), h = drawn({32, 384}, 9);
  check([&] { return layers(h, stack); }, 1);
  EXPECT_EQ(kept_bytes(), 5 * 384 * 384 * 4);
  // Turns of an outer loop read all rows again, and a reversed scan has them in another order.
  const auto twice = ts::jit([](Array h, Array stack) {
    auto layer = [](Array h, Array w) { return std::pair(ts::tanh(ts::matmul(h, w)), Array(0)); };
    return ts::fori_loop(
        0, 2, [&](Array, Array h) { return ts::scan(layer, h, stack, {.reverse = true}).first; },
        h);
  });
  const Array other = drawn({3, 384, 384}, 10);
  check([&] { return twice(h, other); }, 1);
  // A branch reads one of two.
  const auto branch = ts::jit([](Array first, Array x, Array a, Array b) {
    return ts::cond(
        first, [](Array x, Array a, Array b) { return ts::matmul(x, a) + b[0]; },
        [](Array x, Array a, Array b) { return ts::matmul(x, b) + a[0]; }, x, a, b);
  });
  const Array a = drawn({512, 512}, 5), b = drawn({512, 512}, 6), x = drawn({32, 512}, 7);
  check([&] { return branch(Array(true), x, a, b); }, 2);
  check([&] { return branch(Array(false), x, a, b); }, 2);
}

TEST_F(PackedOperands, NewWeightsAreSeen) {
  const auto f = ts::jit([](Array x, Array w) { return ts::matmul(x, w); });
  const auto step =
      ts::jit([](Array w, Array x) { return w - 0.125f * ts::matmul(ts::transpose(x), x); },
              {.donate = {0}});
  const Array x = drawn({32, 384});
  Array w = drawn({384, 384}, 1);
  for (int round = 0; round < 4; ++round) {
    const std::vector<std::byte> expected = without([&] { return f(x, w.copy()); });
    for (int call = 0; call < 3; ++call) EXPECT_EQ(bits(f(x, w)), expected) << round;
    EXPECT_EQ(kept_bytes(), 384 * 384 * 4);
    w = step(std::move(w), x + 0);
    EXPECT_EQ(kept_bytes(), 0) << round;
  }
}

TEST_F(PackedOperands, GoWithTheirArray) {
  const auto f = ts::jit([](Array x, Array w) { return ts::matmul(x, w); });
  const std::int64_t before = ts::physical_memory_stats().live;
  {
    const Array x = drawn({32, 384}), w = drawn({384, 640}, 1);
    for (int call = 0; call < 3; ++call) f(x, w).block_until_ready();
    EXPECT_EQ(kept_bytes(), 384 * 640 * 4);
    EXPECT_NE(ts::memory_table().find("packed operands"), std::string::npos);
  }
  EXPECT_EQ(kept_bytes(), 0);
  EXPECT_EQ(ts::memory_table().find("packed operands"), std::string::npos);
  EXPECT_EQ(ts::physical_memory_stats().live, before);
  // Nor does a call that donates them without writing to their memory leave them.
  const auto take = ts::jit([](Array w) { return ts::sum(w); }, {.donate = {0}});
  const Array x = drawn({32, 384});
  Array w = drawn({384, 640}, 1);
  for (int call = 0; call < 3; ++call) f(x, w).block_until_ready();
  EXPECT_GT(kept_bytes(), 0);
  take(std::move(w)).block_until_ready();
  EXPECT_EQ(kept_bytes(), 0);
}

TEST_F(PackedOperands, StayWithinTheLimit) {
  const auto f = ts::jit([](Array x, Array w) { return ts::matmul(x, w); });
  const Array x = drawn({32, 256});
  std::vector<Array> weights;
  for (int i = 0; i < 6; ++i) weights.push_back(drawn({256, 384}, i));
  const std::int64_t one = 256 * 384 * 4;
  ts::set_operand_cache_limit(3 * one);
  const std::int64_t evicted = ts::operand_cache_stats().evicted;
  std::vector<std::vector<std::byte>> expected;
  for (const Array& w : weights) expected.push_back(bits(f(x, w.copy())));
  for (int round = 0; round < 6; ++round)
    for (std::size_t i = 0; i < weights.size(); ++i) {
      EXPECT_EQ(bits(f(x, weights[i])), expected[i]);
      EXPECT_LE(kept_bytes(), 3 * one);
    }
  EXPECT_EQ(kept_bytes(), 3 * one);
  EXPECT_GT(ts::operand_cache_stats().evicted, evicted);
  // The least recently used goes first.
  for (int call = 0; call < 3; ++call) f(x, weights[0]).block_until_ready();
  ts::set_operand_cache_limit(one);
  EXPECT_EQ(kept_bytes(), one);
  const std::int64_t calls = ts::operand_cache_stats().evicted;
  f(x, weights[0]).block_until_ready();
  EXPECT_EQ(ts::operand_cache_stats().evicted, calls);
  EXPECT_EQ(kept_bytes(), one);
  ts::set_operand_cache_limit(one - 1);
  EXPECT_EQ(kept_bytes(), 0);
  for (int call = 0; call < 3; ++call) EXPECT_EQ(bits(f(x, weights[0])), expected[0]);
  EXPECT_EQ(kept_bytes(), 0);
  EXPECT_EQ(api_test::message<ts::Error>([] {
              ts::set_operand_cache_limit(-1);
            }).find("set_operand_cache_limit: packed operands cannot take -1 bytes"),
            0u);
}

// Several threads read the same weights, drop all forms, and give away weights of their own.
TEST_F(PackedOperands, ThreadsShareThem) {
  const auto f = ts::jit([](Array x, Array w) { return ts::matmul(x, w); });
  const auto step = ts::jit([](Array w) { return w * 0.5f; }, {.donate = {0}});
  const Array x = drawn({40, 384}), w = drawn({384, 512}, 1);
  const std::vector<std::byte> expected = without([&] { return f(x, w); }),
                               half = without([&] { return f(x, w * 0.5f); });
  std::atomic<int> wrong = 0;
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t)
    threads.emplace_back([&, t] {
      for (int i = 0; i < 20; ++i) {
        if (bits(f(x, w)) != expected) ++wrong;
        if (t == 0 && i % 7 == 3) ts::set_operand_cache_limit(i % 2 ? 0 : limit_);
        if (t != 1) continue;
        Array own = w.copy();
        for (int call = 0; call < 3; ++call)
          if (bits(f(x, own)) != expected) ++wrong;
        const Array late = f(x, own);  // reads the memory that the next call takes
        own = step(std::move(own));
        if (bits(f(x, own)) != half || bits(late) != expected) ++wrong;
      }
    });
  for (std::thread& t : threads) t.join();
  EXPECT_EQ(wrong, 0);
}

// Its owner may write to memory that was lent.
TEST_F(PackedOperands, LentMemoryIsReadInEachCall) {
  alignas(64) static float memory[256 * 128];
  const auto f = ts::jit([](Array x, Array w) { return ts::matmul(x, w); });
  const Array x = ts::ones({32, 256}), w = Array::adopt(ts::f32, {256, 128}, memory, nullptr);
  for (int call = 0; call < 4; ++call) {
    std::fill(std::begin(memory), std::end(memory), static_cast<float>(call));
    EXPECT_EQ(f(x, w).to_vector<float>(), Floats(32 * 128, static_cast<float>(256 * call)));
  }
  EXPECT_EQ(kept_bytes(), 0);
}

TEST_F(PackedOperands, DevicesHaveTheirOwn) {
  ts::set_device_count(4);
  const ts::Mesh mesh({{"x", 4}});
  const Array x = drawn({64, 512}), w = drawn({512, 1024}, 1);
  for (const bool columns : {false, true}) {
    const Array weights =
        ts::device_put(w, ts::NamedSharding(mesh, columns ? ts::P(ts::none, "x") : ts::P()));
    const Array rows = ts::device_put(x, ts::NamedSharding(mesh, columns ? ts::P() : ts::P("x")));
    const auto f = ts::jit([](Array x, Array w) { return ts::matmul(x, w); });
    const std::vector<std::byte> expected = without([&] { return f(rows, weights); });
    for (int call = 0; call < 4; ++call) EXPECT_EQ(bits(f(rows, weights)), expected);
    EXPECT_GT(kept_bytes(), 0);
  }
  EXPECT_EQ(kept_bytes(), 0);
}

TEST_F(PackedOperands, ConstantsOfModulesHaveThem) {
  const Array w = drawn({128, 96}, 1);
  const Floats values = w.to_vector<float>();
  std::string hex;
  for (const float v : values) {
    std::uint32_t word;
    std::memcpy(&word, &v, sizeof word);
    for (int i = 0; i < 4; ++i) {
      constexpr const char* kDigits = "0123456789ABCDEF";
      const auto byte = word >> (8 * i) & 0xff;
      hex += {kDigits[byte >> 4], kDigits[byte & 15]};
    }
  }
  const auto f = ts::load_stablehlo_text(R"(module @m {
  func.func public @main(%x: tensor<16x128xf32>) -> tensor<16x96xf32> {
    %w = stablehlo.constant dense<"0x)" + hex +
                                         R"("> : tensor<128x96xf32>
    %y = stablehlo.dot_general %x, %w, contracting_dims = [1] x [0] : (tensor<16x128xf32>, tensor<128x96xf32>) -> tensor<16x96xf32>
    return %y : tensor<16x96xf32>
  }
})");
  const Array x = drawn({16, 128});
  const std::vector<std::byte> expected = bits(ts::matmul(x, w));
  ts::clear_caches();
  for (int call = 0; call < 4; ++call) EXPECT_EQ(bits(f({x})[0]), expected);
}
