// A convolution of stacked operands is one convolution: a stacked lhs is merged into the batch, a
// stacked kernel into the output features, and if both are stacked each pair becomes a group.
#include "ops/batching.h"
#include "ops/contraction/conv_dims.h"

namespace tessera::inline v0::ops {
namespace {

BatchResult both(const BatchArgs& a, ConvDims d) {
  Value rhs = fold_dim(a.inputs[1], a.dims[1], d.rhs_spec[0]);
  Value lhs;
  if (d.batch_groups > 1) {
    lhs = fold_dim(a.inputs[0], a.dims[0], d.lhs_spec[0]);
    d.batch_groups *= a.size;
  } else {
    lhs = fold_dim(a.inputs[0], a.dims[0], d.lhs_spec[1]);
    d.feature_groups *= a.size;
  }
  return {{split_dim(convolution(lhs, rhs, d), d.out_spec[1], a.size)},
          {static_cast<int>(d.out_spec[1])}};
}

BatchResult lhs_only(const BatchArgs& a, const ConvDims& d) {
  Value lhs = a.inputs[0];
  int stacked = a.dims[0];
  std::int64_t batch = d.lhs_spec[0];
  if (d.batch_groups == 1) {
    lhs = fold_dim(lhs, stacked, batch);
  } else {
    // The batch is (groups, rest): the stacked dimension is inserted between the two, so that the
    // groups stay outermost.
    std::int64_t at = batch + (stacked <= batch);
    lhs = split_dim(lhs, at, d.batch_groups);
    lhs = fold_dim(lhs, stacked + (at < stacked), batch + 1);
    lhs = fold_dim(lhs, static_cast<int>(batch), batch);
  }
  return {{split_dim(convolution(lhs, a.inputs[1], d), d.out_spec[0], a.size)},
          {static_cast<int>(d.out_spec[0])}};
}

BatchResult rhs_only(const BatchArgs& a, const ConvDims& d) {
  Value rhs = a.inputs[1];
  int stacked = a.dims[1];
  std::int64_t feature = d.rhs_spec[0], out_feature = d.out_spec[1],
               groups = d.feature_groups * d.batch_groups;
  if (groups == 1) {
    rhs = fold_dim(rhs, stacked, feature);
    return {{split_dim(convolution(a.inputs[0], rhs, d), out_feature, a.size)},
            {static_cast<int>(out_feature)}};
  }
  // Output features must remain (groups, rest): the stacked dimension is inserted between the two
  // and removed again from the result.
  std::int64_t at = feature + (stacked <= feature);
  rhs = split_dim(rhs, at, groups);
  rhs = fold_dim(rhs, stacked + (at < stacked), feature + 1);
  rhs = fold_dim(rhs, static_cast<int>(feature), feature);
  Value out = split_dim(convolution(a.inputs[0], rhs, d), out_feature, groups);
  out = split_dim(out, out_feature + 1, a.size);
  out = fold_dim(out, static_cast<int>(out_feature), out_feature + 1);
  return {{out}, {static_cast<int>(out_feature)}};
}

}  // namespace

BatchResult convolution_batch(const BatchArgs& a) {
  if (a.size == 0) return no_examples(a);
  ConvDims d = conv_dims(a.attrs);
  if (a.dims[0] == kUnbatched) return rhs_only(a, d);
  return a.dims[1] == kUnbatched ? lhs_only(a, d) : both(a, d);
}

}  // namespace tessera::inline v0::ops
