// How an equation that repeats its operand reads it.
#pragma once

#include "ir/program.h"

#include <vector>

namespace tessera::inline v0::codegen {

/// The extents other than 1.
std::vector<std::int64_t> squeezed(const Shape& shape);
/// How an equation that repeats its operand (Op::spreads) reads it: at the same position, with the
/// result's leading dimensions alone, or some other way. Dimensions of one element do not count.
enum class Reading { same, leading, other };
Reading reading_of_spread(const Program& p, const Equation& eqn);

}  // namespace tessera::inline v0::codegen
