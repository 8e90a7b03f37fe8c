// Each collective agrees with worked vectors; the reference that computes them is the oracle of all
// other tests.
#include "specs.h"
#include "spmd/spmd_check.h"

#include <cmath>

using namespace tessera;
using namespace tessera::testing;

namespace {

const Strings kI{"i"};

// The values on every device of an axis of 4, or of `n`.
std::vector<float> devices(const HostArray& stacked, const Body& f) {
  std::int64_t n = stacked.shape[0];
  Shape block(stacked.shape.begin() + 1, stacked.shape.end());
  return values<float>(on_axis(*program_of({Type(stacked.dtype, block)}, f), n, {stacked})[0]);
}
Body one(const std::function<Value(Value)>& f) {
  return [f](Builder&, const Values& in) { return Values{f(in[0])}; };
}
using Floats = std::vector<float>;

const HostArray kPairs = floats({4, 2}, {0, 10, 1, 11, 2, 12, 3, 13});
const HostArray kCount = floats({4, 4}, {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15});

}  // namespace

TEST(Collectives, Reductions) {
  EXPECT_EQ(devices(kPairs, one([](Value x) { return ops::psum(x, kI, 4); })),
            (Floats{6, 46, 6, 46, 6, 46, 6, 46}));
  EXPECT_EQ(devices(kPairs, one([](Value x) { return ops::pmax(x, kI, 4); })),
            (Floats{3, 13, 3, 13, 3, 13, 3, 13}));
  EXPECT_EQ(devices(kPairs, one([](Value x) { return ops::pmin(x, kI, 4); })),
            (Floats{0, 10, 0, 10, 0, 10, 0, 10}));
  EXPECT_EQ(devices(kPairs, one([](Value x) {
                      return ops::psum(x, kI, 4, {{0, 2}, {1, 3}});
                    })),
            (Floats{2, 22, 4, 24, 2, 22, 4, 24}));
}

TEST(Collectives, ExtremaPropagateNaN) {
  float nan = std::nanf("");
  for (auto op : {&ops::pmax, &ops::pmin})
    for (int at = 0; at < 3; ++at) {
      Floats x{1, 2, 3};
      x[static_cast<std::size_t>(at)] = nan;
      for (float v : devices(floats({3, 1}, x), one([&](Value v) { return op(v, kI, 3, {}); })))
        EXPECT_TRUE(std::isnan(v));
    }
}

TEST(Collectives, AllGather) {
  auto first = [&](int axis, bool tiled) {
    Floats all =
        devices(kPairs, one([=](Value x) { return ops::all_gather(x, kI, 4, axis, tiled); }));
    Floats block(all.begin(), all.begin() + 8);
    for (int d = 1; d < 4; ++d)
      EXPECT_EQ(Floats(all.begin() + 8 * d, all.begin() + 8 * (d + 1)), block);
    return block;
  };
  EXPECT_EQ(first(0, false), (Floats{0, 10, 1, 11, 2, 12, 3, 13}));
  EXPECT_EQ(first(-1, false), (Floats{0, 1, 2, 3, 10, 11, 12, 13}));
  EXPECT_EQ(first(0, true), (Floats{0, 10, 1, 11, 2, 12, 3, 13}));
}

TEST(Collectives, PsumScatter) {
  for (bool tiled : {false, true}) {
    ProgramPtr p = program_of({Type(f32, {4})},
                              one([=](Value x) { return ops::psum_scatter(x, kI, 4, 0, tiled); }));
    HostArray y = on_axis(*p, 4, {kCount})[0];
    EXPECT_EQ(values<float>(y), (Floats{24, 28, 32, 36}));
    EXPECT_EQ(y.shape, tiled ? (Shape{4, 1}) : (Shape{4}));
  }
}

TEST(Collectives, AllToAll) {
  Floats turned{0, 4, 8, 12, 1, 5, 9, 13, 2, 6, 10, 14, 3, 7, 11, 15};
  for (bool tiled : {false, true})
    EXPECT_EQ(devices(kCount, one([=](Value x) { return ops::all_to_all(x, kI, 4, 0, 0, tiled); })),
              turned);
  // x_i[j, k] = 100 i + 10 j + k
  Floats x;
  for (int i = 0; i < 4; ++i)
    for (int j = 0; j < 4; ++j)
      for (int k = 0; k < 2; ++k) x.push_back(static_cast<float>(100 * i + 10 * j + k));
  HostArray stacked = floats({4, 4, 2}, x);
  ProgramPtr p = program_of({Type(f32, {4, 2})},
                            one([](Value v) { return ops::all_to_all(v, kI, 4, 0, 1, false); }));
  HostArray y = on_axis(*p, 4, {stacked})[0];
  ASSERT_EQ(y.shape, (Shape{4, 2, 4}));
  for (int i = 0; i < 4; ++i)
    for (int k = 0; k < 2; ++k)
      for (int j = 0; j < 4; ++j) EXPECT_EQ(y.number((i * 2 + k) * 4 + j), 100 * j + 10 * i + k);
  p = program_of({Type(f32, {4, 2})},
                 one([](Value v) { return ops::all_to_all(v, kI, 4, 0, 1, true); }));
  y = on_axis(*p, 4, {stacked})[0];
  ASSERT_EQ(y.shape, (Shape{4, 1, 8}));
  for (int i = 0; i < 4; ++i)
    for (int j = 0; j < 4; ++j)
      for (int k = 0; k < 2; ++k) EXPECT_EQ(y.number(i * 8 + j * 2 + k), 100 * j + 10 * i + k);
}

