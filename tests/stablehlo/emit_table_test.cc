// The table that says how each op is written as StableHLO is complete.
#include "ir/op.h"
#include "stablehlo/emit/emission.h"

#include <gtest/gtest.h>

namespace ts = tessera;

namespace {

TEST(EmitTable, HasEveryOpOnce) {
  std::size_t written = 0;
  for (const auto& op : ts::Registry::get().all()) {
    const ts::stablehlo::Emission* emission = ts::stablehlo::emission_of(*op);
    if (!emission) {  // it is written as the ops that it consists of
      EXPECT_EQ(op->lowering, ts::Lowering::expanded) << op->name;
      continue;
    }
    ++written;
    // There is a way to write it, or a reason why there is none.
    EXPECT_NE(emission->plain || emission->decomposed, emission->never != nullptr) << op->name;
    // With both ways, a condition chooses between them.
    EXPECT_EQ(emission->plain && emission->decomposed, emission->composite != nullptr) << op->name;
  }
  EXPECT_GT(written, 150u);
}

}  // namespace
