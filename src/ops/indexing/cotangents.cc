#include "ops/indexing/cotangents.h"

#include "ir/op.h"
#include "ops/build.h"
#include "ops/elementwise/chosen.h"
#include "ops/indexing/scatter_rules.h"

#include <algorithm>

namespace tessera::inline v0::ops {

namespace {

// Smaller arrays are added in one kernel, fused with its neighbours.
constexpr std::int64_t kWorthwhile = 4096;

const Equation* producer(Value v) { return v.builder->producer(v.var); }

// A value that is `base` with `part` added at a position given by data: by scatter_add, or by
// reading a slice, adding, and writing it back, as add_slices emits it.
struct Addition {
  Equation eqn;
  Value base, part;
};
std::optional<Addition> addition(Value v) {
  const Equation* e = producer(v);
  if (!e) return std::nullopt;
  auto in = [&](const Equation& eqn, std::size_t k) { return Value{v.builder, eqn.inputs[k]}; };
  if (e->op->name == "scatter_add" && windows_apart(e->attrs, in(*e, 1).shape()))
    return Addition{*e, in(*e, 0), in(*e, 2)};
  if (e->op->name != "dynamic_update_slice") return std::nullopt;
  if (is_zero(in(*e, 0))) return Addition{*e, in(*e, 0), in(*e, 1)};
  const Equation* sum = producer(in(*e, 1));
  if (!sum || !sum->op->elementwise || sum->op->combiner != Combiner::add) return std::nullopt;
  const Equation* read = producer(in(*sum, 0));
  if (!read || read->op->name != "dynamic_slice" || read->inputs[0] != e->inputs[0] ||
      !std::equal(read->inputs.begin() + 1, read->inputs.end(), e->inputs.begin() + 2,
                  e->inputs.end()))
    return std::nullopt;
  return Addition{*e, in(*e, 0), in(*sum, 1)};
}

// Adds `part` to `sum` slice by slice, if `part` is zero outside slices.
MaybeValue add_slices(Value sum, Value part) {
  std::vector<Addition> all;
  for (Value at = part; !is_zero(at); at = all.back().base) {
    std::optional<Addition> a = addition(at);
    if (!a || sum.type().bytes() - a->part.type().bytes() < kWorthwhile) return std::nullopt;
    all.push_back(std::move(*a));
  }
  if (all.empty()) return std::nullopt;
  Builder& b = *sum.builder;
  for (auto a = all.rbegin(); a != all.rend(); ++a) {
    if (a->eqn.op->name == "scatter_add") {
      sum = b.emit1("scatter_add", {sum, Value{&b, a->eqn.inputs[1]}, a->part}, a->eqn.attrs);
      continue;
    }
    Values starts;
    for (std::size_t k = 2; k < a->eqn.inputs.size(); ++k)
      starts.push_back(Value{&b, a->eqn.inputs[k]});
    Value old = dynamic_slice(sum, starts, a->part.shape().to_vector());
    sum = dynamic_update_slice(sum, b.emit1("add", {old, a->part}), starts);
  }
  return sum;
}

}  // namespace

Value add_cotangents(Value sum, Value part) {
  if (MaybeValue v = add_slices(sum, part)) return *v;
  if (MaybeValue v = add_slices(part, sum)) return *v;
  if (MaybeValue v = add_selections(sum, part)) return *v;
  return sum.builder->emit1("add", {sum, part});
}

}  // namespace tessera::inline v0::ops
