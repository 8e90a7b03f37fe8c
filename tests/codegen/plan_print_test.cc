// What the dump of a kernel's loops says.
#include "codegen/kernel/plan_print.h"
#include "ir/builder.h"
#include "ops/build.h"

#include <gtest/gtest.h>

using namespace tessera;

namespace {

std::string loops(const std::vector<Type>& inputs,
                  const std::function<Values(const Values&)>& f, bool any_length = false) {
  Builder b("kernel");
  Values in;
  for (const Type& t : inputs) in.push_back(b.input(t));
  ProgramPtr p = b.finish(f(in));
  return codegen::to_string(*p, codegen::make_plan(*p, any_length));
}

const Type kMatrix(DType::float32, {64, 1000});

}  // namespace

TEST(PlanPrint, ElementwiseLoopsBecomeOne) {
  EXPECT_EQ(loops({kMatrix, Type(DType::float32, {1000})},
                  [](const Values& in) {
                    return Values{ops::exp(
                        ops::add(in[0], ops::broadcast_in_dim(in[1], {64, 1000}, {1})))};
                  }),
            R"()");
}

TEST(PlanPrint, OneLoopOfAnyLength) {
  EXPECT_EQ(loops({Type(DType::float32, {std::int64_t{1} << 40})},
                  [](const Values& in) { return Values{ops::mul(in[0], in[0])}; }, true),
            R"()");
}

TEST(PlanPrint, RowsOfASoftmax) {
  EXPECT_EQ(loops({kMatrix},
                  [](const Values& in) {
                    auto wide = [](Value x) { return ops::broadcast_in_dim(x, {64, 1000}, {0}); };
                    Value e = ops::exp(ops::sub(in[0], wide(ops::reduce_max(in[0], {1}))));
                    Value sum = ops::reduce_sum(e, {1});
                    return Values{ops::div(e, wide(sum)), sum};
                  }),
            R"()");
}

TEST(PlanPrint, LongReductionsInChunks) {
  EXPECT_EQ(loops({Type(DType::float32, {100000})},
                  [](const Values& in) {
                    return Values{ops::reduce_sum(ops::mul(in[0], in[0]), {0})};
                  }),
            R"()");
}

TEST(PlanPrint, TilesOfATransposition) {
  EXPECT_EQ(loops({kMatrix}, [](const Values& in) { return Values{ops::transpose(in[0], {1, 0})}; })
                .substr(0, 100),
            R"()");
}

TEST(PlanPrint, PositionsOutOfData) {
  EXPECT_EQ(loops({kMatrix, Type(DType::int32, {}), Type(DType::int32, {})},
                  [](const Values& in) {
                    return Values{ops::dynamic_slice(in[0], {{in[1], in[2]}}, {4, 1000})};
                  }),
            R"()");
}
