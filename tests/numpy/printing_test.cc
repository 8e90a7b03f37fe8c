// Arrays print as NumPy prints them. The texts of printing_cases.inc come from NumPy
// (make_printing.py).
#include "only_cpu.h"

#include <tessera/creation.h>
#include <tessera/elementwise.h>
#include <tessera/jit.h>

#include <gtest/gtest.h>

#include <cmath>
#include <sstream>

namespace ts = tessera;
using ts::Array;

TEST(Printing, IsNumPys) {
  NEEDS_CPU(same_bits);
#define CASE(array_, text)                  \
  {                                         \
    SCOPED_TRACE(#array_);                  \
    EXPECT_EQ(ts::to_string(array_), text); \
  }
#include "numpy/printing_cases.inc"
#undef CASE
}

TEST(Printing, StreamsTheSameText) {
  std::ostringstream out;
  out << ts::array({1, 2}) << " " << ts::Shape{2, 3} << " " << Array(1.5);
  EXPECT_EQ(out.str(), "[1 2] (2, 3) 1.5");
}

TEST(Printing, SaysWhatHasNoValues) {
  EXPECT_EQ(ts::to_string(ts::abstract(ts::f32, {4, 2})), "Array(f32[4,2] abstract)");
  EXPECT_EQ(ts::to_string(Array()), "Array(empty)");
  std::string seen;
  ts::jit([&](Array x) {
    seen = ts::to_string(x);
    return x + 1;
  })(ts::array({1.0, 2.0}));
  EXPECT_EQ(seen, "Array(f32[2] traced)");
}
