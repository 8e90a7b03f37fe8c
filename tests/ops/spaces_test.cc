// Every op is drawn from its whole attribute space, or has a reason and is tested elsewhere.
#include "ops/drawn_program.h"
#include "ops/registry_walk.h"

#include <random>
#include <set>

using namespace tessera;

class Spaces : public testing::TestWithParam<std::string> {};

TEST_P(Spaces, HaveADrawOrAReason) {
  const Op& op = Registry::get().at(GetParam());
  const int ways = int(walk::spaces().count(op.name)) + int(walk::not_drawn().count(op.name)) +
                   int(walk::row_is_enough(op) && !walk::spaces().count(op.name) &&
                       !walk::not_drawn().count(op.name));
  EXPECT_EQ(ways, 1)
      << "give " << op.name
      << " an entry in tests/ops/spaces.h: how its operands and attributes are drawn";
}

// Not too many draws are refused by the op, because these test nothing.
TEST_P(Spaces, DrawWhatTheOpTakes) {
  const Op& op = Registry::get().at(GetParam());
  if (walk::not_drawn().count(op.name)) GTEST_SKIP() << walk::not_drawn().at(op.name);
  std::mt19937_64 rng(5);
  int made = 0;
  std::set<std::string> forms;
  for (int k = 0; k < 100; ++k) {
    walk::Tape tape(60);
    for (std::uint32_t& n : tape) n = static_cast<std::uint32_t>(rng() % 27720);
    walk::Dice dice(tape);
    Ints shape;
    for (std::int64_t r = dice.below(4); r > 0; --r) shape.push_back(dice.extent());
    for (DType d : {dice.of(walk::all_dtypes()), f32, i32, DType::boolean, u32, c64}) {
      walk::Drawn e = walk::draw_equation(op, dice, walk::typed(d, shape));
      if (!e) continue;
      ++made;
      forms.insert(to_string(*walk::program_of(op, *e)));
      break;
    }
  }
  EXPECT_GE(made, 40) << "most draws are refused";
  EXPECT_GE(forms.size(), 15u) << "draws are all alike";
}

TEST(SpacesOfOps, NameOpsThatExist) {
  for (const auto& [name, draw] : walk::spaces()) EXPECT_TRUE(Registry::get().find(name)) << name;
  for (const auto& [name, reason] : walk::not_drawn()) {
    EXPECT_TRUE(Registry::get().find(name)) << name;
    EXPECT_FALSE(reason.empty());
  }
}

INSTANTIATE_TEST_SUITE_P(Ops, Spaces, testing::ValuesIn(walk::op_names()), walk::test_name);
