// all_gather and, for typed regions, all_gather_invariant: every device of an axis receives the
// blocks of all of them.
#include "ops/collective/collective.h"

namespace tessera::inline v0::ops {

using namespace collective;

namespace {

std::vector<Type> all_gather_infer(const InferArgs& a) {
  check_groups(a, true);
  Type t = a.inputs[0];
  std::int64_t n = CollectiveAttrs(a.attrs).members();
  const auto [own_axis, tiled] = GatherAttrs(a.attrs);
  int axis = dimension("all_gather", own_axis, t.shape.rank() + (tiled ? 0 : 1), a.loc);
  t.shape = tiled ? replace_dims(t.shape, axis, 1, {t.shape[axis] * n})
                  : replace_dims(t.shape, axis, 0, {n});
  return {t};
}

MaybeValues transpose_to_scatter(const TransposeArgs& a) {
  if (!a.cotangents[0]) return {std::nullopt};
  const CollectiveAttrs among(a.attrs);
  const GatherAttrs at(a.attrs);
  return {
      psum_scatter(*a.cotangents[0], among.axes, among.size(), at.axis, at.tiled, among.groups)};
}

// All devices share one result, hence one cotangent: each device takes the slab that it
// contributed.
MaybeValues transpose_to_slice(const TransposeArgs& a) {
  if (!a.cotangents[0]) return {std::nullopt};
  const CollectiveAttrs among(a.attrs);
  const auto [axis, tiled] = GatherAttrs(a.attrs);
  const Shape& block = a.types[0].shape;
  Value ct = *a.cotangents[0];
  Shape slab = tiled ? block : replace_dims(block, axis, 0, {1});
  Value index = pvary(axis_index(a.b, among.axes, among.size()), among.axes);
  if (tiled) index = times(index, block[axis]);
  Values starts(static_cast<std::size_t>(ct.rank()), scalar(a.b, DType::int32, 0));
  starts[static_cast<std::size_t>(axis)] = index;
  Value part = dynamic_slice(ct, starts, slab.to_vector());
  return {tiled ? part : reshape(part, block)};
}

BatchResult all_gather_batch(const BatchArgs& a) {
  Mapped m = mapped(a, true);
  const auto [axis, tiled] = GatherAttrs(a.attrs);
  int d = a.dims[0];
  Value x = a.inputs[0];
  if (!m.is) {
    // The position of the gathered dimension is relative to the unstacked dimensions; the stacked
    // dimension stays where it is.
    bool before = tiled ? axis < d : axis <= d;
    Attrs at = a.attrs;
    GatherAttrs(before ? axis : axis + 1, tiled).set_in(at);
    return {a.b.emit(a.op, a.inputs, at), {before && !tiled ? d + 1 : d}};
  }
  // The members of the mapped axis become dimension `axis`; the remaining axes are gathered next to
  // it, and the two are merged.
  x = stacked_at(x, d, axis, a.size);
  if (!m.rest.empty()) {
    Attrs at = CollectiveAttrs::with_axes(a.attrs, m.rest, m.rest_size);
    GatherAttrs(m.first ? axis + 1 : axis, false).set_in(at);
    x = a.b.emit(a.op, std::span<const Value>(&x, 1), at)[0];
    x = reshape_dims(x, axis, 2, {a.size * m.rest_size});
  }
  if (tiled) x = reshape_dims(x, axis, 2, {x.shape()[axis] * x.shape()[axis + 1]});
  return {{x}, {kUnbatched}};
}

}  // namespace

Value all_gather(Value x, const Strings& axes, std::int64_t size, int axis, bool tiled,
                 const IntLists& groups) {
  axis = dimension("all_gather", axis, x.rank() + (tiled ? 0 : 1), x.builder->loc);
  return x.builder->emit1("all_gather", {x}, tiled_attrs(axes, size, axis, tiled, groups));
}
Value all_gather_invariant(Value x, const Strings& axes, std::int64_t size, int axis, bool tiled) {
  axis = dimension("all_gather", axis, x.rank() + (tiled ? 0 : 1), x.builder->loc);
  return x.builder->emit1("all_gather_invariant", {x}, tiled_attrs(axes, size, axis, tiled, {}));
}

void register_all_gather(Registry& r) {
  for (bool invariant : {false, true}) {
    Op op =
        make(invariant ? "all_gather_invariant" : "all_gather",
             std::string(
                 "The blocks of the devices of the axes (of the own group), in order: along a new "
                 "dimension `axis` of the "
                 "result, or, `tiled`, one after the other along the existing dimension `axis`. ") +
                 (invariant ? "Typed as equal on all devices, so its transpose takes the own slab."
                            : "Its transpose is psum_scatter."),
             "all_gather",
             {{GatherAttrs::kAxis, AttrKind::integer, "dimension of the result"},
              {GatherAttrs::kTiled, AttrKind::boolean, "concatenate instead of stack"}});
    op.called = "all_gather";
    op.exchange = Exchange::gather;
    op.infer = all_gather_infer;
    op.transpose = invariant ? transpose_to_slice : transpose_to_scatter;
    op.batch = all_gather_batch;
    if (invariant) op.vary = types_invariant();
    op.uniform = removes_axes(true);
    op.sharding = [](const ShardArgs& a) {
      const GatherAttrs at(a.attrs);
      return dims_exchanged(a, -1, at.axis, at.tiled);
    };
    op.examples = [] {
      return std::vector<OpExample>{{{Type(f32, {3})}, tiled_attrs({"i"}, 4, 0, false, {})},
                                    {{Type(f32, {3})}, tiled_attrs({"i"}, 4, 0, true, {})}};
    };
    r.add(std::move(op));
  }
}

}  // namespace tessera::inline v0::ops
