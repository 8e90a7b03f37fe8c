// all_to_all: each device sends slab k of a dimension to device k, and concatenates what it
// receives along another dimension.
#include "ops/collective/collective.h"

namespace tessera::inline v0::ops {

using namespace collective;

namespace {

Attrs exchange_attrs(const Strings& axes, std::int64_t size, int split, int concat, bool tiled,
                     const IntLists& groups) {
  Attrs a = CollectiveAttrs::make(axes, size, groups);
  AllToAllAttrs(split, concat, tiled).set_in(a);
  return a;
}

std::vector<Type> all_to_all_infer(const InferArgs& a) {
  check_groups(a, true);
  Type t = a.inputs[0];
  std::int64_t n = CollectiveAttrs(a.attrs).members();
  const AllToAllAttrs at(a.attrs);
  const bool tiled = at.tiled;
  int split = dimension("all_to_all", at.split, t.shape.rank(), a.loc);
  int concat = dimension("all_to_all", at.concat, t.shape.rank(), a.loc);
  std::int64_t extent = t.shape[split];
  if (tiled ? extent % n != 0 : extent != n)
    Message("all_to_all")
        .problem("the split dimension " + std::to_string(split) + " of " + to_string(t) + " has " +
                 std::to_string(extent) + " elements, and axis " + axes_text(a.attrs) + " " +
                 std::to_string(n) + " devices")
        .rule(shared_out_rule(tiled, extent, n))
        .from(a.loc)
        .advice(tiled ? "pad the dimension to a multiple of " + std::to_string(n)
                      : "pass tiled to send slabs of a larger dimension, or reshape")
        .raise<ShapeError>();
  if (tiled) {
    t.shape[split] /= n;
    t.shape[concat] *= n;
  } else {
    t.shape = replace_dims(replace_dims(t.shape, split, 1, {}), concat, 0, {n});
  }
  return {t};
}

// Over the mapped axis the exchange is a transposition: the split dimension becomes the stacked
// one, and the old stacked dimension becomes the received one. The other axes of the tuple are
// exchanged afterwards, with their received dimension next to the old stacked one.
BatchResult over_mapped(const BatchArgs& a, const Mapped& m) {
  const auto [split, concat, tiled] = AllToAllAttrs(a.attrs);
  bool rest = !m.rest.empty();
  Value x = stacked_at(a.inputs[0], a.dims[0], 0, a.size);
  // x is [from, ...], with the split dimension as (to, to_rest, slab) in the order of the axes.
  x = reshape_dims(x, 1 + split, 1, shared_extents(a, m, x.shape()[1 + split], tiled));
  int to = 1 + split + (rest && !m.first ? 1 : 0), to_rest = 1 + split + (m.first ? 1 : 0);
  // The result's dimensions before the rest is exchanged: `to`, then those of the blocks (without
  // to_rest), with `from` inserted at concat.
  std::vector<int> own;
  for (int i = 1; i < x.rank(); ++i)
    if (i != to && !(rest && i == to_rest)) own.push_back(i);
  Ints perm{to};
  for (int i = 0; i < static_cast<int>(own.size()); ++i) {
    if (i == concat) perm.push_back(0);
    perm.push_back(own[static_cast<std::size_t>(i)]);
  }
  if (concat == static_cast<int>(own.size())) perm.push_back(0);
  if (rest) perm.push_back(to_rest);
  x = ops::transpose(x, perm);
  int at = 1 + concat;  // position of `from`
  if (rest) {
    Attrs attrs = CollectiveAttrs::with_axes(a.attrs, m.rest, m.rest_size);
    AllToAllAttrs(x.rank() - 1, m.first ? at + 1 : at, false).set_in(attrs);
    x = a.b.emit(a.op, std::span<const Value>(&x, 1), attrs)[0];
    x = reshape_dims(x, at, 2, {a.size * m.rest_size});
  }
  if (tiled) x = reshape_dims(x, at, 2, {x.shape()[at] * x.shape()[at + 1]});
  return {{x}, {0}};
}

BatchResult all_to_all_batch(const BatchArgs& a) {
  Mapped m = mapped(a, true);
  if (m.is) return over_mapped(a, m);
  Value x = move_dim(a.inputs[0], a.dims[0], 0);
  const auto [split, concat, tiled] = AllToAllAttrs(a.attrs);
  Attrs at = a.attrs;
  AllToAllAttrs(split + 1, concat + 1, tiled).set_in(at);
  return {a.b.emit(a.op, std::span<const Value>(&x, 1), at), {0}};
}

}  // namespace

Value all_to_all(Value x, const Strings& axes, std::int64_t size, int split, int concat, bool tiled,
                 const IntLists& groups) {
  split = dimension("all_to_all", split, x.rank(), x.builder->loc);
  concat = dimension("all_to_all", concat, x.rank(), x.builder->loc);
  return x.builder->emit1("all_to_all", {x},
                          exchange_attrs(axes, size, split, concat, tiled, groups));
}

void register_all_to_all(Registry& r) {
  Op op = make("all_to_all",
               "Device i receives index i of dimension `split` of every device's x and stacks what "
               "it gets, in the order of the "
               "devices, along `concat` of the result; `tiled`: equal slabs of `split` are sent "
               "and concatenated along `concat`. "
               "Its transpose exchanges the two dimensions.",
               "all_to_all",
               {{AllToAllAttrs::kSplit, AttrKind::integer, "dimension of the operand that is cut"},
                {AllToAllAttrs::kConcat, AttrKind::integer,
                 "dimension of the result along which pieces line up"},
                {AllToAllAttrs::kTiled, AttrKind::boolean, "slabs instead of single indices"}});
  op.exchange = Exchange::all_to_all;
  op.infer = all_to_all_infer;
  op.transpose = [](const TransposeArgs& a) -> MaybeValues {
    if (!a.cotangents[0]) return {std::nullopt};
    const CollectiveAttrs among(a.attrs);
    const AllToAllAttrs at(a.attrs);
    return {all_to_all(*a.cotangents[0], among.axes, among.size(), at.concat, at.split, at.tiled,
                       among.groups)};
  };
  op.batch = all_to_all_batch;
  op.uniform = adds_axes();
  op.sharding = [](const ShardArgs& a) {
    const AllToAllAttrs at(a.attrs);
    return dims_exchanged(a, at.split, at.concat, at.tiled);
  };
  op.examples = [] {
    return std::vector<OpExample>{{{Type(f32, {4, 3})}, exchange_attrs({"i"}, 4, 0, 1, false, {})},
                                  {{Type(f32, {8, 3})}, exchange_attrs({"i"}, 4, 0, 1, true, {})}};
  };
  r.add(std::move(op));
}

}  // namespace tessera::inline v0::ops
