// The two transposes of convolution. Both are convolutions again; the formulas are those of JAX's
// lax.conv_general_dilated.
#include "ops/contraction/conv_dims.h"

#include <utility>

namespace tessera::inline v0::ops {
namespace {

// Swaps the roles of batch and feature in the spec (for a kernel, of output and input feature).
Ints exchanged_spec(Ints spec) {
  std::swap(spec[0], spec[1]);
  return spec;
}

// Moves the major factor `groups` of dimension `from` to the front of dimension `to`.
Value move_groups(Value x, std::int64_t from, std::int64_t to, std::int64_t groups) {
  Value split = split_dim(x, from, groups);
  // The group dimension is at `from`; the dimensions after it have shifted by one, and shift back
  // when it is folded away.
  return fold_dim(split, static_cast<int>(from), to);
}

}  // namespace

Value convolution_transpose_lhs(Value ct, Value rhs, const ConvDims& d, const Type& lhs) {
  if (ct.shape().count() == 0 || rhs.shape().count() == 0)
    return zeros(*ct.builder, Type(lhs.dtype, lhs.shape));
  Ints window = spatial(rhs.shape(), d.rhs_spec);
  Edges pad = lhs_gradient_padding(spatial(lhs.shape, d.lhs_spec), window,
                                   spatial(ct.shape(), d.out_spec), d);

  // Each group of output features becomes a group of input features.
  std::int64_t groups = d.feature_groups > 1 ? d.feature_groups : d.batch_groups;
  Value kernel = groups > 1 ? move_groups(rhs, d.rhs_spec[0], d.rhs_spec[1], groups) : rhs;
  Ints spatial_dims(d.rhs_spec.begin() + 2, d.rhs_spec.end());
  ConvDims t;
  t.strides = d.lhs_dilation;
  t.lhs_dilation = d.strides;
  t.rhs_dilation = d.rhs_dilation;
  t.pad_low = pad.low;
  t.pad_high = pad.high;
  t.lhs_spec = d.out_spec;
  t.rhs_spec = exchanged_spec(d.rhs_spec);
  t.out_spec = d.lhs_spec;
  t.feature_groups = groups;
  Value result = convolution(ct, reverse(kernel, spatial_dims), t);
  return d.batch_groups > 1 ? move_groups(result, d.lhs_spec[1], d.lhs_spec[0], d.batch_groups)
                            : result;
}

Value convolution_transpose_rhs(Value ct, Value lhs, const ConvDims& d, const Type& rhs) {
  if (ct.shape().count() == 0 || lhs.shape().count() == 0)
    return zeros(*ct.builder, Type(rhs.dtype, rhs.shape));
  Ints window = spatial(rhs.shape, d.rhs_spec);
  Edges pad = rhs_gradient_padding(spatial(lhs.shape(), d.lhs_spec), window,
                                   spatial(ct.shape(), d.out_spec), d);

  // The sum runs over the batch, which takes the place of the input features on both sides.
  ConvDims t;
  t.strides = d.rhs_dilation;
  t.lhs_dilation = d.lhs_dilation;
  t.rhs_dilation = d.strides;
  t.pad_low = pad.low;
  t.pad_high = pad.high;
  t.lhs_spec = exchanged_spec(d.lhs_spec);
  t.rhs_spec = exchanged_spec(d.out_spec);
  t.out_spec = exchanged_spec(d.rhs_spec);
  t.feature_groups = d.batch_groups;
  t.batch_groups = d.feature_groups;
  return convolution(lhs, ct, t);
}

}  // namespace tessera::inline v0::ops
