// The positions at which a broadcasting equation reads its operand.
#pragma once

#include "ir/program.h"

#include <vector>

namespace tessera::inline v0::codegen {

/// The extents other than 1.
std::vector<std::int64_t> squeezed(const Shape& shape);
/// How a broadcasting equation (Op::spreads) reads its operand: at the same position as the result,
/// at the result's leading dimensions alone, or otherwise. Dimensions of size 1 are ignored.
enum class Reading { same, leading, other };
Reading reading_of_spread(const Program& p, const Equation& eqn);

}  // namespace tessera::inline v0::codegen
