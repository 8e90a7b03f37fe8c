// Arguments that creation functions refuse, and their values at the edges.
#include <tessera/creation.h>
#include <tessera/elementwise.h>
#include <tessera/jit.h>

#include "message.h"

#include <gtest/gtest.h>

#include <cmath>

namespace ts = tessera;

TEST(Creation, ArangeIsBounded) {
  EXPECT_EQ(test::message<ts::ShapeError>([] { ts::arange(1e30); }),
            "arange: arange(0, 1e+30, 1) has 1e+30 values\n"
            "  rule: an array has at most 2^50 elements\n"
            "  try: use a larger step");
  EXPECT_EQ(ts::arange(5, 2).shape(), ts::Shape{0});
  EXPECT_EQ(ts::arange(0, 10, 3).to_vector<int>(), (std::vector<int>{0, 3, 6, 9}));
}

// JAX 0.10.2's values: a single value is the start, and the last of several is the stop, whatever
// the other bound is.
TEST(Creation, LinspaceOfBoundsThatAreNotFinite) {
  constexpr double kNan = NAN, kInf = INFINITY;
  struct Row {
    double start, stop;
    std::int64_t num;
    bool endpoint;
    std::vector<double> values;
  };
  const std::vector<Row> rows{
      {0, kNan, 1, true, {0}},
      {0, kNan, 1, false, {0}},
      {0, kNan, 2, true, {kNan, kNan}},
      {0, kNan, 2, false, {kNan, kNan}},
      {0, kNan, 4, true, {kNan, kNan, kNan, kNan}},
      {0, kNan, 4, false, {kNan, kNan, kNan, kNan}},
      {kNan, 1, 1, true, {kNan}},
      {kNan, 1, 1, false, {kNan}},
      {kNan, 1, 2, true, {kNan, 1}},
      {kNan, 1, 2, false, {kNan, kNan}},
      {kNan, 1, 4, true, {kNan, kNan, kNan, 1}},
      {kNan, 1, 4, false, {kNan, kNan, kNan, kNan}},
      {kNan, kNan, 1, true, {kNan}},
      {kNan, kNan, 1, false, {kNan}},
      {kNan, kNan, 2, true, {kNan, kNan}},
      {kNan, kNan, 2, false, {kNan, kNan}},
      {kNan, kNan, 4, true, {kNan, kNan, kNan, kNan}},
      {kNan, kNan, 4, false, {kNan, kNan, kNan, kNan}},
      {0, kInf, 1, true, {0}},
      {0, kInf, 1, false, {0}},
      {0, kInf, 2, true, {kNan, kInf}},
      {0, kInf, 2, false, {kNan, kInf}},
      {0, kInf, 4, true, {kNan, kInf, kInf, kInf}},
      {0, kInf, 4, false, {kNan, kInf, kInf, kInf}},
      {-kInf, 1, 1, true, {-kInf}},
      {-kInf, 1, 1, false, {-kInf}},
      {-kInf, 1, 2, true, {-kInf, 1}},
      {-kInf, 1, 2, false, {-kInf, -kInf}},
      {-kInf, 1, 4, true, {-kInf, -kInf, -kInf, 1}},
      {-kInf, 1, 4, false, {-kInf, -kInf, -kInf, -kInf}},
      {kInf, kInf, 1, true, {kInf}},
      {kInf, kInf, 1, false, {kInf}},
      {kInf, kInf, 2, true, {kNan, kInf}},
      {kInf, kInf, 2, false, {kNan, kInf}},
      {kInf, kInf, 4, true, {kNan, kInf, kInf, kInf}},
      {kInf, kInf, 4, false, {kNan, kInf, kInf, kInf}},
      {-kInf, kInf, 1, true, {-kInf}},
      {-kInf, kInf, 1, false, {-kInf}},
      {-kInf, kInf, 2, true, {kNan, kInf}},
      {-kInf, kInf, 2, false, {kNan, kNan}},
      {-kInf, kInf, 4, true, {kNan, kNan, kNan, kInf}},
      {-kInf, kInf, 4, false, {kNan, kNan, kNan, kNan}},
  };
  for (const Row& r : rows)
    for (const ts::DType d : {ts::f64, ts::f32}) {
      const auto make = [&] {
        return ts::linspace(r.start, r.stop, r.num, r.endpoint, d).astype(ts::f64);
      };
      for (const ts::Array& x : {make(), ts::jit(make)()}) {
        const std::vector<double> got = x.to_vector<double>();
        ASSERT_EQ(got.size(), r.values.size());
        for (std::size_t i = 0; i < got.size(); ++i)
          EXPECT_TRUE(got[i] == r.values[i] || (std::isnan(got[i]) && std::isnan(r.values[i])))
              << "linspace(" << r.start << ", " << r.stop << ", " << r.num << ", " << r.endpoint
              << ", " << d << ")[" << i << "] is " << got[i] << ", expected " << r.values[i];
      }
    }
  EXPECT_THROW(ts::linspace(0, kNan, 3, true, ts::i32), ts::DTypeError);
}
