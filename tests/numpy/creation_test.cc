// Creation refuses what cannot be an array.
#include <tessera/creation.h>

#include <gtest/gtest.h>

namespace ts = tessera;

TEST(Creation, ArangeIsBounded) {
  try {
    ts::arange(1e30);
    FAIL() << "it was accepted";
  } catch (const ts::ShapeError& e) {
    EXPECT_STREQ(e.what(),
                 "arange: arange(0.000000, 1000000000000000019884624838656.000000, 1.000000) has "
                 "1000000000000000019884624838656.000000 values\n"
                 "  rule: an array has at most 2^50 elements\n"
                 "  try: use a larger step");
  }
  EXPECT_EQ(ts::arange(5, 2).shape(), ts::Shape{0});
  EXPECT_EQ(ts::arange(0, 10, 3).to_vector<int>(), (std::vector<int>{0, 3, 6, 9}));
}
