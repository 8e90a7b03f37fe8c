// Gradients of convolutions with respect to their weights: the tree that sums over images, and the
// routine that uses our own loops (codegen/matrix/weights_gradient.h).
#pragma once

#include "codegen/calls/conv_problem.h"

#include <cstddef>
#include <cstdint>
#include <memory>

namespace tessera::inline v0::codegen {

/// How a gradient with respect to weights is summed over images: in `chunks` chunks of `chunk`
/// images, which are summed by halves if their number is even and in order otherwise. A chunk is
/// halved `levels` times, into `leaves` leaves.
///
/// The tree is that of codegen/kernel/reduce_shape.h, so that devices that divide a batch get the
/// same bits as one device. A leaf costs a call and a pass over the weights, so it must have enough
/// images for these to be cheap compared to its products.
struct GradientTree {
  std::int64_t chunk = 0, chunks = 1, leaves = 1;
  std::size_t levels = 0;
};
GradientTree gradient_tree(const onednn::ConvSpec& spec, double flops);

/// The routine of a gradient with respect to weights of float32, float64, bfloat16 or float16;
/// nullptr for other convolutions, and, unless `always`, for those that oneDNN computes faster.
std::shared_ptr<const Routine> gradient_routine(const ConvProblem& problem, DType dtype,
                                                double flops, bool always = false);

}  // namespace tessera::inline v0::codegen
