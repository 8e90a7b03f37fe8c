// dynamic_update_slice: replaces a box of fixed size at a position given by data.
#include "ops/factors.h"
#include "ops/indexing/index_parts.h"
#include "ops/updates.h"

#include <algorithm>

namespace tessera::inline v0::ops {

Value dynamic_update_slice(Value x, Value update, std::span<const Value> starts) {
  if (update.shape() == x.shape() && update.dtype() == x.dtype()) return update;
  Values in{x, update};
  in.insert(in.end(), starts.begin(), starts.end());
  return x.builder->emit1("dynamic_update_slice", in);
}

namespace {

std::vector<Type> dynamic_update_slice_infer(const InferArgs& a) {
  if (a.inputs.size() < 2) throw InternalError("dynamic_update_slice has an operand and an update");
  const Type &x = a.inputs[0], &update = a.inputs[1];
  if (x.dtype != update.dtype)
    Message(a.op.name)
        .problem("the operand is " + std::string(name_of(x.dtype)) + ", the update " +
                 std::string(name_of(update.dtype)))
        .rule("both have one dtype")
        .from(a.loc)
        .advice("convert the update to " + std::string(name_of(x.dtype)))
        .raise<DTypeError>();
  bool fits = x.shape.size() == update.shape.size();
  for (std::size_t d = 0; fits && d < x.shape.size(); ++d) fits = update.shape[d] <= x.shape[d];
  if (!fits)
    Message(a.op.name)
        .problem("an update of shape " + tessera::to_string(update.shape) +
                 " does not fit into shape " + tessera::to_string(x.shape))
        .rule("both have one rank, and no extent of the update exceeds that of the operand")
        .from(a.loc)
        .advice("slice or reshape the update")
        .raise<ShapeError>();
  check_starts(a, 2, x.shape);
  return {Type(x.dtype, x.shape, x.weak && update.weak)};
}

MaybeValues dynamic_update_slice_transpose(const TransposeArgs& a) {
  MaybeValues out(a.types.size());
  if (!a.cotangents[0]) return out;
  Value ct = *a.cotangents[0];
  Values starts;
  for (std::size_t i = 2; i < a.inputs.size(); ++i) starts.push_back(*a.inputs[i]);
  if (a.linear[0])
    out[0] = dynamic_update_slice(ct, zeros(a.b, Type(ct.dtype(), a.types[1].shape)), starts);
  if (a.linear[1]) out[1] = dynamic_slice(ct, starts, to_ints(a.types[1].shape));
  return out;
}

BatchResult dynamic_update_slice_batch(const BatchArgs& a) {
  auto starts = a.inputs.subspan(2);
  auto start_dims = a.dims.subspan(2);
  if (std::all_of(start_dims.begin(), start_dims.end(), [](int k) { return k == kUnbatched; })) {
    int to = a.dims[0] != kUnbatched ? a.dims[0] : a.dims[1];
    const Values all = starts_of_stacked(a.b, starts, to);
    Value x = stacked_at(a.inputs[0], a.dims[0], to, a.size),
          update = stacked_at(a.inputs[1], a.dims[1], to, a.size);
    return {{dynamic_update_slice(x, update, all)}, {to}};
  }
  Value x = stacked_at(a.inputs[0], a.dims[0], 0, a.size),
        update = stacked_at(a.inputs[1], a.dims[1], 0, a.size);
  ScatterDims dims;
  for (int k = 1; k < x.rank(); ++k) {
    dims.update_window_dims.push_back(k);
    dims.scatter_dims_to_operand_dims.push_back(k);
  }
  dims.operand_batching_dims = {0};
  dims.scatter_indices_batching_dims = {0};
  dims.index_vector_dim = 1;
  return {
      {scatter("scatter", x, stack_starts(starts, start_dims, a.size), update, dims, "clip", true)},
      {0}};
}

FactorRule dynamic_update_slice_sharding(const ShardArgs& a) {
  FactorRule rule;
  std::vector<int> x = rule.factors(a.inputs[0].shape), update = x;
  for (std::size_t d = 0; d < x.size(); ++d)
    if (a.inputs[0].shape[d] != a.inputs[1].shape[d]) {
      update[d] = rule.factor(a.inputs[1].shape[d]);
      rule.mark(FactorRule::Kind::need_repl, update[d]);
    }
  rule.input(x);
  rule.input(update);
  for (std::size_t i = 2; i < a.inputs.size(); ++i) rule.input({});
  rule.output(x);
  return rule;
}

// Each shard takes the part of the update that falls into it: the shard is padded on both sides by
// the size of the update, the update is written, and the padding is removed.
Values dynamic_update_slice_local(const LocalArgs& a) {
  const Shape &whole = a.whole_inputs[0].shape, &part = a.inputs[0].shape(),
              &update = a.inputs[1].shape();
  Values starts;
  Ints room(part.size(), 0), limit = part.to_vector();
  for (std::size_t d = 0; d < part.size(); ++d) {
    Value start = moved_inside(wide_index(a.inputs[d + 2]), whole[d] - a.whole_inputs[1].shape[d]);
    if (part[d] != whole[d] && a.whole_inputs[1].shape[d] != whole[d]) {
      const std::int64_t u = room[d] = update[d];
      limit[d] = part[d] + u;
      const Strings& axes = a.input_specs[0].axes_of(static_cast<int>(d));
      start = from_part(start, axes, a.parts(axes), part[d]);
      start = moved_inside(add(start, full_like(start, static_cast<double>(u))), part[d] + u);
    }
    starts.push_back(start);
  }
  const Ints none(part.size(), 0), ones(part.size(), 1);
  Value x = a.inputs[0];
  if (room != none) x = pad(x, scalar(a.b, x.dtype(), 0), room, room, none);
  return {slice(dynamic_update_slice(x, a.inputs[1], starts), room, limit, ones)};
}

Lane dynamic_update_slice_emit(Emitter& e, const Equation&, int, std::span<const Index> at) {
  const Shape &x = e.operand_type(0).shape, &update = e.operand_type(1).shape;
  std::vector<Bound> bounds;
  std::vector<Index> from(at.begin(), at.end());
  for (std::size_t d = 0; d < x.size(); ++d) {
    if (x[d] == update[d]) continue;
    from[d] = at[d] - e.index(e.operand(static_cast<int>(d) + 2, std::span<const Index>{}), 0,
                              x[d] - update[d]);
    bounds.push_back({from[d], 0, update[d]});
  }
  if (bounds.empty()) return e.operand(1, from);
  return e.guarded(
      bounds, [&] { return e.operand(1, from); }, e.operand(0, at));
}

Write dynamic_update_slice_write(Emitter& e, const Equation&, std::span<const Index> at) {
  const Shape &x = e.operand_type(0).shape, &update = e.operand_type(1).shape;
  Write w{std::vector<Index>(at.begin(), at.end()), e.operand(1, at), {}};
  for (std::size_t d = 0; d < x.size(); ++d)
    if (x[d] != update[d])
      w.at[d] = at[d] + e.index(e.operand(static_cast<int>(d) + 2, std::span<const Index>{}), 0,
                                x[d] - update[d]);
  return w;
}

}  // namespace

void register_dynamic_update_slice(Registry& r) {
  Op op;
  op.name = "dynamic_update_slice";
  op.doc =
      "The operand with the box that begins at the starts, one integer scalar a dimension, "
      "replaced by the update. Starts are "
      "moved into [0, extent - update extent], so that the box always lies inside.";
  op.stablehlo = "dynamic_update_slice";
  op.call = update_call;
  // If fewer bytes are left untouched, a kernel that writes the whole result, fused with its
  // neighbours, costs less than a separate step.
  op.overwrites = [](const TypedArgs& a, std::size_t) {
    const std::int64_t all = a.inputs[0].bytes(), part = a.inputs[1].bytes();
    return part > 0 && all - part >= 4096 ? 0 : -1;
  };
  op.written = 1;
  op.write = dynamic_update_slice_write;
  op.infer = dynamic_update_slice_infer;
  op.jvp = linear_jvp({0, 1});
  op.transpose = dynamic_update_slice_transpose;
  op.batch = dynamic_update_slice_batch;
  op.sharding = dynamic_update_slice_sharding;
  op.local = dynamic_update_slice_local;
  op.updates = updates_of({0});
  op.cost = movement_cost();
  op.evaluate = [](const EvalArgs& a) {
    const HostArray &x = a.inputs[0], &update = a.inputs[1];
    HostArray& out = a.outputs[0];
    auto n = static_cast<std::size_t>(size_of(x.dtype));
    if (x.size_bytes() > 0)
      std::memcpy(out.bytes, x.bytes, static_cast<std::size_t>(x.size_bytes()));
    const Shape strides = x.shape.strides();
    const std::int64_t origin = box_origin(a, 2, update.shape);
    const std::byte* from = update.bytes;
    for_each_index(update.shape, [&](const Shape& index) {
      std::memcpy(out.bytes + static_cast<std::size_t>(origin + flat_index(index, strides)) * n,
                  from, n);
      from += n;
    });
  };
  op.emit = dynamic_update_slice_emit;
  op.examples = [] {
    return box_examples([](DType dtype, const Shape& shape, const Shape& update) {
      return OpExample{{Type(dtype, shape), Type(dtype, update)}, {}};
    });
  };
  r.add(std::move(op));
}

}  // namespace tessera::inline v0::ops
