#include "stablehlo/import/extremes.h"

#include "ops/movement/movement.h"
#include "stablehlo/import/canonical.h"

#include <cmath>
#include <limits>

namespace tessera::inline v0::stablehlo::rules {

namespace {

using Compare = Value (*)(Value, Value);

// The region as JAX writes it.
ProgramPtr keeping_better(const Type& element, const Type& position, Compare is_better) {
  Builder b;
  const Value x = b.input(element), i = b.input(position), y = b.input(element),
              k = b.input(position);
  const Value wins = ops::or_(is_better(x, y), ops::ne(x, x));
  const Value is_first = ops::or_(wins, ops::and_(ops::eq(x, y), ops::lt(i, k)));
  return canonical(*b.finish(Values{ops::select(wins, x, y), ops::select(is_first, i, k)}));
}

// Whether no element is worse than the start value.
bool is_worst(const Reading& r, Value start, bool greatest) {
  const DType d = start.dtype();
  if (is_floating(d)) {
    const std::optional<double> x = r.known_number(start);
    return x && std::isinf(*x) && std::signbit(*x) == greatest;
  }
  const std::optional<Ints> x = r.known_integers(start);
  return x && x->size() == 1 && dispatch(d, [&](auto tag) {
           using T = decltype(tag);
           if constexpr (std::is_integral_v<T>)
             return (*x)[0] == static_cast<std::int64_t>(greatest ? std::numeric_limits<T>::min()
                                                                  : std::numeric_limits<T>::max());
           else
             return false;
         });
}

// Whether the elements are their own positions along a dimension, without wrap-around.
bool are_positions(Reading& r, Value v, int along) {
  const Equation* e = r.scope.level().made_by(v);
  constexpr std::int64_t kSafe = 128;  // positions that every integer type has
  return e && e->op->stablehlo == "iota" && e->attrs.i("dimension") == along &&
         (size_of(v.dtype()) >= 4 || v.shape()[static_cast<std::size_t>(along)] <= kSafe);
}

}  // namespace

std::optional<Values> extremes(Reading& r, const Program& region, const Values& inputs,
                               const Values& starts, int along) {
  if (inputs.size() != 2) return std::nullopt;
  const Value x = inputs[0], positions = inputs[1];
  const std::int64_t n = x.shape()[static_cast<std::size_t>(along)];
  if (n == 0 || (!is_floating(x.dtype()) && !is_integer(x.dtype())) ||
      !is_integer(positions.dtype()) || r.known_number(starts[1]) != 0.0 ||
      !are_positions(r, positions, along))
    return std::nullopt;
  const ProgramPtr given = canonical(region);
  for (const bool greatest : {true, false}) {
    const ProgramPtr known =
        keeping_better(region.type(region.inputs[0]), region.type(region.inputs[1]),
                       greatest ? &ops::gt : &ops::lt);
    if (!same_structure(*given, *known) || !is_worst(r, starts[0], greatest)) continue;
    const Value at = greatest ? ops::argmax(x, along, positions.dtype())
                              : ops::argmin(x, along, positions.dtype());
    // An element is looked up, because the order of the extreme value itself tells -0 from 0.
    Shape column = x.shape();
    column[static_cast<std::size_t>(along)] = 1;
    const Value best = ops::take_along(x, ops::reshape(at, column), along);
    return Values{ops::reshape(best, at.shape()), at};
  }
  return std::nullopt;
}

}  // namespace tessera::inline v0::stablehlo::rules
