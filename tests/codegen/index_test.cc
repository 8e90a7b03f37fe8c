// The simplifier of symbolic indices.
#include "codegen/kernel/index.h"

#include <gtest/gtest.h>

namespace ts = tessera;
namespace cg = tessera::codegen;
using ts::Index;

namespace {
bool same(const Index& a, const Index& b) { return cg::node_of(a) == cg::node_of(b); }
}  // namespace

TEST(Index, SumsAreNormal) {
  cg::IndexArena arena;
  Index i = cg::make_variable(10), j = cg::make_variable(20);
  EXPECT_TRUE(same(i * 3 + j - i, j + i * 2));
  EXPECT_TRUE(same(i - i, Index(0)));
  EXPECT_TRUE(same(Index(), Index(0)));
}

TEST(Index, QuotientsAndRemaindersOfPositionsCollapse) {
  cg::IndexArena arena;
  Index i = cg::make_variable(10), j = cg::make_variable(20), k = cg::make_variable(4);
  Index flat = i * 20 + j;
  EXPECT_TRUE(same(ts::floor_div(flat, 20), i));
  EXPECT_TRUE(same(ts::floor_mod(flat, 20), j));
  EXPECT_TRUE(same(ts::floor_div(i * 80 + j * 4 + k, 80), i));
  EXPECT_TRUE(same(ts::floor_mod(ts::floor_div(i * 80 + j * 4 + k, 4), 20), j));
  // A common step: (4 i + k) div 8 = i div 2, and the remainder keeps k.
  EXPECT_TRUE(same(ts::floor_div(i * 4 + k, 8), ts::floor_div(i, 2)));
  EXPECT_TRUE(same(ts::floor_mod(i * 4 + k, 8), ts::floor_mod(i, 2) * 4 + k));
}

TEST(Index, UnflattenUndoesFlatten) {
  cg::IndexArena arena;
  Index m = cg::make_variable(2 * 3 * 5);
  std::vector<std::int64_t> shape{2, 3, 5}, other{6, 5};
  std::vector<Index> at = cg::unflatten(m, shape);
  EXPECT_TRUE(same(cg::flatten(at, shape), m));
  EXPECT_TRUE(same(cg::flatten(cg::unflatten(cg::flatten(at, shape), other), other), m));
}

TEST(Index, NegativeValuesRoundDown) {
  cg::IndexArena arena;
  Index i = cg::make_variable(10);
  EXPECT_TRUE(same(ts::floor_div(i * 4 - Index(4), 4), i - Index(1)));
  EXPECT_TRUE(same(ts::floor_mod(Index(-3), 5), Index(2)));
  const auto* n = cg::node_of(ts::floor_div(i - Index(7), 3));
  EXPECT_EQ(n->lo, -3);
  EXPECT_EQ(n->hi, 0);
}

TEST(Index, Substitutes) {
  cg::IndexArena arena;
  Index i = cg::make_variable(10), j = cg::make_variable(5);
  const cg::Atom* a = cg::single_atom(i);
  Index e = ts::floor_div(i, 3) + i * 2;
  EXPECT_TRUE(same(cg::substitute(e, a, j * 3), j * 7));
}
