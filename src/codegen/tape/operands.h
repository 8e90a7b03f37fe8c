// Operands that are read through views. A conversion, broadcast, transpose or slice that feeds a
// product needs no separate pass over memory if the product's routine can apply it while reading
// the operand (codegen/calls/views.h).
#pragma once

#include "codegen/tape/context.h"

namespace tessera::inline v0::tape {

/// Replaces each equation whose routine accepts views, together with the equations that compute the
/// viewed operands, by one equation over the arrays that are viewed. Equations without remaining
/// readers are removed. This is a pass (transform/pass.h).
void read_through_views(Level& level);

/// The name of an equation's step: that of its op, or the names of all equations that it replaces.
std::string shown_name(const Equation& eqn);

}  // namespace tessera::inline v0::tape
