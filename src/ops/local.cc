#include "ops/local.h"

#include <complex>
#include <limits>

namespace tessera::inline v0::ops {

Literal neutral_literal(DType d, Combiner how) {
  if (how == Combiner::mul) return scalar_literal(d, std::int64_t{1});
  if (how == Combiner::add && is_complex(d)) return scalar_literal(d, std::complex(-0.0, -0.0));
  if (how == Combiner::add) return scalar_literal(d, is_floating(d) ? -0.0 : 0.0);
  const bool max = how == Combiner::max || how == Combiner::or_;
  if (d == DType::boolean) return scalar_literal(d, std::int64_t{!max});
  if (is_floating(d)) {
    const double infinity = std::numeric_limits<double>::infinity();
    return scalar_literal(d, max ? -infinity : infinity);
  }
  const std::int64_t least =
      is_unsigned_integer(d) ? 0
                             : std::numeric_limits<std::int64_t>::min() >> (64 - 8 * size_of(d));
  return scalar_literal(d, max ? least : ~least);
}

}  // namespace tessera::inline v0::ops
