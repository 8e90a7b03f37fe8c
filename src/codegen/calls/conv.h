// Convolutions that run in loops of our own. oneDNN computes the others (conv.cc).
#pragma once

#include "codegen/calls/conv_problem.h"

#include <memory>

namespace tessera::inline v0::codegen {

/// The routine that uses our own loops; nullptr if there is none, or, unless `always`, if oneDNN is
/// faster. `flops` counts the operations of the problem, without the holes of dilated operands.
std::shared_ptr<const Routine> own_convolution(const ConvProblem& problem, DType dtype,
                                               double flops, bool always = false);

}  // namespace tessera::inline v0::codegen
