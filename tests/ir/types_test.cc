#include "ir/builder.h"
#include "ir/op.h"

#include <gtest/gtest.h>

namespace ts = tessera;

TEST(Types, Print) {
  EXPECT_EQ(ts::to_string(ts::Type(ts::f32, {8, 16})), "f32[8,16]");
  EXPECT_EQ(ts::to_string(ts::Type(ts::i32, {}, true)), "i32[]*");
}

TEST(Promotion, KeepsTheStrongerDtype) {
  EXPECT_EQ(ts::promote(ts::i32, false, ts::f32, true), (ts::Promoted{ts::f32, true}));
  EXPECT_EQ(ts::promote(ts::bf16, false, ts::f16, false), (ts::Promoted{ts::f32, false}));
  EXPECT_EQ(ts::promote(ts::u64, false, ts::i8, false), (ts::Promoted{ts::f64, false}));
  EXPECT_EQ(ts::promote(ts::bool_, false, ts::i32, true), (ts::Promoted{ts::i32, true}));
}
