// Products that read operands through conversions, repetitions, transposes and slices: against the
// program without the pass, to the bit, and against the evaluators.
#include "codegen/kernel/isa.h"
#include "codegen/kernel/operand_view.h"
#include "codegen/tape/planner.h"
#include "ops/build.h"
#include "random/check_program.h"
#include "random/on_devices.h"
#include "random/shrink.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <map>
#include <string>
#include <vector>

using namespace tessera;

namespace {

HostArray numbers(const Type& type, int seed) {
  HostArray a(type.dtype, type.shape);
  for (std::int64_t i = 0; i < a.count(); ++i) {
    const auto value = static_cast<double>((i * 37 + seed * 13 + i / 5) % 113 - 56);
    dispatch(type.dtype, [&](auto tag) {
      using T = decltype(tag);
      // Sums of thirds round at every step.
      if constexpr (std::is_integral_v<T>)
        a.data<T>()[i] = static_cast<T>(value);
      else if constexpr (!is_complex_v<T>)
        a.data<T>()[i] = static_cast<T>(static_cast<float>(value / 3));
    });
  }
  return a;
}

walk::Arrays inputs_of(const Program& p) {
  walk::Arrays inputs;
  for (std::size_t i = 0; i < p.inputs.size(); ++i)
    inputs.push_back(numbers(p.type(p.inputs[i]), static_cast<int>(i)));
  return inputs;
}

std::string planned(const ProgramPtr& p) { return to_string(*tape::make_tape(*p, {})); }

std::shared_ptr<const runtime::TapeExecutable> executable(const ProgramPtr& p) {
  return std::make_shared<const runtime::TapeExecutable>(p, runtime::CompileOptions{},
                                                         tape::Apart{}, false);
}

/// Whether the program has the same bits as without the pass.
std::string difference_to_stored(const ProgramPtr& p) {
  const walk::Arrays inputs = inputs_of(*p), with = check::compiled(*executable(p), inputs);
  const check::Setting off("TESSERA_DISABLE_PASSES", "operands");
  return check::compare_bits(with, check::compiled(*executable(p), inputs), "operands");
}

/// A value of the type, which is made of an argument in a drawn number of ways.
Value drawn_operand(Builder& b, walk::Dice& dice, const Type& type) {
  static const std::map<DType, std::vector<DType>> narrower = {
      {DType::float64,
       {DType::float32, DType::bfloat16, DType::float16, DType::int8, DType::int32}},
      {DType::float32,
       {DType::int8, DType::bfloat16, DType::float16, DType::uint8, DType::int16, DType::uint16}},
      {DType::bfloat16, {DType::int8, DType::uint8}},
      {DType::int32, {DType::int8, DType::uint8, DType::int16, DType::uint16}},
      {DType::int16, {DType::int8}}};
  const Shape& shape = type.shape;
  if (dice.ended() || dice.once_in(4)) return b.input(type);
  const bool converts = dice.toss();
  switch (dice.below(6)) {
    case 0: {  // a permutation
      const Ints order = dice.permutation(shape.rank());
      Shape from = shape;
      for (std::size_t d = 0; d < order.size(); ++d)
        from[static_cast<std::size_t>(order[d])] = shape[d];
      return ops::transpose(drawn_operand(b, dice, Type(type.dtype, from)), order);
    }
    case 1: {  // a dimension that is repeated
      const std::int64_t d = dice.below(shape.rank());
      Shape from = shape;
      from[static_cast<std::size_t>(d)] = 1;
      Ints dims(shape.size());
      for (std::size_t i = 0; i < dims.size(); ++i) dims[i] = static_cast<std::int64_t>(i);
      return ops::broadcast_in_dim(drawn_operand(b, dice, Type(type.dtype, from)),
                                   shape.to_vector(), dims);
    }
    case 2: {  // groups of a dimension that are repeated
      const auto d = static_cast<std::size_t>(dice.below(shape.rank()));
      const std::int64_t each = shape[d] % 3 == 0 ? 3 : shape[d] % 2 == 0 ? 2 : 1;
      Shape from = shape;
      from[d] /= each;
      Shape middle;
      Ints dims;
      for (std::size_t i = 0; i < shape.size(); ++i) {
        dims.push_back(static_cast<std::int64_t>(middle.size()));
        middle.push_back(from[i]);
        if (i == d) middle.push_back(each);
      }
      const Value few = drawn_operand(b, dice, Type(type.dtype, from));
      return ops::reshape(ops::broadcast_in_dim(few, middle.to_vector(), dims), shape);
    }
    case 3: {  // a part
      Shape from = shape;
      Ints start(shape.size()), limit(shape.size()), strides(shape.size(), 1);
      for (std::size_t i = 0; i < shape.size(); ++i) {
        start[i] = dice.below(3);
        limit[i] = start[i] + shape[i];
        from[i] = limit[i] + dice.below(3);
      }
      return ops::slice(drawn_operand(b, dice, Type(type.dtype, from)), start, limit, strides);
    }
    case 4:  // what a kernel computes
      return ops::neg(drawn_operand(b, dice, type));
    default: break;
  }
  const auto types = narrower.find(type.dtype);
  if (!converts || types == narrower.end()) return b.input(type);
  return ops::convert(drawn_operand(b, dice, Type(dice.of(types->second), shape)), type.dtype);
}

ProgramPtr drawn(walk::Dice& dice) {
  const DType dtype =
                  dice.of(std::vector{DType::float32, DType::float32, DType::float32,
                                      DType::float64, DType::bfloat16, DType::int32, DType::int16}),
              result = dtype == DType::bfloat16 ? DType::float32
                       : dtype == DType::int16  ? DType::int32
                                                : dtype;
  const std::int64_t batch = dice.of(walk::Ints{1, 1, 2, 6, 12}),
                     m = dice.of(walk::Ints{1, 2, 3, 5, 8, 16, 40}),
                     n = dice.of(walk::Ints{64, 1, 6, 33, 130, 256}),
                     k = dice.of(walk::Ints{64, 32, 33, 17, 100, 520});
  Builder b("operands");
  const bool batched = batch > 1;
  // The dimensions of each operand in a drawn order.
  const auto side = [&](const Shape& extents, Ints& order) {
    order = dice.permutation(extents.rank());
    Shape shape = extents;
    for (std::size_t d = 0; d < order.size(); ++d)
      shape[static_cast<std::size_t>(order[d])] = extents[d];
    return shape;
  };
  Ints left, right;
  const Shape l = side(batched ? Shape{m, k, batch} : Shape{m, k}, left),
              r = side(batched ? Shape{n, k, batch} : Shape{n, k}, right);
  ops::DotDims dims;
  dims.lhs_contracting = {left[1]};
  dims.rhs_contracting = {right[1]};
  if (batched) dims.lhs_batch = {left[2]}, dims.rhs_batch = {right[2]};
  const Value x = drawn_operand(b, dice, Type(dtype, l)),
              y = drawn_operand(b, dice, Type(dtype, r));
  Values results{ops::dot_general(x, y, dims, result)};
  if (dice.once_in(5)) results.push_back(y);
  if (dice.once_in(5)) results.push_back(ops::add(x, x));
  return b.finish(results);
}

/// x @ the weight as float32, whose columns or rows are adjacent.
ProgramPtr weights(DType dtype, std::int64_t m, std::int64_t k, std::int64_t n, bool tied) {
  Builder b("weights");
  const Value x = b.input(Type(DType::float32, {m, k})),
              w = b.input(Type(dtype, tied ? Shape{n, k} : Shape{k, n}));
  ops::DotDims dims;
  dims.lhs_contracting = {1}, dims.rhs_contracting = {tied ? 1 : 0};
  return b.finish(Values{ops::dot_general(x, ops::convert(w, DType::float32), dims)});
}

bool has(const std::string& text, const char* part) { return text.find(part) != std::string::npos; }

}  // namespace

