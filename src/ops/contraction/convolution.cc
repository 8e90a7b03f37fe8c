// Convolution (cross-correlation) with any layout, strides, padding, dilation and groups.
#include "ir/op.h"
#include "ops/accumulate.h"
#include "ops/contraction/conv_dims.h"

#include <algorithm>

namespace tessera::inline v0::ops {
namespace {

bool is_permutation(const Ints& spec, int rank) {
  Ints sorted = spec;
  std::sort(sorted.begin(), sorted.end());
  for (std::size_t i = 0; i < sorted.size(); ++i)
    if (sorted[i] != static_cast<std::int64_t>(i)) return false;
  return static_cast<int>(spec.size()) == rank;
}

std::string n(std::int64_t v) { return std::to_string(v); }

void check_attributes(const InferArgs& a, const ConvDims& d) {
  int rank = a.inputs[0].shape.rank();
  std::string shapes = to_string(a.inputs[0].shape) + " and " + to_string(a.inputs[1].shape);
  auto fail = [&](std::string problem) {
    return Message(a.op.name).problem(std::move(problem)).from(a.loc);
  };
  if (a.inputs[0].dtype != a.inputs[1].dtype)
    fail("the operand is " + std::string(name_of(a.inputs[0].dtype)) + " and the kernel " +
         std::string(name_of(a.inputs[1].dtype)))
        .rule("both have one dtype")
        .advice("convert one of them")
        .raise<DTypeError>();
  if (rank < 2 || a.inputs[1].shape.rank() != rank)
    fail("operand and kernel have shapes " + shapes)
        .rule("both have the same number of dimensions, at least 2: batch, features and space")
        .advice("insert dimensions of 1 with expand_dims")
        .raise<ShapeError>();
  if (!is_permutation(d.lhs_spec, rank) || !is_permutation(d.rhs_spec, rank) ||
      !is_permutation(d.out_spec, rank))
    fail("a layout does not fit arrays of " + n(rank) + " dimensions")
        .rule("lhs_spec, rhs_spec and out_spec each name every dimension from 0 to " + n(rank - 1) +
              " once")
        .advice("write NHWC as {0, 3, 1, 2} and HWIO as {3, 2, 0, 1}")
        .raise<ShapeError>();
  std::size_t space = static_cast<std::size_t>(rank - 2);
  bool bad = false;
  Message m = fail("the attributes do not fit " + n(rank - 2) + " spatial dimensions");
  auto check = [&](const char* name, const Ints& v, bool positive) {
    if (v.size() != space)
      m.offender(std::string(name) + " has " + n(static_cast<std::int64_t>(v.size())) + " entries"),
          bad = true;
    for (std::int64_t x : v)
      if (positive && x < 1) m.offender(std::string(name) + " has an entry " + n(x)), bad = true;
  };
  check("strides", d.strides, true);
  check("pad_low", d.pad_low, false);
  check("pad_high", d.pad_high, false);
  check("lhs_dilation", d.lhs_dilation, true);
  check("rhs_dilation", d.rhs_dilation, true);
  if (bad)
    m.rule("each list has one entry a spatial dimension; strides and dilations are at least 1")
        .advice("give as many entries as the operand has dimensions besides batch and features")
        .raise<ShapeError>();
}

std::vector<Type> convolution_infer(const InferArgs& a) {
  ConvDims d = conv_dims(a.attrs);
  check_attributes(a, d);
  const Shape &l = a.inputs[0].shape, &r = a.inputs[1].shape;
  std::int64_t batch = l[d.lhs_spec[0]], features = l[d.lhs_spec[1]], out = r[d.rhs_spec[0]],
               in = r[d.rhs_spec[1]];
  Message m(a.op.name);
  bool bad = false;
  auto offender = [&](const std::string& text) { m.offender(text), bad = true; };
  if (d.feature_groups < 1 || d.batch_groups < 1 || (d.feature_groups > 1 && d.batch_groups > 1)) {
    offender("feature_groups is " + n(d.feature_groups) + " and batch_groups is " +
             n(d.batch_groups) + ": both are at least 1 and one of them is 1");
  } else {
    std::int64_t all = 0;
    const bool beyond = __builtin_mul_overflow(in, d.feature_groups, &all);
    if (beyond || all != features)
      offender("the kernel takes " + n(in) + " features for each of " + n(d.feature_groups) +
               " groups, " + (beyond ? "2^63 and more" : n(all)) + " in all; the operand has " +
               n(features));
    std::int64_t groups = std::max(d.feature_groups, d.batch_groups);
    if (out % groups)
      offender(n(out) + " output features do not divide into " + n(groups) + " groups");
    if (batch % d.batch_groups)
      offender("a batch of " + n(batch) + " does not divide into " + n(d.batch_groups) + " groups");
  }
  if (bad)
    m.problem("an operand of shape " + to_string(l) + " does not fit a kernel of shape " +
              to_string(r))
        .rule(
            "the kernel's input features times feature_groups are the operand's features, and "
            "groups divide what they group")
        .from(a.loc)
        .advice("check the layouts: the operand's features are dimension " + n(d.lhs_spec[1]) +
                ", the kernel's input features dimension " + n(d.rhs_spec[1]) +
                " and its output features dimension " + n(d.rhs_spec[0]))
        .raise<ShapeError>();
  for (std::size_t i = 0; i < d.strides.size(); ++i)
    if (const std::string what =
            too_long({l[d.lhs_spec[i + 2]], d.lhs_dilation[i], r[d.rhs_spec[i + 2]],
                      d.rhs_dilation[i], d.pad_low[i], d.pad_high[i]});
        !what.empty())
      offender("spatial dimension " + n(static_cast<std::int64_t>(i)) + ": " + what);
  if (bad)
    m.problem("the windows run too far")
        .rule("dilated operands and kernels, and padding, are shorter than 2^60")
        .from(a.loc)
        .advice("check the dilations and the padding")
        .raise<ShapeError>();
  Shape shape = l;
  shape[d.out_spec[0]] = batch / d.batch_groups;
  shape[d.out_spec[1]] = out;
  for (std::size_t i = 0; i < d.strides.size(); ++i)
    shape[d.out_spec[i + 2]] = window_count(
        dilated(l[d.lhs_spec[i + 2]], d.lhs_dilation[i]) + d.pad_low[i] + d.pad_high[i],
        dilated(r[d.rhs_spec[i + 2]], d.rhs_dilation[i]), d.strides[i]);
  return {Type(a.inputs[0].dtype, shape, a.inputs[0].weak && a.inputs[1].weak)};
}

MaybeValues convolution_jvp(const JvpArgs& a) {
  ConvDims d = conv_dims(a.attrs);
  MaybeValue sum;
  for (int side = 0; side < 2; ++side) {
    const MaybeValue& t = a.tangents[side];
    if (!t) continue;
    Value term = side == 0 ? convolution(*t, a.inputs[1], d) : convolution(a.inputs[0], *t, d);
    sum = sum ? add(*sum, term) : term;
  }
  return {sum};
}

MaybeValues convolution_transpose(const TransposeArgs& a) {
  MaybeValues out(2);
  if (!a.cotangents[0]) return out;
  ConvDims d = conv_dims(a.attrs);
  if (a.linear[0])
    out[0] = convolution_transpose_lhs(*a.cotangents[0], *a.inputs[1], d, a.types[0]);
  else
    out[1] = convolution_transpose_rhs(*a.cotangents[0], *a.inputs[0], d, a.types[1]);
  return out;
}

Cost convolution_cost(std::span<const Type> in, std::span<const Type> out, const Attrs& attrs) {
  const Ints& spec = attrs.ints("rhs_spec");
  double products = static_cast<double>(in[1].shape[spec[1]]);
  for (std::int64_t k : spatial(in[1].shape, spec)) products *= static_cast<double>(k);
  return {2 * products * static_cast<double>(out[0].shape.count()),
          static_cast<double>(in[0].bytes() + in[1].bytes() + out[0].bytes())};
}

// Sums over window offsets in row-major order, with input features innermost.
void convolution_evaluate(const EvalArgs& a) {
  ConvDims d = conv_dims(a.attrs);
  const HostArray &l = a.inputs[0], &r = a.inputs[1];
  HostArray& out = a.outputs[0];
  Shape ls = l.shape.strides(), rs = r.shape.strides(), window;
  for (std::int64_t k : spatial(r.shape, d.rhs_spec)) window.push_back(k);
  std::int64_t in = r.shape[d.rhs_spec[1]], features = r.shape[d.rhs_spec[0]];
  std::int64_t feature_group = features / std::max(d.feature_groups, d.batch_groups),
               batch = l.shape[d.lhs_spec[0]] / d.batch_groups;
  with_accumulator(l.dtype, out.dtype, [&](auto zero) {
    using A = decltype(zero);
    std::vector<A> x = widen<A>(l), y = widen<A>(r), result;
    result.reserve(static_cast<std::size_t>(out.count()));
    for_each_index(out.shape, [&](const Shape& o) {
      std::int64_t f = o[d.out_spec[1]], group = f / feature_group;
      std::int64_t l0 =
          (o[d.out_spec[0]] + (d.batch_groups > 1 ? group * batch : 0)) * ls[d.lhs_spec[0]] +
          (d.feature_groups > 1 ? group * in : 0) * ls[d.lhs_spec[1]];
      A sum{};
      for_each_index(window, [&](const Shape& k) {
        std::int64_t lo = l0, ro = f * rs[d.rhs_spec[0]];
        for (std::size_t i = 0; i < k.size(); ++i) {
          std::int64_t p =
              o[d.out_spec[i + 2]] * d.strides[i] + k[i] * d.rhs_dilation[i] - d.pad_low[i];
          if (p < 0 || p % d.lhs_dilation[i] || p / d.lhs_dilation[i] >= l.shape[d.lhs_spec[i + 2]])
            return;
          lo += p / d.lhs_dilation[i] * ls[d.lhs_spec[i + 2]];
          ro += k[i] * rs[d.rhs_spec[i + 2]];
        }
        for (std::int64_t c = 0; c < in; ++c)
          sum += x[lo + c * ls[d.lhs_spec[1]]] * y[ro + c * rs[d.rhs_spec[1]]];
      });
      result.push_back(sum);
    });
    narrow(result, out);
  });
}

// For dtypes that no library convolves.
Lane convolution_emit(Emitter& e, const Equation& eqn, int, std::span<const Index> at) {
  ConvDims d = conv_dims(eqn.attrs);
  const Shape &l = e.operand_type(0).shape, &r = e.operand_type(1).shape;
  DType acc = accumulator_of(e.operand_type(0).dtype, e.result_type().dtype);
  bool boolean = acc == DType::boolean;
  std::int64_t in = r[d.rhs_spec[1]], features = r[d.rhs_spec[0]],
               groups = std::max(d.feature_groups, d.batch_groups);
  std::vector<std::int64_t> extents = spatial(r, d.rhs_spec);
  extents.push_back(in);
  Index group =
      groups > 1 && features > 0 ? floor_div(at[d.out_spec[1]], features / groups) : Index(0);
  std::vector<Index> li(l.size()), ri(r.size());
  li[d.lhs_spec[0]] = at[d.out_spec[0]];
  if (d.batch_groups > 1)
    li[d.lhs_spec[0]] = at[d.out_spec[0]] + group * (l[d.lhs_spec[0]] / d.batch_groups);
  ri[d.rhs_spec[0]] = at[d.out_spec[1]];
  Lane zero = e.constant(acc, std::int64_t{0});
  Lane sum = e.reduce(
      extents, zero,
      [&](std::span<const Index> k) {
        std::vector<Bound> bounds;
        for (std::size_t i = 0; i + 1 < k.size(); ++i) {
          std::int64_t extent = l[d.lhs_spec[i + 2]], dilation = d.lhs_dilation[i];
          Index p =
              at[d.out_spec[i + 2]] * d.strides[i] + k[i] * d.rhs_dilation[i] - Index(d.pad_low[i]);
          bounds.push_back({p, 0, dilated(extent, dilation)});
          if (dilation > 1) bounds.push_back({floor_mod(p, dilation), 0, 1});
          li[d.lhs_spec[i + 2]] = dilation > 1 ? floor_div(p, dilation) : p;
          ri[d.rhs_spec[i + 2]] = k[i];
        }
        const Index& c = k.back();
        ri[d.rhs_spec[1]] = c;
        li[d.lhs_spec[1]] = d.feature_groups > 1 ? c + group * in : c;
        auto product = [&] {
          return e.binary(boolean ? Arith::and_ : Arith::mul, e.convert(e.operand(0, li), acc),
                          e.convert(e.operand(1, ri), acc));
        };
        return e.guarded(bounds, product, zero);
      },
      [&](Lane x, Lane y) { return e.binary(boolean ? Arith::or_ : Arith::add, x, y); });
  return e.convert(sum, e.result_type().dtype);
}

std::vector<OpExample> convolution_examples() {
  const Ints nhwc{0, 3, 1, 2}, hwio{3, 2, 0, 1}, ncw{0, 1, 2}, oiw{0, 1, 2};
  auto example = [](const Shape& l, const Shape& r, const ConvDims& d, DType t = DType::float32) {
    return OpExample{.inputs = {Type(t, l), Type(t, r)}, .attrs = conv_attrs(d)};
  };
  ConvDims same{
      .pad_low = {1, 1}, .pad_high = {1, 1}, .lhs_spec = nhwc, .rhs_spec = hwio, .out_spec = nhwc};
  ConvDims strided{.strides = {2, 1},
                   .pad_low = {0, 1},
                   .pad_high = {1, -1},
                   .rhs_dilation = {1, 2},
                   .lhs_spec = nhwc,
                   .rhs_spec = hwio,
                   .out_spec = nhwc};
  ConvDims grouped{
      .strides = {2}, .lhs_spec = ncw, .rhs_spec = oiw, .out_spec = ncw, .feature_groups = 2};
  ConvDims batches{.pad_low = {1},
                   .pad_high = {0},
                   .lhs_dilation = {2},
                   .lhs_spec = ncw,
                   .rhs_spec = oiw,
                   .out_spec = ncw,
                   .batch_groups = 2};
  return {example({2, 4, 4, 2}, {3, 3, 2, 3}, same),
          example({1, 5, 6, 2}, {2, 2, 2, 2}, strided),
          example({2, 4, 5}, {4, 2, 2}, grouped),
          example({4, 2, 4}, {4, 2, 3}, batches),
          example({2, 4, 4, 2}, {3, 3, 2, 3}, same, DType::int32),
          example({2, 4, 5}, {4, 2, 2}, grouped, DType::bfloat16)};
}

}  // namespace

void register_convolution(Registry& r) {
  Op op;
  op.name = "convolution";
  op.doc =
      "Slides a kernel over the spatial dimensions of the operand and sums products over the "
      "window and the input features; the "
      "kernel is not flipped. The operand is first dilated by lhs_dilation, then padded (negative "
      "padding crops). A spec lists the "
      "positions of (batch, feature, spatial...), of a kernel (output feature, input feature, "
      "spatial...). With feature_groups the "
      "features form as many independent convolutions, with batch_groups the batch does. Sums as "
      "dot_general does.";
  op.stablehlo = "convolution";
  op.attrs = {
      {"strides", AttrKind::ints, "between windows, one a spatial dimension"},
      {"pad_low", AttrKind::ints, "elements of zero before each spatial dimension"},
      {"pad_high", AttrKind::ints, "and after it"},
      {"lhs_dilation", AttrKind::ints, "distance of neighbours of the operand"},
      {"rhs_dilation", AttrKind::ints, "distance of neighbours of the kernel"},
      {"lhs_spec", AttrKind::ints,
       "positions of batch, feature, spatial dimensions in the operand"},
      {"rhs_spec", AttrKind::ints,
       "positions of output feature, input feature, spatial dimensions in the kernel"},
      {"out_spec", AttrKind::ints, "positions of batch, feature, spatial dimensions in the result"},
      {"feature_groups", AttrKind::integer, "independent groups of features"},
      {"batch_groups", AttrKind::integer, "independent groups of the batch"}};
  op.inputs = 2;
  op.cheap = false;
  op.lowering = Lowering::called;
  op.call = convolution_call;
  op.library_bytes = std::size_t{128} << 10;
  op.infer = convolution_infer;
  op.jvp = convolution_jvp;
  op.transpose = convolution_transpose;
  op.batch = convolution_batch;
  op.product = [](const Attrs&) { return Product::batched; };
  op.linear = [](std::span<const bool> in) { return !(in[0] && in[1]); };
  op.sharding = convolution_sharding;
  op.local = convolution_local;
  op.cost = convolution_cost;
  op.evaluate = convolution_evaluate;
  op.emit = convolution_emit;
  op.examples = convolution_examples;
  r.add(std::move(op));
}

}  // namespace tessera::inline v0::ops
