// Depthwise convolutions whose channels are adjacent in memory. Vector lanes hold neighbouring
// channels, and several neighbouring pixels are computed at once.
#pragma once

#include "codegen/calls/conv_problem.h"

#include <memory>

namespace tessera::inline v0::codegen {

/// A routine for a forward convolution or a gradient with respect to the source in which each
/// channel of the result comes from one channel of the source; nullptr for other convolutions,
/// layouts and dtypes. The dtypes are float32, float64, and bfloat16 with float32 sums.
///
/// The sum of an element adds the window positions in order, by fused multiply-adds where the
/// processor has them. Padding is skipped rather than added as zeros, so that an infinite weight
/// does not give NaN there.
std::shared_ptr<const Routine> channels_routine(const ConvProblem& problem, DType dtype,
                                                double flops);

}  // namespace tessera::inline v0::codegen
