// How maps inside one map share the axes of one mesh.
#include "platforms/axes_inside.h"

#include <gtest/gtest.h>

namespace ts = tessera;
using tessera::platforms::AxesInside;
using Names = std::vector<std::string>;
using Sizes = std::vector<std::int64_t>;

namespace {
const ts::MeshShape kAround{{"i"}, {2}};
}  // namespace

TEST(AxesInside, OneMeshKeepsItsAxes) {
  const ts::MeshShape shape{{"j", "k"}, {2, 3}};
  const AxesInside inside({shape}, kAround);
  EXPECT_EQ(inside.all(), shape);
  EXPECT_FALSE(inside.multiplies());
  EXPECT_EQ(inside.parts_of(shape, "k"), Names{"k"});
}

TEST(AxesInside, SizesThatDivideShareAxes) {
  const ts::MeshShape two{{"j"}, {2}}, twelve{{"k"}, {12}}, both{{"j", "l"}, {4, 3}};
  const AxesInside inside({two, twelve, both}, kAround);
  EXPECT_EQ(inside.all().sizes, (Sizes{2, 2, 3}));
  EXPECT_FALSE(inside.multiplies());
  const Names& axes = inside.all().axes;
  EXPECT_EQ(inside.parts_of(two, "j"), Names{axes[0]});
  EXPECT_EQ(inside.parts_of(twelve, "k"), axes);
  EXPECT_EQ(inside.parts_of(both, "j"), (Names{axes[0], axes[1]}));
  EXPECT_EQ(inside.parts_of(both, "l"), Names{axes[2]});
}

TEST(AxesInside, OtherSizesHaveAxesOfTheirOwn) {
  const ts::MeshShape two{{"j"}, {2}}, three{{"j"}, {3}}, six{{"k"}, {6}};
  const AxesInside inside({two, three, six}, kAround);
  EXPECT_EQ(inside.all().sizes, (Sizes{2, 3, 3}));
  EXPECT_TRUE(inside.multiplies());
  const Names& axes = inside.all().axes;
  EXPECT_EQ(inside.parts_of(two, "j"), Names{axes[0]});
  EXPECT_EQ(inside.parts_of(six, "k"), (Names{axes[0], axes[1]}));
  EXPECT_EQ(inside.parts_of(three, "j"), Names{axes[2]});
}

TEST(AxesInside, NamesDifferFromThoseAround) {
  const ts::MeshShape around{{"inside0", "inside2"}, {2, 2}}, two{{"j"}, {2}}, four{{"j"}, {4}};
  const AxesInside inside({two, four}, around);
  EXPECT_EQ(inside.all().axes, (Names{"inside1", "inside3"}));
}

TEST(AxesInside, AxesOfSizeOne) {
  const ts::MeshShape one{{"j"}, {1}}, other{{"k", "l"}, {2, 1}};
  const AxesInside inside({one, other}, kAround);
  EXPECT_EQ(inside.all().sizes, (Sizes{2, 1}));
  const Names& axes = inside.all().axes;
  EXPECT_EQ(inside.parts_of(one, "j"), Names{axes[1]});
  EXPECT_EQ(inside.parts_of(other, "k"), Names{axes[0]});
  EXPECT_EQ(inside.parts_of(other, "l"), Names{axes[1]});
}
