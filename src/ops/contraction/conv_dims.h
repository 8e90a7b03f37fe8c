// The geometry of a convolution: what its attributes say about which elements meet.
#pragma once

#include "ir/op.h"
#include "ops/build.h"

namespace tessera::inline v0::ops {

ConvDims conv_dims(const Attrs& attrs);
/// Missing lists (strides, padding, dilations) mean 1 or 0 for every spatial dimension.
Attrs conv_attrs(ConvDims dims);

/// Extent of a dimension after `dilation - 1` holes between neighbours.
inline std::int64_t dilated(std::int64_t extent, std::int64_t dilation) {
  return extent == 0 ? 0 : (extent - 1) * dilation + 1;
}
/// Number of windows of extent `window` (dilated) that start every `stride` in `padded` elements.
inline std::int64_t window_count(std::int64_t padded, std::int64_t window, std::int64_t stride) {
  return padded < window || padded <= 0 ? 0 : (padded - window) / stride + 1;
}

/// One dimension that windows run along.
struct WindowSpan {
  std::int64_t extent, dilation;
  std::int64_t window, window_dilation;
  std::int64_t low, high;
};
/// What is too long to be counted in: the operand or the window, dilated, or the padding, of 2^60
/// and more; empty where nothing is.
std::string too_long(const WindowSpan& w);

struct Edges {
  Ints low, high;
};
/// Padding under which the convolution of the result's cotangent, dilated by `strides`, with the
/// reversed kernel gives the cotangent of lhs: one window position for each lhs element, dilated by
/// `lhs_dilation`.
Edges lhs_gradient_padding(const Ints& lhs, const Ints& window, const Ints& out,
                           const ConvDims& dims);
/// Padding under which the convolution of lhs with the result's cotangent, dilated by `strides`,
/// gives that of the kernel.
Edges rhs_gradient_padding(const Ints& lhs, const Ints& window, const Ints& out,
                           const ConvDims& dims);

/// The spatial extents of an operand, in the order of its spec.
Ints spatial(const Shape& shape, const Ints& spec);

/// Cotangents of the operands.
Value convolution_transpose_lhs(Value cotangent, Value rhs, const ConvDims& dims, const Type& lhs);
Value convolution_transpose_rhs(Value cotangent, Value lhs, const ConvDims& dims, const Type& rhs);

/// The convolution of stacked operands: the stack joins the batch, the output features or the
/// feature groups.
BatchResult convolution_batch(const BatchArgs& a);

/// How its work is divided, and the convolution on parts; convolution_parts.cc.
FactorRule convolution_sharding(const ShardArgs& a);
Values convolution_local(const LocalArgs& a);

/// The library's routine, for types that it takes. Defined in codegen/calls/conv.cc, where the
/// libraries are known.
std::shared_ptr<const Routine> convolution_call(const CallArgs& a);

/// Moves dimension `from` to just before dimension `to` of what remains and merges the two.
Value fold_dim(Value x, int from, std::int64_t to);
/// Splits dimension `dim` into (major, rest).
Value split_dim(Value x, std::int64_t dim, std::int64_t major);

}  // namespace tessera::inline v0::ops
