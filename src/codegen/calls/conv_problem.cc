#include "codegen/calls/conv_problem.h"

#include <algorithm>

namespace tessera::inline v0::codegen {

using onednn::ConvKind;
using onednn::ConvSpec;
using onednn::Layout;

bool all_equal(const Ints& v, std::int64_t x) {
  return std::all_of(v.begin(), v.end(), [&](std::int64_t e) { return e == x; });
}
std::int64_t product(const Ints& v) {
  std::int64_t p = 1;
  for (std::int64_t e : v) p *= e;
  return p;
}

namespace {

// The dimensions of an array in the order of its spec.
Layout in_order(const Shape& shape, const Ints& spec) {
  Layout l;
  Shape strides = shape.strides();
  for (std::int64_t d : spec) {
    l.dims.push_back(shape[d]);
    l.strides.push_back(strides[d]);
  }
  return l;
}

// The layout (output, input, spatial...) with a leading group dimension, split off dimension
// `grouped`.
Layout with_groups(Layout l, int grouped, std::int64_t groups) {
  l.dims[grouped] /= groups;
  std::int64_t stride = l.strides[grouped] * l.dims[grouped];
  l.dims.insert(l.dims.begin(), groups);
  l.strides.insert(l.strides.begin(), stride);
  return l;
}

// Removes the elements that negative padding crops from the source.
void crop(ConvProblem& p) {
  ConvSpec& s = p.spec;
  for (std::size_t i = 0; i < s.strides.size(); ++i) {
    std::int64_t before = std::max<std::int64_t>(0, -s.pad_low[i]);
    std::int64_t after = s.pad_high[i] <= -s.strides[i] ? -s.pad_high[i] : 0;
    s.source.dims[i + 2] -= before + after;
    s.pad_low[i] += before;
    s.pad_high[i] += after;
    p.first.push_back(before);
  }
}

ConvProblem forward(const CallArgs& a, const ops::ConvDims& d) {
  ConvProblem p;
  p.spec.kind = ConvKind::forward;
  p.spec.source = in_order(a.inputs[0].shape, d.lhs_spec);
  p.spec.weights = with_groups(in_order(a.inputs[1].shape, d.rhs_spec), 0, d.feature_groups);
  p.spec.destination = in_order(a.outputs[0].shape, d.out_spec);
  p.spec.strides = d.strides;
  p.spec.dilations = d.rhs_dilation;
  p.spec.pad_low = d.pad_low;
  // Only positions that a window reaches need padding.
  for (std::size_t i = 0; i < d.strides.size(); ++i) {
    std::int64_t reach = (p.spec.destination.dims[i + 2] - 1) * d.strides[i] +
                         ops::dilated(p.spec.weights.dims[i + 3], d.rhs_dilation[i]);
    p.spec.pad_high.push_back(reach - p.spec.source.dims[i + 2] - d.pad_low[i]);
  }
  crop(p);
  return p;
}

// Our lhs is the cotangent of a convolution whose strides are our lhs dilation, and our kernel is
// its reversed weights.
ConvProblem backward_data(const CallArgs& a, const ops::ConvDims& d) {
  ConvProblem p;
  p.spec.kind = ConvKind::backward_data;
  p.source = 2;
  p.destination = 0;
  p.reversed = true;
  p.spec.source = in_order(a.outputs[0].shape, d.out_spec);
  p.spec.destination = in_order(a.inputs[0].shape, d.lhs_spec);
  // Our input features are the convolution's output features, and our output features, which groups
  // divide, are its input features.
  Layout w = with_groups(in_order(a.inputs[1].shape, d.rhs_spec), 0, d.feature_groups);
  std::swap(w.dims[1], w.dims[2]);
  std::swap(w.strides[1], w.strides[2]);
  p.spec.weights = w;
  p.spec.strides = d.lhs_dilation;
  p.spec.dilations = d.rhs_dilation;
  for (std::size_t i = 0; i < d.strides.size(); ++i) {
    std::int64_t window = ops::dilated(w.dims[i + 3], d.rhs_dilation[i]),
                 low = window - 1 - d.pad_low[i];
    std::int64_t reach = (p.spec.destination.dims[i + 2] - 1) * d.lhs_dilation[i] + window;
    p.spec.pad_low.push_back(low);
    p.spec.pad_high.push_back(reach - p.spec.source.dims[i + 2] - low);
  }
  return p;
}

// Our kernel is the cotangent of a convolution whose batch is our features, and our result is the
// cotangent of its weights.
ConvProblem backward_weights(const CallArgs& a, const ops::ConvDims& d) {
  ConvProblem p;
  p.spec.kind = ConvKind::backward_weights;
  p.destination = 1;
  p.weights = 2;
  auto exchanged = [](Layout l) {
    std::swap(l.dims[0], l.dims[1]);
    std::swap(l.strides[0], l.strides[1]);
    return l;
  };
  p.spec.source = exchanged(in_order(a.inputs[0].shape, d.lhs_spec));
  p.spec.destination = exchanged(in_order(a.inputs[1].shape, d.rhs_spec));
  p.spec.weights =
      with_groups(exchanged(in_order(a.outputs[0].shape, d.out_spec)), 0, d.batch_groups);
  p.spec.strides = d.rhs_dilation;
  p.spec.dilations = d.strides;
  p.spec.pad_low = d.pad_low;
  for (std::size_t i = 0; i < d.strides.size(); ++i) {
    std::int64_t reach = (p.spec.destination.dims[i + 2] - 1) * d.rhs_dilation[i] +
                         ops::dilated(p.spec.weights.dims[i + 3], d.strides[i]);
    p.spec.pad_high.push_back(reach - p.spec.source.dims[i + 2] - d.pad_low[i]);
  }
  crop(p);
  return p;
}

// A convolution without spatial dimensions is one over a single point.
void add_point(Layout& l) { l.dims.push_back(1), l.strides.push_back(1); }

}  // namespace

std::optional<ConvProblem> recognise(const CallArgs& a, const ops::ConvDims& d) {
  std::size_t space = d.strides.size();
  if (space > 3) return std::nullopt;
  Ints window = ops::spatial(a.inputs[1].shape, d.rhs_spec),
       out = ops::spatial(a.outputs[0].shape, d.out_spec);
  ConvProblem p;
  if (all_equal(d.lhs_dilation, 1)) {
    bool exchanged = d.lhs_spec[0] > d.lhs_spec[1] && 4 * product(window) > product(out);
    if (d.batch_groups > 1 || (d.feature_groups == 1 && exchanged))
      p = backward_weights(a, d);
    else
      p = forward(a, d);
  } else {
    if (!all_equal(d.strides, 1) || d.batch_groups > 1) return std::nullopt;
    p = backward_data(a, d);
    for (std::int64_t low : p.spec.pad_low)
      if (low < 0) return std::nullopt;
  }
  for (const Layout* l : {&p.spec.source, &p.spec.weights, &p.spec.destination})
    if (product(l->dims) <= 0) return std::nullopt;
  if (space == 0) {
    for (Layout* l : {&p.spec.source, &p.spec.weights, &p.spec.destination}) add_point(*l);
    for (auto* ones : {&p.spec.strides, &p.spec.dilations}) ones->push_back(1);
    for (auto* zeros : {&p.spec.pad_low, &p.spec.pad_high}) zeros->push_back(0);
    p.first.push_back(0);
  }
  return p;
}

}  // namespace tessera::inline v0::codegen
