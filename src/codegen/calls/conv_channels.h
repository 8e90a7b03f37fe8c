// Depthwise convolutions whose channels are adjacent in memory. Vector lanes hold neighbouring
// channels, and some neighbouring pixels are computed at a time.
#pragma once

#include "codegen/calls/conv_problem.h"

#include <memory>

namespace tessera::inline v0::codegen {

/// A routine for a forward convolution or a gradient with respect to the source in which each
/// channel of the result comes from one channel of the source; nullptr for other convolutions,
/// layouts and dtypes. Float32, float64, and bfloat16 with sums of float32.
///
/// The sum of an element adds the window positions in order, by fused multiply-adds where the
/// processor has them. Padding is not added, so it meets no infinite weight.
std::shared_ptr<const Routine> channels_routine(const ConvProblem& problem, DType dtype,
                                                double flops);

}  // namespace tessera::inline v0::codegen
