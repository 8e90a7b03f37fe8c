// Compiled kernels agree with the evaluator: lengths, layouts, reductions and the division into
// tasks.
#include "codegen/run.h"
#include "ops/build.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <fstream>
#include <limits>

namespace ts = tessera;
namespace ops = tessera::ops;

namespace {

// A sum in double carries at most one rounding to float32 in the oracle; lane-wise float32 sums of
// n terms of one sign stay within about log2(n) + n / (2 lanes) roundings. 64 ulp covers every case
// here.
constexpr double kSumUlps = 64;

ts::ProgramPtr unary_program(const std::function<ts::Value(ts::Value)>& f, ts::Type t) {
  ts::Builder b;
  ts::Value x = b.input(std::move(t));
  return b.finish({{f(x)}});
}

}  // namespace

TEST(Kernel, EveryLengthHasItsTail) {
  for (std::int64_t n = 0; n <= 70; ++n) {
    ts::Builder b;
    ts::Value x = b.input({ts::f32, {n}}), y = b.input({ts::f32, {n}});
    ts::ProgramPtr p = b.finish({{ops::add(ops::mul(x, y), ops::full_like(x, 3)), ops::gt(x, y)}});
    run::check(p, run::random_inputs(*p));
  }
}

TEST(Kernel, TailsOfRowsDoNotTouchTheNext) {
  for (std::int64_t n : {1, 2, 3, 5, 7, 8, 9, 15, 16, 17, 31, 33, 67}) {
    ts::Builder b;
    ts::Value x = b.input({ts::f32, {6, n}}), w = b.input({ts::f32, {n}}),
              r = b.input({ts::f32, {6}});
    ts::Value y = ops::sub(ops::mul(x, ops::broadcast_in_dim(w, {6, n}, {1})),
                           ops::broadcast_in_dim(r, {6, n}, {0}));
    ts::ProgramPtr p = b.finish({{y}});
    run::check(p, run::random_inputs(*p));
  }
}

// Of two zeros the positive one is the greater, and a NaN propagates; for 16-bit floats, also if
// they are widened, compared and narrowed again, which a compiler may consider the same.
TEST(Kernel, ExtremesOfAnyTwoHalves) {
  constexpr float kInf = std::numeric_limits<float>::infinity();
  const std::vector<float> numbers{std::nanf(""), -std::nanf(""), 0, -0.0f, 1, -1, kInf, -kInf};
  const std::vector<float>::size_type n = numbers.size() * numbers.size();
  for (const bool widened : {false, true})
    for (const bool greatest : {false, true}) {
      ts::Builder b;
      const ts::Type t(ts::DType::float16, {static_cast<std::int64_t>(n)});
      const ts::Value x = b.input(t), y = b.input(t);
      const auto wide = [&](ts::Value v) { return widened ? ops::convert(v, ts::f32) : v; };
      const ts::Value extreme = greatest ? ops::max(wide(x), wide(y)) : ops::min(wide(x), wide(y));
      const ts::ProgramPtr p = b.finish({{ops::convert(extreme, t.dtype)}});
      std::vector<ts::HostArray> in;
      for (int k = 0; k < 2; ++k) in.emplace_back(t.dtype, t.shape);
      for (std::size_t i = 0; i < n; ++i) {
        in[0].data<ts::float16_t>()[i] = ts::float16_t(numbers[i % numbers.size()]);
        in[1].data<ts::float16_t>()[i] = ts::float16_t(numbers[i / numbers.size()]);
      }
      const ts::HostArray got = run::compiled(p, in)[0];
      for (std::size_t i = 0; i < n; ++i) {
        const auto a = static_cast<float>(in[0].data<ts::float16_t>()[i]),
                   c = static_cast<float>(in[1].data<ts::float16_t>()[i]),
                   z = static_cast<float>(got.data<ts::float16_t>()[i]);
        if (std::isnan(a) || std::isnan(c)) {
          EXPECT_TRUE(std::isnan(z)) << a << " and " << c << ": " << z;
          continue;
        }
        const bool first = a == c ? std::signbit(a) != greatest : (a > c) == greatest;
        EXPECT_EQ(z, first ? a : c);
        EXPECT_EQ(std::signbit(z), std::signbit(first ? a : c)) << a << " and " << c;
      }
    }
}

