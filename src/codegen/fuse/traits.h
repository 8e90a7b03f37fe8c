// Properties of one equation that fusion needs.
#pragma once

#include "ir/op.h"

namespace tessera::inline v0::codegen {

FuseRole role_of(const Program& p, const Equation& eqn);
/// Whether a routine is preferred although a kernel could compute the equation.
bool prefers_call(const Program& p, const Equation& eqn);
/// Whether computing an element costs as much as a math function or a root, so that repeating it
/// for each row that reads it costs more than loading it.
bool takes_long(const Program& p, const Equation& eqn);
/// Whether a reduction keeps only leading dimensions, so that its rows are contiguous.
bool reduces_trailing(const Program& p, const Equation& eqn);

}  // namespace tessera::inline v0::codegen
