// Reverse mode composed from its parts: linearisation is jvp followed by partial evaluation, and a
// vjp is the transpose of the linear part.
#pragma once

#include "ir/program.h"

namespace tessera::inline v0 {

/// `known`: (inputs...) -> (outputs..., residuals...). `linear`: (residuals..., tangents of the
/// inputs in `wrt`...) -> the tangents of the outputs where `nonzero_out`; the tangents of the
/// other outputs are always zero.
struct Linearized {
  ProgramPtr known;
  ProgramPtr linear;
  std::size_t residuals = 0;
  std::vector<bool> nonzero_out;
};
/// `wrt[i]` says whether to differentiate with respect to input i, which must then be floating.
Linearized linearize_program(const Program& p, const std::vector<bool>& wrt);

/// (inputs..., cotangents of the floating outputs...) -> (outputs..., cotangents of the inputs in
/// `wrt`...). A cotangent has the dtype and shape of its primal value.
ProgramPtr vjp_program(const Program& p, const std::vector<bool>& wrt);

/// Throws TraceError if `p` contains the tangent of a function with a custom_vjp rule that was
/// never transposed, because such a rule has no forward mode. Call it on a program made by
/// jvp_program that will be run as it is.
void require_forward_mode(const Program& p);

}  // namespace tessera::inline v0
