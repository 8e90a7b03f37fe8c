// cumsum, cumprod, cummax, cummin.
#include "ops/reduction/cumulative.h"
#include "ops/combine.h"
#include "ops/factors.h"
#include "ops/local.h"
#include "ops/movement/movement.h"
#include "ops/order.h"
#include "ops/padding.h"
#include "ops/reduction/associative_scan.h"

namespace tessera::inline v0::ops {

namespace {
Value cumulative(const char* op, Value x, int axis, bool reverse) {
  return x.builder->emit1(op, {x}, {{"axis", std::int64_t{axis}}, {"reverse", reverse}});
}

/// Sequential; 16-bit floats keep the running value in float32 and round each stored value.
void cumulative_evaluate(const EvalArgs& a, Combiner how) {
  const HostArray& x = a.inputs[0];
  auto d = static_cast<std::size_t>(a.attrs.i("axis"));
  bool reverse = a.attrs.flag("reverse");
  std::int64_t n = x.shape[d], stride = x.shape.strides()[d];
  Shape rows = x.shape;
  rows[d] = 1;
  if (x.count() == 0) return;
  dispatch(x.dtype, [&](auto tag) {
    using T = decltype(tag);
    for_each_index(rows, [&](const Shape& row) {
      std::int64_t base = flat_index(row, x.shape.strides());
      Total<T> total{};
      for (std::int64_t k = 0; k < n; ++k) {
        std::int64_t at = base + (reverse ? n - 1 - k : k) * stride;
        auto value = static_cast<Total<T>>(x.data<T>()[at]);
        total = k == 0 ? value
                       : with_combine(how, [&](auto h) { return combine<h.value>(total, value); });
        a.outputs[0].data<T>()[at] = static_cast<T>(total);
      }
    });
  });
}

/// Prefixes of pairs (value, tangent). There is no division, so zeros are safe in a product; ties
/// of an extremum share equally.
MaybeValues cumulative_jvp(const JvpArgs& a, Combiner how) {
  if (!a.tangents[0]) return MaybeValues(1);
  auto pair = [&](const Values& l, const Values& r) -> Values {
    if (how == Combiner::mul) {
      return {mul(l[0], r[0]), add(mul(l[1], r[0]), mul(l[0], r[1]))};
    }
    bool max = how == Combiner::max;
    Value half = mul(add(l[1], r[1]), full_like(l[1], 0.5));
    // NaN wins, and the first of several.
    Value left_wins = or_(max ? gt(l[0], r[0]) : lt(l[0], r[0]), ne(l[0], l[0])),
          right_wins = or_(max ? lt(l[0], r[0]) : gt(l[0], r[0]), ne(r[0], r[0]));
    Value tangent = select(left_wins, l[1], select(right_wins, r[1], half));
    return {max ? ops::max(l[0], r[0]) : ops::min(l[0], r[0]), tangent};
  };
  return {associative_scan(pair, {a.inputs[0], *a.tangents[0]}, static_cast<int>(a.attrs.i("axis")),
                           a.attrs.flag("reverse"))[1]};
}

Value combined(Value x, Value y, Combiner how) {
  if (how == Combiner::add) return add(x, y);
  if (how == Combiner::mul) return mul(x, y);
  const bool max = how == Combiner::max;
  if (x.dtype() == DType::boolean) return max ? or_(x, y) : and_(x, y);
  return max ? ops::max(x, y) : ops::min(x, y);
}

Value total(Value x, Combiner how) {
  if (how == Combiner::add) return reduce_sum(x, {0});
  if (how == Combiner::mul) return reduce_prod(x, {0});
  const bool max = how == Combiner::max;
  if (x.dtype() == DType::boolean) return max ? reduce_or(x, {0}) : reduce_and(x, {0});
  return max ? reduce_max(x, {0}) : reduce_min(x, {0});
}

// Each shard is scanned alone and then combined with the totals of the shards before it, which all
// devices exchange.
Values cumulative_local(const LocalArgs& a, Combiner how) {
  const int d = static_cast<int>(a.attrs.i("axis"));
  const Strings& axes = a.input_specs[0].axes_of(d);
  if (axes.empty()) return a.b.emit(a.op, a.inputs, a.attrs);
  const bool reverse = a.attrs.flag("reverse");
  const std::int64_t n = a.inputs[0].shape()[d], parts = a.parts(axes);
  Value x = a.inputs[0];
  // In reverse, the padding at the end comes first, so it is filled with the neutral element.
  if (reverse)
    x = filled_behind(x, d, a.whole_inputs[0].shape[d], axes, parts,
                      neutral_literal(x.dtype(), how));
  x = a.b.emit(a.op, Values{x}, a.attrs)[0];
  Ints start(x.shape().size(), 0), limit = x.shape().to_vector();
  start[static_cast<std::size_t>(d)] = reverse ? 0 : n - 1;
  limit[static_cast<std::size_t>(d)] = reverse ? 1 : n;
  Value last = slice(x, start, limit, Ints(start.size(), 1));
  Value all = all_gather_invariant(pvary(last, axes), axes, parts, 0, false);
  Value number = iota(a.b, DType::int32, {parts}, 0),
        mine = everywhere(part_number(a.b, axes, parts), {parts});
  Value before = broadcast_in_dim(reverse ? gt(number, mine) : lt(number, mine), all.shape(), {0});
  Value neutrals = everywhere(constant(a.b, neutral_literal(x.dtype(), how)), all.shape());
  Value sum = total(select(before, all, neutrals), how);
  return {combined(broadcast_in_dim(sum, x.shape(), iota_ints(x.rank())), x, how)};
}

Op cumulative_row(const char* name, Combiner how, const char* what) {
  Op op;
  op.name = name;
  op.doc = std::string("The ") + what +
           " of each element and all before it along `axis`, or all behind it where `reverse`. "
           "float16 and bfloat16 run in float32 and round each result.";
  op.attrs = {{"axis", AttrKind::integer, "the dimension to run along"},
              {"reverse", AttrKind::boolean, "from the end"}};
  op.inputs = 1;
  op.cheap = false;
  op.lowering = Lowering::called;
  op.call = cumulative_call;
  op.infer = [](const InferArgs& a) {
    check_dims(a, "axis", {a.attrs.i("axis")}, a.inputs[0].shape);
    if (a.op.combiner == Combiner::max || a.op.combiner == Combiner::min)
      check_ordered(a, a.inputs[0]);
    if (a.inputs[0].dtype == DType::boolean && (a.op.name == "cumsum" || a.op.name == "cumprod"))
      Message(a.op.name)
          .problem("bool has no arithmetic")
          .rule("numbers")
          .from(a.loc)
          .advice("convert to int32")
          .raise<DTypeError>();
    return std::vector<Type>{with_shape(a.inputs[0], a.inputs[0].shape)};
  };
  op.batch = [](const BatchArgs& a) {
    Attrs attrs = a.attrs;
    attrs.set("axis", attrs.i("axis") + (attrs.i("axis") >= a.dims[0]));
    return BatchResult{a.b.emit(a.op, a.inputs, attrs), {a.dims[0]}};
  };
  op.combiner = how;
  op.sharding = [how](const ShardArgs& a) {
    FactorRule rule;
    std::vector<int> dims = rule.factors(a.inputs[0].shape);
    rule.input(dims);
    rule.output(dims);
    rule.mark(FactorRule::Kind::prefix, dims[static_cast<std::size_t>(a.attrs.i("axis"))], how);
    return rule;
  };
  op.local = [how](const LocalArgs& a) { return cumulative_local(a, how); };
  op.cost = [](std::span<const Type> in, std::span<const Type>, const Attrs&) {
    return Cost{static_cast<double>(in[0].shape.count()), 2.0 * static_cast<double>(in[0].bytes())};
  };
  op.evaluate = [how](const EvalArgs& a) { cumulative_evaluate(a, how); };
  if (how == Combiner::add) {
    op.jvp = linear_jvp();
    op.transpose = [](const TransposeArgs& a) {
      if (!a.cotangents[0]) return MaybeValues(1);
      return MaybeValues{
          cumsum(*a.cotangents[0], static_cast<int>(a.attrs.i("axis")), !a.attrs.flag("reverse"))};
    };
  } else {
    op.jvp = [how](const JvpArgs& a) { return cumulative_jvp(a, how); };
    op.waived["transpose"] = "it is not linear";
  }
  op.waived["updates"] = "what is gathered along an axis is no element of a state";
  op.waived["emit"] = "each element needs the one before; a routine runs along";
  op.waived["stablehlo"] = "spelled as a reduce_window over all before";
  op.examples = [] {
    auto example = [](DType dtype, Shape shape, std::int64_t axis, bool reverse) {
      return OpExample{{Type(dtype, std::move(shape))}, {{"axis", axis}, {"reverse", reverse}}};
    };
    return std::vector<OpExample>{
        example(DType::float32, {5}, 0, false), example(DType::float64, {3, 4}, 0, true),
        example(DType::float64, {2, 7}, 1, false), example(DType::int32, {2, 3, 2}, 1, true),
        example(DType::bfloat16, {6}, 0, false)};
  };
  return op;
}

}  // namespace

Value cumsum(Value x, int axis, bool reverse) { return cumulative("cumsum", x, axis, reverse); }
Value cumprod(Value x, int axis, bool reverse) { return cumulative("cumprod", x, axis, reverse); }
Value cummax(Value x, int axis, bool reverse) { return cumulative("cummax", x, axis, reverse); }
Value cummin(Value x, int axis, bool reverse) { return cumulative("cummin", x, axis, reverse); }

void register_cumulative(Registry& r) {
  r.add(cumulative_row("cumsum", Combiner::add, "sum"));
  r.add(cumulative_row("cumprod", Combiner::mul, "product"));
  r.add(cumulative_row("cummax", Combiner::max, "maximum"));
  r.add(cumulative_row("cummin", Combiner::min, "minimum"));
}

}  // namespace tessera::inline v0::ops
