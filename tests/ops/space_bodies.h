// Ops that combine elements by a body of scalars.
#pragma once

#include "ops/movement/order_by.h"
#include "ops/space_sums.h"

namespace walk {

/// A body (x..., y...) with one result of each dtype: each is combined by itself, or all are
/// selected by the order of the first. It is associative, so derivatives may use any tree.
inline ProgramPtr draw_combiner(Dice& dice, const std::vector<DType>& dtypes) {
  Builder b("combined");
  Values x, y, out;
  for (Values* side : {&x, &y})
    for (DType d : dtypes) side->push_back(b.input(Type(d, {})));
  const bool chosen = dtypes[0] != DType::boolean && !is_complex(dtypes[0]) && dice.toss();
  const Value keep = chosen ? (dice.toss() ? ops::ge(x[0], y[0]) : ops::le(x[0], y[0])) : x[0];
  for (std::size_t i = 0; i < dtypes.size(); ++i) {
    using Combine = Value (*)(Value, Value);
    static const std::vector<Combine> numbers{ops::add, ops::mul, ops::max, ops::min},
        unordered{ops::add, ops::mul}, truths{ops::and_, ops::or_, ops::xor_};
    const DType d = dtypes[i];
    out.push_back(chosen ? ops::select(keep, x[i], y[i])
                         : dice.of(d == DType::boolean ? truths
                                   : is_complex(d)     ? unordered
                                                       : numbers)(x[i], y[i]));
  }
  return b.finish(out);
}

/// The operands of a reduction: x, perhaps more arrays of its shape, and a scalar for each.
inline OpExample draw_reduced(Dice& dice, const Type& x) {
  std::vector<DType> dtypes{x.dtype};
  if (dice.toss()) dtypes.push_back(dice.of(std::vector<DType>{i32, f32, u8, DType::boolean}));
  OpExample e;
  for (DType d : dtypes) e.inputs.push_back(Type(d, x.shape));
  for (DType d : dtypes) e.inputs.push_back(Type(d, {}));
  e.attrs.set("body", draw_combiner(dice, dtypes));
  return e;
}

inline Drawn draw_general_reduce(Dice& dice, const Type& x) {
  OpExample e = draw_reduced(dice, x);
  e.attrs.set("axes", dice.subset(rank_of(x)));
  return e;
}

inline Drawn draw_general_window(Dice& dice, const Type& x) {
  OpExample e = draw_reduced(dice, x);
  Ints windows;
  for (const auto& [name, value] : draw_window(dice, x, windows)) e.attrs.set(name, value);
  return e;
}

inline Drawn draw_combine_at(Dice& dice, const Type& x) {
  if (rank_of(x) == 0) return std::nullopt;
  std::vector<DType> dtypes{x.dtype};
  if (dice.toss()) dtypes.push_back(dice.of(std::vector<DType>{i32, f32, DType::boolean}));
  Shape updates = x.shape;
  updates[updates.rank() - 1] = dice.below(6);
  OpExample e;
  for (DType d : dtypes) e.inputs.push_back(Type(d, x.shape));
  e.inputs.push_back(Type(dice.of(std::vector<DType>{i32, DType::int64, u8}), updates));
  for (DType d : dtypes) e.inputs.push_back(Type(d, updates));
  e.attrs.set("body", draw_combiner(dice, dtypes));
  return e;
}

inline Drawn draw_order_by(Dice& dice, const Type& x) {
  if (rank_of(x) == 0 || is_complex(x.dtype)) return std::nullopt;
  OpExample e{{x}, {}};
  if (dice.toss())
    e.inputs.push_back(Type(dice.of(std::vector<DType>{i32, f32, DType::boolean}), x.shape));
  Builder b("before");
  Values pairs;
  for (const Type& t : e.inputs)
    for (int side = 0; side < 2; ++side) pairs.push_back(b.input(Type(t.dtype, {})));
  // A strict order of numbers, with NaNs after them.
  const std::size_t by =
      2 * static_cast<std::size_t>(dice.below(static_cast<std::int64_t>(e.inputs.size())));
  Value a = pairs[by], c = pairs[by + 1];
  Value before = dice.toss() ? ops::lt(a, c) : ops::gt(a, c);
  before = ops::or_(before, ops::and_(ops::eq(a, a), ops::ne(c, c)));
  e.attrs = {{"comparator", ProgramPtr(b.finish(Values{before}))},
             {"dimension", dice.below(rank_of(x))}};
  return e;
}

}  // namespace walk
