// Divides a convolution for our own loops into parts whose output pixels have the same taps.
#pragma once

#include "codegen/calls/conv_problem.h"
#include "codegen/matrix/convolution.h"

#include <cstdint>
#include <vector>

namespace tessera::inline v0::codegen {

struct ConvPart {
  matrix::ConvShape shape;       // of one group
  std::int64_t destination = 0;  // offset of the first output in elements
};

/// The extents and strides of a group, without taps.
matrix::ConvShape conv_shape(const onednn::ConvSpec& s, DType dtype);
/// A forward convolution is one part. A gradient with respect to the source has one part for each
/// remainder of a position by the strides, since each remainder uses different taps. Parts without
/// outputs are left out.
std::vector<ConvPart> conv_parts(const ConvProblem& problem, DType dtype);

/// The number of elements that cropping skips at the start of the source.
std::int64_t crop_offset(const ConvProblem& p);

}  // namespace tessera::inline v0::codegen
