// The bounds in docs/accuracy.md hold for a sample of the operands that the command measured, with
// the vector instructions that TESSERA_ISA allows and in the evaluator.
//
// A share (share.h) is of the operands of every function for float32 and float64, and of the
// functions for the narrow types, whose results are those of float32, rounded.
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

// The share of each function's operands that a run measures. The sequence of operands repeats its
// kinds every sixteen, so that an even share would miss some of them.
const test::Share& share() {
  static const test::Share asked = test::asked_share();
  EXPECT_EQ(asked.of % 2, 1u) << "TESSERA_TEST_SHARE is odd here";
  return asked;
}
bool measures(std::size_t function, DType d) { return size_of(d) > 2 || share().has(function); }

class Accuracy : public testing::TestWithParam<std::size_t> {};

TEST_P(Accuracy, KeepsThePublishedBounds) {
  const accuracy::Function& f = accuracy::functions()[GetParam()];
  const auto& bounds = bounds_of_real();
  ASSERT_TRUE(bounds.contains(f.name)) << f.name << " is not in docs/accuracy.md";
  for (std::size_t i = 0; i < std::size(accuracy::kDTypes); ++i) {
    const DType d = accuracy::kDTypes[i];
    EXPECT_TRUE(std::isfinite(bounds.at(f.name)[i])) << name_of(d) << ": that is no bound";
    if (!measures(GetParam(), d)) continue;
    const accuracy::Worst w = accuracy::measure(f, d, {40000, 100003, share()});
    EXPECT_GE(w.measured, 40000 / static_cast<std::int64_t>(share().of)) << name_of(d);
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
    if (!measures(GetParam(), d)) continue;
    const accuracy::Worst w = accuracy::measure(f, d, "", share());
    // The fewest stored operands are those of xlogy in bfloat16.
    EXPECT_GE(w.measured, 26 / static_cast<std::int64_t>(share().of)) << name_of(d);
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