TEST(Collectives, PermuteAndBroadcast) {
  EXPECT_EQ(devices(kPairs, one([](Value x) {
                      return ops::ppermute(x, kI, 4, {{0, 1}, {1, 2}});
                    })),
            (Floats{0, 0, 0, 10, 1, 11, 0, 0}));
  // pshuffle [3, 0, 1, 2]
  EXPECT_EQ(devices(kPairs, one([](Value x) {
                      return ops::ppermute(x, kI, 4, {{3, 0}, {0, 1}, {1, 2}, {2, 3}});
                    })),
            (Floats{3, 13, 0, 10, 1, 11, 2, 12}));
  EXPECT_EQ(devices(kPairs, one([](Value x) { return ops::pbroadcast(x, kI, 4, 2); })),
            (Floats{2, 12, 2, 12, 2, 12, 2, 12}));
}

TEST(Collectives, AxesAreRowMajorInTheirOrder) {
  MeshShape mesh{{"x", "y"}, {2, 3}};
  auto index = [&](Strings axes) {
    ProgramPtr p = program_of(
        {}, [&](Builder& b, const Values&) { return Values{ops::axis_index(b, axes, 6)}; });
    return values<std::int32_t>(on_devices(*p, mesh, {})[0]);
  };
  EXPECT_EQ(index({"x", "y"}), (std::vector<std::int32_t>{0, 1, 2, 3, 4, 5}));
  EXPECT_EQ(index({"y", "x"}), (std::vector<std::int32_t>{0, 2, 4, 1, 3, 5}));

  HostArray x = floats({6}, {1, 2, 4, 8, 16, 32});
  auto run = [&](const std::function<Value(Value)>& f) {
    return values<float>(on_devices(*program_of({Type(f32, {})}, one(f)), mesh, {x})[0]);
  };
  EXPECT_EQ(run([](Value v) { return ops::psum(v, {"y"}, 3); }), (Floats{7, 7, 7, 56, 56, 56}));
  EXPECT_EQ(run([](Value v) { return ops::psum(v, {"x"}, 2); }), (Floats{9, 18, 36, 9, 18, 36}));
  // In the order y, x the devices are (0,0) (1,0) (0,1) (1,1) (0,2) (1,2).
  Floats rows = run([](Value v) { return ops::all_gather(v, {"y", "x"}, 6, 0, false); });
  EXPECT_EQ(Floats(rows.begin(), rows.begin() + 6), (Floats{1, 8, 2, 16, 4, 32}));
}

TEST(Collectives, Errors) {
  auto text = [](const char* op, const Type& t, Attrs attrs) {
    return infer_error<Error>(op, {t}, attrs);
  };
  EXPECT_EQ(text("all_to_all", Type(f32, {3, 2}),
                 {{"axes", kI},
                  {"size", std::int64_t{4}},
                  {"split", std::int64_t{0}},
                  {"concat", std::int64_t{0}},
                  {"tiled", false}}),
            "all_to_all: the split dimension 0 of f32[3,2] has 3 elements, and axis 'i' 4 devices\n"
            "  rule: the extent equals the number of devices: 3 != 4\n"
            "  try: pass tiled to send slabs of a larger dimension, or reshape");
  EXPECT_EQ(
      text("psum_scatter", Type(f32, {6}),
           {{"axes", kI}, {"size", std::int64_t{4}}, {"axis", std::int64_t{0}}, {"tiled", true}}),
      "psum_scatter: dimension 0 of f32[6] has 6 elements, to be scattered over the 4 devices of "
      "axis 'i'\n"
      "  rule: with tiled, the extent is a multiple of the number of devices: 6 % 4 = 2\n"
      "  try: pad the dimension to a multiple of 4");
  EXPECT_EQ(text("psum", Type(bool_, {2}), {{"axes", kI}, {"size", std::int64_t{4}}}),
            "psum: the operand is boolean\n"
            "  rule: sums are over numbers\n"
            "  try: convert it to int32 first");
  EXPECT_EQ(
      text("ppermute", Type(f32, {2}),
           {{"axes", kI}, {"size", std::int64_t{3}}, {"perm", IntLists{{0, 1}, {0, 2}, {5, 1}}}}),
      "ppermute: the pairs are not a permutation of the 3 devices of axis 'i'\n"
      "  - (0, 2) repeats the source 0\n"
      "  - (5, 1) names a device outside [0, 3)\n"
      "  rule: each device is the source of at most one pair and the destination of at most one\n"
      "  try: list each source and each destination once, as (i, i + 1) of a shift does; devices "
      "that no pair names "
      "receive zeros");
  EXPECT_EQ(
      text("psum", Type(f32, {2}),
           {{"axes", Strings{"x", "y"}},
            {"size", std::int64_t{4}},
            {"groups", IntLists{{0, 1}, {1, 2}}}}),
      "psum: the axis_index_groups do not cover every index of axis ('x', 'y') exactly once\n"
      "  - index 1 appears 2 times\n"
      "  - index 3 is missing\n"
      "  rule: the groups partition the 4 indices of the axis\n"
      "  try: put each index from 0 to 3 in one group, or pass no groups for one sum over all");
  EXPECT_EQ(
      text("all_gather", Type(f32, {2}),
           {{"axes", kI},
            {"size", std::int64_t{3}},
            {"groups", IntLists{{0, 1}, {2}}},
            {"axis", std::int64_t{0}},
            {"tiled", false}}),
      "all_gather: the axis_index_groups have 2 and 1 members\n"
      "  rule: the shape of the result follows from the size of the groups, so all have the same\n"
      "  try: make all groups equally large");
  EXPECT_EQ(text("pbroadcast", Type(f32, {2}),
                 {{"axes", kI}, {"size", std::int64_t{3}}, {"source", std::int64_t{3}}}),
            "pbroadcast: axis 'i' has no device 3\n"
            "  rule: the source is in [0, 3)\n"
            "  try: devices count from 0: the last one is 2");
}
