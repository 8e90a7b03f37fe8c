// Reverse mode from its parts: linearisation is jvp followed by partial evaluation, a vjp its
// transposition.
#pragma once

#include "ir/program.h"

namespace tessera::inline v0 {

/// `known`: (inputs...) -> (outputs..., residuals...). `linear`: (residuals..., tangents of the
/// inputs in `wrt`...) -> the tangents of the outputs where `nonzero_out`; the others are zero
/// whatever the tangents are.
struct Linearized {
  ProgramPtr known;
  ProgramPtr linear;
  std::size_t residuals = 0;
  std::vector<bool> nonzero_out;
};
/// `wrt[i]` says whether to differentiate with respect to input i, which must be floating then.
Linearized linearize_program(const Program& p, const std::vector<bool>& wrt);

/// (inputs..., cotangents of the floating outputs...) -> (outputs..., cotangents of the inputs in
/// `wrt`...). Cotangents have the dtype and shape of what they belong to.
ProgramPtr vjp_program(const Program& p, const std::vector<bool>& wrt);

/// Throws TraceError where `p` holds the tangent of a function with a custom_vjp rule that was
/// never transposed: the rule has no forward mode. For programs made by jvp_program that are to be
/// run as they are.
void require_forward_mode(const Program& p);

}  // namespace tessera::inline v0