// In rows with and without a remainder, a zero of the other sign or a NaN counts wherever it is.
TEST(Kernel, ExtremesOfRowsKnowZerosAndNaN) {
  const double inf = std::numeric_limits<double>::infinity(), nan = std::nan("");
  int checked = 0;
  for (const ts::DType d : {ts::f32, ts::f64, ts::f16, ts::bf16})
    for (const std::int64_t n : {1, 7, 8, 15, 16, 17, 31, 64, 67, 300})
      for (const bool greatest : {false, true}) {
        const double low = greatest ? -inf : inf, zero = greatest ? -0.0 : 0.0;
        struct Row {
          double all, odd, extreme;
        };
        const std::vector<Row> rows{{zero, -zero, -zero}, {zero, zero, zero}, {low, nan, nan},
                                    {zero, -nan, nan},    {low, low, low},    {low, -low, -low},
                                    {low, zero, zero}};
        const std::vector<std::int64_t> places{0, n / 2, n - 1};
        const auto count = static_cast<std::int64_t>(rows.size() * places.size());
        ts::Builder b;
        const ts::Value x = b.input({d, {count, n}});
        const ts::ProgramPtr p =
            b.finish({{greatest ? ops::reduce_max(x, {1}) : ops::reduce_min(x, {1})}});
        ts::HostArray in(d, {count, n});
        for (std::int64_t r = 0; r < count; ++r)
          for (std::int64_t i = 0; i < n; ++i) {
            const Row& row = rows[static_cast<std::size_t>(r) % rows.size()];
            const std::int64_t place = places[static_cast<std::size_t>(r) / rows.size()];
            const auto size = static_cast<std::size_t>(size_of(d));
            std::memcpy(in.bytes + static_cast<std::size_t>(r * n + i) * size,
                        ts::scalar_literal(d, i == place ? row.odd : row.all).bytes->data(), size);
          }
        const ts::HostArray got = run::compiled(p, std::vector{in})[0];
        for (std::int64_t r = 0; r < count; ++r) {
          const double want = rows[static_cast<std::size_t>(r) % rows.size()].extreme,
                       z = got.number(r);
          EXPECT_EQ(std::isnan(z), std::isnan(want)) << name_of(d) << ", " << n << ", row " << r;
          if (std::isnan(want)) continue;
          EXPECT_EQ(z, want) << name_of(d) << ", " << n << ", row " << r;
          EXPECT_EQ(std::signbit(z), std::signbit(want)) << name_of(d) << ", " << n << ", " << r;
          ++checked;
        }
      }
  EXPECT_GE(checked, 1000);
}

TEST(Kernel, MathDoesNotDependOnThePosition) {
  for (auto f : {ops::exp, ops::tanh, ops::sin, ops::log1p, ops::logistic, ops::erf_inv}) {
    ts::ProgramPtr whole = unary_program(f, {ts::f32, {67}});
    std::vector<ts::HostArray> in = run::random_inputs(*whole, 5, -0.9, 0.9);
    in[0].data<float>()[11] = 3e5;  // one lane's slow path does not affect its neighbours
    ts::HostArray all = run::compiled(whole, in)[0];
    for (std::int64_t i : {0, 1, 10, 12, 30, 64, 66}) {
      ts::ProgramPtr one = unary_program(f, {ts::f32, {}});
      ts::HostArray x(ts::f32, {});
      x.data<float>()[0] = in[0].data<float>()[i];
      ts::HostArray y = run::compiled(one, {{x}})[0];
      EXPECT_EQ(std::memcmp(y.bytes, all.bytes + 4 * i, 4), 0) << i;
    }
  }
}

TEST(Kernel, IsCompiledOnceForAllLengths) {
  ts::codegen::KernelStats before = ts::codegen::kernel_stats();
  std::vector<std::shared_ptr<const ts::Routine>> routines;  // machine code lives as long as these
  for (std::int64_t n : {3, 1000, 77777}) {
    ts::ProgramPtr p = unary_program(
        [](ts::Value x) { return ops::mul(ops::neg(x), ops::add(x, x)); }, {ts::f32, {n}});
    routines.push_back(run::compiled(p));
    run::check(p, run::random_inputs(*p));
  }
  ts::codegen::KernelStats after = ts::codegen::kernel_stats();
  EXPECT_LE(after.compiled + after.from_disk - before.compiled - before.from_disk, 1);
}

// A process may have only some tens of thousands of memory mappings, but there is no limit on
// kernels, so these share mappings.
TEST(Kernel, CodeLiesNextToCode) {
  auto mappings = [] {
    std::ifstream maps("/proc/self/maps");
    std::string line;
    int lines = 0;
    while (std::getline(maps, line)) ++lines;
    return lines;
  };
  std::vector<std::shared_ptr<const ts::Routine>> held;
  auto hold = [&](int more) {
    for (int i = 0; i < more; ++i) {
      const auto n = static_cast<double>(held.size());
      ts::ProgramPtr p = unary_program(
          [&](ts::Value x) { return ops::mul(ops::exp(x), ops::full_like(x, n + 0.5)); },
          {ts::f32, {3}});
      held.push_back(run::compiled(p));
    }
  };
  hold(10);
  const int before = mappings();
  ASSERT_GT(before, 10);
  hold(200);
  EXPECT_LE(mappings() - before, 50);
}

