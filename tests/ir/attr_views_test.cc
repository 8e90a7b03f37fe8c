// Typed views of the attributes that several rooms read.
#include "ir/collective_attrs.h"
#include "ir/region_attrs.h"

#include "ir/program.h"

#include <tessera/error.h>

#include <gtest/gtest.h>

#include <memory>

namespace ts = tessera;
using ts::CollectiveAttrs;

namespace {

TEST(CollectiveAttrs, AreReadAsTheyAreMade) {
  const ts::Attrs attrs = CollectiveAttrs::make({"x", "y"}, 6, {{0, 2, 4}, {1, 3, 5}});
  EXPECT_EQ(attrs, (ts::Attrs{{"axes", ts::Strings{"x", "y"}},
                              {"size", 6},
                              {"groups", ts::IntLists{{0, 2, 4}, {1, 3, 5}}}}));
  const CollectiveAttrs among(attrs);
  EXPECT_EQ(&among.axes, &attrs.get<ts::Strings>("axes"));  // not a copy
  EXPECT_EQ(&among.groups, &attrs.get<ts::IntLists>("groups"));
  EXPECT_EQ(among.size(), 6);
  EXPECT_TRUE(among.grouped());
  EXPECT_EQ(among.members(), 3);

  const ts::Attrs ungrouped = CollectiveAttrs::make({"x"}, 4);
  EXPECT_TRUE(CollectiveAttrs(ungrouped).groups.empty());
  EXPECT_FALSE(CollectiveAttrs(ungrouped).grouped());
  EXPECT_EQ(CollectiveAttrs(ungrouped).members(), 4);
}

TEST(CollectiveAttrs, HaveOtherAxes) {
  const ts::Attrs sized = CollectiveAttrs::make({"x", "y"}, 6, {}),
                  typed = CollectiveAttrs::make({"x", "y"});
  EXPECT_EQ(CollectiveAttrs::with_axes(sized, {"y"}, 3), CollectiveAttrs::make({"y"}, 3, {}));
  // The number of devices is not added if it was absent.
  EXPECT_EQ(CollectiveAttrs::with_axes(typed, {"y"}, 3), CollectiveAttrs::make({"y"}));
}

TEST(CollectiveAttrs, OfOtherEquationsAreNotFound) {
  const ts::Attrs none, reduction{{"axes", ts::Ints{0, 1}}}, sum = CollectiveAttrs::make({"x"});
  EXPECT_FALSE(CollectiveAttrs::find(none));
  EXPECT_FALSE(CollectiveAttrs::find(reduction));
  EXPECT_EQ(CollectiveAttrs::find(sum)->axes, ts::Strings{"x"});
  EXPECT_THROW(CollectiveAttrs{none}, ts::InternalError);
  EXPECT_THROW(CollectiveAttrs{reduction}, ts::InternalError);
  EXPECT_FALSE(CollectiveAttrs(sum).has_size());
  EXPECT_THROW(CollectiveAttrs(sum).size(), ts::InternalError);
}

TEST(CollectiveAttrs, OfDimensions) {
  ts::Attrs attrs = CollectiveAttrs::make({"x"}, 4, {});
  ts::GatherAttrs(2, true).set_in(attrs);
  EXPECT_EQ(ts::GatherAttrs(attrs).axis, 2);
  EXPECT_TRUE(ts::GatherAttrs(attrs).tiled);
  ts::AllToAllAttrs(0, 1, false).set_in(attrs);
  const auto [split, concat, tiled] = ts::AllToAllAttrs(attrs);
  EXPECT_EQ(split, 0);
  EXPECT_EQ(concat, 1);
  EXPECT_FALSE(tiled);
  EXPECT_THROW(ts::BroadcastAttrs{attrs}, ts::InternalError);
  attrs.set("source", 3);
  EXPECT_EQ(ts::BroadcastAttrs(attrs).source, 3);
}

TEST(RegionAttrs, AreReadAsTheyAreMade) {
  const ts::ProgramPtr body = std::make_shared<ts::Program>();
  const ts::MeshRef mesh(ts::DeviceMesh{{{"x", "y"}, {2, 3}}, {}});
  ts::Attrs attrs = ts::RegionAttrs::make(body, mesh, {ts::Spec::cut(0, "x")}, {ts::Spec()}, true);
  {
    const ts::RegionAttrs region(attrs);
    EXPECT_EQ(region.body, body);
    EXPECT_TRUE(region.mesh == mesh);
    EXPECT_EQ(region.manual, nullptr);
    EXPECT_EQ(region.in_specs, ts::Specs{ts::Spec::cut(0, "x")});
    EXPECT_EQ(region.out_specs, ts::Specs{ts::Spec()});
    EXPECT_TRUE(region.typed);
  }
  attrs.set(ts::RegionAttrs::kManual, ts::Strings{"x"});
  EXPECT_EQ(*ts::RegionAttrs(attrs).manual, ts::Strings{"x"});
}

}  // namespace
