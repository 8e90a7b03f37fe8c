// The planner's sequences over all pairs of placements: how many collectives, and how far from what
// devices need and do not hold.
#include "spmd/place/boxes.h"
#include "spmd/placements.h"
#include "spmd/reshard/reshard.h"

#include <gtest/gtest.h>

#include <cmath>
#include <map>

using namespace tessera;
using namespace tessera::spmd;
using tessera::testing::all_placements;

namespace {

struct Row {
  std::size_t states = 0, pairs = 0;
  std::map<int, int> collectives;
  double mean = 0, p95 = 0, most = 0, naive_mean = 0, naive_most = 0;
};

// Rounds to `digits` digits after the point, as a table prints it.
double printed(double x, int digits) {
  const double unit = std::pow(10, digits);
  return std::round(x * unit) / unit;
}

Row row_of(const AtomMesh& mesh, int rank, bool joint) {
  // Every list of atoms divides every dimension.
  Shape shape;
  for (int d = 0; d < rank; ++d) shape.push_back(mesh.mesh().size());
  const Type whole(f32, shape);
  const std::vector<Placement> all = all_placements(mesh, rank);
  Row row;
  row.states = all.size();
  std::vector<double> ratios, naive;
  for (const Placement& from : all)
    for (const Placement& to : all) {
      if (from == to) continue;
      ++row.pairs;
      const Reshard plan = plan_reshard(mesh, whole, from, to, {}, {.joint = joint});
      EXPECT_EQ(plan.to(), to);
      ++row.collectives[plan.collectives()];
      const auto part = [&](const Placement& p) { return mesh.local_shape(shape, p).count() * 4; };
      EXPECT_LE(plan.peak_bytes, std::max(part(from), part(to)));
      const std::int64_t bound = lower_bound_bytes(mesh, whole, from, to);
      EXPECT_GE(plan.bytes, bound);
      if (bound == 0) {
        EXPECT_EQ(plan.collectives(), 0);
        continue;
      }
      ratios.push_back(static_cast<double>(plan.bytes) / static_cast<double>(bound));
      naive.push_back(static_cast<double>(whole.bytes() - part(from)) / static_cast<double>(bound));
    }
  std::sort(ratios.begin(), ratios.end());
  const auto mean = [](const std::vector<double>& v) {
    double sum = 0;
    for (double x : v) sum += x;
    return printed(sum / static_cast<double>(v.size()), 3);
  };
  row.mean = mean(ratios);
  row.p95 = printed(ratios[ratios.size() * 95 / 100], 2);
  row.most = printed(ratios.back(), 2);
  row.naive_mean = mean(naive);
  row.naive_most = *std::max_element(naive.begin(), naive.end());
  return row;
}

const AtomMesh kCube({{"x", "y", "z"}, {2, 2, 2}}), kMixed({{"x", "y", "z"}, {2, 3, 2}});
using Counts = std::map<int, int>;

}  // namespace

// The expected figures come from the design notes of this planner. They were found by a search of
// all sequences whose all_to_alls go from one dimension to one other.
TEST(ReshardTable, MatrixOnACube) {
  const Row r = row_of(kCube, 2, false);
  EXPECT_EQ(r.states, 49u);
  EXPECT_EQ(r.pairs, 2352u);
  EXPECT_EQ(r.collectives, (Counts{{0, 144}, {1, 972}, {2, 1068}, {3, 168}}));
  EXPECT_EQ(printed(r.mean, 2), 1.17);
  EXPECT_EQ(r.p95, 1.75);
  EXPECT_EQ(r.most, 2.33);
  EXPECT_EQ(r.naive_mean, 5.155);
  EXPECT_EQ(r.naive_most, 14);
}

TEST(ReshardTable, RankThreeOnACube) {
  const Row r = row_of(kCube, 3, false);
  EXPECT_EQ(r.states, 106u);
  EXPECT_EQ(r.pairs, 11130u);
  EXPECT_EQ(r.collectives, (Counts{{0, 375}, {1, 3267}, {2, 5544}, {3, 1908}, {4, 36}}));
  EXPECT_EQ(printed(r.mean, 2), 1.24);
  EXPECT_EQ(r.most, 2.33);
  EXPECT_EQ(printed(r.naive_mean, 2), 5.78);
}

TEST(ReshardTable, MatrixOnAxesOfTwoAndThree) {
  const Row r = row_of(kMixed, 2, false);
  EXPECT_EQ(r.states, 49u);
  EXPECT_EQ(r.pairs, 2352u);
  EXPECT_EQ(r.collectives, (Counts{{0, 144}, {1, 796}, {2, 1056}, {3, 332}, {4, 24}}));
  EXPECT_EQ(r.mean, 1.245);
  EXPECT_EQ(r.most, 2.42);
  EXPECT_EQ(printed(r.naive_mean, 1), 7.6);
  EXPECT_EQ(r.naive_most, 22);
}

// The table for plans whose all_to_alls may go between several dimensions at once.
TEST(ReshardTable, JointExchanges) {
  const Row matrix = row_of(kCube, 2, true);
  EXPECT_EQ(matrix.collectives, (Counts{{0, 144}, {1, 1116}, {2, 996}, {3, 96}}));
  EXPECT_EQ(matrix.mean, 1.102);
  EXPECT_EQ(matrix.most, 1.75);
  const Row cube = row_of(kCube, 3, true);
  EXPECT_EQ(cube.collectives, (Counts{{0, 375}, {1, 4743}, {2, 5364}, {3, 648}}));
  EXPECT_EQ(cube.mean, 1.119);
  EXPECT_EQ(cube.most, 1.75);
  const Row mixed = row_of(kMixed, 2, true);
  EXPECT_EQ(mixed.collectives, (Counts{{0, 144}, {1, 940}, {2, 976}, {3, 268}, {4, 24}}));
  EXPECT_EQ(mixed.mean, 1.172);
  EXPECT_EQ(mixed.most, 2.25);
}
