// The operations that combine values in reductions, running totals, scatters and collectives.
#pragma once

#include <string_view>

namespace tessera::inline v0 {

enum class Combiner { replace, add, mul, min, max, and_, or_ };  // replace: the later value stays

/// "+", "*", "min", "max", "and", "or"; empty for replace.
constexpr std::string_view name_of(Combiner how) {
  switch (how) {
    case Combiner::replace: return "";
    case Combiner::add: return "+";
    case Combiner::mul: return "*";
    case Combiner::min: return "min";
    case Combiner::max: return "max";
    case Combiner::and_: return "and";
    case Combiner::or_: return "or";
  }
  return "";
}

}  // namespace tessera::inline v0
