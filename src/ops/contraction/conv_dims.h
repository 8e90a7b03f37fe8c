// The geometry of a convolution: its attributes, and which elements they bring together.
#pragma once

#include "ir/op.h"
#include "ops/build.h"

namespace tessera::inline v0::ops {

ConvDims conv_dims(const Attrs& attrs);
/// An empty list stands for 1 (strides, dilations) or 0 (padding) in every spatial dimension.
Attrs conv_attrs(ConvDims dims);

/// The extent of a dimension after `dilation - 1` holes are inserted between neighbours.
inline std::int64_t dilated(std::int64_t extent, std::int64_t dilation) {
  return extent == 0 ? 0 : (extent - 1) * dilation + 1;
}
/// The number of windows of extent `window` (after dilation) that start every `stride` in `padded`
/// elements.
inline std::int64_t window_count(std::int64_t padded, std::int64_t window, std::int64_t stride) {
  return padded < window || padded <= 0 ? 0 : (padded - window) / stride + 1;
}

/// The geometry of the windows along one dimension.
struct WindowSpan {
  std::int64_t extent, dilation;
  std::int64_t window, window_dilation;
  std::int64_t low, high;
};
/// Names what is too long to count: the dilated operand, the dilated window, or the padding, at
/// 2^60 or more. Empty if nothing is.
std::string too_long(const WindowSpan& w);

struct Edges {
  Ints low, high;
};
/// The padding under which convolving the result's cotangent, dilated by `strides`, with the
/// reversed kernel gives the cotangent of lhs: one window position for each lhs element, dilated by
/// `lhs_dilation`.
Edges lhs_gradient_padding(const Ints& lhs, const Ints& window, const Ints& out,
                           const ConvDims& dims);
/// The padding under which convolving lhs with the result's cotangent, dilated by `strides`, gives
/// the cotangent of the kernel.
Edges rhs_gradient_padding(const Ints& lhs, const Ints& window, const Ints& out,
                           const ConvDims& dims);

/// The spatial extents of an operand, in the order of its spec.
Ints spatial(const Shape& shape, const Ints& spec);

/// The cotangents of the operands.
Value convolution_transpose_lhs(Value cotangent, Value rhs, const ConvDims& dims, const Type& lhs);
Value convolution_transpose_rhs(Value cotangent, Value lhs, const ConvDims& dims, const Type& rhs);

/// The convolution of stacked operands: the stacked dimension is merged into the batch, the output
/// features or the feature groups.
BatchResult convolution_batch(const BatchArgs& a);

/// The sharding rule of convolution and its local rule; convolution_parts.cc.
FactorRule convolution_sharding(const ShardArgs& a);
Values convolution_local(const LocalArgs& a);

/// The library routine, for the types that it supports. Defined in codegen/calls/conv.cc, the only
/// place that knows the libraries.
std::shared_ptr<const Routine> convolution_call(const CallArgs& a);

/// Moves dimension `from` to just before dimension `to` of the remaining ones and merges the two.
Value fold_dim(Value x, int from, std::int64_t to);
/// Splits dimension `dim` into (major, rest).
Value split_dim(Value x, std::int64_t dim, std::int64_t major);

}  // namespace tessera::inline v0::ops
