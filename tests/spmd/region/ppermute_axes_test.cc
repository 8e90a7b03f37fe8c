// Blocks that are moved to other axes: worked vectors, types, and the transpose.
#include "spmd/region/uniformity.h"
#include "spmd/spmd_check.h"
#include "transform/autodiff.h"

#include <algorithm>

using namespace tessera;
using namespace tessera::testing;

namespace {

const MeshShape kGrid{{"x", "y"}, {2, 3}}, kSquare{{"x", "y"}, {2, 2}};

ProgramPtr moved(const AxisSet& varying, const Strings& from, const Strings& to,
                 const Ints& sizes) {
  Type t(f32, {1});
  t.varying = varying;
  Strings axes = from;
  for (const auto& n : to)
    if (std::find(axes.begin(), axes.end(), n) == axes.end()) axes.push_back(n);
  return program_of({t}, [&](Builder&, const Values& in) {
    return Values{ops::ppermute_axes(in[0], axes, sizes, from, to)};
  });
}
std::vector<float> result(const ProgramPtr& p, const MeshShape& mesh, std::vector<float> x) {
  const auto n = static_cast<std::int64_t>(x.size());
  return values<float>(on_devices(*p, mesh, {floats({n, 1}, std::move(x))})[0]);
}
using Floats = std::vector<float>;

}  // namespace

TEST(PpermuteAxes, FromOneAxisToAnother) {
  // Block 0 is on devices with x = 0 and block 1 on those with x = 1; afterwards the same holds for
  // y.
  ProgramPtr p = moved({"x"}, {"x"}, {"y"}, {2, 2});
  EXPECT_EQ(result(p, kSquare, {5, 5, 7, 7}), (Floats{5, 7, 5, 7}));
  EXPECT_EQ(p->type(p->outputs[0]).varying, AxisSet{"y"});
  EXPECT_EQ(spmd::output_uniformity(*p, {{"x"}})[0], AxisSet{"y"});
  EXPECT_EQ(spmd::output_uniformity(*p, {{}})[0], AxisSet{"y"});
  // If the copies may differ, nothing is promised.
  EXPECT_EQ(spmd::output_uniformity(*p, {{"x", "y"}})[0], (AxisSet{"x", "y"}));
}

TEST(PpermuteAxes, InAnotherOrder) {
  // Block x * 3 + y is sent to the device whose y * 2 + x is that number.
  ProgramPtr p = moved({"x", "y"}, {"x", "y"}, {"y", "x"}, {2, 3});
  EXPECT_EQ(result(p, kGrid, {0, 1, 2, 3, 4, 5}), (Floats{0, 2, 4, 1, 3, 5}));
  EXPECT_EQ(p->type(p->outputs[0]).varying, (AxisSet{"x", "y"}));
  EXPECT_EQ(result(transpose_program(*p, {true}, {true}), kGrid, {0, 2, 4, 1, 3, 5}),
            (Floats{0, 1, 2, 3, 4, 5}));
}

TEST(PpermuteAxes, UnderVmapOverAnotherDimension) {
  ProgramPtr p = moved({"x"}, {"x"}, {"y"}, {2, 2});
  ProgramPtr q = mapped(*p, 2, "i");
  EXPECT_EQ(
      values<float>(on_devices(*q, kSquare, {floats({4, 2, 1}, {1, 2, 1, 2, 3, 4, 3, 4})})[0]),
      (Floats{1, 2, 3, 4, 1, 2, 3, 4}));
  EXPECT_THROW(mapped(*p, 2, "x"), InternalError);
}

TEST(PpermuteAxes, SizesAgree) {
  EXPECT_THROW(moved({"x"}, {"x"}, {"y"}, {2, 3}), InternalError);
  EXPECT_THROW(moved({"x"}, {"x"}, {"y"}, {2}), InternalError);
}
