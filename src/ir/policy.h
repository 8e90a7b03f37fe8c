// What a checkpointed region may keep from its forward pass.
#pragma once

#include "ir/program.h"

namespace tessera::inline v0 {

/// Asked once for each equation of the forward pass whose results the backward pass needs: true
/// keeps them, false computes them again. The inputs of the region are always kept. Must give the
/// same answer for the same equation.
struct RematPolicy : Hook {
  virtual bool saveable(const Equation& eqn, const Program& p) const = 0;
};

}  // namespace tessera::inline v0
