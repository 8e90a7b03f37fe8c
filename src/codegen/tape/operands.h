// Operands that are read where they come from. A conversion, a repetition, a transpose or a slice
// in front of a product needs no pass over memory of its own if the product's routine can read its
// operand through it (codegen/calls/views.h).
#pragma once

#include "codegen/tape/context.h"

namespace tessera::inline v0::tape {

/// Replaces each equation whose routine takes views of what it reads, together with the equations
/// that make these operands, by one equation over the values that the views are of. Equations that
/// nothing reads any more are removed. This is a pass (transform/pass.h).
void read_through_views(Level& level);

/// The name of an equation's step: that of its op, or of all equations that it stands for.
std::string shown_name(const Equation& eqn);

}  // namespace tessera::inline v0::tape
