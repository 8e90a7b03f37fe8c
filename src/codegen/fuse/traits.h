// What fusion asks of one equation.
#pragma once

#include "ir/op.h"

namespace tessera::inline v0::codegen {

FuseRole role_of(const Program& p, const Equation& eqn);
/// Whether a routine carries it out though a kernel could.
bool prefers_call(const Program& p, const Equation& eqn);
/// Whether an element takes as long as a function does, as a root does: to compute it again for each
/// row that reads it costs more than to load it.
bool takes_long(const Program& p, const Equation& eqn);
/// Whether a reduction keeps leading dimensions only, so that its rows are contiguous.
bool reduces_trailing(const Program& p, const Equation& eqn);

}  // namespace tessera::inline v0::codegen
