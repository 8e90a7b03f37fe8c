// Complete plans for questions with known answers, and the bounds that all plans satisfy.
#include "spmd/place/boxes.h"
#include "spmd/placements.h"
#include "spmd/reshard/reshard.h"

#include <gtest/gtest.h>

using namespace tessera;
using namespace tessera::spmd;
using tessera::testing::Draw;
using tessera::testing::drawn_placement;

namespace {

using Axes = Spec::Axes;

// A question to the planner, by specs over the axes of the mesh or their parts; `text` returns the
// plan in words.
struct Asked {
  const AtomMesh& mesh;
  Type whole;
  Placement from, to;
  Links links = {};
  ReshardOptions options = {};

  Asked(const AtomMesh& m, Shape shape, Spec::Dims a, Spec::Dims b, Axes unreduced = {})
      : mesh(m),
        whole(f32, shape),
        from(m.placement(Spec(std::move(a)), shape.rank())),
        to(m.placement(Spec(std::move(b)), shape.rank())) {
    for (const auto& axis : unreduced) from.unreduced |= AtomSet(m.atoms_of(m.mesh().find(axis)));
  }
  Reshard plan() const { return plan_reshard(mesh, whole, from, to, links, options); }
  std::string text() const { return to_string(mesh, plan()); }
  std::int64_t bound() const { return lower_bound_bytes(mesh, whole, from, to); }
};

const AtomMesh kSquare({{"x", "y"}, {2, 2}}), kCube({{"x", "y", "z"}, {2, 2, 2}}),
    kMixed({{"a", "b"}, {2, 3}}), kSix({{"x"}, {6}});

}  // namespace

TEST(ReshardCases, AnotherAxisIsOnePermutation) {
  const Asked q(kSquare, {8, 8}, {{"x"}}, {{"y"}});
  EXPECT_EQ(q.text(), "permute 'x' 'y' -> P('y'), 128 B");
}

TEST(ReshardCases, AnotherDimensionIsOneAllToAll) {
  const Asked q(kSquare, {8, 8}, {{"x", "y"}}, {{"x"}, {"y"}});
  EXPECT_EQ(q.text(), "all_to_all 'y' -> P('x', 'y'), 32 B");
}

TEST(ReshardCases, TwoDimensionsAtOnce) {
  Asked q(kSquare, {8, 8, 8}, {{}, {"x", "y"}}, {{"y"}, {}, {"x"}});
  EXPECT_EQ(q.bound(), 384);
  EXPECT_EQ(q.text(), "all_to_all 'x' 'y' -> P('y', none, 'x'), 384 B");
  EXPECT_EQ(q.plan().peak_bytes, 512);
  // Without joint moves, there are two all_to_alls, one after the other.
  q.options.joint = false;
  EXPECT_EQ(q.plan().collectives(), 2);
  EXPECT_EQ(q.plan().bytes, 512);
  for (const Move& m : q.plan().moves) EXPECT_EQ(m.kind, MoveKind::all_to_all);
}

TEST(ReshardCases, AnAxisThatComesBetween) {
  const Asked q(kSquare, {4, 8, 8}, {{}, {"x"}, {"y"}}, {{}, {}, {"x", "y"}});
  EXPECT_EQ(q.bound(), 256);
  EXPECT_EQ(q.text(),
            "all_to_all 'y' -> P(none, ('x', 'y')), 128 B; "
            "all_to_all 'x' 'y' -> P(none, none, ('x', 'y')), 192 B");
  EXPECT_EQ(q.plan().peak_bytes, 256);
}

TEST(ReshardCases, PartialResultsAreReduced) {
  const Asked q(kSquare, {8, 8}, {}, {{"y"}}, {"x"});
  EXPECT_EQ(q.text(), "slice 'y' -> P('y') unreduced {'x'}, 0 B; all_reduce 'x' -> P('y'), 128 B");
  const Asked scattered(kSquare, {8, 8}, {}, {{"y", "x"}}, {"x"});
  EXPECT_EQ(scattered.text(),
            "slice 'y' -> P('y') unreduced {'x'}, 0 B; reduce_scatter 'x' -> P(('y', 'x')), 64 B");
  const Asked both(kSquare, {8, 8}, {}, {}, {"x", "y"});
  EXPECT_EQ(both.text(), "all_reduce 'x' 'y' -> P(), 384 B");
}

