// Creation refuses what cannot be an array.
#include <tessera/creation.h>

#include "message.h"

#include <gtest/gtest.h>

namespace ts = tessera;

TEST(Creation, ArangeIsBounded) {
  EXPECT_EQ(test::message<ts::ShapeError>([] { ts::arange(1e30); }),
            "arange: arange(0, 1e+30, 1) has 1e+30 values\n"
            "  rule: an array has at most 2^50 elements\n"
            "  try: use a larger step");
  EXPECT_EQ(ts::arange(5, 2).shape(), ts::Shape{0});
  EXPECT_EQ(ts::arange(0, 10, 3).to_vector<int>(), (std::vector<int>{0, 3, 6, 9}));
}
