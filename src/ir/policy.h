// Decides which values a checkpointed region saves from its forward pass.
#pragma once

#include "ir/program.h"

namespace tessera::inline v0 {

/// Called once for each equation of the forward pass whose results the backward pass needs: true
/// saves them, false recomputes them. The region's inputs are always saved. Must give the same
/// answer for the same equation.
struct RematPolicy : Hook {
  virtual bool saveable(const Equation& eqn, const Program& p) const = 0;
};

}  // namespace tessera::inline v0