TEST(Operands, ViewsKeepTheBitsOfStoredOperands) {
  int read = 0;
  check::check_many(300, 60, [&](const walk::Tape& tape) {
    walk::Dice dice(tape);
    const ProgramPtr p = drawn(dice);
    read += has(planned(p), "+dot_general");
    return difference_to_stored(p);
  });
  EXPECT_GE(read, 60);
}

// Alone, and as the body of a map over devices.
TEST(Operands, ProgramsGiveWhatTheirEquationsGive) {
  check::check_many(40, 60, [&](const walk::Tape& tape) {
    walk::Dice dice(tape);
    const ProgramPtr p = drawn(dice);
    const walk::Arrays inputs = inputs_of(*p);
    const auto choice = static_cast<std::uint64_t>(dice.below(1 << 12));
    const std::string wrong = check::problem(p, inputs, choice);
    return wrong.empty() ? check::problem_on_devices(p, inputs, choice) : wrong;
  });
}

TEST(Operands, NarrowWeightsAreNotStoredWide) {
  for (const DType dtype :
       {DType::int8, DType::uint8, DType::int16, DType::bfloat16, DType::float16})
    for (const std::int64_t m : {1, 3, 7, 8, 40})
      for (const bool tied : {false, true}) {
        const ProgramPtr p = weights(dtype, m, 300, 700, tied);
        if (dtype != DType::float16 || codegen::host_isa().avx2) {
          EXPECT_TRUE(has(planned(p), "convert+dot_general")) << planned(p);
        }
        EXPECT_EQ(difference_to_stored(p), "") << m << " " << tied;
      }
}

