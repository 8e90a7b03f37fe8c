// The bounds in docs/accuracy.md hold for a sample of the operands that the command measured, with
// the vector instructions that TESSERA_ISA allows and in the evaluator.
#include "measure.h"
#include "published.h"

#include <cmath>

namespace {

using accuracy::DType;

// The bounds of each function, in the order of kDTypes.
const std::map<std::string, std::vector<double>>& bounds_of_real() {
  static const auto all =
      accuracy::published(accuracy::kRealTable, static_cast<int>(std::size(accuracy::kDTypes)));
  return all;
}

class Accuracy : public testing::TestWithParam<std::size_t> {};

TEST_P(Accuracy, KeepsThePublishedBounds) {
  const accuracy::Function& f = accuracy::functions()[GetParam()];
  const auto& bounds = bounds_of_real();
  ASSERT_TRUE(bounds.contains(f.name)) << f.name << " is not in docs/accuracy.md";
  for (std::size_t i = 0; i < std::size(accuracy::kDTypes); ++i) {
    const DType d = accuracy::kDTypes[i];
    EXPECT_TRUE(std::isfinite(bounds.at(f.name)[i])) << name_of(d) << ": that is no bound";
    const accuracy::Worst w = accuracy::measure(f, d, {40000, 100003});
    EXPECT_LE(w.ulps, bounds.at(f.name)[i]) << name_of(d) << " at x = " << w.x << ", y = " << w.y
                                            << ": " << w.got << " for " << w.exact;
  }
}

class StoredAccuracy : public testing::TestWithParam<std::size_t> {};

TEST_P(StoredAccuracy, KeepsThePublishedBounds) {
  const accuracy::Stored& f = accuracy::stored_functions()[GetParam()];
  const auto& bounds = bounds_of_real();
  ASSERT_TRUE(bounds.contains(f.name)) << f.name << " is not in docs/accuracy.md";
  for (std::size_t i = 0; i < std::size(accuracy::kDTypes); ++i) {
    const DType d = accuracy::kDTypes[i];
    EXPECT_TRUE(std::isfinite(bounds.at(f.name)[i])) << name_of(d) << ": that is no bound";
    const accuracy::Worst w = accuracy::measure(f, d);
    EXPECT_LE(w.ulps, bounds.at(f.name)[i]) << name_of(d) << " at " << w.x << ", " << w.y << ", "
                                            << w.z << ": " << w.got << " for " << w.exact;
  }
}

std::string letters_of(const std::string& name) {
  std::string s;
  for (char c : name)
    if (std::isalnum(static_cast<unsigned char>(c))) s += c;
  return s;
}

INSTANTIATE_TEST_SUITE_P(Functions, Accuracy,
                         testing::Range(std::size_t{0}, accuracy::functions().size()),
                         [](const testing::TestParamInfo<std::size_t>& info) {
                           return letters_of(accuracy::functions()[info.param].name);
                         });
INSTANTIATE_TEST_SUITE_P(Functions, StoredAccuracy,
                         testing::Range(std::size_t{0}, accuracy::stored_functions().size()),
                         [](const testing::TestParamInfo<std::size_t>& info) {
                           return letters_of(accuracy::stored_functions()[info.param].name);
                         });

}  // namespace
