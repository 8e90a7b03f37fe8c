// Exchanges of boxes, carried out: every device assembles its shard.
#include "spmd/place/boxes.h"
#include "spmd/placements.h"

#include <gtest/gtest.h>

#include <map>
#include <numeric>

using namespace tessera;
using namespace tessera::spmd;
using tessera::testing::Draw;
using tessera::testing::drawn_placement;

namespace {

std::int64_t parts_along(const AtomMesh& mesh, const Atoms& atoms) { return mesh.size(atoms); }

// Whether position `p` has element `at`, by the definition of a placement.
bool holds(const AtomMesh& mesh, const Shape& whole, const Placement& placement, std::int64_t p,
           const Shape& at) {
  for (int d = 0; d < whole.rank(); ++d) {
    const Atoms& atoms = placement.dims[static_cast<std::size_t>(d)];
    const std::int64_t n = parts_along(mesh, atoms), part = (whole[d] + n - 1) / n;
    if (at[d] / part != mesh.index_along(p, atoms)) return false;
  }
  return true;
}

bool inside(const Box& box, const Shape& at) {
  for (int d = 0; d < at.rank(); ++d)
    if (at[d] < box.start[d] || at[d] >= box.start[d] + box.extent[d]) return false;
  return true;
}

template <class F>
void each_element(const Shape& shape, F&& f) {
  for (std::int64_t i = 0; i < shape.count(); ++i) {
    Shape at = shape;
    std::int64_t rest = i;
    for (int d = shape.rank(); d-- > 0;) {
      at[d] = rest % shape[d];
      rest /= shape[d];
    }
    f(at);
  }
}

// Every element that a device needs arrives in one piece, from a device that has it, and from the
// device itself if it has it.
void expect_whole(const Shape& shape, const Side& source, const Side& target,
                  const std::string& what) {
  const BoxExchange exchange(shape, source, target);
  const auto id = [](const Side& side, std::int64_t p) {
    return side.devices.empty() ? static_cast<int>(p) : side.devices[static_cast<std::size_t>(p)];
  };
  for (std::int64_t p = 0; p < target.mesh.mesh().size(); ++p) {
    const std::vector<BoxSource> pieces = exchange.pieces(p);
    std::int64_t received = 0;
    each_element(shape, [&](const Shape& at) {
      std::int64_t found = 0;
      for (const BoxSource& piece : pieces) {
        if (!inside(piece.box, at)) continue;
        ++found;
        ASSERT_TRUE(holds(source.mesh, shape, source.placement, piece.source, at)) << what;
        bool own = false;
        for (std::int64_t s = 0; s < source.mesh.mesh().size(); ++s)
          own = own || (id(source, s) == id(target, p) &&
                        holds(source.mesh, shape, source.placement, s, at));
        ASSERT_EQ(own, id(source, piece.source) == id(target, p)) << what;
        received += !own;
      }
      ASSERT_EQ(found, holds(target.mesh, shape, target.placement, p, at)) << what;
    });
    ASSERT_EQ(exchange.received(p), received) << what;
  }
}

}  // namespace

TEST(Boxes, OnOneMesh) {
  const AtomMesh mesh({{"x", "y"}, {4, 3}});
  Draw draw(1);
  for (int turn = 0; turn < 200; ++turn) {
    const int rank = turn % 4;
    Shape shape;
    for (int d = 0; d < rank; ++d) shape.push_back(draw.below(8));
    const Placement from = drawn_placement(draw, mesh, rank),
                    to = drawn_placement(draw, mesh, rank);
    const std::string what = mesh.to_string(from) + " to " + mesh.to_string(to);
    expect_whole(shape, {mesh, from}, {mesh, to}, what);
    // The most bytes that a device receives equal the lower bound.
    const BoxExchange exchange(shape, {mesh, from}, {mesh, to});
    std::int64_t most = 0;
    for (std::int64_t p = 0; p < mesh.mesh().size(); ++p)
      most = std::max(most, exchange.received(p));
    EXPECT_EQ(4 * most, lower_bound_bytes(mesh, Type(f32, shape), from, to)) << what;
  }
}

TEST(Boxes, BetweenMeshes) {
  const AtomMesh a({{"x", "y"}, {2, 3}}), b({{"p", "q"}, {2, 4}});
  // The devices of both meshes in order; some of them are on both sides.
  const std::vector<int> left{5, 3, 1, 0, 2, 4}, right{3, 2, 9, 8, 7, 0, 6, 5};
  Draw draw(2);
  for (int turn = 0; turn < 100; ++turn) {
    const int rank = 1 + turn % 2;
    Shape shape;
    for (int d = 0; d < rank; ++d) shape.push_back(1 + draw.below(9));
    const Placement from = drawn_placement(draw, a, rank), to = drawn_placement(draw, b, rank);
    const std::string what = a.to_string(from) + " to " + b.to_string(to);
    expect_whole(shape, {a, from, left}, {b, to, right}, what);
    expect_whole(shape, {b, to, right}, {a, from, left}, what + " back");
    expect_whole(shape, {a, from}, {b, to}, what + " in order");
  }
}

// All devices that have a block get the same number of requests for it, up to a difference of one.
TEST(Boxes, CopiesShareTheWork) {
  const AtomMesh a({{"x", "y"}, {2, 4}}), b({{"p", "q"}, {4, 3}});
  std::vector<int> other(12);
  std::iota(other.begin(), other.end(), 100);
  Draw draw(3);
  for (int turn = 0; turn < 100; ++turn) {
    const Shape shape{1 + draw.below(12), 1 + draw.below(12)};
    const Placement from = drawn_placement(draw, a, 2), to = drawn_placement(draw, b, 2);
    const BoxExchange exchange(shape, {a, from}, {b, to, other});
    std::map<std::vector<std::int64_t>, std::map<std::int64_t, int>> asked;  // by block, by device
    for (std::int64_t s = 0; s < a.mesh().size(); ++s) {
      const Box box = box_of(a, shape, from, s);
      if (box.count() > 0) asked[box.start.to_vector()][s] = 0;
    }
    for (std::int64_t p = 0; p < b.mesh().size(); ++p)
      for (const BoxSource& piece : exchange.pieces(p))
        ++asked[box_of(a, shape, from, piece.source).start.to_vector()][piece.source];
    for (const auto& [start, by_device] : asked) {
      const auto [least, most] =
          std::minmax_element(by_device.begin(), by_device.end(),
                              [](const auto& l, const auto& r) { return l.second < r.second; });
      EXPECT_LE(most->second - least->second, 1) << a.to_string(from) << " to " << b.to_string(to);
    }
  }
}

TEST(Boxes, PartialResultsStayWithTheirOwn) {
  const AtomMesh mesh({{"x", "y"}, {2, 2}});
  Placement from = mesh.placement(Spec({{"x"}}), 1), to = Placement::replicated(1);
  from.unreduced.insert(1);
  to.unreduced.insert(1);
  const BoxExchange exchange({4}, {mesh, from}, {mesh, to});
  using Pieces = std::vector<BoxSource>;
  EXPECT_EQ(exchange.pieces(1), (Pieces{{1, {{0}, {2}}}, {3, {{2}, {2}}}}));
  EXPECT_EQ(exchange.pieces(2), (Pieces{{0, {{0}, {2}}}, {2, {{2}, {2}}}}));
  EXPECT_EQ(exchange.received(2), 2);
  to.unreduced = {};
  EXPECT_THROW(BoxExchange({4}, {mesh, from}, {mesh, to}), InternalError);
}
