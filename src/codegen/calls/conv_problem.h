// A convolution in oneDNN's terms: the forward pass, or one of its two gradients.
//
// The transposes of a convolution are convolutions again (ops/contraction/convolution_grad.cc). Run
// directly, they would multiply by the holes of a dilated operand or slide a kernel as large as an
// image. They are therefore recognised by their geometry and run as the gradients that they are. A
// dilated operand with stride 1 indicates a gradient with respect to the source. Batch groups, or a
// batch that lies inside the features in memory (such gradients exchange batch and features),
// indicate a gradient with respect to the weights. Either interpretation is correct for any
// convolution; they differ only in speed.
#pragma once

#include "codegen/calls/internal.h"
#include "codegen/calls/onednn.h"
#include "ops/contraction/conv_dims.h"

#include <optional>

namespace tessera::inline v0::codegen {

/// `source`, `weights` and `destination` name our arrays (0: lhs, 1: rhs, 2: result).
struct ConvProblem {
  onednn::ConvSpec spec;
  int source = 0, weights = 1, destination = 2;
  Ints first;             // cropped elements at the start of each spatial dimension of the source
  bool reversed = false;  // the weights are our kernel with its spatial dimensions reversed
};

/// Returns nothing if oneDNN does not support the convolution.
std::optional<ConvProblem> recognise(const CallArgs& a, const ops::ConvDims& d);

bool all_equal(const Ints& v, std::int64_t x);
std::int64_t product(const Ints& v);

}  // namespace tessera::inline v0::codegen
