// pmax and pmin: extrema over the devices of named axes.
#include "ops/collective/collective.h"
#include "ops/order.h"

namespace tessera::inline v0::ops {

using namespace collective;

Value pmax(Value x, const Strings& axes, std::int64_t size, const IntLists& groups) {
  if (axes.empty()) return x;
  return x.builder->emit1("pmax", {x}, CollectiveAttrs::make(axes, size, groups));
}
Value pmin(Value x, const Strings& axes, std::int64_t size, const IntLists& groups) {
  if (axes.empty()) return x;
  return x.builder->emit1("pmin", {x}, CollectiveAttrs::make(axes, size, groups));
}

namespace {

void register_extremum(Registry& r, const std::string& name, const std::string& what) {
  bool is_max = name == "pmax";
  Op op = make(name,
               "The elementwise " + what +
                   " of x over the devices of the axes (of the own group); a NaN on any of them "
                   "gives NaN. Booleans are "
                   "ordered false < true. It has no derivative.",
               "all_reduce", {});
  op.exchange = Exchange::combine;
  op.combiner = is_max ? Combiner::max : Combiner::min;
  op.infer = [](const InferArgs& a) {
    check_groups(a, false);
    check_ordered(a, a.inputs[0]);
    return std::vector<Type>{a.inputs[0]};
  };
  op.jvp = [](const JvpArgs& a) -> MaybeValues {
    if (!a.tangents[0]) return {std::nullopt};
    Message(a.op.name)
        .problem("it has no derivative")
        .rule("which device holds the extremum is not known where the derivative is taken")
        .from(a.b.loc)
        .advice("apply stop_gradient to its operand, or gather with all_gather and reduce")
        .raise<TraceError>();
  };
  op.batch = [is_max](const BatchArgs& a) -> BatchResult {
    Mapped m = mapped(a, false);
    if (!m.is) return pass_through(a);
    Value y = a.inputs[0];
    if (int d = a.dims[0]; d != kUnbatched) {
      if (y.dtype() == DType::boolean)
        y = is_max ? reduce_or(y, {d}) : reduce_and(y, {d});
      else
        y = is_max ? reduce_max(y, {d}) : reduce_min(y, {d});
    }
    if (!m.rest.empty())
      y = a.b.emit(a.op, std::span<const Value>(&y, 1),
                   CollectiveAttrs::with_axes(a.attrs, m.rest, m.rest_size))[0];
    return {{y}, {kUnbatched}};
  };
  op.vary = types_invariant();
  op.uniform = removes_axes(false);
  op.waived["transpose"] = "it is not linear";
  op.examples = [] {
    return std::vector<OpExample>{{{Type(f32, {3})}, CollectiveAttrs::make({"i"}, 4, {})}};
  };
  r.add(std::move(op));
}

}  // namespace

void register_pmax(Registry& r) {
  register_extremum(r, "pmax", "maximum");
  register_extremum(r, "pmin", "minimum");
}

}  // namespace tessera::inline v0::ops
