// The bounds in docs/accuracy.md hold for functions of complex numbers, which also have the values
// that C99 requires at infinities, NaN, zeros and branch points.
#include "measure.h"
#include "published.h"

namespace {

class ComplexAccuracy : public testing::TestWithParam<std::size_t> {};

TEST_P(ComplexAccuracy, KeepsThePublishedBounds) {
  const accuracy::OfComplex& f = accuracy::complex_functions()[GetParam()];
  static const auto bounds = accuracy::published(accuracy::kComplexTable, 6);
  ASSERT_TRUE(bounds.contains(f.name)) << f.name << " is not in docs/accuracy.md";
  const double* bound = bounds.at(f.name).data();
  for (accuracy::DType d : accuracy::kComplexDTypes) {
    const accuracy::WorstParts w = accuracy::measure(f, d);
    EXPECT_LE(w.real, *bound++) << name_of(d) << ", real part " << w.real_at;
    EXPECT_LE(w.imag, *bound++) << name_of(d) << ", imaginary part " << w.imag_at;
    EXPECT_LE(w.whole, *bound++) << name_of(d) << ", either part " << w.whole_at;
  }
}

INSTANTIATE_TEST_SUITE_P(Functions, ComplexAccuracy,
                         testing::Range(std::size_t{0}, accuracy::complex_functions().size()),
                         [](const testing::TestParamInfo<std::size_t>& info) {
                           return accuracy::complex_functions()[info.param].name;
                         });

// This covers the functions that C99 defines.
TEST(ComplexEnds, AreThoseOfC99) {
  int defined = 0;
  for (const accuracy::OfComplex& f : accuracy::complex_functions()) {
    if (!accuracy::has_stored("", f.name + "/special/in0")) continue;
    ++defined;
    for (accuracy::DType d : accuracy::kComplexDTypes)
      for (const std::string& problem : accuracy::wrong_specials(f, d))
        ADD_FAILURE() << f.name << " of " << name_of(d) << " " << problem;
  }
  EXPECT_EQ(defined, 15);
}

}  // namespace
