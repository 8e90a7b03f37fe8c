// concatenate: joins arrays along a dimension.
#include "ops/factors.h"
#include "ops/fetch.h"
#include "ops/movement/movement.h"
#include "ops/updates.h"

#include <limits>

namespace tessera::inline v0::ops {

Value concatenate(std::span<const Value> xs, int dimension) {
  if (xs.size() == 1) return xs[0];
  if (xs.empty()) throw InternalError("concatenate of no arrays");
  return xs[0].builder->emit1("concatenate", xs, {{"dimension", std::int64_t{dimension}}});
}

namespace {

std::vector<Type> concatenate_infer(const InferArgs& a) {
  if (a.inputs.empty())
    Message(a.op.name)
        .problem("there is nothing to concatenate")
        .rule("one array or more")
        .from(a.loc)
        .advice("pass arrays")
        .raise<ShapeError>();
  const Type& first = a.inputs[0];
  if (first.shape.empty())
    Message(a.op.name)
        .problem("a scalar has no dimension to concatenate along")
        .rule("operands have rank 1 or more")
        .from(a.loc)
        .advice("reshape scalars to (1,), or use stack")
        .raise<ShapeError>();
  std::int64_t dim = a.attrs.i("dimension");
  check_dims(a, "dimension", {dim}, first.shape);
  Shape shape = first.shape;
  auto d = static_cast<std::size_t>(dim);
  shape[d] = 0;
  bool weak = true, shapes = true, dtypes = true;
  for (const Type& t : a.inputs) {
    weak = weak && t.weak;
    dtypes = dtypes && t.dtype == first.dtype;
    bool fits = t.shape.size() == shape.size();
    for (std::size_t k = 0; fits && k < shape.size(); ++k) fits = k == d || t.shape[k] == shape[k];
    if (fits)
      shape[d] += t.shape[d];
    else
      shapes = false;
  }
  if (!shapes || !dtypes) {
    Message message(a.op.name);
    for (std::size_t i = 0; i < a.inputs.size(); ++i)
      message.offender("operand " + std::to_string(i) + ": " + tessera::to_string(a.inputs[i]));
    message
        .problem(shapes ? "the operands differ in dtype"
                        : "the operands do not line up along dimension " + std::to_string(dim))
        .from(a.loc);
    if (shapes)
      message.rule("all have one dtype")
          .advice("convert them to one dtype first")
          .raise<DTypeError>();
    message.rule("all extents but that of dimension " + std::to_string(dim) + " are equal")
        .advice("pad or slice the odd one, or choose another dimension")
        .raise<ShapeError>();
  }
  return {Type(first.dtype, shape, weak)};
}

MaybeValues concatenate_transpose(const TransposeArgs& a) {
  MaybeValues out(a.types.size());
  if (!a.cotangents[0]) return out;
  Value ct = *a.cotangents[0];
  auto d = static_cast<std::size_t>(a.attrs.i("dimension"));
  Ints start = filled(ct.shape().size(), 0), limit = to_ints(ct.shape()),
       ones = filled(ct.shape().size(), 1);
  std::int64_t offset = 0;
  for (std::size_t i = 0; i < a.types.size(); ++i) {
    start[d] = offset;
    limit[d] = offset += a.types[i].shape[d];
    if (a.linear[i]) out[i] = slice(ct, start, limit, ones);
  }
  return out;
}

BatchResult concatenate_batch(const BatchArgs& a) {
  const auto [xs, to] = stacked_alike(a);
  auto dim = static_cast<int>(a.attrs.i("dimension"));
  return {{concatenate(xs, dim + (dim >= to))}, {to}};
}

Lane concatenate_emit(Emitter& e, const Equation& eqn, int, std::span<const Index> at) {
  auto d = static_cast<std::size_t>(eqn.attrs.i("dimension"));
  if (eqn.inputs.size() == 1) return e.operand(0, at);
  Lane value = e.constant(e.result_type().dtype, std::int64_t{0});
  std::int64_t offset = 0;
  for (int i = 0; i < static_cast<int>(eqn.inputs.size()); ++i) {
    std::int64_t n = e.operand_type(i).shape[d];
    if (n == 0) continue;
    std::vector<Index> from(at.begin(), at.end());
    from[d] = at[d] - Index(offset);
    Bound bound{from[d], 0, n};
    value = e.guarded(
        std::span<const Bound>(&bound, 1), [&] { return e.operand(i, from); }, value);
    offset += n;
  }
  return value;
}

// A device fetches from each operand as much as its shard could hold, and a kernel determines for
// each element which operand it comes from. With more operands than this, that costs more than
// gathering the whole.
constexpr std::size_t kMostPieces = 32;

FactorRule concatenate_sharding(const ShardArgs& a) {
  const auto d = static_cast<std::size_t>(a.attrs.i("dimension"));
  FactorRule rule;
  const std::vector<int> dims = rule.factors(a.outputs[0].shape);
  const bool in_parts = a.inputs.size() > 1 && a.inputs.size() <= kMostPieces;
  if (a.inputs.size() > 1)
    rule.mark(in_parts ? FactorRule::Kind::window : FactorRule::Kind::need_repl, dims[d]);
  std::int64_t offset = 0;
  for (std::size_t i = 0; i < a.inputs.size(); ++i) {
    const std::int64_t n = a.inputs[i].shape[d];
    rule.input(dims);
    if (in_parts)
      rule.window({.factor = dims[d],
                   .input = i,
                   .extent = n,
                   .results = a.outputs[0].shape[d],
                   .low = offset});
    offset += n;
  }
  rule.output(dims);
  return rule;
}

// Fetches the parts of the operands that the device's shard of the result consists of.
Values concatenate_local(const LocalArgs& a) {
  const auto dim = static_cast<int>(a.attrs.i("dimension"));
  const auto d = static_cast<std::size_t>(dim);
  const std::int64_t part = a.outputs[0][d], whole = a.whole_outputs[0].shape[d];
  if (part == whole) return {concatenate(a.inputs, dim)};
  const Strings& axes = a.output_specs[0].axes_of(dim);
  const std::int64_t parts = a.parts(axes);
  const DType dtype =
      part * parts < std::numeric_limits<std::int32_t>::max() ? DType::int32 : DType::int64;
  const Value at = add(iota(a.b, dtype, {part}, 0),
                       everywhere(part_start(a.b, dtype, axes, parts, part), {part}));
  std::optional<Value> out;
  std::int64_t offset = whole;
  for (std::size_t i = a.inputs.size(); i-- > 0;) {
    const std::int64_t n = a.whole_inputs[i].shape[d], end = offset;
    offset -= n;
    if (n == 0) continue;
    Value x = a.inputs[i];
    fetch_window(x, dim, {.extent = n, .results = whole, .low = offset}, axes, parts,
                 Around::unread());
    const Value before = lt(at, full_like(at, static_cast<double>(end)));
    out = out ? select(broadcast_in_dim(before, x.shape(), {dim}), x, *out) : x;
  }
  return {*out};
}

}  // namespace

void register_concatenate(Registry& r) {
  Op op;
  op.name = "concatenate";
  op.doc = "The operands one behind the other along `dimension`; their other extents are equal.";
  op.stablehlo = "concatenate";
  op.attrs = {{"dimension", AttrKind::integer, "the dimension that grows"}};
  op.fuse = fuses_as(FuseRole::movement);
  op.call = concatenate_call;
  op.prefers_call = [](const TypedArgs& a) { return a.inputs.size() > kMostPieces; };
  op.infer = concatenate_infer;
  op.jvp = linear_jvp();
  op.transpose = concatenate_transpose;
  op.batch = concatenate_batch;
  op.joins = [](const Attrs& attrs) { return static_cast<int>(attrs.i("dimension")); };
  op.sharding = concatenate_sharding;
  op.local = concatenate_local;
  op.updates = updates_all();
  op.cost = movement_cost();
  op.evaluate = [](const EvalArgs& a) {
    HostArray& out = a.outputs[0];
    auto d = static_cast<std::size_t>(a.attrs.i("dimension"));
    Shape strides = out.shape.strides();
    auto n = static_cast<std::size_t>(size_of(out.dtype));
    std::int64_t offset = 0;
    for (const HostArray& x : a.inputs) {
      const std::byte* from = x.bytes;
      for_each_index(x.shape, [&](Shape index) {
        index[d] += offset;
        std::memcpy(out.bytes + static_cast<std::size_t>(flat_index(index, strides)) * n, from, n);
        from += n;
      });
      offset += x.shape[d];
    }
  };
  op.emit = concatenate_emit;
  op.examples = [] {
    auto example = [](DType dtype, std::vector<Shape> shapes, std::int64_t dimension) {
      OpExample e{{}, {{"dimension", dimension}}};
      for (Shape& s : shapes) e.inputs.push_back(Type(dtype, std::move(s)));
      return e;
    };
    return std::vector<OpExample>{example(DType::float32, {{3}, {2}}, 0),
                                  example(DType::float64, {{2, 3}, {2, 1}, {2, 4}}, 1),
                                  example(DType::float32, {{2, 3}, {0, 3}, {1, 3}}, 0),
                                  example(DType::uint8, {{2, 2}}, 1)};
  };
  r.add(std::move(op));
}

}  // namespace tessera::inline v0::ops
