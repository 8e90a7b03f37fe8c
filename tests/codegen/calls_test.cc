// Library routines against the evaluators. Data are small integers, so that every order of
// summation gives the same bits.
#include "codegen/calls/internal.h"
#include "codegen/matrix/terms.h"
#include "ops/contraction/conv_dims.h"
#include "ops/contraction/dot_dims.h"
#include "ops/op_check.h"

#include <dlfcn.h>

#include <cmath>
#include <numeric>
#include <random>
#include <thread>

namespace tessera::testing {
namespace {

using ops::conv_attrs;
using ops::ConvDims;
using ops::dot_attrs;
using ops::DotDims;

enum class How { at_once, one_by_one_backwards, on_two_threads };

std::vector<HostArray> execute(const Routine& r, const std::vector<HostArray>& inputs,
                               const std::vector<Type>& outputs, How how) {
  std::vector<HostArray> out;
  std::vector<const void*> in;
  std::vector<void*> to;
  for (const HostArray& a : inputs) in.push_back(a.bytes);
  for (const Type& t : outputs) {
    out.emplace_back(t.dtype, t.shape);
    std::fill_n(out.back().bytes, out.back().size_bytes(), std::byte{0xff});
    to.push_back(out.back().bytes);
  }
  std::vector<std::byte> memory(r.scratch_bytes + 64, std::byte{0xff});
  void* scratch = memory.data() + (64 - reinterpret_cast<std::uintptr_t>(memory.data()) % 64);
  RoutineArgs args{in.data(), to.data(), scratch};
  for (const Stage& s : r.stages) {
    if (how == How::at_once) {
      s.run(args, 0, s.tasks);
    } else if (how == How::one_by_one_backwards) {
      for (std::int64_t t = s.tasks; t-- > 0;) s.run(args, t, t + 1);
    } else {
      std::thread other([&] { s.run(args, s.tasks / 2, s.tasks); });
      s.run(args, 0, s.tasks / 2);
      other.join();
    }
  }
  return out;
}

enum class By { library, loops };

/// Checks that the call agrees with the evaluator however its tasks are run; returns which
/// implementation was called.
By call(const std::string& name, const std::vector<HostArray>& inputs, const Attrs& attrs,
        bool check_loops = true) {
  const Op& op = Registry::get().at(name);
  std::vector<Type> types;
  for (const HostArray& a : inputs) types.emplace_back(a.dtype, a.shape);
  std::vector<Type> outputs = op.infer({op, types, attrs, {}});
  By by = codegen::library_call({op, attrs, types, outputs}) ? By::library : By::loops;
  if (by == By::loops && !check_loops) return by;
  auto routine = codegen::prepare_call(op, attrs, types, outputs);
  if (!routine) {
    ADD_FAILURE() << "nobody does " << name;
    return by;
  }
  HostArray expected = run_op(name, inputs, attrs);
  for (How how : {How::at_once, How::one_by_one_backwards, How::on_two_threads}) {
    HostArray got = execute(*routine, inputs, outputs, how).at(0);
    for (std::int64_t i = 0; i < got.count(); ++i)
      if (got.dtype == DType::complex64
              ? got.data<std::complex<float>>()[i] != expected.data<std::complex<float>>()[i]
              : got.number(i) != expected.number(i)) {
        ADD_FAILURE() << name << " of " << to_string(types[0]) << " and " << to_string(types[1])
                      << ", element " << i << ": " << got.number(i) << ", not "
                      << expected.number(i);
        return by;
      }
  }
  return by;
}

TEST(DotCall, RandomLayouts) {
  std::mt19937 random(7);
  auto below = [&](int n) {
    return static_cast<std::int64_t>(random() % static_cast<unsigned>(n));
  };
  for (int trial = 0; trial < 150; ++trial) {
    int batch = static_cast<int>(below(3)), contracting = static_cast<int>(below(3)),
        lhs_free = static_cast<int>(below(3)), rhs_free = static_cast<int>(below(3));
    auto deal = [&](int shared, int free, const Shape& shared_extents, Ints& b, Ints& c,
                    Shape& shape) {
      Ints where(static_cast<std::size_t>(shared + free));
      std::iota(where.begin(), where.end(), 0);
      if (trial % 3) std::shuffle(where.begin(), where.end(), random);
      shape = Shape(where);
      for (int i = 0; i < shared; ++i) {
        (i < batch ? b : c).push_back(where[i]);
        shape[where[i]] = shared_extents[i];
      }
      for (int i = shared; i < shared + free; ++i) shape[where[i]] = 1 + below(6);
    };
    Shape shared, l, r;
    for (int i = 0; i < batch + contracting; ++i) shared.push_back(1 + below(5));
    DotDims d;
    deal(batch + contracting, lhs_free, shared, d.lhs_batch, d.lhs_contracting, l);
    deal(batch + contracting, rhs_free, shared, d.rhs_batch, d.rhs_contracting, r);
    for (DType t : {f32, f64, bf16, f16, i8, u8, i16, u16, i32, i64, c64})
      call("dot_general", {integers(Type(t, l), trial), integers(Type(t, r), trial + 1)},
           dot_attrs(d, t), false);
    for (DType t : {i8, u8, i16})
      call("dot_general", {integers(Type(t, l), trial), integers(Type(t, r), trial + 1)},
           dot_attrs(d, i32), false);
    call("dot_general", {integers(Type(bf16, l), trial), integers(Type(bf16, r), trial + 1)},
         dot_attrs(d, f32), false);
  }
}

// In attention the heads are between time and features, and there are more matrices than one task
// takes.
TEST(DotCall, BatchesOfSmallMatrices) {
  DotDims scores{{3}, {3}, {0, 2}, {0, 2}}, values{{3}, {1}, {0, 1}, {0, 2}},
      gradient{{2}, {1}, {0, 1}, {0, 2}};
  HostArray q = integers(Type(f32, {3, 32, 4, 16}), 1), k = integers(Type(f32, {3, 32, 4, 16}), 2),
            s = integers(Type(f32, {3, 4, 32, 32}), 3);
  for (DType t : {f32, bf16}) {
    auto as = [&](const HostArray& a) {
      return run({a}, [&](Builder&, const Values& in) { return Values{ops::convert(in[0], t)}; })
          .at(0);
    };
    EXPECT_EQ(By::library, call("dot_general", {as(q), as(k)}, dot_attrs(scores, t)));
    EXPECT_EQ(By::library, call("dot_general", {as(s), as(k)}, dot_attrs(values, t)));
    EXPECT_EQ(By::library, call("dot_general", {as(s), as(k)}, dot_attrs(gradient, t)));
  }
  EXPECT_EQ(By::library, call("dot_general",
                              {integers(Type(f32, {2, 3, 4, 20, 17}), 1),
                               integers(Type(f32, {4, 17, 2, 18, 3}), 2)},
                              dot_attrs({{4}, {1}, {0, 1, 2}, {2, 4, 0}}, f32)));
  EXPECT_EQ(By::library,
            call("dot_general",
                 {integers(Type(f32, {600, 24, 30}), 1), integers(Type(f32, {600, 30, 26}), 2)},
                 dot_attrs({{2}, {1}, {0}, {0}}, f32)));
}

TEST(DotCall, LargeEnoughToBeCut) {
  for (const auto& [l, r, d] : std::vector<std::tuple<Shape, Shape, DotDims>>{
           {{330, 200}, {200, 210}, {{1}, {0}, {}, {}}},
           {{200, 100}, {410, 200}, {{0}, {1}, {}, {}}},
           {{700, 300}, {300, 810}, {{1}, {0}, {}, {}}},
           {{40, 50, 60}, {40, 60, 70}, {{2}, {1}, {0}, {0}}},
           {{2, 310, 200}, {2, 200, 310}, {{2}, {1}, {0}, {0}}}})
    for (auto [operand, result] : {std::pair{f32, f32},
                                   {bf16, bf16},
                                   {bf16, f32},
                                   {f16, f32},
                                   {i8, i32},
                                   {u8, u32},
                                   {i8, i8},
                                   {i32, i32},
                                   {c64, c64}})
      EXPECT_EQ(By::library,
                call("dot_general", {integers(Type(operand, l), 1), integers(Type(operand, r), 2)},
                     dot_attrs(d, result)));
}

// A few rows times weights, in either layout, as when a model writes one token after the other.
TEST(DotCall, FewRows) {
  for (std::int64_t m : {1, 2, 5, 7, 8})
    for (auto [operand, result] : {std::pair{f32, f32}, {bf16, bf16}, {i8, i32}, {i8, i8}})
      for (bool transposed : {false, true})
        EXPECT_EQ(By::library,
                  call("dot_general",
                       {integers(Type(operand, {m, 530}), 1),
                        integers(Type(operand, transposed ? Shape{70, 530} : Shape{530, 70}), 2)},
                       dot_attrs({{1}, {transposed ? 1 : 0}, {}, {}}, result)));
  // A matrix times a vector.
  for (auto [operand, result] : {std::pair{f32, f32}, {bf16, bf16}, {i8, i32}})
    EXPECT_EQ(By::library,
              call("dot_general",
                   {integers(Type(operand, {70, 530}), 1), integers(Type(operand, {530}), 2)},
                   dot_attrs({{1}, {0}, {}, {}}, result)));
}

// The lines of these operands are a multiple of half a page apart, so that the elements of a column
// map to a few lines of the first-level cache.
TEST(DotCall, OperandsWhoseLinesShareCacheSets) {
  for (const auto& [l, r, d] : std::vector<std::tuple<Shape, Shape, DotDims>>{
           {{150, 200}, {200, 1024}, {{1}, {0}, {}, {}}},
           {{200, 1024}, {200, 150}, {{0}, {0}, {}, {}}},
           {{200, 512}, {160, 200}, {{0}, {1}, {}, {}}},
           {{3, 200, 1024}, {3, 200, 1024}, {{1}, {1}, {0}, {0}}}})
    EXPECT_EQ(By::library,
              call("dot_general", {integers(Type(f32, l), 1), integers(Type(f32, r), 2)},
                   dot_attrs(d, f32)));
}

// Sums are rounded once, infinities and NaN are kept, and bfloat16 instructions flush subnormal
// numbers to zero.
TEST(DotCall, Bfloat16AtItsEdges) {
  const float infinity = std::numeric_limits<float>::infinity(), tiny = std::ldexp(1.0f, -130);
  const bool flushes =
      codegen::matrix::has_bfloat16_pairs() || codegen::matrix::unit_terms(bf16, f32);
  const std::vector<std::pair<float, float>> cases = {
      {infinity, infinity}, {tiny, flushes ? 0.0f : tiny}, {256.0f, 256.0f}};
  for (auto [x, expected] : cases) {
    HostArray a(bf16, {40, 40}), b(bf16, {40, 40});
    for (HostArray* zero : {&a, &b}) std::fill_n(zero->bytes, zero->size_bytes(), std::byte{0});
    for (int i = 0; i < 40; ++i) a.data<bfloat16_t>()[i * 40 + i] = bfloat16_t(x);
    for (int i = 0; i < 40; ++i) b.data<bfloat16_t>()[i * 40] = bfloat16_t(1.0f);
    const Attrs attrs = dot_attrs({{1}, {0}, {}, {}}, f32);
    const Op& op = Registry::get().at("dot_general");
    const std::vector<Type> in(2, Type(bf16, {40, 40})), out{Type(f32, {40, 40})};
    HostArray got =
        execute(*codegen::prepare_call(op, attrs, in, out), {a, b}, out, How::at_once)[0];
    EXPECT_EQ(got.data<float>()[0], expected);
    if (x == infinity)
      EXPECT_TRUE(std::isnan(got.data<float>()[1])) << "infinity times zero";
    else
      EXPECT_EQ(got.data<float>()[1], 0.0f);
  }
}

// Tasks run in any order, on any thread, with any OpenMP settings of the caller: rounded sums keep
// their bits.
TEST(Calls, BitsDoNotDependOnHowTasksRun) {
  auto uniform = [](const Type& t) {
    HostArray a(t.dtype, t.shape);
    std::mt19937 random(5);
    dispatch(t.dtype, [&](auto tag) {
      for (std::int64_t i = 0; i < a.count(); ++i)
        a.data<decltype(tag)>()[i] =
            static_cast<decltype(tag)>(std::uniform_real_distribution<float>(-1, 1)(random));
    });
    return a;
  };
  auto check = [&](const Equation& eqn, const Program& p) {
    std::vector<Type> in, out;
    std::vector<HostArray> arrays;
    for (Var v : eqn.inputs)
      arrays.push_back(uniform(in.emplace_back(p.type(v).dtype, p.type(v).shape)));
    for (Var v : eqn.outputs) out.emplace_back(p.type(v).dtype, p.type(v).shape);
    auto routine = codegen::library_call({*eqn.op, eqn.attrs, in, out});
    ASSERT_TRUE(routine);
    EXPECT_GT(std::max(routine->stages.front().tasks, routine->stages.back().tasks), 1)
        << eqn.op->name;
    HostArray first = execute(*routine, arrays, out, How::at_once).at(0);
    auto set_threads = reinterpret_cast<void (*)(int)>(dlsym(RTLD_DEFAULT, "omp_set_num_threads"));
    auto get_threads = reinterpret_cast<int (*)()>(dlsym(RTLD_DEFAULT, "omp_get_max_threads"));
    int before = get_threads ? get_threads() : 1;
    for (int threads : {1, 2, 5})
      for (How how : {How::at_once, How::one_by_one_backwards, How::on_two_threads}) {
        if (set_threads) set_threads(threads);
        HostArray again = execute(*routine, arrays, out, how).at(0);
        EXPECT_TRUE(std::equal(first.bytes, first.bytes + first.size_bytes(), again.bytes))
            << eqn.op->name << " with " << threads;
        EXPECT_EQ(get_threads ? get_threads() : threads, threads);
      }
    if (set_threads) set_threads(before);
  };
  Builder b;
  ops::dot_general(b.input(Type(f32, {300, 300})), b.input(Type(f32, {300, 320})),
                   {{1}, {0}, {}, {}});
  ops::dot_general(b.input(Type(bf16, {300, 300})), b.input(Type(bf16, {300, 320})),
                   {{1}, {0}, {}, {}});
  ops::dot_general(b.input(Type(f64, {300, 300})), b.input(Type(f64, {300, 320})),
                   {{1}, {0}, {}, {}});
  ConvDims d{.pad_low = {1, 1},
             .pad_high = {1, 1},
             .lhs_spec = {0, 3, 1, 2},
             .rhs_spec = {3, 2, 0, 1},
             .out_spec = {0, 3, 1, 2}};
  for (DType t : {f32, bf16}) {
    Value x = b.input(Type(t, {16, 12, 12, 32})), w = b.input(Type(t, {3, 3, 32, 32}));
    Value y = ops::convolution(x, w, d);
    ops::convolution_transpose_rhs(y, x, ops::conv_dims(conv_attrs(d)), w.type());
  }
  for (const Equation& eqn : b.so_far().equations) check(eqn, b.so_far());
}

// The row-wise conversions give the results of the scalar ones, for every float16 and around every
// rounding.
TEST(Calls, RowsNarrowAsScalarsDo) {
  std::vector<float16_t> halves(1 << 16);
  for (std::size_t i = 0; i < halves.size(); ++i) halves[i].bits = static_cast<std::uint16_t>(i);
  std::vector<float> wide(halves.size());
  codegen::widen_from(f16, halves.data(), wide.data(), static_cast<std::int64_t>(wide.size()));
  std::vector<float> numbers;
  for (std::size_t i = 0; i < wide.size(); ++i) {
    float expected = float(halves[i]);
    if (expected != expected) {
      EXPECT_TRUE(wide[i] != wide[i]);
      continue;
    }
    ASSERT_EQ(std::bit_cast<std::uint32_t>(wide[i]), std::bit_cast<std::uint32_t>(expected)) << i;
    for (float v : {expected, std::nextafter(expected, 1e9f), expected * (1 + 1.0f / 4096),
                    expected * (1 + 1.0f / 2048), expected * 1.00390625f})
      numbers.push_back(v);
  }
  std::vector<float16_t> narrow16(numbers.size());
  std::vector<bfloat16_t> narrow_b(numbers.size());
  codegen::narrow_to(f16, numbers.data(), narrow16.data(),
                     static_cast<std::int64_t>(numbers.size()));
  codegen::narrow_to(bf16, numbers.data(), narrow_b.data(),
                     static_cast<std::int64_t>(numbers.size()));
  for (std::size_t i = 0; i < numbers.size(); ++i) {
    ASSERT_EQ(narrow16[i].bits, float16_t(numbers[i]).bits) << numbers[i];
    ASSERT_EQ(narrow_b[i].bits, bfloat16_t(numbers[i]).bits) << numbers[i];
  }
}

TEST(DotCall, ManyTinyMatricesAreLoops) {
  EXPECT_EQ(
      By::loops,
      call("dot_general", {integers(Type(f32, {32, 3, 4}), 1), integers(Type(f32, {32, 4, 2}), 2)},
           dot_attrs({{2}, {1}, {0}, {0}}, f32)));
  EXPECT_EQ(By::loops,
            call("dot_general", {integers(Type(f32, {5000}), 1), integers(Type(f32, {5000}), 2)},
                 dot_attrs({{0}, {0}, {}, {}}, f32)));
}

TEST(DotCall, EmptyOperandsGiveZeros) {
  EXPECT_EQ(By::library, call("dot_general", {HostArray(f32, {2, 0}), HostArray(f32, {0, 3})},
                              dot_attrs({{1}, {0}, {}, {}}, f32)));
  EXPECT_EQ(By::library, call("dot_general", {HostArray(f32, {0, 2}), HostArray(f32, {2, 3})},
                              dot_attrs({{1}, {0}, {}, {}}, f32)));
}

TEST(Calls, TakeWhatNoLibraryTakesAsALoopNest) {
  EXPECT_EQ(call("dot_general", {integers(Type(i32, {2, 3}), 1), integers(Type(i32, {3, 2}), 2)},
                 dot_attrs({{1}, {0}, {}, {}}, i32)),
            By::loops);
  ConvDims d{.lhs_spec = {0, 2, 1}, .rhs_spec = {2, 1, 0}, .out_spec = {0, 2, 1}};
  EXPECT_EQ(
      call("convolution", {integers(Type(i32, {2, 6, 3}), 1), integers(Type(i32, {2, 3, 4}), 2)},
           conv_attrs(d)),
      By::loops);
}

TEST(Calls, ArePreparedOnce) {
  const Op& op = Registry::get().at("dot_general");
  Attrs attrs = dot_attrs({{1}, {0}, {}, {}}, f32);
  std::vector<Type> in{Type(f32, {2, 3}), Type(f32, {3, 4})},
      weak{Type(f32, {2, 3}, true), Type(f32, {3, 4})}, out{Type(f32, {2, 4})};
  EXPECT_EQ(codegen::prepare_call(op, attrs, in, out), codegen::prepare_call(op, attrs, weak, out));
  EXPECT_EQ(codegen::prepare_call(Registry::get().at("add"), {}, in, out), nullptr);
}

struct Layouts {
  Ints lhs, rhs, out;
};

Shape arranged(const Ints& spec, const Ints& extents) {
  Shape s(extents);
  for (std::size_t i = 0; i < spec.size(); ++i) s[spec[i]] = extents[i];
  return s;
}

/// Runs the convolution and both of its transposes; counts the calls that no library took.
int check_convolution(Shape l, Shape r, const ConvDims& d, DType t = f32) {
  int refused = By::loops == call("convolution", {integers(Type(t, l), 1), integers(Type(t, r), 2)},
                                  conv_attrs(d), false);
  Builder b;
  Value lhs = b.input(Type(t, l)), rhs = b.input(Type(t, r));
  Value out = ops::convolution(lhs, rhs, d);
  ConvDims full = ops::conv_dims(conv_attrs(d));
  ops::convolution_transpose_lhs(out, rhs, full, lhs.type());
  ops::convolution_transpose_rhs(out, lhs, full, rhs.type());
  for (std::size_t i = 1; i < b.so_far().equations.size(); ++i) {
    const Equation& eqn = b.so_far().equations[i];
    if (eqn.op->name == "convolution")
      refused += By::loops ==
                 call("convolution",
                      {integers(b.type(eqn.inputs[0]), 1), integers(b.type(eqn.inputs[1]), 2)},
                      eqn.attrs, false);
  }
  return refused;
}

TEST(ConvolutionCall, RandomGeometryInSeveralLayouts) {
  const std::vector<Layouts> layouts = {{{0, 3, 1, 2}, {3, 2, 0, 1}, {0, 3, 1, 2}},
                                        {{0, 1, 2, 3}, {0, 1, 2, 3}, {0, 1, 2, 3}},
                                        {{3, 0, 1, 2}, {1, 3, 0, 2}, {1, 0, 3, 2}}};
  std::mt19937 random(3);
  auto between = [&](int lo, int hi) {
    return lo + static_cast<std::int64_t>(random() % static_cast<unsigned>(hi - lo + 1));
  };
  int refused = 0, trials = 120;
  for (int trial = 0; trial < trials; ++trial) {
    const Layouts& layout = layouts[static_cast<std::size_t>(trial) % layouts.size()];
    std::int64_t groups = trial % 5 == 0 ? between(2, 3) : 1, in = between(1, 5),
                 out = groups * between(1, 4);
    if (trial % 7 == 0) in = 16, out = 16 * groups;
    Ints k{between(1, 3), between(1, 3)};
    ConvDims d{.strides = {between(1, 3), between(1, 2)},
               .pad_low = {between(-1, 2), between(0, 2)},
               .pad_high = {between(0, 2), between(-1, 3)},
               .rhs_dilation = {between(1, 2), 1},
               .lhs_spec = layout.lhs,
               .rhs_spec = layout.rhs,
               .out_spec = layout.out,
               .feature_groups = groups};
    Shape l = arranged(layout.lhs, {between(1, 6), in * groups, between(6, 9), between(6, 9)}),
          r = arranged(layout.rhs, {out, in, k[0], k[1]});
    refused += check_convolution(l, r, d);
    check_convolution(l, r, d, bf16);
  }
  // Only source gradients of cropped convolutions are refused.
  EXPECT_LT(refused, trials / 3);
}

TEST(ConvolutionCall, OneAndThreeAndNoSpatialDimensions) {
  ConvDims one{.strides = {2},
               .pad_low = {1},
               .pad_high = {1},
               .lhs_spec = {0, 2, 1},
               .rhs_spec = {2, 1, 0},
               .out_spec = {0, 2, 1}};
  EXPECT_EQ(check_convolution({3, 9, 4}, {3, 4, 5}, one), 0);
  ConvDims three{.strides = {1, 2, 1},
                 .lhs_spec = {0, 4, 1, 2, 3},
                 .rhs_spec = {4, 3, 0, 1, 2},
                 .out_spec = {0, 4, 1, 2, 3}};
  EXPECT_EQ(check_convolution({2, 4, 5, 4, 3}, {2, 2, 3, 3, 4}, three), 0);
  ConvDims none{.lhs_spec = {0, 1}, .rhs_spec = {1, 0}, .out_spec = {0, 1}};
  EXPECT_EQ(check_convolution({3, 4}, {4, 5}, none), 0);
}

// The kernel is as large as the image, as in a last layer, or the image is as small as the kernel.
TEST(ConvolutionCall, WindowsAsLargeAsTheOperand) {
  ConvDims valid{.lhs_spec = {0, 3, 1, 2}, .rhs_spec = {3, 2, 0, 1}, .out_spec = {0, 3, 1, 2}},
      same = valid;
  same.pad_low = same.pad_high = {1, 1};
  EXPECT_EQ(check_convolution({4, 5, 5, 16}, {5, 5, 16, 24}, valid), 0);
  EXPECT_EQ(check_convolution({4, 3, 3, 16}, {3, 3, 16, 8}, same), 0);
  EXPECT_EQ(check_convolution({4, 1, 1, 16}, {3, 3, 16, 8}, same), 0);
}

TEST(ConvolutionCall, NarrowFloatsRoundOnce) {
  ConvDims d{.strides = {2, 2},
             .pad_low = {1, 1},
             .pad_high = {1, 1},
             .lhs_spec = {0, 3, 1, 2},
             .rhs_spec = {3, 2, 0, 1},
             .out_spec = {0, 3, 1, 2}};
  EXPECT_EQ(check_convolution({2, 6, 6, 3}, {3, 3, 3, 4}, d, bf16), 0);
  EXPECT_EQ(check_convolution({2, 6, 6, 3}, {3, 3, 3, 4}, d, f16), 0);
}

TEST(ConvolutionCall, LargeEnoughToBeCut) {
  ConvDims d{.pad_low = {1, 1},
             .pad_high = {1, 1},
             .lhs_spec = {0, 3, 1, 2},
             .rhs_spec = {3, 2, 0, 1},
             .out_spec = {0, 3, 1, 2}};
  EXPECT_EQ(check_convolution({16, 10, 10, 32}, {3, 3, 32, 32}, d), 0);
  EXPECT_EQ(check_convolution({16, 10, 10, 32}, {3, 3, 32, 32}, d, bf16), 0);
}

// One image is divided into bands of rows; the first and the last band have padding.
TEST(ConvolutionCall, RowsOfOneImage) {
  const ConvDims plain{
      .lhs_spec = {0, 3, 1, 2}, .rhs_spec = {3, 2, 0, 1}, .out_spec = {0, 3, 1, 2}};
  ConvDims same = plain, strided = plain, dilated = plain;
  same.pad_low = same.pad_high = {1, 1};
  strided.strides = {2, 2};
  strided.pad_low = {0, 1}, strided.pad_high = {1, 0};
  dilated.rhs_dilation = {3, 2};
  dilated.pad_low = {3, 0}, dilated.pad_high = {2, 1};
  for (DType t : {f32, bf16})
    for (const ConvDims& d : {plain, same, strided, dilated}) {
      const std::int64_t n = d.strides.empty() ? 32 : 64;
      const std::vector<Type> in{Type(t, {1, 43, 40, n}), Type(t, {3, 3, n, n})};
      EXPECT_EQ(check_convolution(in[0].shape, in[1].shape, d, t), 0);
      const Op& op = Registry::get().at("convolution");
      const Attrs attrs = conv_attrs(d);
      const std::vector<Type> out = op.infer({op, in, attrs, {}});
      const auto routine = codegen::library_call({op, attrs, in, out});
      ASSERT_TRUE(routine);
      if (t == f32) {
        EXPECT_GE(routine->stages.back().tasks, 2);
      }
    }
  // Convolutions of one spatial dimension, whose rows are single points, and of three.
  ConvDims line{.pad_low = {2},
                .pad_high = {1},
                .lhs_spec = {0, 2, 1},
                .rhs_spec = {2, 1, 0},
                .out_spec = {0, 2, 1}},
      body{.pad_low = {1, 0, 1},
           .pad_high = {1, 1, 0},
           .lhs_spec = {0, 4, 1, 2, 3},
           .rhs_spec = {4, 3, 0, 1, 2},
           .out_spec = {0, 4, 1, 2, 3}};
  EXPECT_EQ(check_convolution({1, 1500, 48}, {4, 48, 48}, line), 0);
  EXPECT_EQ(check_convolution({1, 20, 9, 10, 32}, {3, 2, 2, 32, 32}, body), 0);
}

}  // namespace
}  // namespace tessera::testing
