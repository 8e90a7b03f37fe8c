// A convolution in the library's terms: the forward pass, or one of its two gradients.
//
// The transposes of a convolution are convolutions again (ops/contraction/convolution_grad.cc). Run
// as such they would multiply by the holes of a dilated operand, or slide a kernel as large as an
// image; they are recognised by their geometry and run as the gradients they come from. A dilated
// operand with a stride of 1 is a gradient with respect to the source. Groups of the batch, or a
// batch that lies inside the features, as batch and features change places in such a gradient, mean
// one with respect to the weights. Either reading is right for any convolution; only the speed
// differs.
#pragma once

#include "codegen/calls/internal.h"
#include "codegen/calls/onednn.h"
#include "ops/contraction/conv_dims.h"

#include <optional>

namespace tessera::inline v0::codegen {

/// Which of our arrays (0: lhs, 1: rhs, 2: result) are its source, weights and destination.
struct ConvProblem {
  onednn::ConvSpec spec;
  int source = 0, weights = 1, destination = 2;
  Ints first;             // cropped elements at the start of each spatial dimension of the source
  bool reversed = false;  // the weights are our kernel with its spatial dimensions reversed
};

/// Nothing where the library has no call for it.
std::optional<ConvProblem> recognise(const CallArgs& a, const ops::ConvDims& d);

bool all_equal(const Ints& v, std::int64_t x);
std::int64_t product(const Ints& v);

}  // namespace tessera::inline v0::codegen
