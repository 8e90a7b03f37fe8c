// argmax and argmin.
#include "ops/elementwise/elementwise_eval.h"
#include "ops/factors.h"
#include "ops/local.h"
#include "ops/order.h"
#include "ops/reduction/reduce.h"

#include <limits>

namespace tessera::inline v0::ops {

Value argmax(Value x, int axis, DType index_dtype) {
  return x.builder->emit1("argmax", {x}, {{"axis", std::int64_t{axis}}, {"dtype", index_dtype}});
}
Value argmin(Value x, int axis, DType index_dtype) {
  return x.builder->emit1("argmin", {x}, {{"axis", std::int64_t{axis}}, {"dtype", index_dtype}});
}

namespace {

std::vector<Type> argreduce_infer(const InferArgs& a) {
  const Type& x = a.inputs[0];
  check_ordered(a, x);
  std::int64_t axis = a.attrs.i("axis");
  check_axes(a, x, {axis});
  Shape shape = x.shape;
  std::int64_t n = shape[static_cast<std::size_t>(axis)];
  DType index = a.attrs.dtype("dtype");
  if (!is_integer(index))
    Message(a.op.name)
        .problem("an index of dtype " + std::string(name_of(index)))
        .rule("indices are integers")
        .from(a.loc)
        .advice("use int32")
        .raise<DTypeError>();
  if (n == 0)
    Message(a.op.name)
        .problem("axis " + std::to_string(axis) + " of an operand of shape " + to_string(x.shape) +
                 " is empty")
        .rule("there is an index only where there is an element")
        .from(a.loc)
        .advice("reduce an axis that has elements")
        .raise<ShapeError>();
  shape.erase(shape.begin() + axis);
  return {Type(index, shape)};
}

BatchResult argreduce_batch(const BatchArgs& a) {
  std::int64_t axis = a.attrs.i("axis");
  Attrs attrs = a.attrs;
  attrs.set("axis", axis + (axis >= a.dims[0]));
  return {a.b.emit(a.op, a.inputs, attrs), {a.dims[0] - (axis < a.dims[0])}};
}

template <bool kMax>
FactorRule argreduce_sharding(const ShardArgs& a) {
  FactorRule rule;
  std::vector<int> in = rule.factors(a.inputs[0].shape), out = in;
  auto axis = static_cast<std::size_t>(a.attrs.i("axis"));
  out.erase(out.begin() + static_cast<std::ptrdiff_t>(axis));
  rule.input(in);
  rule.output(out);
  rule.mark(FactorRule::Kind::contest, in[axis], kMax ? Combiner::max : Combiner::min);
  return rule;
}

// Of the shards whose best element equals the best of all (or is NaN if that is), the one with the
// smallest index wins.
template <bool kMax>
Values argreduce_local(const LocalArgs& a) {
  const Value x = a.inputs[0];
  const auto axis = static_cast<int>(a.attrs.i("axis"));
  const std::int64_t part = x.shape()[static_cast<std::size_t>(axis)],
                     whole = a.whole_inputs[0].shape[static_cast<std::size_t>(axis)];
  if (part == whole) return a.b.emit(a.op, a.inputs, a.attrs);
  const Strings& axes = a.input_specs[0].axes_of(axis);
  const std::int64_t parts = a.parts(axes);
  const DType wide =
      part * parts < std::numeric_limits<std::int32_t>::max() ? DType::int32 : DType::int64;
  Attrs attrs = a.attrs;
  attrs.set("dtype", wide);
  Value index = a.b.emit(a.op, a.inputs, attrs)[0];
  index = add(index, everywhere(part_start(a.b, wide, axes, parts, part), index.shape()));
  const bool boolean = x.dtype() == DType::boolean;
  const Value mine = kMax      ? boolean ? reduce_or(x, {axis}) : reduce_max(x, {axis})
                          : boolean ? reduce_and(x, {axis})
                               : reduce_min(x, {axis});
  const Value best =
      kMax ? pmax(pvary(mine, axes), axes, parts) : pmin(pvary(mine, axes), axes, parts);
  Value wins = eq(mine, best);
  if (is_floating(x.dtype())) wins = or_(wins, ne(mine, mine));
  index = select(wins, index, full_like(index, static_cast<double>(whole)));
  return {convert(pmin(index, axes, parts), a.attrs.dtype("dtype"))};
}

// A later element wins only if it is strictly better, or is the first NaN.
template <bool kMax>
bool wins(auto x, auto best) {
  if constexpr (std::is_floating_point_v<decltype(x)>)
    if (x != x) return best == best;
  return kMax ? x > best : x < best;
}

template <bool kMax>
void argreduce_evaluate(const EvalArgs& a) {
  const Shape& shape = a.inputs[0].shape;
  auto axis = static_cast<std::size_t>(a.attrs.i("axis"));
  Shape strides = shape.strides(), outer = a.outputs[0].shape, outer_strides = strides;
  outer_strides.erase(outer_strides.begin() + static_cast<std::ptrdiff_t>(axis));
  std::vector<std::int64_t> found;
  found.reserve(static_cast<std::size_t>(outer.count()));
  dispatch_real(a.inputs[0].dtype, [&](auto tag) {
    const auto* x = a.inputs[0].data<decltype(tag)>();
    for_each_index(outer, [&](const Shape& at) {
      const auto* row = x + flat_index(at, outer_strides);
      std::int64_t best = 0;
      for (std::int64_t i = 1; i < shape[axis]; ++i)
        if (wins<kMax>(widen(row[i * strides[axis]]), widen(row[best * strides[axis]]))) best = i;
      found.push_back(best);
    });
  });
  dispatch_real(a.outputs[0].dtype, [&](auto tag) {
    auto* out = a.outputs[0].data<decltype(tag)>();
    for (const std::int64_t i : found) *out++ = narrow<decltype(tag)>(i);
  });
}

template <bool kMax>
Lane argreduce_emit(Emitter& e, const Equation& eqn, int, std::span<const Index> at) {
  auto axis = static_cast<std::size_t>(eqn.attrs.i("axis"));
  const Type& x = e.operand_type(0);
  auto element = [&e, at = std::vector<Index>(at.begin(), at.end()), axis](const Index& i) {
    std::vector<Index> index = at;
    index.insert(index.begin() + static_cast<std::ptrdiff_t>(axis), i);
    return e.operand(0, index);
  };
  auto step = [&e, element, floating = is_floating(x.dtype)](std::span<const Index> i,
                                                             std::span<const Lane> best) {
    Lane v = element(i[0]), better = e.binary(kMax ? Arith::gt : Arith::lt, v, best[0]);
    if (floating) {
      Lane first_nan =
          e.binary(Arith::and_, e.binary(Arith::ne, v, v), e.binary(Arith::eq, best[0], best[0]));
      better = e.binary(Arith::or_, better, first_nan);
    }
    return std::vector<Lane>{e.select(better, v, best[0]),
                             e.select(better, e.number(i[0], DType::int64), best[1])};
  };
  std::vector<Lane> init = {element(Index(0)), e.constant(DType::int64, std::int64_t{0})};
  std::vector<std::int64_t> extents = {x.shape[axis]};
  return e.convert(e.fold(extents, std::move(init), step)[1], eqn.attrs.dtype("dtype"));
}

// Decomposes into two reductions, which kernels can vectorise and divide into tasks: the extremum,
// then the smallest index of an element that equals it or is NaN. If any element is NaN the
// extremum is NaN, and no element equals it.
template <bool kMax>
std::optional<Values> in_reductions(const DecomposeArgs& a) {
  // For fewer elements than this, a sequential search is as fast.
  constexpr std::int64_t kWorth = 64;
  const Value x = a.inputs[0];
  const auto axis = static_cast<int>(a.attrs.i("axis"));
  const std::int64_t extent = x.shape()[static_cast<std::size_t>(axis)];
  if (x.dtype() == DType::boolean || x.shape().count() == 0 || extent < kWorth) return std::nullopt;
  Value best = kMax ? reduce_max(x, {axis}) : reduce_min(x, {axis});
  Ints kept;
  for (int i = 0; i < x.rank(); ++i)
    if (i != axis) kept.push_back(i);
  Value found = eq(x, broadcast_in_dim(best, x.shape(), kept));
  if (is_floating(x.dtype())) found = or_(found, ne(x, x));
  const DType index = extent > 0x7fffffff ? DType::int64 : DType::int32;
  Value place = iota(a.b, index, x.shape(), axis);
  Value least =
      reduce_min(select(found, place, full_like(place, static_cast<double>(extent))), {axis});
  return Values{convert(least, a.attrs.dtype("dtype"))};
}

template <bool kMax>
Op make_argreduce() {
  Op op;
  op.name = kMax ? "argmax" : "argmin";
  op.doc = std::string("The index along `axis` of the ") + (kMax ? "greatest" : "least") +
           " element, the first of equals; NaN wins over every number. The axis goes away.";
  op.attrs = {{"axis", AttrKind::integer, "the dim to search"},
              {"dtype", AttrKind::dtype, "of the index"}};
  op.inputs = 1;
  op.cheap = false;
  op.infer = argreduce_infer;
  op.jvp = no_tangent();
  op.batch = argreduce_batch;
  op.sharding = argreduce_sharding<kMax>;
  op.local = argreduce_local<kMax>;
  op.cost = [](std::span<const Type> in, std::span<const Type> out, const Attrs&) {
    return Cost{static_cast<double>(in[0].shape.count()),
                static_cast<double>(in[0].bytes() + out[0].bytes())};
  };
  op.evaluate = argreduce_evaluate<kMax>;
  op.emit = argreduce_emit<kMax>;
  op.decompose = in_reductions<kMax>;
  op.waived = {{"transpose", "indices have no derivative"},
               {"stablehlo", "exported as a reduce of values and indices"}};
  op.examples = [] {
    auto example = [](Type t, std::int64_t axis, DType index) {
      return OpExample{{t}, {{"axis", axis}, {"dtype", index}}};
    };
    return std::vector<OpExample>{example(Type(DType::float32, {3, 5}), 1, DType::int32),
                                  example(Type(DType::bfloat16, {4, 2}), 0, DType::int64),
                                  example(Type(DType::int32, {7}), 0, DType::int32),
                                  example(Type(DType::boolean, {2, 3, 4}), 1, DType::uint8)};
  };
  return op;
}

}  // namespace

void register_argreduce(Registry& r) {
  Op max = make_argreduce<true>(), min = make_argreduce<false>();
  add_all(r, max, min);
}

}  // namespace tessera::inline v0::ops