// No position is inside an update without elements, and none of its positions is computed.
TEST(Kernel, UpdatesOfNothing) {
  ts::Builder b;
  ts::Value x = b.input({ts::f32, {6, 1}}), none = b.input({ts::f32, {3, 0}}),
            start = b.input({ts::i32, {}});
  ts::Value update = ops::reshape(none, {5, 0});
  ts::ProgramPtr p =
      b.finish({{ops::dynamic_update_slice(ops::neg(x), update, ts::Values{start, start})}});
  run::check(p, run::random_inputs(*p));
}

TEST(Kernel, ResultsOfNoElements) {
  ts::Builder b;
  ts::Value x = b.input({ts::f32, {3, 0}});
  ts::Value y = ops::exp(ops::reshape(ops::neg(x), {5, 0}));
  ts::Value s = ops::reduce_sum(y, {1});
  ts::Value p0 = ops::pad(y, ops::scalar(b, ts::f32, 7), {1, 0}, {0, 2}, {0, 0});
  ts::ProgramPtr p = b.finish({{y, s, p0}});
  run::check(p, run::random_inputs(*p));
}

TEST(Kernel, Reductions) {
  struct Case {
    ts::Shape shape;
    ts::Ints axes;
  };
  for (const Case& c : std::vector<Case>{{{5}, {0}},
                                         {{33}, {0}},
                                         {{1000}, {0}},
                                         {{100000}, {0}},
                                         {{7, 50}, {1}},
                                         {{50, 7}, {0}},
                                         {{3000, 5}, {0}},
                                         {{3000, 200}, {0}},
                                         {{4, 40000}, {1}},
                                         {{200, 30, 7}, {0, 2}},
                                         {{6, 5, 4}, {1}},
                                         {{40, 50, 60}, {0, 1, 2}},
                                         {{40, 50, 61}, {0, 1}},
                                         {{1, 9, 1}, {1}},
                                         {{9, 1}, {0}},
                                         {{5, 1, 3}, {1}},
                                         {{0, 4}, {0}},
                                         {{17, 2, 9000}, {0, 2}}}) {
    SCOPED_TRACE(ts::to_string(c.shape));
    for (const char* op : {"reduce_sum", "reduce_max"}) {
      ts::Builder b;
      ts::Value x = b.input({ts::f32, c.shape});
      ts::ProgramPtr p = b.finish({{b.emit1(op, {x}, {{"axes", c.axes}})}});
      std::vector<ts::HostArray> in = run::random_inputs(*p, 1, 0.5, 1);
      run::check(p, in, op == std::string("reduce_sum") ? kSumUlps : 0);
      auto r = run::compiled(p);
      std::vector<ts::HostArray> one = run::routine(*r, *p, in);
      EXPECT_TRUE(run::same_bits(one[0], run::routine(*r, *p, in, 3, true)[0]));
      EXPECT_TRUE(run::same_bits(one[0], run::routine(*r, *p, in, 1 << 20)[0]));
    }
    ts::ProgramPtr integers =
        unary_program([&](ts::Value x) { return ops::reduce_sum(x, c.axes); }, {ts::i32, c.shape});
    run::check(integers, run::random_inputs(*integers));
  }
}

TEST(Kernel, AReductionHasTheSameBitsInsideOthers) {
  // The result is used alone, by an elementwise chain, transposed, and broadcast: each accesses the
  // rows differently.
  ts::Shape s{40, 100};
  ts::Builder b;
  ts::Value x = b.input({ts::f32, s});
  ts::Value r = ops::reduce_sum(x, {1});
  ts::ProgramPtr alone = b.finish({{r}});
  std::vector<ts::HostArray> in = run::random_inputs(*alone, 2);
  ts::HostArray expected = run::compiled(alone, in)[0];

  ts::Builder b2;
  ts::Value x2 = b2.input({ts::f32, s});
  ts::Value wide = ops::broadcast_in_dim(ops::reduce_sum(x2, {1}), {3, 40}, {1});
  ts::ProgramPtr across = b2.finish({{wide}});
  ts::HostArray got = run::compiled(across, in)[0];
  for (int k = 0; k < 3; ++k) EXPECT_EQ(std::memcmp(got.bytes + 160 * k, expected.bytes, 160), 0);

  ts::Builder b3;
  ts::Value x3 = b3.input({ts::f32, {100, 40}});
  ts::ProgramPtr columns = b3.finish({{ops::reduce_sum(x3, {0})}});
  ts::Builder b4;
  ts::Value x4 = b4.input({ts::f32, {100, 40}});
  ts::Value down = ops::broadcast_in_dim(ops::reduce_sum(x4, {0}), {40, 70}, {0});
  ts::ProgramPtr rows = b4.finish({{down}});
  std::vector<ts::HostArray> in3 = run::random_inputs(*columns, 4);
  ts::HostArray sums = run::compiled(columns, in3)[0], spread = run::compiled(rows, in3)[0];
  for (int i = 0; i < 40; ++i)
    EXPECT_EQ(std::memcmp(spread.bytes + 4 * 70 * i, sums.bytes + 4 * i, 4), 0);
}