TEST(ReshardCases, AxesOfTwoAndThree) {
  const Asked q(kMixed, {6, 6}, {{"a", "b"}}, {{}, {"a", "b"}});
  EXPECT_EQ(q.text(), "all_to_all 'a' 'b' -> P(none, ('a', 'b')), 20 B");
  // If the sizes differ, no permutation swaps them, and the best sequence is far from the bound.
  Asked swap(kMixed, {6, 6}, {{"a"}, {"b"}}, {{"b"}, {"a"}});
  EXPECT_EQ(swap.bound(), 24);
  EXPECT_EQ(swap.text(),
            "all_to_all 'a' -> P(none, ('b', 'a')), 12 B; "
            "all_to_all 'a' 'b' -> P(('b', 'a')), 20 B; all_to_all 'a' -> P('b', 'a'), 12 B");
  swap.options.one_address_space = true;
  EXPECT_EQ(swap.text(), "exchange 'a' 'b' -> P('b', 'a'), 24 B");
  // The parts of one axis are exchanged in the same way.
  Asked parts(kSix, {6, 6}, {{"x:(1)2"}, {"x:(2)3"}}, {{"x:(2)3"}, {"x:(1)2"}});
  EXPECT_EQ(parts.plan().bytes, 44);
  EXPECT_EQ(parts.plan().collectives(), 3);
  parts.options.one_address_space = true;
  EXPECT_EQ(parts.text(), "exchange 'x' -> P('x:(2)3', 'x:(1)2'), 24 B");
}

TEST(ReshardCases, WhatNobodyDividesIsExchanged) {
  const Asked q(kSquare, {5, 4}, {{"x"}}, {{"x", "y"}});
  // Shards of 3 and 2 rows become shards of 2, 2, 1 and none: the second device has [0, 3) and
  // needs [2, 4) if x is 0. A row has 16 bytes.
  EXPECT_EQ(q.text(), "exchange 'x' 'y' -> P(('x', 'y')), 16 B");
  // A dimension whose sharding stays may have uneven shards.
  const Asked stays(kSquare, {5, 4}, {{"x"}}, {{"x"}, {"y"}});
  EXPECT_EQ(stays.text(), "slice 'y' -> P('x', 'y'), 0 B");
  const Asked back(kSquare, {5, 4}, {{"x"}, {"y"}}, {{"x"}});
  EXPECT_EQ(back.text(), "all_gather 'y' -> P('x'), 24 B");
  // A dimension that is whole on one side is sliced or gathered by moves: the last shard is padded.
  const Asked cut(kSquare, {5, 4}, {{}, {"x"}}, {{"y"}});
  EXPECT_EQ(cut.text(), "slice 'y' -> P('y', 'x'), 0 B; all_gather 'x' -> P('y'), 24 B");
  const Asked whole(kSquare, {5, 4}, {{"y"}, {"x"}}, {});
  EXPECT_EQ(whole.text(), "all_gather 'x' 'y' -> P(), 72 B");
  const Asked partial(kSquare, {5}, {}, {{"x"}}, {"x"});
  EXPECT_EQ(partial.text(), "reduce_scatter 'x' -> P('x'), 12 B");
  const Asked crossed(kSquare, {5, 4}, {{"x"}}, {{}, {"x"}});
  EXPECT_EQ(crossed.text(), "all_to_all 'x' -> P(none, 'x'), 24 B");
}

TEST(ReshardCases, FastLinksArePreferred) {
  // P('x') to P('x', 'y') needs nothing. From P(('x', 'y')) to replicated, all are gathered, the
  // slow axis first: 1 of 4 blocks over it, 2 over the fast one.
  Asked q(kSquare, {8, 8}, {{"x", "y"}}, {});
  q.links = Links({{0, 1e6}, {0, 1e9}});
  EXPECT_EQ(q.text(), "all_gather 'x' 'y' -> P(), 192 B");
  EXPECT_DOUBLE_EQ(q.plan().seconds, 64e-6 + 128e-9);
  // The link of an axis that stays in place takes no time.
  const AtomMesh mesh({{"slow", "y", "z"}, {2, 2, 2}});
  Asked rename(mesh, {8, 8}, {{"slow", "y"}}, {{"slow", "z"}});
  rename.links = Links({{0, 1e6}, {0, 1e9}, {0, 1e9}});
  EXPECT_EQ(rename.text(), "permute 'y' 'z' -> P(('slow', 'z')), 64 B");
  EXPECT_DOUBLE_EQ(rename.plan().seconds, 64e-9);
}

