// dynamic_slice: a box of fixed size at a position given by data.
#include "ops/factors.h"
#include "ops/indexing/index_parts.h"
#include "ops/local.h"
#include "ops/updates.h"

#include <algorithm>

namespace tessera::inline v0::ops {

Value dynamic_slice(Value x, std::span<const Value> starts, const Ints& sizes) {
  if (to_shape(sizes) == x.shape()) return x;
  Values in{x};
  in.insert(in.end(), starts.begin(), starts.end());
  return x.builder->emit1("dynamic_slice", in, {{"sizes", sizes}});
}

namespace {

std::vector<Type> dynamic_slice_infer(const InferArgs& a) {
  if (a.inputs.empty()) throw InternalError("dynamic_slice has an operand");
  const Shape& x = a.inputs[0].shape;
  const Ints& sizes = a.attrs.ints("sizes");
  check_one_a_dim(a, "sizes", sizes, x);
  check_starts(a, 1, x);
  for (std::size_t d = 0; d < sizes.size(); ++d)
    if (sizes[d] < 0 || sizes[d] > x[d])
      Message(a.op.name)
          .problem("sizes " + to_string(sizes) + " do not fit into shape " + tessera::to_string(x))
          .rule("0 <= size <= extent; dimension " + std::to_string(d) + " has size " +
                std::to_string(sizes[d]) + " and extent " + std::to_string(x[d]))
          .from(a.loc)
          .advice("slice no more than there is, or pad first")
          .raise<ShapeError>();
  return {with_shape(a.inputs[0], to_shape(sizes))};
}

/// If only the operand is stacked, its stacked dimension is taken whole; stacked starts make it a
/// gather.
BatchResult dynamic_slice_batch(const BatchArgs& a) {
  auto starts = a.inputs.subspan(1);
  auto start_dims = a.dims.subspan(1);
  const Ints& sizes = a.attrs.ints("sizes");
  int d = a.dims[0];
  if (std::all_of(start_dims.begin(), start_dims.end(), [](int k) { return k == kUnbatched; })) {
    const Values all = starts_of_stacked(a.b, starts, d);
    return {{dynamic_slice(a.inputs[0], all, inserted(sizes, d, a.size))}, {d}};
  }
  GatherDims dims;
  Ints slice = sizes;
  int rank = static_cast<int>(sizes.size());
  for (int k = 0; k < rank; ++k) {
    dims.offset_dims.push_back(k + 1);
    dims.start_index_map.push_back(d != kUnbatched && k >= d ? k + 1 : k);
  }
  if (d != kUnbatched) {
    dims.operand_batching_dims = {d};
    dims.start_indices_batching_dims = {0};
    slice = inserted(slice, d, 1);
  }
  dims.index_vector_dim = 1;
  return {{gather(a.inputs[0], stack_starts(starts, start_dims, a.size), dims, slice, "clip")},
          {0}};
}

FactorRule dynamic_slice_sharding(const ShardArgs& a) {
  FactorRule rule;
  std::vector<int> in = rule.factors(a.inputs[0].shape), out = in;
  for (std::size_t d = 0; d < in.size(); ++d) {
    if (a.inputs[0].shape[d] == a.outputs[0].shape[d]) continue;
    out[d] = rule.factor(a.outputs[0].shape[d]);
    rule.mark(FactorRule::Kind::indexed, in[d], Combiner::add);
    rule.mark(FactorRule::Kind::blocked, in[d]);
    rule.mark(FactorRule::Kind::need_repl, out[d]);
    rule.mark(FactorRule::Kind::blocked, out[d]);
  }
  rule.input(in);
  for (std::size_t i = 1; i < a.inputs.size(); ++i) rule.input({});
  rule.output(out);
  return rule;
}

// Along a sharded dimension each device contributes the part of the box that is in its shard. The
// shard is padded on both sides by the size of the box, with values that do not change a sum, and
// the devices' contributions are summed.
Values dynamic_slice_local(const LocalArgs& a) {
  const Shape &whole = a.whole_inputs[0].shape, &part = a.inputs[0].shape(), &box = a.outputs[0];
  Values starts(a.inputs.begin() + 1, a.inputs.end());
  Ints room(part.size(), 0);
  bool shared_out = false;
  for (std::size_t d = 0; d < part.size(); ++d) {
    if (part[d] == whole[d] || a.whole_outputs[0].shape[d] == whole[d]) continue;
    Value start = moved_inside(wide_index(starts[d]), whole[d] - box[d]);
    const Strings& axes = a.input_specs[0].axes_of(static_cast<int>(d));
    start = from_part(start, axes, a.parts(axes), part[d]);
    starts[d] =
        moved_inside(add(start, full_like(start, static_cast<double>(box[d]))), part[d] + box[d]);
    room[d] = box[d];
    shared_out = true;
  }
  Value x = a.inputs[0];
  if (shared_out) {
    x = pad(x, constant(a.b, neutral_literal(x.dtype(), Combiner::add)), room, room,
            Ints(room.size(), 0));
    for (Value& start : starts) start = wide_index(start);
  }
  return {dynamic_slice(x, starts, to_ints(box))};
}

}  // namespace

void register_dynamic_slice(Registry& r) {
  Op op;
  op.name = "dynamic_slice";
  op.doc =
      "The box of `sizes` that begins at the starts, one integer scalar a dimension. Starts are "
      "moved into [0, extent - size], so "
      "that the box always lies inside.";
  op.stablehlo = "dynamic_slice";
  op.attrs = {{"sizes", AttrKind::ints, "of the result"}};
  op.fuse = fuses_as(FuseRole::movement);
  op.infer = dynamic_slice_infer;
  op.jvp = linear_jvp({0});
  op.transpose = [](const TransposeArgs& a) {
    MaybeValues out(a.types.size());
    if (!a.cotangents[0]) return out;
    Values starts;
    for (std::size_t i = 1; i < a.inputs.size(); ++i) starts.push_back(*a.inputs[i]);
    out[0] = dynamic_update_slice(zeros(a.b, Type(a.types[0].dtype, a.types[0].shape)),
                                  *a.cotangents[0], starts);
    return out;
  };
  op.batch = dynamic_slice_batch;
  op.sharding = dynamic_slice_sharding;
  op.local = dynamic_slice_local;
  op.updates = updates_of({0});
  op.cost = movement_cost();
  op.evaluate = [](const EvalArgs& a) {
    const HostArray& x = a.inputs[0];
    const Shape strides = x.shape.strides();
    const std::int64_t origin = box_origin(a, 1, a.outputs[0].shape);
    copy_elements(x, a.outputs[0],
                  [&](const Shape& index) { return origin + flat_index(index, strides); });
  };
  op.emit = [](Emitter& e, const Equation&, int, std::span<const Index> at) {
    const Shape &x = e.operand_type(0).shape, &y = e.result_type().shape;
    std::vector<Index> from(at.begin(), at.end());
    for (std::size_t d = 0; d < from.size(); ++d)
      if (x[d] != y[d])
        from[d] =
            e.index(e.operand(static_cast<int>(d) + 1, std::span<const Index>{}), 0, x[d] - y[d]) +
            at[d];
    return e.operand(0, from);
  };
  op.examples = [] {
    return box_examples([](DType dtype, const Shape& shape, const Shape& box) {
      return OpExample{{Type(dtype, shape)}, {{"sizes", to_ints(box)}}};
    });
  };
  r.add(std::move(op));
}

}  // namespace tessera::inline v0::ops
