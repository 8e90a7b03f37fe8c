// What fusion asks of one equation.
#pragma once

#include "codegen/kernel/reading.h"

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
/// Whether a reduction keeps leading dimensions only, so that its rows are contiguous.
bool reduces_trailing(const Program& p, const Equation& eqn);

}  // namespace tessera::inline v0::codegen