// If moves have latencies, the plan is the fastest one, and not the one that sends the fewest
// bytes.
TEST(ReshardCases, LatenciesAreSaved) {
  const Links links({{1, 1e9}, {1, 1e9}, {1, 1e9}});
  const std::vector<Placement> all = tessera::testing::all_placements(kCube, 2);
  int quicker = 0;
  for (const Placement& from : all)
    for (const Placement& to : all) {
      Asked q(kCube, {8, 8}, {}, {});
      q.from = from;
      q.to = to;
      const Reshard least = q.plan();
      q.links = links;
      const Reshard quick = q.plan();
      double seconds = 0;
      const Placement* before = &least.from;
      for (const Move& m : least.moves) {
        const auto part = [&](const Placement& p) {
          return static_cast<double>(kCube.local_shape(q.whole.shape, p).count() * 4);
        };
        seconds += links.seconds(kCube, m.kind, m.atoms, part(*before), part(m.after));
        before = &m.after;
      }
      EXPECT_LE(quick.seconds, seconds + 1e-9) << q.text();
      EXPECT_GE(quick.bytes, least.bytes) << q.text();
      quicker += quick.seconds < seconds - 0.5;
    }
  EXPECT_GT(quicker, 0);
}

TEST(ReshardCases, TimesOfMoves) {
  const AtomMesh mesh({{"x", "y"}, {4, 2}});
  const Links links({{1e-3, 1e6}, {1e-6, 1e9}});
  const AtomSet x(mesh.atoms_of(0)), y(mesh.atoms_of(1)), both = x | y;
  const auto time = [&](MoveKind kind, AtomSet over, double before, double after) {
    return links.seconds(mesh, kind, over, before, after);
  };
  EXPECT_EQ(time(MoveKind::slice, both, 8e6, 1e6), 0);
  EXPECT_DOUBLE_EQ(time(MoveKind::permute, both, 1e6, 1e6), 1e-3 + 1);
  EXPECT_DOUBLE_EQ(time(MoveKind::permute, y, 1e6, 1e6), 1e-6 + 1e-3);
  // Three pieces of 1 MB over the slow axis, then 4 MB over the fast one; two latencies there and
  // one here.
  EXPECT_DOUBLE_EQ(time(MoveKind::all_gather, both, 1e6, 8e6), 2e-3 + 3 + 1e-6 + 4e-3);
  EXPECT_DOUBLE_EQ(time(MoveKind::reduce_scatter, both, 8e6, 1e6), 2e-3 + 3 + 1e-6 + 4e-3);
  EXPECT_DOUBLE_EQ(time(MoveKind::all_reduce, both, 8e6, 8e6), 2 * (2e-3 + 3 + 1e-6 + 4e-3));
  // A device sends 1 MB to each of 8 devices: to 6 over the slow axis, and to 1 over the fast axis
  // only.
  EXPECT_DOUBLE_EQ(time(MoveKind::all_to_all, both, 8e6, 8e6), 2e-3 + 6 + 1e-6 + 1e-3);
  EXPECT_DOUBLE_EQ(links.seconds(mesh, MoveKind::exchange, both, 0, 0, 5e6), 7e-3 + 5);
}

TEST(ReshardCases, EqualQuestionsHaveEqualAnswers) {
  Draw draw(7);
  std::vector<Asked> asked;
  std::vector<std::string> answers;
  for (int i = 0; i < 300; ++i) {
    Asked q(kCube, {8, 8, 8}, {}, {});
    q.from = drawn_placement(draw, kCube, 3);
    q.to = drawn_placement(draw, kCube, 3);
    asked.push_back(q);
    answers.push_back(q.text());
  }
  // Larger arrays that divide in the same way, planned in between, have the same moves.
  for (std::size_t i = asked.size(); i-- > 0;) {
    Asked larger = asked[i];
    larger.whole.shape = {24, 40, 8};
    const Reshard plan = larger.plan(), small = asked[i].plan();
    ASSERT_EQ(plan.moves.size(), small.moves.size());
    EXPECT_EQ(plan.bytes, 15 * small.bytes);
    EXPECT_EQ(asked[i].text(), answers[i]);
  }
}

TEST(ReshardCases, NothingIsLost) {
  Asked q(kSquare, {8}, {}, {}, {});
  q.to.unreduced.insert(0);
  const auto error = [&] {
    try {
      q.plan();
    } catch (const InternalError& e) {
      return std::string(e.what());
    }
    return std::string("no error");
  };
  EXPECT_NE(error().find("f32[8] does not go from P() to P() unreduced {'x'}"), std::string::npos)
      << error();
}

