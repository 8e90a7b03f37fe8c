#include "spmd/place/placement.h"

#include <gtest/gtest.h>

using namespace tessera;
using namespace tessera::spmd;

namespace {

const AtomMesh mesh({{"x", "y", "one", "z"}, {4, 3, 1, 12}});

TEST(Placement, AxesAreTakenApartIntoPrimes) {
  EXPECT_EQ(mesh.atom_mesh().axes,
            (std::vector<std::string>{"x:(1)2", "x:(2)2", "y", "z:(1)2", "z:(2)2", "z:(4)3"}));
  EXPECT_EQ(mesh.atom_mesh().sizes, (std::vector<std::int64_t>{2, 2, 3, 2, 2, 3}));
  EXPECT_EQ(mesh.atom_mesh().size(), mesh.mesh().size());
  // A position keeps its number: its coordinates along the parts of an axis determine its
  // coordinate along the axis.
  for (std::int64_t device = 0; device < mesh.mesh().size(); ++device)
    EXPECT_EQ(
        mesh.mesh().index_along(device, {"z", "x"}),
        mesh.atom_mesh().index_along(device, {"z:(1)2", "z:(2)2", "z:(4)3", "x:(1)2", "x:(2)2"}));
}

TEST(Placement, SpecsGoInAndOut) {
  const Placement p = mesh.placement(Spec({{"x"}, {}, {"z:(2)2", "y"}}), 4);
  EXPECT_EQ(p.dims.size(), 4u);
  EXPECT_EQ(mesh.to_string(p), "P('x', none, ('z:(2)2', 'y'))");
  EXPECT_EQ(mesh.atom_spec(p), Spec({{"x:(1)2", "x:(2)2"}, {}, {"z:(2)2", "y"}}));
  EXPECT_EQ(mesh.placement(mesh.atom_spec(p), 4), p);
  EXPECT_EQ(mesh.to_string(mesh.placement(Spec({{"one"}, {"z:(2)2", "z:(4)3"}}), 2)),
            "P(none, 'z:(2)6')");
}

TEST(Placement, UnreducedAxesArePrinted) {
  Placement p = mesh.placement(Spec({{"y"}}), 1);
  p.unreduced.insert(0);
  p.unreduced.insert(1);
  EXPECT_EQ(mesh.to_string(p), "P('y') unreduced {'x'}");
  p.combiner = Combiner::max;
  p.unreduced.erase(1);
  EXPECT_EQ(mesh.to_string(p), "P('y') unreduced max {'x:(1)2'}");
}

TEST(Placement, PartsAreRoundedUp) {
  const Placement p = mesh.placement(Spec({{"x"}, {"y", "z"}}), 2);
  EXPECT_EQ(mesh.local_shape({8, 36}, p), (Shape{2, 1}));
  EXPECT_EQ(mesh.local_shape({9, 37}, p), (Shape{3, 2}));
  EXPECT_TRUE(mesh.divides({8, 36}, p));
  EXPECT_FALSE(mesh.divides({8, 37}, p));
}

}  // namespace