TEST(Kernel, Movement) {
  ts::Builder b;
  ts::Value x = b.input({ts::f32, {37, 41}}), y = b.input({ts::f32, {5, 41}});
  ts::Value t = ops::transpose(x, {1, 0});
  ts::Value c = ops::concatenate(ts::Values{x, y}, 0);
  ts::Value d = ops::concatenate(ts::Values{t, ops::transpose(y, {1, 0})}, 1);
  ts::Value s = ops::slice(ops::reverse(c, {1}), {1, 2}, {40, 40}, {2, 3});
  ts::Value p0 = ops::pad(s, ops::scalar(b, ts::f32, 7), {1, -1}, {2, 3}, {1, 2});
  ts::ProgramPtr p = b.finish(
      {{t, c, d, s, p0, ops::reshape(ops::transpose(ops::reshape(x, {37 * 41}), {0}), {41, 37})}});
  run::check(p, run::random_inputs(*p));
}

// Loops are cut where a piece of a row begins, also if pieces are turned round or combined with
// others that begin elsewhere.
TEST(Kernel, PiecesOfRowsBeginAnywhere) {
  for (ts::DType d : {ts::f32, ts::f64, ts::i8})
    for (std::int64_t first : {1, 3, 16, 512, 700, 1023}) {
      ts::Builder b;
      ts::Value x = b.input({d, {5, 1024}}), y = b.input({d, {5, 1024}});
      const auto from = [&](ts::Value v, std::int64_t begin, std::int64_t end) {
        return ops::slice(v, {0, begin}, {5, end}, {1, 1});
      };
      ts::Value rolled = ops::concatenate(ts::Values{from(x, first, 1024), from(x, 0, first)}, 1);
      ts::Value both = ops::concatenate(ts::Values{from(y, 0, first), from(x, first, 1024)}, 1);
      ts::Value zero = ops::scalar(b, d, 0);
      ts::Value wide = ops::pad(y, zero, {0, first}, {0, 9}, {0, 0});
      ts::ProgramPtr p = b.finish({{rolled, ops::add(ops::reverse(rolled, {1}), y),
                                    ops::add(rolled, ops::reverse(both, {1})), wide}});
      SCOPED_TRACE(ts::to_string(p->type(p->inputs[0])) + " from " + std::to_string(first));
      run::check(p, run::random_inputs(*p));
    }
}

TEST(Kernel, LargeTransposeAndBroadcastsAreCutIntoTasks) {
  ts::Builder b;
  ts::Value x = b.input({ts::f32, {300, 500}}), w = b.input({ts::f32, {500, 3}});
  ts::ProgramPtr p =
      b.finish({{ops::transpose(x, {1, 0}), ops::broadcast_in_dim(w, {7, 500, 3}, {1, 2})}});
  auto r = run::compiled(p);
  EXPECT_GT(r->stages[0].tasks, 1);
  std::vector<ts::HostArray> in = run::random_inputs(*p);
  std::vector<ts::HostArray> expected = ts::evaluate(*p, in),
                             got = run::routine(*r, *p, in, 2, true);
  for (std::size_t i = 0; i < expected.size(); ++i)
    EXPECT_TRUE(run::same_bits(expected[i], got[i]));
}