// Plans keep the bounds that follow from what moves can do.
TEST(ReshardBounds, RandomPairs) {
  const std::vector<MeshShape> meshes{{{"x"}, {4}},
                                      {{"x", "y"}, {4, 2}},
                                      {{"x", "y"}, {2, 3}},
                                      {{"x", "y", "z"}, {2, 2, 2}},
                                      {{"x", "y", "z"}, {2, 3, 2}},
                                      {{"x", "y"}, {12, 2}},
                                      {{"x", "y"}, {8, 4}},
                                      {{"x", "y"}, {8, 8}}};
  for (std::size_t m = 0; m < meshes.size(); ++m) {
    const AtomMesh mesh(meshes[m]);
    Draw draw(300 + static_cast<std::uint32_t>(m));
    for (int turn = 0; turn < 120; ++turn) {
      const int rank = 1 + turn % 3;
      Shape shape;
      for (int d = 0; d < rank; ++d) shape.push_back(mesh.mesh().size());
      Asked q(mesh, shape, {}, {});
      q.from = drawn_placement(draw, mesh, rank);
      q.to = drawn_placement(draw, mesh, rank);
      const Reshard plan = q.plan();
      const std::string what =
          mesh.to_string(q.from) + " to " + mesh.to_string(q.to) + ": " + q.text();
      const auto part = [&](const Placement& p) { return mesh.local_shape(shape, p).count() * 4; };
      EXPECT_GE(plan.bytes, q.bound()) << what;
      EXPECT_LE(static_cast<double>(plan.bytes), 2.42 * static_cast<double>(q.bound())) << what;
      EXPECT_LE(plan.peak_bytes, std::max(part(q.from), part(q.to))) << what;
      EXPECT_LE(plan.collectives(), mesh.count() + 1) << what;
      // From a replicated placement nothing is received; to one, a single move gathers everything.
      Asked out = q, in = q;
      out.from = in.to = Placement::replicated(rank);
      EXPECT_EQ(out.plan().collectives(), 0) << what;
      const Reshard gather = in.plan();
      ASSERT_EQ(gather.moves.size(), in.from.is_replicated() ? 0u : 1u) << what;
      for (const Move& move : gather.moves) EXPECT_EQ(move.kind, MoveKind::all_gather);
      EXPECT_EQ(gather.bytes, in.bound()) << what;
    }
  }
}

TEST(ReshardBounds, SimpleMovesAreSingle) {
  const AtomMesh mesh({{"x", "y"}, {8, 4}});
  const auto kinds = [&](Spec::Dims from, Spec::Dims to) {
    std::string text;
    for (const Move& m : Asked(mesh, {64, 64}, std::move(from), std::move(to)).plan().moves)
      text += std::string(text.empty() ? "" : " ") + name_of(m.kind);
    return text;
  };
  EXPECT_EQ(kinds({{"x", "y"}}, {{"y", "x"}}), "permute");
  EXPECT_EQ(kinds({{"x"}}, {{}, {"x"}}), "all_to_all");
  EXPECT_EQ(kinds({{"x", "y"}}, {{"x"}, {"y"}}), "all_to_all");
  EXPECT_EQ(kinds({{"x", "y"}}, {}), "all_gather");
  EXPECT_EQ(kinds({{"x"}, {"y"}}, {}), "all_gather");
  EXPECT_EQ(kinds({{"x"}}, {{"x", "y"}}), "slice");
  EXPECT_EQ(kinds({{"x:(1)2", "x:(2)2"}}, {{"x:(2)2", "x:(4)2"}}), "permute");
}

// Counts, element by element, what each device's box lacks.
TEST(ReshardBounds, TheLowerBoundIsWhatADeviceLacks) {
  const AtomMesh mesh({{"x", "y"}, {4, 3}});
  Draw draw(11);
  for (int turn = 0; turn < 300; ++turn) {
    Asked q(mesh, {1 + draw.below(13), 1 + draw.below(13)}, {}, {});
    if (draw.chance(40)) q.whole.shape = {12, 24};
    q.from = drawn_placement(draw, mesh, 2);
    q.to = drawn_placement(draw, mesh, 2);
    std::int64_t most = 0;
    for (std::int64_t device = 0; device < mesh.mesh().size(); ++device) {
      const Box has = box_of(mesh, q.whole.shape, q.from, device),
                needs = box_of(mesh, q.whole.shape, q.to, device);
      const auto within = [](const Box& b, std::int64_t i, std::int64_t j) {
        return i >= b.start[0] && i < b.start[0] + b.extent[0] && j >= b.start[1] &&
               j < b.start[1] + b.extent[1];
      };
      std::int64_t lacks = 0;
      for (std::int64_t i = 0; i < q.whole.shape[0]; ++i)
        for (std::int64_t j = 0; j < q.whole.shape[1]; ++j)
          lacks += within(needs, i, j) && !within(has, i, j);
      most = std::max(most, lacks);
    }
    EXPECT_EQ(q.bound(), 4 * most)
        << to_string(q.whole) << " " << mesh.to_string(q.from) << " to " << mesh.to_string(q.to);
  }
}
