// What fusion asks of one equation.
#pragma once

#include "ir/op.h"

namespace tessera::inline v0::codegen {

FuseRole role_of(const Program& p, const Equation& eqn);
/// Whether a routine carries it out though a kernel could.
bool prefers_call(const Program& p, const Equation& eqn);
/// Whether a reduction keeps leading dimensions only, so that its rows are contiguous.
bool reduces_trailing(const Program& p, const Equation& eqn);

}  // namespace tessera::inline v0::codegen
