// top_k: the greatest elements of each row and their indices.
#include "ops/reduction/top_k.h"
#include "ops/factors.h"
#include "ops/local.h"
#include "ops/movement/movement.h"
#include "ops/order.h"

#include <algorithm>
#include <limits>
#include <numeric>

namespace tessera::inline v0::ops {

Values top_k(Value x, std::int64_t k) { return x.builder->emit("top_k", {{x}}, {{"k", k}}); }

namespace {

constexpr std::int64_t kMostElements = std::numeric_limits<std::int32_t>::max();

std::vector<Type> top_k_infer(const InferArgs& a) {
  const Type& x = a.inputs[0];
  check_ordered(a, x);
  const std::int64_t k = a.attrs.i("k");
  if (x.shape.rank() == 0)
    Message(a.op.name)
        .problem("the operand " + tessera::to_string(x) + " has no axis")
        .rule("the greatest elements are those of each row along the last axis")
        .from(a.loc)
        .advice("pass an array with an axis, such as reshape(x, {1})")
        .raise<ShapeError>();
  const std::int64_t n = x.shape[x.shape.rank() - 1];
  if (k < 0 || k > n)
    Message(a.op.name)
        .problem("k is " + std::to_string(k) + ", and rows of the operand " +
                 tessera::to_string(x) + " have " + std::to_string(n) +
                 (n == 1 ? " element" : " elements"))
        .rule("k lies in [0, " + std::to_string(n) + "]")
        .from(a.loc)
        .advice(k < 0 ? "pass how many elements to take" : "take all with k = " + std::to_string(n))
        .raise<ShapeError>();
  if (n > kMostElements)
    Message(a.op.name)
        .problem("rows of the operand " + tessera::to_string(x) + " have " + std::to_string(n) +
                 " elements")
        .rule("indices are int32, so a row has at most " + std::to_string(kMostElements))
        .from(a.loc)
        .advice("reshape to shorter rows, and take the greatest of their greatest")
        .raise<ShapeError>();
  Shape shape = x.shape;
  shape[shape.rank() - 1] = k;
  return {with_shape(x, shape), Type(DType::int32, shape)};
}

// Which elements are taken is constant under small changes, so only their tangents count.
MaybeValues top_k_jvp(const JvpArgs& a) {
  if (!a.tangents[0]) return MaybeValues(2);
  return {take_along(*a.tangents[0], a.outputs[1], a.inputs[0].rank() - 1), std::nullopt};
}

// Rows stay along the last dimension.
BatchResult top_k_batch(const BatchArgs& a) {
  const int last = a.inputs[0].rank() - 1, to = a.dims[0] == last ? 0 : a.dims[0];
  Value x = stacked_at(a.inputs[0], a.dims[0], to, a.size);
  return {a.b.emit(a.op, std::span<const Value>(&x, 1), a.attrs), {to, to}};
}

FactorRule top_k_sharding(const ShardArgs& a) {
  FactorRule rule;
  std::vector<int> in = rule.factors(a.inputs[0].shape), out = in;
  rule.mark(FactorRule::Kind::contest, in.back(), Combiner::max);
  out.back() = rule.factor(a.attrs.i("k"), 'p');
  rule.mark(FactorRule::Kind::need_repl, out.back());
  rule.input(in);
  rule.output(out);
  rule.output(out);
  return rule;
}

// Takes the greatest of the shards' greatest elements. Shards offer them in the order of the
// devices, so that of equal elements the first comes first.
Values top_k_local(const LocalArgs& a) {
  const Value x = a.inputs[0];
  const int last = x.rank() - 1;
  const std::int64_t part = x.shape()[last], whole = a.whole_inputs[0].shape[last],
                     k = a.attrs.i("k");
  if (part == whole) return a.b.emit(a.op, a.inputs, a.attrs);
  const Strings& axes = a.input_specs[0].axes_of(last);
  const std::int64_t parts = a.parts(axes);
  Values mine = top_k(x, std::min(k, part));
  mine[1] =
      add(mine[1], everywhere(part_start(a.b, DType::int32, axes, parts, part), mine[1].shape()));
  for (Value& v : mine) v = all_gather_invariant(pvary(v, axes), axes, parts, last, true);
  Values best = top_k(mine[0], k);
  best[1] = take_along(mine[1], best[1], last);
  return best;
}

void top_k_evaluate(const EvalArgs& a) {
  const std::int64_t n = a.inputs[0].shape.to_vector().back(), k = a.attrs.i("k");
  std::vector<std::int32_t> order(static_cast<std::size_t>(n));
  std::vector<std::uint64_t> keys(order.size());
  const auto sort_row = [&] {
    std::iota(order.begin(), order.end(), 0);
    std::stable_sort(order.begin(), order.end(), [&](std::int32_t i, std::int32_t j) {
      return keys[static_cast<std::size_t>(i)] > keys[static_cast<std::size_t>(j)];
    });
  };
  dispatch_real(a.inputs[0].dtype, [&](auto tag) {
    using T = decltype(tag);
    const T* x = a.inputs[0].data<T>();
    T* values = a.outputs[0].data<T>();
    auto* indices = a.outputs[1].data<std::int32_t>();
    for (std::int64_t row = 0; k > 0 && row < a.outputs[0].count() / k; ++row, x += n) {
      std::transform(x, x + n, keys.begin(), [](T v) { return ordered(v); });
      sort_row();
      for (std::int64_t i = 0; i < k; ++i) {
        *indices++ = order[static_cast<std::size_t>(i)];
        *values++ = x[order[static_cast<std::size_t>(i)]];
      }
    }
  });
}

}  // namespace

void register_top_k(Registry& r) {
  Op op;
  op.name = "top_k";
  op.doc =
      "The `k` greatest elements of each row along the last dimension, in descending order, and "
      "their int32 indices there. Of equal elements the one with the lower index comes first; NaN "
      "is greater than all numbers, and -0 equals 0.";
  op.attrs = {{"k", AttrKind::integer, "how many elements of a row"}};
  op.inputs = 1;
  op.outputs = 2;
  op.cheap = false;
  op.lowering = Lowering::called;
  op.call = top_k_call;
  op.infer = top_k_infer;
  op.jvp = top_k_jvp;
  op.batch = top_k_batch;
  op.sharding = top_k_sharding;
  op.local = top_k_local;
  op.cost = [](std::span<const Type> in, std::span<const Type> out, const Attrs&) {
    return Cost{static_cast<double>(in[0].shape.count()),
                static_cast<double>(in[0].bytes() + out[0].bytes() + out[1].bytes())};
  };
  op.evaluate = top_k_evaluate;
  op.waived = {{"transpose", "its tangent is a gather, which has one"},
               {"updates", "a few elements of a state are no state"},
               {"emit", "rows are ordered by a routine"},
               {"stablehlo", "exported as an operation of CHLO"}};
  op.examples = [] {
    auto example = [](DType dtype, Shape shape, std::int64_t k) {
      return OpExample{{Type(dtype, std::move(shape))}, {{"k", k}}};
    };
    return std::vector<OpExample>{
        example(DType::float32, {3, 5}, 2),    example(DType::bfloat16, {4}, 4),
        example(DType::float64, {2, 3, 4}, 1), example(DType::int32, {2, 7}, 3),
        example(DType::boolean, {5}, 2),       example(DType::uint8, {3, 2}, 0)};
  };
  r.add(std::move(op));
}

}  // namespace tessera::inline v0::ops