// Sixteen queries, four heads of keys: each is read four times and stored once.
TEST(Operands, RepeatedHeadsAreReadInPlace) {
  Builder b("grouped");
  const std::int64_t batch = 2, length = 200, heads = 16, groups = 4, width = 64;
  const Value q = b.input(Type(DType::float32, {batch, 1, heads, width})),
              k = b.input(Type(DType::float32, {batch, length, groups, width}));
  const Value wide = ops::reshape(
      ops::broadcast_in_dim(k, {batch, length, groups, heads / groups, width}, {0, 1, 2, 4}),
      {batch, length, heads, width});
  const ProgramPtr p = b.finish(Values{ops::dot_general(q, wide, {{3}, {3}, {0, 2}, {0, 2}})});
  EXPECT_TRUE(has(planned(p), "broadcast_in_dim+reshape+dot_general")) << planned(p);
  EXPECT_EQ(difference_to_stored(p), "");
  EXPECT_EQ(tape::make_tape(*p, {})->temporaries, 0);
}

// One to seven rows with lines of adjacent steps have another order of sums than those without.
TEST(Operands, TransposesThatWouldChangeTheOrderOfSumsAreStored) {
  for (const std::int64_t m : {4, 12}) {
    Builder b("turned");
    const Value x = b.input(Type(DType::float32, {m, 600})),
                w = b.input(Type(DType::float32, {600, 400}));
    const ProgramPtr p =
        b.finish(Values{ops::dot_general(x, ops::transpose(w, {1, 0}), {{1}, {1}, {}, {}})});
    EXPECT_EQ(has(planned(p), "transpose+dot_general"), m > 7) << planned(p);
    EXPECT_EQ(difference_to_stored(p), "");
  }
}

// What the program still reads stays.
TEST(Operands, OperandsThatAreResultsAreStored) {
  Builder b("kept");
  const Value x = b.input(Type(DType::float32, {1, 64})), w = b.input(Type(DType::int8, {64, 96})),
              wide = ops::convert(w, DType::float32);
  const ProgramPtr p = b.finish(Values{wide, ops::dot_general(x, wide, {{1}, {0}, {}, {}})});
  EXPECT_EQ(difference_to_stored(p), "");
}

TEST(Operands, ViewsOfPrograms) {
  using Parts = std::vector<codegen::OperandView::Part>;
  const auto view = [](auto f, const Type& t) {
    Builder b;
    return codegen::view_of(*b.finish(Values{f(b.input(t))}));
  };
  const auto groups = view(
      [](Value x) {
        return ops::reshape(ops::broadcast_in_dim(x, {5, 2, 3, 4}, {0, 1, 3}), {5, 6, 4});
      },
      Type(DType::float32, {5, 2, 4}));
  ASSERT_TRUE(groups);
  EXPECT_EQ(groups->dims, (std::vector<Parts>{{{5, 8}}, {{2, 4}, {3, 0}}, {{4, 1}}}));
  const auto part = view(
      [](Value x) {
        return ops::transpose(ops::slice(ops::convert(x, DType::float32), {1, 2}, {3, 8}, {1, 2}),
                              {1, 0});
      },
      Type(DType::int8, {4, 10}));
  ASSERT_TRUE(part);
  EXPECT_EQ(part->dtype, DType::int8);
  EXPECT_EQ(part->first, 12);
  EXPECT_EQ(part->dims, (std::vector<Parts>{{{3, 2}}, {{2, 10}}}));
  // Rounding, arithmetic, other values and dimensions that are cut anew.
  const Type t(DType::float32, {6, 4});
  EXPECT_FALSE(view(
      [](Value x) { return ops::convert(ops::convert(x, DType::bfloat16), DType::float32); }, t));
  EXPECT_FALSE(view([](Value x) { return ops::neg(x); }, t));
  EXPECT_FALSE(view([](Value x) { return ops::reverse(x, {0}); }, t));
  EXPECT_FALSE(view([](Value x) { return ops::reshape(ops::transpose(x, {1, 0}), {3, 8}); }, t));
}
