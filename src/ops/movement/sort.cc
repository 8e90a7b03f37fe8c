// sort: sorts arrays together, stable.
#include "ops/movement/sort.h"

#include "ops/factors.h"

#include <algorithm>
#include <cmath>
#include <numeric>

namespace tessera::inline v0::ops {

Values sort(std::span<const Value> xs, int dimension, int num_keys) {
  if (xs.empty()) throw InternalError("sort of no arrays");
  return xs[0].builder->emit(
      "sort", xs, {{"dimension", std::int64_t{dimension}}, {"num_keys", std::int64_t{num_keys}}});
}

Value take_along(Value x, Value order, int d) {
  GatherDims dims;
  for (int k = 0; k < x.rank(); ++k)
    if (k != d) dims.operand_batching_dims.push_back(k);
  dims.start_indices_batching_dims = dims.operand_batching_dims;
  dims.collapsed_slice_dims = dims.start_index_map = {d};
  dims.index_vector_dim = x.rank();
  return gather(x, order, dims, filled(x.shape().size(), 1), "clip");
}

SortedRange sorted_range(const Attrs& attrs, std::int64_t n) {
  if (!attrs.has("count")) return {0, n};
  const std::int64_t count = attrs.i("count");
  return {attrs.flag("last") ? n - count : 0, count};
}

std::vector<Type> infer_sort(const InferArgs& a) {
  if (a.inputs.empty())
    Message(a.op.name)
        .problem("there is nothing to sort")
        .rule("one array or more")
        .from(a.loc)
        .advice("pass an array")
        .raise<ShapeError>();
  const Shape& shape = a.inputs[0].shape;
  Message message(a.op.name);
  bool same = true;
  for (std::size_t i = 0; i < a.inputs.size(); ++i) {
    same = same && a.inputs[i].shape == shape;
    message.offender("operand " + std::to_string(i) + ": " + tessera::to_string(a.inputs[i]));
  }
  if (!same)
    message.problem("the operands differ in shape")
        .rule("arrays that are sorted together have one shape")
        .from(a.loc)
        .advice("broadcast them first")
        .raise<ShapeError>();
  check_dims(a, "dimension", {a.attrs.i("dimension")}, shape);
  std::int64_t keys = a.attrs.i("num_keys");
  if (keys < 1 || keys > static_cast<std::int64_t>(a.inputs.size()))
    Message(a.op.name)
        .problem(std::to_string(keys) + " keys of " + std::to_string(a.inputs.size()) + " operands")
        .rule("num_keys lies in [1, " + std::to_string(a.inputs.size()) + "]")
        .from(a.loc)
        .advice("sort by the first operand with num_keys 1")
        .raise<ShapeError>();
  std::vector<Type> out;
  for (const Type& t : a.inputs) out.push_back(with_shape(t, shape));
  return out;
}

namespace {

/// Returns -1, 0 or 1. NaN comes after everything and equals NaN.
int compare(const HostArray& a, std::int64_t i, std::int64_t j) {
  return dispatch(a.dtype, [&](auto tag) {
    using T = decltype(tag);
    auto order = [](auto x, auto y) { return x < y ? -1 : y < x ? 1 : 0; };
    if constexpr (std::is_integral_v<T>) {
      return order(a.data<T>()[i], a.data<T>()[j]);
    } else if constexpr (is_complex_v<T>) {
      auto parts = [&](auto p, auto q) {
        return std::isnan(p) || std::isnan(q) ? order(std::isnan(p), std::isnan(q)) : order(p, q);
      };
      const T x = a.data<T>()[i], y = a.data<T>()[j];
      const int by_real = parts(x.real(), y.real());
      return by_real ? by_real : parts(x.imag(), y.imag());
    } else {
      auto x = static_cast<double>(
          static_cast<std::conditional_t<std::is_same_v<T, double>, double, float>>(
              a.data<T>()[i]));
      auto y = static_cast<double>(
          static_cast<std::conditional_t<std::is_same_v<T, double>, double, float>>(
              a.data<T>()[j]));
      if (std::isnan(x) || std::isnan(y)) return order(std::isnan(x), std::isnan(y));
      return order(x, y);
    }
  });
}

}  // namespace

void sort_evaluate(const EvalArgs& a) {
  const Shape &shape = a.inputs[0].shape, &out = a.outputs[0].shape;
  auto d = static_cast<std::size_t>(a.attrs.i("dimension"));
  auto keys = static_cast<std::size_t>(a.attrs.i("num_keys"));
  const SortedRange wanted = sorted_range(a.attrs, shape[d]);
  const std::int64_t stride = shape.strides()[d], to_stride = out.strides()[d];
  Shape rows = shape;
  rows[d] = 1;
  if (out.count() == 0) return;
  for_each_index(rows, [&](const Shape& row) {
    const std::int64_t base = flat_index(row, shape.strides()), to = flat_index(row, out.strides());
    std::vector<std::int64_t> order(static_cast<std::size_t>(shape[d]));
    std::iota(order.begin(), order.end(), 0);
    std::stable_sort(order.begin(), order.end(), [&](std::int64_t i, std::int64_t j) {
      for (std::size_t k = 0; k < keys; ++k)
        if (int c = compare(a.inputs[k], base + i * stride, base + j * stride)) return c < 0;
      return false;
    });
    for (std::size_t k = 0; k < a.inputs.size(); ++k) {
      auto n = static_cast<std::size_t>(size_of(a.inputs[k].dtype));
      for (std::int64_t i = 0; i < wanted.count; ++i)
        std::memcpy(a.outputs[k].bytes + static_cast<std::size_t>(to + i * to_stride) * n,
                    a.inputs[k].bytes +
                        static_cast<std::size_t>(
                            base + order[static_cast<std::size_t>(wanted.first + i)] * stride) *
                            n,
                    n);
    }
  });
}

/// Sorts the positions along with the operands, and gathers the tangents by them.
JvpBoth jvp_sort(const JvpBothArgs& a) {
  JvpBoth out;
  out.tangents.resize(a.inputs.size());
  bool any = std::any_of(a.tangents.begin(), a.tangents.end(),
                         [](const MaybeValue& t) { return t.has_value(); });
  auto d = static_cast<int>(a.attrs.i("dimension"));
  Values in(a.inputs.begin(), a.inputs.end());
  if (any) in.push_back(iota(a.b, DType::int32, a.inputs[0].shape(), d));
  out.outputs = a.b.emit(a.op, in, a.attrs);
  if (!any) return out;
  Value order = out.outputs.back();
  out.outputs.pop_back();
  for (std::size_t i = 0; i < a.tangents.size(); ++i)
    if (a.tangents[i]) out.tangents[i] = take_along(*a.tangents[i], order, d);
  return out;
}

BatchResult batch_sort(const BatchArgs& a) {
  const auto [xs, to] = stacked_alike(a);
  auto d = static_cast<int>(a.attrs.i("dimension"));
  Attrs attrs = a.attrs;
  attrs.set("dimension", std::int64_t{d + (d >= to)});
  Values out = a.b.emit(a.op, xs, attrs);
  return {out, std::vector<int>(out.size(), to)};
}

Cost cost_of_sort(std::span<const Type> in, std::span<const Type> out, const Attrs& attrs) {
  Cost cost;
  const auto n = static_cast<double>(in[0].shape[static_cast<std::size_t>(attrs.i("dimension"))]);
  cost.flops = static_cast<double>(in[0].shape.count()) * std::log2(std::max(n, 2.0)) *
               static_cast<double>(attrs.i("num_keys"));
  for (std::span<const Type> ends : {in, out})
    for (const Type& t : ends) cost.bytes += static_cast<double>(t.bytes());
  return cost;
}

namespace {

// Sorting only the ends pays if they are few, also compared with a device's shard.
constexpr std::int64_t kFew = 16;

std::optional<std::pair<const Op*, Attrs>> sort_ends_of(const TypedArgs& a, const Ends& ends) {
  const auto d = static_cast<std::size_t>(ends.dimension);
  if (ends.dimension != a.attrs.i("dimension") || ends.count * kFew > a.inputs[0].shape[d])
    return std::nullopt;
  Attrs attrs = a.attrs;
  attrs.set("count", ends.count);
  attrs.set("last", ends.last);
  return std::pair(&Registry::get().at("sort_ends"), std::move(attrs));
}

}  // namespace

void register_sort(Registry& r) {
  Op op;
  op.name = "sort";
  op.doc =
      "Sorts all operands together along `dimension`, ascending by the first operand, then the "
      "second, up to `num_keys`. Stable; "
      "NaN comes last, and -0 equals 0. Complex numbers are ordered by their real parts, then by "
      "their imaginary ones.";
  op.stablehlo = "sort";
  op.attrs = {{"dimension", AttrKind::integer, "the dimension to sort along"},
              {"num_keys", AttrKind::integer, "how many operands, from the first, are compared"}};
  op.outputs = -1;
  op.cheap = false;
  op.lowering = Lowering::called;
  op.call = sort_call;
  op.infer = infer_sort;
  op.jvp_both = jvp_sort;
  op.batch = batch_sort;
  op.sharding = [](const ShardArgs& a) {
    FactorRule rule;
    std::vector<int> dims = rule.factors(a.inputs[0].shape);
    for (std::size_t i = 0; i < a.inputs.size(); ++i) {
      rule.input(dims);
      rule.output(dims);
    }
    // The position of an element depends on all shards, and not just on a total of those before it.
    rule.mark(FactorRule::Kind::prefix, dims[static_cast<std::size_t>(a.attrs.i("dimension"))],
              Combiner::replace);
    return rule;
  };
  op.local = sort_local;
  op.cost = cost_of_sort;
  op.ends_of = sort_ends_of;
  op.evaluate = sort_evaluate;
  op.waived = {{"emit", "a library sorts"},
               {"updates", "elements in the order of their values have left their places"},
               {"transpose", "it is linear in nothing"}};
  op.examples = [] {
    auto example = [](std::vector<Type> in, std::int64_t dimension, std::int64_t keys) {
      return OpExample{std::move(in), {{"dimension", dimension}, {"num_keys", keys}}};
    };
    return std::vector<OpExample>{
        example({Type(DType::float32, {7})}, 0, 1), example({Type(DType::float64, {3, 5})}, 0, 1),
        example({Type(DType::int32, {2, 6}), Type(DType::float32, {2, 6})}, 1, 1),
        example({Type(DType::int8, {6}), Type(DType::float32, {6}), Type(DType::int32, {6})}, 0, 2),
        example({Type(DType::complex64, {2, 5})}, 1, 1)};
  };
  r.add(std::move(op));
}

}  // namespace tessera::inline v0::ops
