#include "ops/contraction/conv_dims.h"

namespace tessera::inline v0::ops {

ConvDims conv_dims(const Attrs& a) {
  return {a.ints("strides"),      a.ints("pad_low"),  a.ints("pad_high"), a.ints("lhs_dilation"),
          a.ints("rhs_dilation"), a.ints("lhs_spec"), a.ints("rhs_spec"), a.ints("out_spec"),
          a.i("feature_groups"),  a.i("batch_groups")};
}

Attrs conv_attrs(ConvDims d) {
  std::size_t n = d.lhs_spec.size() < 2 ? 0 : d.lhs_spec.size() - 2;
  for (Ints* ones : {&d.strides, &d.lhs_dilation, &d.rhs_dilation})
    if (ones->empty()) ones->assign(n, 1);
  for (Ints* zeros : {&d.pad_low, &d.pad_high})
    if (zeros->empty()) zeros->assign(n, 0);
  return {{"strides", d.strides},
          {"pad_low", d.pad_low},
          {"pad_high", d.pad_high},
          {"lhs_dilation", d.lhs_dilation},
          {"rhs_dilation", d.rhs_dilation},
          {"lhs_spec", d.lhs_spec},
          {"rhs_spec", d.rhs_spec},
          {"out_spec", d.out_spec},
          {"feature_groups", d.feature_groups},
          {"batch_groups", d.batch_groups}};
}

Value convolution(Value lhs, Value rhs, const ConvDims& dims) {
  return lhs.builder->emit1("convolution", {lhs, rhs}, conv_attrs(dims));
}

std::string too_long(const WindowSpan& w) {
  constexpr std::int64_t kMost = std::int64_t{1} << 60;
  const auto long_span = [&](std::int64_t extent, std::int64_t dilation) {
    std::int64_t n = 0;
    return extent > 0 && (__builtin_mul_overflow(extent - 1, dilation, &n) || n >= kMost);
  };
  const auto span_text = [](std::int64_t extent, std::int64_t dilation) {
    return std::to_string(extent) + " elements, " + std::to_string(dilation) + " apart";
  };
  if (long_span(w.extent, w.dilation)) return span_text(w.extent, w.dilation);
  if (long_span(w.window, w.window_dilation))
    return "a window of " + span_text(w.window, w.window_dilation);
  for (std::int64_t padding : {w.low, w.high})
    if (padding >= kMost || padding <= -kMost) return "a padding of " + std::to_string(padding);
  return {};
}

Ints spatial(const Shape& shape, const Ints& spec) {
  Ints out;
  for (std::size_t i = 2; i < spec.size(); ++i) out.push_back(shape[spec[i]]);
  return out;
}

Edges lhs_gradient_padding(const Ints& lhs, const Ints& window, const Ints& out,
                           const ConvDims& d) {
  Edges e;
  for (std::size_t i = 0; i < lhs.size(); ++i) {
    std::int64_t l = dilated(lhs[i], d.lhs_dilation[i]), w = dilated(window[i], d.rhs_dilation[i]),
                 o = dilated(out[i], d.strides[i]);
    std::int64_t low = w - d.pad_low[i] - 1;
    e.low.push_back(low);
    e.high.push_back(l + w - 1 - o - low);
  }
  return e;
}

Edges rhs_gradient_padding(const Ints& lhs, const Ints& window, const Ints& out,
                           const ConvDims& d) {
  Edges e;
  for (std::size_t i = 0; i < lhs.size(); ++i) {
    std::int64_t l = dilated(lhs[i], d.lhs_dilation[i]), w = dilated(window[i], d.rhs_dilation[i]),
                 o = dilated(out[i], d.strides[i]);
    e.low.push_back(d.pad_low[i]);
    e.high.push_back(o - l + w - d.pad_low[i] - 1);
  }
  return e;
}

Value fold_dim(Value x, int from, std::int64_t to) {
  Ints permutation;
  Shape shape;
  for (int i = 0; i < x.rank(); ++i)
    if (i != from) permutation.push_back(i), shape.push_back(x.shape()[i]);
  shape[to] *= x.shape()[from];
  permutation.insert(permutation.begin() + to, from);
  return reshape(transpose(x, permutation), shape);
}

Value split_dim(Value x, std::int64_t dim, std::int64_t major) {
  Shape shape = x.shape();
  shape[dim] /= major;
  shape.insert(shape.begin() + dim, major);
  return reshape(x, shape);
}

}  // namespace tessera::inline v0::ops
