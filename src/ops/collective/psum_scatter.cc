// psum_scatter: the sum over the devices of an axis, of which each device keeps its slab.
#include "ops/collective/collective.h"

namespace tessera::inline v0::ops {

using namespace collective;

namespace {

std::vector<Type> psum_scatter_infer(const InferArgs& a) {
  check_groups(a, true);
  Type t = a.inputs[0];
  if (t.dtype == DType::boolean)
    Message("psum_scatter")
        .problem("the operand is boolean")
        .rule("sums are over numbers")
        .from(a.loc)
        .advice("convert it to int32 first")
        .raise<DTypeError>();
  std::int64_t n = CollectiveAttrs(a.attrs).members();
  const auto [own_axis, tiled] = GatherAttrs(a.attrs);
  int axis = dimension("psum_scatter", own_axis, t.shape.rank(), a.loc);
  std::int64_t extent = t.shape[axis];
  if (tiled ? extent % n != 0 : extent != n)
    Message("psum_scatter")
        .problem("dimension " + std::to_string(axis) + " of " + to_string(t) + " has " +
                 std::to_string(extent) + " elements, to be scattered over the " +
                 std::to_string(n) + " devices of axis " + axes_text(a.attrs))
        .rule(shared_out_rule(tiled, extent, n))
        .from(a.loc)
        .advice(tiled ? "pad the dimension to a multiple of " + std::to_string(n)
                      : "pass tiled to keep slabs of a larger dimension, or reshape")
        .raise<ShapeError>();
  t.shape =
      tiled ? replace_dims(t.shape, axis, 1, {extent / n}) : replace_dims(t.shape, axis, 1, {});
  return {t};
}

BatchResult psum_scatter_batch(const BatchArgs& a) {
  Mapped m = mapped(a, true);
  const auto [axis, tiled] = GatherAttrs(a.attrs);
  int d = a.dims[0];
  Value x = a.inputs[0];
  if (!m.is) {
    Attrs at = a.attrs;
    GatherAttrs(axis < d ? axis : axis + 1, tiled).set_in(at);
    return {a.b.emit(a.op, a.inputs, at), {!tiled && axis < d ? d - 1 : d}};
  }
  x = d == kUnbatched ? times(x, a.size) : reduce_sum(x, {d});
  // The scattered dimension is split into (mapped members, members of the rest, slab); the first
  // becomes the stacked dimension.
  x = reshape_dims(x, axis, 1, shared_extents(a, m, x.shape()[axis], tiled));
  if (!m.rest.empty()) {
    Attrs at = CollectiveAttrs::with_axes(a.attrs, m.rest, m.rest_size);
    GatherAttrs(m.first ? axis + 1 : axis, false).set_in(at);
    x = a.b.emit(a.op, std::span<const Value>(&x, 1), at)[0];
  }
  return {{x}, {axis}};
}

}  // namespace

Value psum_scatter(Value x, const Strings& axes, std::int64_t size, int axis, bool tiled,
                   const IntLists& groups) {
  axis = dimension("psum_scatter", axis, x.rank(), x.builder->loc);
  return x.builder->emit1("psum_scatter", {x}, tiled_attrs(axes, size, axis, tiled, groups));
}

void register_psum_scatter(Registry& r) {
  Op op = make("psum_scatter",
               "Device k of the axes (of its group) gets index k of dimension `axis` of the sum of "
               "x over the devices, the "
               "dimension removed; `tiled`: the k-th of equal slabs of the dimension. Its "
               "transpose is all_gather.",
               "reduce_scatter",
               {{GatherAttrs::kAxis, AttrKind::integer, "dimension of the operand"},
                {GatherAttrs::kTiled, AttrKind::boolean, "keep the dimension, as slabs"}});
  op.exchange = Exchange::combine_scatter;
  op.combiner = Combiner::add;
  op.infer = psum_scatter_infer;
  op.transpose = [](const TransposeArgs& a) -> MaybeValues {
    if (!a.cotangents[0]) return {std::nullopt};
    const CollectiveAttrs among(a.attrs);
    const GatherAttrs at(a.attrs);
    return {
        all_gather(*a.cotangents[0], among.axes, among.size(), at.axis, at.tiled, among.groups)};
  };
  op.batch = psum_scatter_batch;
  op.uniform = adds_axes();
  op.sharding = [](const ShardArgs& a) {
    const GatherAttrs at(a.attrs);
    return dims_exchanged(a, at.axis, -1, at.tiled);
  };
  op.examples = [] {
    return std::vector<OpExample>{{{Type(f32, {4, 3})}, tiled_attrs({"i"}, 4, 0, false, {})},
                                  {{Type(f32, {8})}, tiled_attrs({"i"}, 4, 0, true, {})}};
  };
  r.add(std::move(op));
}

}  // namespace tessera::inline v0::ops