TEST(Kernel, TransposesInTiles) {
  for (ts::DType d : {ts::f32, ts::f64, ts::bf16, ts::i8, ts::bool_})
    for (ts::Shape s : {ts::Shape{64, 48}, {16, 16}, {37, 64}, {64, 37}, {17, 9}, {1100, 32}}) {
      ts::Builder b;
      ts::Value x = b.input({d, s}), y = b.input({d, {s[1], s[0]}});
      ts::ProgramPtr p = b.finish({{ops::max(ops::transpose(x, {1, 0}), y)}});
      SCOPED_TRACE(ts::to_string(p->type(p->inputs[0])));
      run::check(p, run::random_inputs(*p));
    }
  ts::Builder b;
  ts::Value x = b.input({ts::f32, {3, 32, 8, 6}});
  ts::ProgramPtr p = b.finish({{ops::transpose(x, {0, 2, 3, 1})}});
  run::check(p, run::random_inputs(*p));
}

TEST(Kernel, InPlaceIsSaidWhereItIsSafe) {
  ts::Builder b;
  ts::Value x = b.input({ts::f32, {64}}), y = b.input({ts::f32, {64}});
  ts::ProgramPtr p = b.finish({{ops::add(x, ops::reverse(y, {0}))}});
  auto r = run::compiled(p);
  EXPECT_EQ(r->in_place, (std::vector<std::pair<int, int>>{{0, 0}}));
  std::vector<ts::HostArray> in = run::random_inputs(*p);
  ts::HostArray expected = ts::evaluate(*p, in)[0];
  const void* ins[] = {in[0].bytes, in[1].bytes};
  void* outs[] = {in[0].bytes};
  for (const auto& s : r->stages) s.run({ins, outs, nullptr}, 0, s.tasks);
  EXPECT_TRUE(run::same_bits(in[0], expected));
}

TEST(Kernel, SpecialValuesOfMath) {
  const float inf = INFINITY, nan = NAN;
  std::vector<float> special{0.f,    -0.f, 1,    -1,    inf,    -inf, nan,   1e-40f, -1e-40f, 1e38f,
                             -1e38f, 88.f, 89.f, 104.f, -104.f, 0.5f, 1e-8f, 9.f,    3e5f};
  for (auto f : {ops::exp,        ops::expm1,   ops::log,   ops::log1p, ops::tanh,
                 ops::logistic,   ops::sin,     ops::cos,   ops::tan,   ops::erf,
                 ops::erfc,       ops::erf_inv, ops::sqrt,  ops::rsqrt, ops::cbrt,
                 ops::sinh,       ops::cosh,    ops::asinh, ops::acosh, ops::atanh,
                 ops::atan,       ops::asin,    ops::acos,  ops::exp2,  ops::round_nearest_even,
                 ops::round_away, ops::floor,   ops::sign,  ops::abs}) {
    for (ts::DType d : {ts::f32, ts::f64, ts::bf16, ts::f16}) {
      ts::ProgramPtr p = unary_program(f, {d, {static_cast<std::int64_t>(special.size())}});
      ts::HostArray x(d, {static_cast<std::int64_t>(special.size())});
      ts::dispatch(d, [&](auto tag) {
        using T = decltype(tag);
        if constexpr (std::is_floating_point_v<T> || std::is_same_v<T, ts::float16_t> ||
                      std::is_same_v<T, ts::bfloat16_t>)
          for (std::size_t i = 0; i < special.size(); ++i) x.data<T>()[i] = T(special[i]);
      });
      SCOPED_TRACE(p->equations[0].op->name + " " + std::string(ts::name_of(d)));
      run::check(p, {{x}}, 4);
    }
  }
}

TEST(Kernel, HyperbolicFunctionsReachTheEndOfTheRange) {
  for (auto f : {ops::sinh, ops::cosh, ops::asinh, ops::acosh}) {
    ts::ProgramPtr p = unary_program(f, {ts::f64, {6}});
    ts::HostArray x(ts::f64, {6});
    std::copy_n(std::initializer_list<double>{709.9, -710.4, 711.0, 1e200, -1e300, 701.5}.begin(),
                6, x.data<double>());
    run::check(p, {{x}}, 4);
  }
}

TEST(Kernel, Conversions) {
  for (int from = 0; from < ts::kDTypeCount; ++from)
    for (int to = 0; to < ts::kDTypeCount; ++to) {
      auto a = static_cast<ts::DType>(from), b = static_cast<ts::DType>(to);
      if (ts::is_complex(a) && !ts::is_complex(b) && b != ts::bool_)
        continue;  // such a conversion is refused
      ts::ProgramPtr p = unary_program([&](ts::Value x) { return ops::convert(x, b); }, {a, {40}});
      std::mt19937_64 rng(3);
      ts::HostArray x = run::random_array({a, {40}}, rng, -300, 300, -100000, 100000);
      SCOPED_TRACE(std::string(ts::name_of(a)) + " to " + std::string(ts::name_of(b)));
      run::check(p, {{x}});
    }
}
