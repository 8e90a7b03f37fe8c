// Ops with programs inside: loops, branches and regions whose bodies are drawn too.
#pragma once

#include "ir/builder.h"
#include "ops/build.h"
#include "ops/space_movement.h"

namespace walk {

/// Draws a program over inputs of these types. Its results begin with one of each type in
/// `results`, which must be among the types of the inputs; with `more`, one result of any type
/// follows. It is defined in tests/ops/drawn_program.h, because bodies grow as whole programs do.
ProgramPtr draw_body(Dice& dice, const std::vector<Type>& inputs, const std::vector<Type>& results,
                     bool more);

inline Type small_type(Dice& dice) {
  return Type(dice.of(std::vector<DType>{f32, i32, DType::boolean, u8}),
              dice.of(std::vector<Shape>{{}, {3}, {2, 1}, {0}}));
}

inline Drawn draw_remat(Dice& dice, const Type& x) {
  std::vector<Type> in{x};
  if (dice.toss()) in.push_back(small_type(dice));
  return OpExample{in, {{"body", draw_body(dice, in, {}, true)}}};
}

inline Drawn draw_cond(Dice& dice, const Type& x) {
  std::vector<Type> operands{x}, results{x};
  if (dice.toss()) operands.push_back(small_type(dice)), results.push_back(operands.back());
  Programs branches;
  for (std::int64_t k = 1 + dice.below(3); k > 0; --k)
    branches.push_back(draw_body(dice, operands, results, false));
  OpExample e{{Type(i32, {})}, {{"branches", branches}}};
  e.inputs.insert(e.inputs.end(), operands.begin(), operands.end());
  return e;
}

inline Drawn draw_scan(Dice& dice, const Type& x) {
  std::vector<Type> consts, carry, xs;
  if (dice.toss()) consts.push_back(dice.toss() ? x : small_type(dice));
  std::int64_t length = dice.below(4);
  // x is scanned over, or is a carry.
  if (rank_of(x) > 0 && dice.toss()) {
    length = x.shape[0];
    if (length > 8) return std::nullopt;
    Ints row = shape_of(x);
    row.erase(row.begin());
    xs.push_back(typed(x.dtype, row));
  } else {
    carry.push_back(x);
  }
  if (dice.toss()) carry.push_back(small_type(dice));
  if (dice.toss()) xs.push_back(small_type(dice));
  std::vector<Type> in = consts, all = consts;
  for (const Type& t : carry) in.push_back(t), all.push_back(t);
  for (const Type& t : xs) {
    in.push_back(t);
    Ints stacked = shape_of(t);
    stacked.insert(stacked.begin(), length);
    all.push_back(typed(t.dtype, stacked));
  }
  if (in.empty()) return std::nullopt;
  return OpExample{all,
                   {{"body", draw_body(dice, in, carry, true)},
                    {"consts", static_cast<std::int64_t>(consts.size())},
                    {"carry", static_cast<std::int64_t>(carry.size())},
                    {"length", length},
                    {"reverse", dice.toss()}}};
}

/// Counts to a limit of a few iterations.
inline Drawn draw_while(Dice& dice, const Type& x) {
  Type count(i32, {});
  std::vector<Type> consts, carry{x};
  if (dice.toss()) consts.push_back(small_type(dice));
  if (dice.toss()) carry.push_back(small_type(dice));
  Builder c("cond");
  Value i = c.input(count);
  for (const Type& t : carry) c.input(t);
  Values go{ops::lt(i, ops::scalar(c, i32, static_cast<double>(dice.below(4))))};
  ProgramPtr cond = c.finish(go);

  std::vector<Type> inside = consts;
  inside.insert(inside.end(), carry.begin(), carry.end());
  ProgramPtr drawn = draw_body(dice, inside, carry, false);
  Builder b("body");
  Values in, next;
  for (const Type& t : consts) in.push_back(b.input(t));
  Value turn = b.input(count);
  for (const Type& t : carry) in.push_back(b.input(t));
  next.push_back(ops::add(turn, ops::scalar(b, i32, 1)));
  for (Value v : b.inline_program(*drawn, in)) next.push_back(v);
  OpExample e{consts,
              {{"cond", cond},
               {"body", ProgramPtr(b.finish(next))},
               {"cond_consts", std::int64_t{0}},
               {"body_consts", static_cast<std::int64_t>(consts.size())}}};
  e.inputs.push_back(count);
  e.inputs.insert(e.inputs.end(), carry.begin(), carry.end());
  return e;
}

}  // namespace walk
