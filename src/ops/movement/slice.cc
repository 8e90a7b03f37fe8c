// slice: a box of the operand, taking every `strides`-th element.
#include "ops/factors.h"
#include "ops/fetch.h"
#include "ops/movement/movement.h"
#include "ops/updates.h"

namespace tessera::inline v0::ops {

Value slice(Value x, const Ints& start, const Ints& limit, const Ints& strides) {
  bool all = to_shape(limit) == x.shape();
  for (std::size_t d = 0; all && d < start.size(); ++d)
    all = start[d] == 0 && (strides[d] == 1 || limit[d] <= 1);
  if (all) return x;
  return x.builder->emit1("slice", {x}, {{"start", start}, {"limit", limit}, {"strides", strides}});
}

namespace {

std::vector<Type> slice_infer(const InferArgs& a) {
  const Shape& x = a.inputs[0].shape;
  const Ints &start = a.attrs.ints("start"), &limit = a.attrs.ints("limit"),
             &strides = a.attrs.ints("strides");
  check_one_a_dim(a, "start", start, x);
  check_one_a_dim(a, "limit", limit, x);
  check_one_a_dim(a, "strides", strides, x);
  Message message(a.op.name);
  bool bad = false;
  Shape shape;
  for (std::size_t d = 0; d < x.size(); ++d) {
    if (start[d] < 0 || limit[d] < start[d] || limit[d] > x[d] || strides[d] < 1) {
      bad = true;
      message.offender("dimension " + std::to_string(d) + " of extent " + std::to_string(x[d]) +
                       ": [" + std::to_string(start[d]) + ", " + std::to_string(limit[d]) +
                       ") by " + std::to_string(strides[d]));
      continue;
    }
    shape.push_back((limit[d] - start[d] + strides[d] - 1) / strides[d]);
  }
  if (bad)
    message.problem("the slice does not lie in shape " + tessera::to_string(x))
        .rule("0 <= start <= limit <= extent, and strides of 1 or more")
        .from(a.loc)
        .advice("bound the slice by the extents; go backwards with reverse")
        .raise<ShapeError>();
  return {with_shape(a.inputs[0], shape)};
}

/// Dilates the cotangent by the strides and fills the rest with zeros.
MaybeValues slice_transpose(const TransposeArgs& a) {
  if (!a.cotangents[0]) return MaybeValues(1);
  Value ct = *a.cotangents[0];
  const Shape& x = a.types[0].shape;
  const Ints &start = a.attrs.ints("start"), &strides = a.attrs.ints("strides");
  Ints low, high, interior;
  for (std::size_t d = 0; d < x.size(); ++d) {
    std::int64_t n = ct.shape()[d];
    std::int64_t end = n == 0 ? start[d] : start[d] + (n - 1) * strides[d] + 1;
    low.push_back(start[d]);
    high.push_back(x[d] - end);
    interior.push_back(strides[d] - 1);
  }
  return {pad(ct, scalar(a.b, ct.dtype(), 0), low, high, interior)};
}

FactorRule::Window slice_window(const Attrs& attrs, std::size_t d, std::int64_t extent,
                                std::int64_t results) {
  return {.extent = extent,
          .results = results,
          .stride = attrs.ints("strides")[d],
          .low = -attrs.ints("start")[d]};
}

FactorRule slice_sharding(const ShardArgs& a) {
  const Shape &x = a.inputs[0].shape, &y = a.outputs[0].shape;
  FactorRule rule;
  const std::vector<int> dims = rule.factors(y);
  for (std::size_t d = 0; d < dims.size(); ++d) {
    if (x[d] == y[d]) continue;
    rule.mark(FactorRule::Kind::window, dims[d]);
    FactorRule::Window w = slice_window(a.attrs, d, x[d], y[d]);
    w.factor = dims[d];
    rule.window(w);
  }
  rule.input(dims);
  rule.output(dims);
  return rule;
}

// The fetched interval of a sliced dimension begins with the shard's first element.
Values slice_local(const LocalArgs& a) {
  Value part = a.inputs[0];
  Ints start = a.attrs.ints("start"), limit = a.attrs.ints("limit");
  for (std::size_t d = 0; d < start.size(); ++d) {
    const std::int64_t x = a.whole_inputs[0].shape[d], y = a.whole_outputs[0].shape[d];
    if (a.outputs[0][d] == y) continue;
    const auto dim = static_cast<int>(d);
    const Strings& axes = a.output_specs[0].axes_of(dim);
    if (x != y)
      fetch_window(part, dim, slice_window(a.attrs, d, x, y), axes, a.parts(axes),
                   Around::unread());
    start[d] = 0;
    limit[d] = part.shape()[d];
  }
  return {slice(part, start, limit, a.attrs.ints("strides"))};
}

}  // namespace

void register_slice(Registry& r) {
  Op op;
  op.name = "slice";
  op.doc = "The elements start, start + strides, ... below limit of every dimension.";
  op.stablehlo = "slice";
  op.attrs = {{"start", AttrKind::ints, "first index of each dimension"},
              {"limit", AttrKind::ints, "end of each dimension, exclusive"},
              {"strides", AttrKind::ints, "step of each dimension, 1 or more"}};
  op.inputs = 1;
  op.fuse = fuses_as(FuseRole::movement);
  op.infer = slice_infer;
  op.jvp = linear_jvp();
  op.transpose = slice_transpose;
  op.batch = [](const BatchArgs& a) {
    int d = a.dims[0];
    Value out =
        slice(a.inputs[0], inserted(a.attrs.ints("start"), d, 0),
              inserted(a.attrs.ints("limit"), d, a.size), inserted(a.attrs.ints("strides"), d, 1));
    return BatchResult{{out}, {d}};
  };
  op.strided_box = [](const Attrs& attrs) {
    return StridedBox{attrs.ints("start"), attrs.ints("limit"), attrs.ints("strides")};
  };
  op.sharding = slice_sharding;
  op.local = slice_local;
  op.updates = updates_of({0});
  op.cost = movement_cost();
  op.evaluate = [](const EvalArgs& a) {
    Shape flat = a.inputs[0].shape.strides();
    const Ints &start = a.attrs.ints("start"), &strides = a.attrs.ints("strides");
    copy_elements(a.inputs[0], a.outputs[0], [&](Shape index) {
      for (std::size_t d = 0; d < index.size(); ++d) index[d] = start[d] + index[d] * strides[d];
      return flat_index(index, flat);
    });
  };
  op.emit = [](Emitter& e, const Equation& eqn, int, std::span<const Index> at) {
    const Ints &start = eqn.attrs.ints("start"), &strides = eqn.attrs.ints("strides");
    std::vector<Index> from;
    for (std::size_t d = 0; d < at.size(); ++d)
      from.push_back(at[d] * strides[d] + Index(start[d]));
    return e.operand(0, from);
  };
  op.examples = [] {
    return std::vector<OpExample>{
        {{Type(DType::float32, {8})},
         {{"start", Ints{2}}, {"limit", Ints{7}}, {"strides", Ints{1}}}},
        {{Type(DType::float64, {4, 6})},
         {{"start", Ints{0, 1}}, {"limit", Ints{4, 6}}, {"strides", Ints{1, 2}}}},
        {{Type(DType::int32, {5, 4})},
         {{"start", Ints{1, 0}}, {"limit", Ints{5, 4}}, {"strides", Ints{3, 1}}}},
        {{Type(DType::float32, {3, 4})},
         {{"start", Ints{2, 0}}, {"limit", Ints{2, 4}}, {"strides", Ints{1, 1}}}}};
  };
  r.add(std::move(op));
}

}  // namespace tessera::inline v0::ops
