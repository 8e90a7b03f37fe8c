#include "ops/padding.h"

#include "ops/local.h"

#include <limits>

namespace tessera::inline v0::ops {

Value filled_behind(Value part, int dim, std::int64_t extent, const Strings& axes,
                    std::int64_t parts, const Literal& fill) {
  const std::int64_t n = part.shape()[dim];
  if (n * parts == extent) return part;
  Builder& b = *part.builder;
  const DType dtype =
      n * parts < std::numeric_limits<std::int32_t>::max() ? DType::int32 : DType::int64;
  const Value left =
      sub(constant(b, scalar_literal(dtype, extent)), part_start(b, dtype, axes, parts, n));
  const Value inside = lt(iota(b, dtype, {n}, 0), everywhere(left, {n}));
  return select(broadcast_in_dim(inside, part.shape(), {dim}), part,
                everywhere(constant(b, fill), part.shape()));
}

}  // namespace tessera::inline v0::ops
