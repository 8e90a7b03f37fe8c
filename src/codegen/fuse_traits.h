// What fusion asks of one equation.
#pragma once

#include "ir/program.h"

#include <vector>

namespace tessera::inline v0::codegen {

enum class Role {
  free,  // repeated in every kernel that reads it: constants, broadcasts, iota, reshapes,
         // identities
  elementwise,
  movement,  // reads every operand element about once
  reduction,
  window,  // operands are read more than once: they are not computed inside
  apart,   // not a kernel
};

Role role_of(const Program& p, const Equation& eqn);
/// Repeating it costs more than reading its result.
bool is_expensive(const Equation& eqn);
/// The extents other than 1.
std::vector<std::int64_t> squeezed(const Shape& shape);
/// How an equation that only rearranges reads its operand: at the same position, with `result`'s
/// leading dimensions alone, or some other way. Dimensions of one element do not count.
enum class Reading { same, leading, other };
Reading reading_of_broadcast(const Program& p, const Equation& eqn);
/// Whether a reduction keeps leading dimensions only, so that its rows are contiguous.
bool reduces_trailing(const Program& p, const Equation& eqn);

}  // namespace tessera::inline v0::codegen
