// Convolutions and their gradients with respect to the source as implicit matrix products
// (codegen/matrix/convolution.h).
#pragma once

#include "codegen/calls/conv_problem.h"

#include <memory>

namespace tessera::inline v0::codegen {

/// A routine for a forward convolution or a gradient with respect to the source, of float32 or
/// float64; nullptr for others, and, unless `always`, for those that oneDNN computes faster.
std::shared_ptr<const Routine> product_routine(const ConvProblem& problem, DType dtype,
                                               double flops, bool always = false);

}  // namespace tessera::inline v0::codegen
