// sort_ends: the first or last elements of a sort.
#include "ops/factors.h"
#include "ops/local.h"
#include "ops/movement/sort.h"

#include <algorithm>

namespace tessera::inline v0::ops {

namespace {

std::vector<Type> sort_ends_infer(const InferArgs& a) {
  std::vector<Type> out = infer_sort(a);
  const auto d = static_cast<std::size_t>(a.attrs.i("dimension"));
  const std::int64_t count = a.attrs.i("count"), n = out[0].shape[d];
  if (count < 0 || count > n)
    Message(a.op.name)
        .problem("count is " + std::to_string(count) + ", and dimension " + std::to_string(d) +
                 " of " + tessera::to_string(a.inputs[0]) + " has " + std::to_string(n) +
                 (n == 1 ? " element" : " elements"))
        .rule("count lies in [0, " + std::to_string(n) + "]")
        .from(a.loc)
        .advice("sort gives all of them")
        .raise<ShapeError>();
  for (Type& t : out) t.shape[d] = count;
  return out;
}

FactorRule sort_ends_sharding(const ShardArgs& a) {
  FactorRule rule;
  const auto d = static_cast<std::size_t>(a.attrs.i("dimension"));
  std::vector<int> in = rule.factors(a.inputs[0].shape), out = in;
  rule.mark(FactorRule::Kind::contest, in[d], Combiner::replace);
  out[d] = rule.factor(a.attrs.i("count"), 'k');
  rule.mark(FactorRule::Kind::need_repl, out[d]);
  for (std::size_t i = 0; i < a.inputs.size(); ++i) {
    rule.input(in);
    rule.output(out);
  }
  return rule;
}

// Each device offers the ends of its shard, and all devices sort the offers. The offers are
// gathered in the order of the devices, so that equal elements keep their order. If the last shard
// is not full, an additional first key moves its padding to the end that is not read.
Values sort_ends_local(const LocalArgs& a) {
  const int d = static_cast<int>(a.attrs.i("dimension"));
  const Strings& axes = a.input_specs[0].axes_of(d);
  if (axes.empty()) return a.b.emit(a.op, a.inputs, a.attrs);
  const Shape shape = a.inputs[0].shape();
  const std::int64_t part = shape[d], whole = a.whole_inputs[0].shape[d], parts = a.parts(axes);
  Values offers(a.inputs.begin(), a.inputs.end());
  Attrs attrs = a.attrs;
  const bool uneven = parts * part != whole;
  if (uneven) {
    const Value number = iota(a.b, DType::int64, shape, d),
                left = sub(scalar(a.b, DType::int64, static_cast<double>(whole)),
                           part_start(a.b, DType::int64, axes, parts, part)),
                is_mine = lt(pvary(number, axes), everywhere(left, shape));
    offers.insert(offers.begin(), a.attrs.flag("last") ? is_mine : not_(is_mine));
    attrs.set("num_keys", a.attrs.i("num_keys") + 1);
  }
  Attrs mine = attrs;
  mine.set("count", std::min(a.attrs.i("count"), part));
  for (Value& v : offers) v = pvary(v, axes);
  offers = a.b.emit(a.op, offers, mine);
  for (Value& v : offers) v = all_gather_invariant(v, axes, parts, d, true);
  Values ends = a.b.emit(a.op, offers, attrs);
  if (uneven) ends.erase(ends.begin());
  return ends;
}

}  // namespace

void register_sort_ends(Registry& r) {
  Op op;
  op.name = "sort_ends";
  op.doc =
      "The first `count` elements of each row along `dimension` that a sort of the operands gives, "
      "or the last `count`. Simplification makes it of a sort whose other elements nobody reads.";
  op.attrs = {{"dimension", AttrKind::integer, "the dimension to sort along"},
              {"num_keys", AttrKind::integer, "how many operands, from the first, are compared"},
              {"count", AttrKind::integer, "how many elements of a row"},
              {"last", AttrKind::boolean, "whether they are the last ones"}};
  op.outputs = -1;
  op.cheap = false;
  op.lowering = Lowering::called;
  op.call = sort_call;
  op.infer = sort_ends_infer;
  op.jvp_both = jvp_sort;
  op.batch = batch_sort;
  op.sharding = sort_ends_sharding;
  op.local = sort_ends_local;
  op.cost = cost_of_sort;
  op.evaluate = sort_evaluate;
  op.waived = {{"emit", "a library sorts"},
               {"updates", "a few elements of a state are no state"},
               {"transpose", "it is linear in nothing"},
               {"stablehlo", "exported as a sort and slices"}};
  op.examples = [] {
    auto example = [](std::vector<Type> in, std::int64_t dimension, std::int64_t keys,
                      std::int64_t count, bool last) {
      return OpExample{
          std::move(in),
          {{"dimension", dimension}, {"num_keys", keys}, {"count", count}, {"last", last}}};
    };
    return std::vector<OpExample>{
        example({Type(DType::float32, {7})}, 0, 1, 2, false),
        example({Type(DType::float64, {3, 5})}, 0, 1, 1, true),
        example({Type(DType::int32, {2, 6}), Type(DType::float32, {2, 6})}, 1, 1, 3, true),
        example({Type(DType::int8, {6}), Type(DType::float32, {6}), Type(DType::int32, {6})}, 0, 2,
                6, false),
        example({Type(DType::complex64, {2, 5})}, 1, 1, 0, false)};
  };
  r.add(std::move(op));
}

}  // namespace tessera::inline v0::ops
