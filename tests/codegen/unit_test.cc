// Products on a matrix unit, against the order of additions that they promise (unit_kernel.h), bit
// by bit: on the emulation of the unit by vectors, which tests blocks, packing and edges, and as
// machine code for AMX, which runs on a processor with AMX or on AmxProcessor.
#include "codegen/amx_processor.h"
#include "codegen/kernel/isa.h"
#include "codegen/matrix_cases.h"

#if defined(__linux__) && defined(__x86_64__)
#include <cpuid.h>
#endif

#include <atomic>
#include <cmath>
#include <limits>
#include <map>
#include <optional>
#include <random>
#include <string>
#include <string_view>
#include <thread>
#include <tuple>
#include <utility>
#include <vector>

namespace tessera::testing {
namespace {

using namespace products;
using codegen::MatrixUnit;

// Products that are prepared meanwhile are for this unit.
class OnUnit {
 public:
  explicit OnUnit(MatrixUnit unit) { codegen::pretend_matrix_unit(unit); }
  ~OnUnit() { codegen::pretend_matrix_unit(std::nullopt); }
  OnUnit(const OnUnit&) = delete;
};

// Sizes around the edges of registers, blocks and stretches of k.
Shapes drawn_shapes(std::mt19937& random, std::int64_t most) {
  auto one_of = [&](std::vector<std::int64_t> values) { return values[random() % values.size()]; };
  Shapes s{};
  s.m = one_of({1, 2, 7, 15, 16, 17, 31, 32, 33, 40, 48, 64, 65, 97});
  s.n = one_of({1, 2, 15, 16, 17, 31, 32, 33, 47, 64, 65, 100});
  s.k = one_of({1, 2, 3, 4, 5, 31, 32, 33, 63, 64, 65, 128, 200, 511, 512, 513, 1024, 1025, 1100});
  while (s.m * s.n * s.k > most) s.m = (s.m + 1) / 2, s.n = (s.n + 1) / 2;
  s.row_block = one_of({s.m, (s.m + 1) / 2, std::min<std::int64_t>(s.m, 5)});
  s.column_block = one_of({s.n, std::min<std::int64_t>(s.n, 32), std::min<std::int64_t>(s.n, 13)});
  s.a = static_cast<int>(random() % 3);
  s.b = static_cast<int>(random() % 3);
  s.padding = one_of({0, 0, 1, 3, 16});
  s.at_end = random() % 2;
  return s;
}

TEST(MatrixUnit, AddsInTheOrderThatItPromises) {
  const OnUnit unit(MatrixUnit::emulated);
  std::mt19937 random(12);
  for (int trial = 0; trial < 160 && !HasFailure(); ++trial) {
    const Shapes s = drawn_shapes(random, 1 << 19);
    int turn = 0;
    for_each_unit_case([&]<class C>(C) {
      if (turn++ % 4 == trial % 4) check<C>(s);
    });
  }
}

// Rows in place and far apart, several groups of columns and of rows, and panels for all tasks.
TEST(MatrixUnit, LargeAndNarrowShapes) {
  const OnUnit unit(MatrixUnit::emulated);
  for (const auto& [m, n, k, row_block, column_block] : std::vector<
           std::tuple<std::int64_t, std::int64_t, std::int64_t, std::int64_t, std::int64_t>>{
           {78, 66, 80, 39, 64},
           {270, 33, 64, 270, 33},
           {5, 2100, 34, 5, 2100},
           {33, 70, 1024, 33, 70},
           {20, 70, 2048, 10, 70},
           {4, 70, 4097, 2, 70}})
    for (int b : {0, 1}) {
      for_each_unit_case(
          [&, m = m, n = n, k = k, rows = row_block, columns = column_block]<class C>(C) {
            check<C>({m, n, k, rows, columns, 1 - b, b, 0, b == 0});
          });
      if (HasFailure()) return;
    }
}

// The panels of an operand that stays (README.md) give what panels of a task give.
TEST(MatrixUnit, PanelsThatAreGivenHaveTheSameBits) {
  const OnUnit unit(MatrixUnit::emulated);
  constexpr std::int64_t kM = 20, kN = 2 * 32 + 7, kK = 4197;
  for (const bool lines_adjacent : {false, true}) {
    const matrix::Distances of_b =
        lines_adjacent ? matrix::Distances{kN, 1} : matrix::Distances{1, kK};
    std::mt19937 random(14);
    Drawn<bfloat16_t> drawn{random};
    std::vector<bfloat16_t> a(kM * kK), b(kK * kN);
    for (bfloat16_t& x : a) x = drawn();
    for (bfloat16_t& x : b) x = drawn();
    std::vector<float> sums[2];
    for (const bool given : {false, true}) {
      matrix::Problem problem{DType::bfloat16,
                              {DType::float32, Terms::unit_bfloat16},
                              kM,
                              kN,
                              kK,
                              {1, kK},
                              of_b,
                              kM,
                              kN};
      problem.panels_given = given;
      const matrix::Product product(problem);
      ASSERT_EQ(product.shares_b(), given);
      std::vector<char> panels(given ? product.shared_bytes() : 0);
      for (std::int64_t task = given ? product.shared_tasks() : 0; task-- > 0;)
        product.share(b.data(), panels.data(), task);
      sums[given].resize(kM * kN);
      product.run({a.data(), b.data(), sums[given].data(), kN, kM, kN, kK,
                   given ? panels.data() : nullptr, 0});
    }
    EXPECT_EQ(std::memcmp(sums[0].data(), sums[1].data(), kM * kN * sizeof(float)), 0);
  }
}

// The product of one row and one column.
template <class E>
float inner_product(matrix::Terms terms, std::vector<E> x, std::vector<E> y) {
  const auto k = static_cast<std::int64_t>(x.size());
  const matrix::Product product(
      {dtype_of<E>(), {DType::float32, terms}, 1, 1, k, {1, k}, {1, k}, 1, 1});
  float sum = -1;
  product.run({x.data(), y.data(), &sum, 1, 1, 1, k});
  return sum;
}

void check_edges() {
  const auto of_bfloat16 = [](float x, float y) {
    return inner_product<bfloat16_t>(matrix::Terms::unit_bfloat16, {bfloat16_t(x)},
                                     {bfloat16_t(y)});
  };
  const float infinity = std::numeric_limits<float>::infinity();
  // A subnormal operand, a subnormal product, the least normal one, and two without a number.
  EXPECT_EQ(of_bfloat16(std::ldexp(1.0f, -130), 1024), 0);
  EXPECT_EQ(of_bfloat16(std::ldexp(1.0f, -100), std::ldexp(1.0f, -30)), 0);
  EXPECT_EQ(of_bfloat16(std::ldexp(1.0f, -100), std::ldexp(1.0f, -26)), std::ldexp(1.0f, -126));
  EXPECT_EQ(of_bfloat16(infinity, -2), -infinity);
  EXPECT_TRUE(std::isnan(of_bfloat16(infinity, 0)));
  if (!codegen::host_isa().avx2) return;
  // A subnormal float16 is a normal float32.
  EXPECT_EQ(inner_product<float16_t>(matrix::Terms::unit_float16,
                                     {float16_t(std::ldexp(1.0f, -24)), float16_t(3.0f)},
                                     {float16_t(1.0f), float16_t(std::ldexp(1.0f, -23))}),
            std::ldexp(7.0f, -24));
}

TEST(MatrixUnit, TakesSubnormalNumbersForZeros) {
  const OnUnit unit(MatrixUnit::emulated);
  check_edges();
}

TEST(MatrixUnit, FollowsFromTheProcessor) {
  using Features = std::map<std::string, bool>;
  Features old;
  for (const char* name : {"avx", "avx2", "fma", "f16c", "avx512f", "avx512bw", "avx512dq",
                           "avx512vl", "avx512cd", "avx512bf16", "avx512vnni"})
    old[name] = true;
  for (const char* name : {"amx-tile", "amx-bf16", "amx-int8", "amx-fp16"}) old[name] = false;
  Features with = old;
  with["amx-tile"] = with["amx-bf16"] = with["amx-int8"] = true;
  const auto isa = [](const Features& features, const char* newest) {
    return codegen::isa_with("cpu", features, newest);
  };
  for (const char* newest : {"", "amx"}) {
    // The features are part of the key of kernels on disk.
    EXPECT_NE(isa(with, newest).features, isa(old, newest).features);
    EXPECT_EQ(isa(old, newest).unit, MatrixUnit::none);
  }
  const codegen::Isa i = isa(with, "amx");
  EXPECT_EQ(i.unit, MatrixUnit::amx);
  EXPECT_TRUE(i.unit_bfloat16 && i.unit_int8 && !i.unit_float16 && i.bfloat16);
  EXPECT_EQ(isa(with, "").unit, MatrixUnit::none);  // used only on request
  for (const char* newest : {"avx512", "avx2", "sse4"}) {
    EXPECT_EQ(isa(with, newest).unit, MatrixUnit::none);
    EXPECT_EQ(isa(with, newest).features, isa(old, newest).features);
    EXPECT_EQ(isa(with, newest).avx512, std::string_view(newest) == "avx512");
  }
  EXPECT_EQ(isa(old, "amx_emulated").unit, MatrixUnit::emulated);
  Features no_vectors = with;
  no_vectors["avx512f"] = false;
  EXPECT_EQ(isa(no_vectors, "amx").unit, MatrixUnit::none);
  if (codegen::host_isa().unit != MatrixUnit::amx) {
    EXPECT_EQ(codegen::matrix_unit(), codegen::host_isa().unit);
  }
}

#if defined(__linux__) && defined(__x86_64__)

// Whether products of this process run on AMX.
bool uses_amx() { return codegen::matrix_unit() == MatrixUnit::amx; }

bool processor_has_amx() {
  unsigned a = 0, b = 0, c = 0, d = 0;
  return __get_cpuid_count(7, 0, &a, &b, &c, &d) && (d >> 24 & 1);
}

// Machine code for AMX, which AmxProcessor executes where the processor does not. A processor that
// has AMX executes it only if this process has asked for the registers, and some of its instructions
// in any case, so AmxProcessor cannot stand in for it.
class AmxCode : public ::testing::Test {
 protected:
  void SetUp() override {
    if (!uses_amx() && processor_has_amx())
      GTEST_SKIP() << "TESSERA_ISA=amx runs this test on this processor";
    if (!uses_amx()) processor_.emplace();
    unit_.emplace(MatrixUnit::amx);
  }
  std::optional<AmxProcessor> processor_;
  std::optional<OnUnit> unit_;
};

TEST_F(AmxCode, AddsInTheOrderThatItPromises) {
  std::mt19937 random(13);
  for (int trial = 0; trial < 64 && !HasFailure(); ++trial) {
    const Shapes s = drawn_shapes(random, 1 << 17);
    int turn = 0;
    for_each_unit_case([&]<class C>(C) {
      // A processor may have AMX without products of float16.
      if (C::terms == Terms::unit_float16 && !processor_ && !codegen::host_isa().unit_float16)
        return;
      if (turn++ % 4 == trial % 4) check<C>(s);
    });
    EXPECT_TRUE(!processor_ || AmxProcessor::released());
  }
}

TEST_F(AmxCode, TakesSubnormalNumbersForZeros) {
  if (!processor_ && !codegen::host_isa().unit_float16) GTEST_SKIP();
  check_edges();
}

TEST_F(AmxCode, ThreadsHaveTilesOfTheirOwn) {
  std::vector<std::thread> threads;
  std::atomic<int> wrong = 0;
  for (int t = 0; t < 4; ++t)
    threads.emplace_back([&, t] {
      const Shapes s{20 + t, 40 - t, 100, 20 + t, 40 - t, 0, 0, 0, true};
      for (int i = 0; i < 4; ++i)
        wrong += !fault<Case<bfloat16_t, float, Terms::unit_bfloat16>>(s).empty();
      wrong += processor_ && !AmxProcessor::released();
    });
  for (std::thread& t : threads) t.join();
  EXPECT_EQ(wrong, 0);
}

// The tiles of a block stay in registers: two tiles of A and of B are loaded for four products, and
// sums are loaded and stored once for each stretch of k.
TEST_F(AmxCode, MovesTilesNoMoreThanNeeded) {
  if (!processor_) GTEST_SKIP() << "the processor executes AMX and does not count";
  constexpr std::int64_t kGroups = 20, kStretches = 2;
  for (const auto& [m, n] :
       {std::pair<std::int64_t, std::int64_t>{64, 96}, {64, 20}, {16, 96}, {9, 3}})
    for_each_unit_case([&, m = m, n = n]<class C>(C) {
      using E = typename C::Element;
      SCOPED_TRACE(std::to_string(m) + " x " + std::to_string(n) + ", terms " +
                   std::to_string(static_cast<int>(C::terms)));
      const std::int64_t k = kGroups * 16 * matrix::steps_of(C::terms);
      const std::vector<E> a(static_cast<std::size_t>(m * k)), b(static_cast<std::size_t>(k * n));
      std::vector<typename C::Sum> c(static_cast<std::size_t>(m * n));
      const matrix::Product product({dtype_of<E>(), C::kind(), m, n, k, {1, k}, {n, 1}, m, n});
      const AmxProcessor::Counts before = AmxProcessor::counts();
      product.run({a.data(), b.data(), c.data(), n, m, n, k});
      const AmxProcessor::Counts& now = AmxProcessor::counts();
      const std::int64_t panels = (m + 31) / 32, blocks = panels * ((n + 31) / 32),
                         tiles = m > 16 ? 2 : 1, sums = 2 * tiles * blocks;
      EXPECT_EQ(now.zero - before.zero, sums);
      EXPECT_EQ(now.store - before.store, kStretches * sums);
      EXPECT_EQ(now.load - before.load, (kStretches - 1) * sums + (tiles + 2) * kGroups * blocks);
      EXPECT_EQ(now.configure - before.configure, kStretches * panels);
      EXPECT_EQ(now.release - before.release, now.configure - before.configure);
      const std::int64_t products[] = {now.bfloat16 - before.bfloat16, now.float16 - before.float16,
                                       now.int8 - before.int8, now.uint8 - before.uint8};
      for (std::size_t i = 0; i < 4; ++i) {
        const bool of_terms = i + static_cast<std::size_t>(Terms::unit_bfloat16) ==
                              static_cast<std::size_t>(C::terms);
        EXPECT_EQ(products[i], of_terms ? 2 * tiles * kGroups * blocks : 0);
      }
    });
}

#endif

}  // namespace
}  // namespace tessera::testing
