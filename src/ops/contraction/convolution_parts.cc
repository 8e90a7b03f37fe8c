// How a convolution is partitioned: its factors, and the elements of the operand that each shard
// needs.
#include "ops/contraction/conv_dims.h"
#include "ops/fetch.h"

#include <algorithm>

namespace tessera::inline v0::ops {

namespace {

// A spatial dimension, by the extents of operand, kernel and result.
struct Space {
  std::int64_t operand, kernel, result;
  std::int64_t stride, low, lhs_dilation, rhs_dilation;

  // Whether the windows tile the operand, so that a shard of it holds whole windows.
  bool tiles() const {
    return lhs_dilation == 1 && rhs_dilation == 1 && stride == kernel &&
           operand == kernel * result && low == 0;
  }
  bool centred() const { return lhs_dilation == 1 && stride == 1 && operand == result; }
  // Whether the kernel is longer than the result, as in gradients of kernels: then the kernel is
  // sharded.
  bool sums() const { return kernel > result; }

  // The elements of the operand that a shard of the result, or of the kernel, reads.
  FactorRule::Window of_result() const {
    return {.extent = operand,
            .results = result,
            .stride = stride,
            .low = low,
            .span = dilated(kernel, rhs_dilation),
            .dilation = lhs_dilation,
            .spreads = true};
  }
  FactorRule::Window of_kernel() const {
    return {.extent = operand,
            .results = kernel,
            .stride = rhs_dilation,
            .low = low,
            .span = dilated(result, stride),
            .dilation = lhs_dilation,
            .spreads = true};
  }
};

Space space_of(const ConvDims& d, std::size_t i, const Shape& l, const Shape& r, const Shape& o) {
  return {l[d.lhs_spec[i + 2]], r[d.rhs_spec[i + 2]], o[d.out_spec[i + 2]], d.strides[i],
          d.pad_low[i],         d.lhs_dilation[i],    d.rhs_dilation[i]};
}

}  // namespace

// Batch and output features are shared with the result, input features are summed, and groups are
// independent; a group is never split, because that would change the number of groups. A spatial
// dimension that the windows tile is sharded with them; for any other, a shard fetches the elements
// that its windows read.
FactorRule convolution_sharding(const ShardArgs& a) {
  ConvDims d = conv_dims(a.attrs);
  const Shape &l = a.inputs[0].shape, &r = a.inputs[1].shape, &o = a.outputs[0].shape;
  FactorRule rule;
  FactorRule::Dims lhs(l.size()), rhs(r.size()), out(o.size());
  std::int64_t groups = d.feature_groups * d.batch_groups;
  const Combiner sum = a.inputs[0].dtype == DType::boolean ? Combiner::or_ : Combiner::add;
  int batch = rule.factor(o[d.out_spec[0]], 'n'), in = rule.factor(r[d.rhs_spec[1]], 'i');
  int feature = rule.factor(r[d.rhs_spec[0]] / groups, 'o');
  lhs[d.lhs_spec[0]] = out[d.out_spec[0]] = {batch};
  lhs[d.lhs_spec[1]] = rhs[d.rhs_spec[1]] = {in};
  rhs[d.rhs_spec[0]] = out[d.out_spec[1]] = {feature};
  if (groups > 1) {
    int group = rule.factor(groups, 'g');
    rhs[d.rhs_spec[0]] = out[d.out_spec[1]] = {group, feature};
    (d.batch_groups > 1 ? lhs[d.lhs_spec[0]] : lhs[d.lhs_spec[1]]) = {
        group, d.batch_groups > 1 ? batch : in};
    rule.mark(FactorRule::Kind::need_repl, feature);
    rule.mark(FactorRule::Kind::need_repl, d.batch_groups > 1 ? batch : in);
  }
  if (d.feature_groups == 1) rule.mark(FactorRule::Kind::reduction, in, sum);
  for (std::size_t i = 0; i < d.strides.size(); ++i) {
    const Space s = space_of(d, i, l, r, o);
    int space = rule.factor(s.result, 'h'), k = rule.factor(s.kernel, 's');
    rhs[d.rhs_spec[i + 2]] = {k};
    out[d.out_spec[i + 2]] = lhs[d.lhs_spec[i + 2]] = {space};
    FactorRule::Window w = s.of_result();
    w.factor = space;
    if (s.tiles()) {
      rule.mark(FactorRule::Kind::need_repl, k);
      if (s.kernel > 1) lhs[d.lhs_spec[i + 2]].push_back(k);
      continue;
    }
    if (s.sums()) {
      rule.mark(FactorRule::Kind::need_repl, space);
      rule.mark(FactorRule::Kind::reduction, k, sum);
      lhs[d.lhs_spec[i + 2]] = {k};
      w = s.of_kernel();
      w.factor = k;
    } else {
      rule.mark(FactorRule::Kind::need_repl, k);
      rule.mark(s.centred() ? FactorRule::Kind::permutation : FactorRule::Kind::window, space);
    }
    rule.window(w);
  }
  rule.input_dims(std::move(lhs));
  rule.input_dims(std::move(rhs));
  rule.output_dims(std::move(out));
  return rule;
}

namespace {

// A dimension of the kernel whose last shards are short or empty.
struct ShortParts {
  std::size_t space;
  int dim;  // of the kernel
  Strings axes;
  std::int64_t parts, whole, part;
};

// Padding at the end of the kernel would be multiplied with real elements of the operand, and 0
// times infinity is not 0. So the part of the kernel that all devices have and the part that the
// short shard lacks are convolved separately, and a device that lacks the second adds zeros
// instead.
Value by_parts(Value x, Value kernel, const ConvDims& d, std::span<const ShortParts> shorts,
               std::optional<Value> counts) {
  if (shorts.empty()) {
    const Value y = convolution(x, kernel, d);
    return counts ? select(everywhere(*counts, y.shape()), y, zeros_like(y)) : y;
  }
  const ShortParts& s = shorts.front();
  Builder& b = *x.builder;
  const Value left = sub(constant(b, scalar_literal(DType::int64, s.whole)),
                         part_start(b, DType::int64, s.axes, s.parts, s.part));
  std::optional<Value> sum;
  std::int64_t from = 0;
  for (const std::int64_t to : {s.whole % s.part, s.part}) {
    if (to == from) continue;
    Ints begin(kernel.shape().size(), 0), end = kernel.shape().to_vector();
    begin[static_cast<std::size_t>(s.dim)] = from;
    end[static_cast<std::size_t>(s.dim)] = to;
    ConvDims some = d;
    some.pad_low[s.space] -= from * d.rhs_dilation[s.space];
    some.pad_high[s.space] -= (s.part - to) * d.rhs_dilation[s.space];
    const Value has = ge(left, constant(b, scalar_literal(DType::int64, to)));
    const Value y = by_parts(x, slice(kernel, begin, end, Ints(begin.size(), 1)), some,
                             shorts.subspan(1), counts ? and_(*counts, has) : has);
    sum = !sum ? y : y.dtype() == DType::boolean ? or_(*sum, y) : add(*sum, y);
    from = to;
  }
  return *sum;
}

}  // namespace

Values convolution_local(const LocalArgs& a) {
  ConvDims d = conv_dims(a.attrs);
  const Shape &l = a.whole_inputs[0].shape, &r = a.whole_inputs[1].shape,
              &o = a.whole_outputs[0].shape;
  Value x = a.inputs[0];
  const Shape &kernel = a.inputs[1].shape(), &part = a.outputs[0];
  // If there are groups, features are sharded only along the groups.
  std::int64_t& groups = d.batch_groups > 1 ? d.batch_groups : d.feature_groups;
  if (groups > 1) groups = part[d.out_spec[1]] / (o[d.out_spec[1]] / groups);
  std::vector<ShortParts> shorts;
  for (std::size_t i = 0; i < d.strides.size(); ++i) {
    const Space s = space_of(d, i, l, r, o);
    if (s.tiles()) continue;
    const auto at = static_cast<int>(d.lhs_spec[i + 2]),
               of_kernel = static_cast<int>(d.rhs_spec[i + 2]),
               of_result = static_cast<int>(d.out_spec[i + 2]);
    const bool cuts_kernel = kernel[of_kernel] != s.kernel;
    if (!cuts_kernel && part[of_result] == s.result) continue;
    const Strings& axes =
        cuts_kernel ? a.input_specs[1].axes_of(of_kernel) : a.output_specs[0].axes_of(of_result);
    const Stretch got = fetch_window(x, at, cuts_kernel ? s.of_kernel() : s.of_result(), axes,
                                     a.parts(axes), Around::zeros());
    d.pad_low[i] = got.low;
    d.pad_high[i] = got.high;
    if (got.spread > 1) d.lhs_dilation[i] = 1;
    if (cuts_kernel && s.kernel % a.parts(axes) != 0)
      shorts.push_back({i, of_kernel, axes, a.parts(axes), s.kernel, kernel[of_kernel]});
  }
  return {by_parts(x, a.inputs[1], d, shorts, {})};
}

}  // namespace tessera::inline v0::ops
