// The dump of a kernel's loops.
#include "codegen/kernel/kernel_schedule_print.h"
#include "codegen/kernel/isa.h"
#include "ir/builder.h"
#include "ops/build.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>

using namespace tessera;

namespace {

std::string loops(const std::vector<Type>& inputs, const std::function<Values(const Values&)>& f,
                  bool any_length = false) {
  Builder b("kernel");
  Values in;
  for (const Type& t : inputs) in.push_back(b.input(t));
  ProgramPtr p = b.finish(f(in));
  return codegen::to_string(*p, codegen::schedule_kernel(*p, any_length));
}

const Type kMatrix(DType::float32, {64, 1000});

}  // namespace

TEST(PlanPrint, ElementwiseLoopsBecomeOne) {
  EXPECT_EQ(
      loops(
          {kMatrix, Type(DType::float32, {1000})},
          [](const Values& in) {
            return Values{ops::exp(ops::add(in[0], ops::broadcast_in_dim(in[1], {64, 1000}, {1})))};
          }),
      R"(inputs %0: f32[64,1000], %1: f32[1000]
outputs %4: f32[64,1000]
output 0 may lie in the memory of input 0
stage 0: outputs, 64 units in tasks of 11
parallel for d0 < 64
  for d1 < 1000, 16 lanes
    load %0[d0, d1]
    load %1[d1]
    %2[d0, d1] = broadcast_in_dim(%1[d1])
    %3[d0, d1] = add(%0[d0, d1], %2[d0, d1])
    %4[d0, d1] = exp(%3[d0, d1])
    store %4[d0, d1]
)");
}

TEST(PlanPrint, OneLoopOfAnyLength) {
  EXPECT_EQ(loops(
                {Type(DType::float32, {std::int64_t{1} << 40})},
                [](const Values& in) { return Values{ops::mul(in[0], in[0])}; }, true),
            R"(inputs %0: f32[n]
outputs %1: f32[n]
output 0 may lie in the memory of input 0
stage 0: outputs, units in tasks of 1
for d0 < n, in parallel blocks of 16384, 16 lanes
  load %0[d0]
  %1[d0] = mul(%0[d0])
  store %1[d0]
)");
}

TEST(PlanPrint, RowsOfASoftmax) {
  EXPECT_EQ(loops({kMatrix},
                  [](const Values& in) {
                    auto wide = [](Value x) { return ops::broadcast_in_dim(x, {64, 1000}, {0}); };
                    Value e = ops::exp(ops::sub(in[0], wide(ops::reduce_max(in[0], {1}))));
                    Value sum = ops::reduce_sum(e, {1});
                    return Values{ops::div(e, wide(sum)), sum};
                  }),
            R"(inputs %0: f32[64,1000]
outputs %7: f32[64,1000], %5: f32[64]
stage 0: outputs, 64 units in tasks of 6
parallel for d0 < 64
  for r1 < 1000, reduce_max by 64 lanes
    load %0[d0, r1]
  %1[d0] = reduce_max(%0[d0, r1])
  for k4 < 1000
    load %0[d0, k4]
    %2[d0, k4] = broadcast_in_dim(%1[d0])
    %3[d0, k4] = sub(%0[d0, k4], %2[d0, k4])
    %4[d0, k4] = exp(%3[d0, k4])
    keep %4[d0, k4] for the row
  for r5 < 1000, reduce_sum by 32 lanes
    load %4[d0, r5] from the row
  %5[d0] = reduce_sum(%4[d0, r5])
  store %5[d0]
  for d1 < 1000, 16 lanes
    load %4[d0, d1] from the row
    %6[d0, d1] = broadcast_in_dim(%5[d0])
    %7[d0, d1] = div(%4[d0, d1], %6[d0, d1])
    store %7[d0, d1]
)");
}

TEST(PlanPrint, RowsAreCutWhereTheirPiecesBegin) {
  EXPECT_EQ(
      loops({kMatrix},
            [](const Values& in) {
              return Values{ops::concatenate(Values{ops::slice(in[0], {0, 997}, {64, 1000}, {1, 1}),
                                                    ops::slice(in[0], {0, 0}, {64, 997}, {1, 1})},
                                             1)};
            }),
      R"(inputs %0: f32[64,1000]
outputs %3: f32[64,1000]
stage 0: outputs, 64 units in tasks of 16
parallel for d0 < 64
  for d1 < 1000, 16 lanes, cut at 3
    load %0[d0, d1 + -3]
    load %0[d0, d1 + 997]
    %1[d0, d1] = slice(%0[d0, d1 + 997])
    %2[d0, d1 + -3] = slice(%0[d0, d1 + -3])
    %3[d0, d1] = concatenate(%1[d0, d1], %2[d0, d1 + -3])
    store %3[d0, d1]
)");
}

TEST(PlanPrint, LongReductionsInChunks) {
  EXPECT_EQ(
      loops({Type(DType::float32, {100000})},
            [](const Values& in) { return Values{ops::reduce_sum(ops::mul(in[0], in[0]), {0})}; }),
      R"(inputs %0: f32[100000]
outputs %2: f32[]
scratch 64 bytes
stage 0: chunks of reductions, 7 units in tasks of 6
parallel for c < 7
  for r2 < 100000 in chunk c, reduce_sum by 32 lanes in 7 chunks
    load %0[r2]
    %1[r2] = mul(%0[r2])
  %2 = reduce_sum(%1[r2])
  store chunk c of %2 to scratch
stage 1: outputs, 1 unit in tasks of 1
load %2 from 7 chunks in scratch
store %2
)");
}

// Squares have as many elements as a register of the processor.
TEST(PlanPrint, TilesOfATransposition) {
  const int lanes = codegen::host_isa().math32;
  EXPECT_EQ(loops({kMatrix},
                  [](const Values& in) {
                    return Values{ops::transpose(in[0], {1, 0})};
                  }),
            fmt::format(R"(inputs %0: f32[64,1000]
outputs %1: f32[1000,64]
stage 0: outputs, {0} units in tasks of {1}
parallel for d0 < 1000, pieces of {2} that go innermost{3}
  for d1 < 64, {4} lanes
    load %0[d1, d0]
    %1[d0, d1] = transpose(%0[d1, d0])
    store %1[d0, d1]
)",
                        (1000 + std::max(8, lanes) - 1) / std::max(8, lanes),
                        16384 / (std::max(8, lanes) * 64), std::max(8, lanes),
                        lanes >= 8 ? ", transposed in registers" : "", lanes));
}

TEST(PlanPrint, PositionsOutOfData) {
  EXPECT_EQ(loops({kMatrix, Type(DType::int32, {}), Type(DType::int32, {})},
                  [](const Values& in) {
                    return Values{ops::dynamic_slice(in[0], {{in[1], in[2]}}, {4, 1000})};
                  }),
            R"(inputs %0: f32[64,1000], %1: i32[], %2: i32[]
outputs %3: f32[4,1000]
stage 0: outputs, 1 unit in tasks of 1
load %1
for (d0, d1) in 4 x 1000, 16 lanes
  load %0[d0 + x3.0, d1]
  %3[d0, d1] = dynamic_slice(%0[d0 + x3.0, d1], %1)
  store %3[d0, d1]
)");
}
