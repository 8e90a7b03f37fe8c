// Which convolutions run in loops of our own. The rest is oneDNN's (conv.cc).
#pragma once

#include "codegen/calls/conv_problem.h"

#include <memory>

namespace tessera::inline v0::codegen {

/// The routine by our own loops; nullptr if there is none, or, unless `always`, if oneDNN is
/// quicker. `flops` are those of the problem, without the holes of dilated operands.
std::shared_ptr<const Routine> own_convolution(const ConvProblem& problem, DType dtype,
                                               double flops, bool always = false);

}  // namespace tessera::inline v0::codegen
