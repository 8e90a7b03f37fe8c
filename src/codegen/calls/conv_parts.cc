#include "codegen/calls/conv_parts.h"

#include <algorithm>

namespace tessera::inline v0::codegen {

using matrix::ConvAxis;
using matrix::ConvShape;
using onednn::ConvKind;
using onednn::ConvSpec;

namespace {

// The taps of a spatial dimension whose outputs are `remainder`, `remainder` + stride, ...
void set_taps(ConvAxis& a, const ConvProblem& p, std::size_t dim, std::int64_t remainder) {
  const ConvSpec& s = p.spec;
  const std::int64_t stride = s.strides[dim], dilation = s.dilations[dim], low = s.pad_low[dim];
  a.taps.clear();
  if (s.kind == ConvKind::forward) {
    a.step = stride;
    for (std::int64_t k = 0; k < a.window; ++k) a.taps.push_back({k * dilation - low, k});
    return;
  }
  a.out = (a.out - remainder + stride - 1) / stride;
  a.destination *= stride;
  for (std::int64_t k = a.window; k-- > 0;) {
    const std::int64_t at = remainder + low - k * dilation;
    if (at % stride == 0) a.taps.push_back({at / stride, p.reversed ? a.window - 1 - k : k});
  }
}

}  // namespace

ConvShape conv_shape(const ConvSpec& s, DType dtype) {
  const bool forward = s.kind == ConvKind::forward;
  const onednn::Layout &from = forward ? s.source : s.destination,
                       &to = forward ? s.destination : s.source;
  const std::size_t out = forward ? 1 : 2, in = 3 - out, space = s.strides.size();
  ConvShape shape;
  shape.dtype = dtype;
  shape.batch = from.dims[0];
  shape.inputs = s.weights.dims[in];
  shape.outputs = s.weights.dims[out];
  shape.source_image = from.strides[0];
  shape.source_channel = from.strides[1];
  shape.destination_image = to.strides[0];
  shape.destination_channel = to.strides[1];
  shape.weights_input = s.weights.strides[in];
  shape.weights_output = s.weights.strides[out];
  for (std::size_t i = 0; i < space; ++i) {
    ConvAxis& a = shape.axes[3 - space + i];
    a.in = from.dims[i + 2];
    a.out = to.dims[i + 2];
    a.window = s.weights.dims[i + 3];
    a.source = from.strides[i + 2];
    a.weights = s.weights.strides[i + 3];
    a.destination = to.strides[i + 2];
  }
  return shape;
}

std::vector<ConvPart> conv_parts(const ConvProblem& problem, DType dtype) {
  const ConvSpec& s = problem.spec;
  const std::size_t space = s.strides.size();
  const Ints phases = s.kind == ConvKind::forward ? Ints(space, 1) : s.strides;
  std::vector<ConvPart> parts;
  for (std::int64_t phase = 0; phase < product(phases); ++phase) {
    ConvPart part{conv_shape(s, dtype), 0};
    std::int64_t rest = phase, outputs = 1;
    for (std::size_t i = space; i-- > 0;) {
      const std::int64_t remainder = rest % phases[i];
      rest /= phases[i];
      ConvAxis& a = part.shape.axes[3 - space + i];
      part.destination += remainder * a.destination;
      set_taps(a, problem, i, remainder);
      outputs *= std::max<std::int64_t>(0, a.out);
    }
    if (outputs) parts.push_back(part);
  }
  return parts;
}

std::int64_t crop_offset(const ConvProblem& p) {
  std::int64_t o = 0;
  for (std::size_t i = 0; i < p.first.size(); ++i) o += p.first[i] * p.spec.source.strides[i + 2];
  return o;
}

}  // namespace tessera::inline v0::codegen
