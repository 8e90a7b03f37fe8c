// Sums over the devices of named axes: psum (pmap, vmap, untyped shard_map) and psum_invariant
// (typed shard_map).
#include "ops/collective/collective.h"

namespace tessera::inline v0::ops {

using namespace collective;

Value psum(Value x, const Strings& axes, std::int64_t size, const IntLists& groups) {
  if (axes.empty()) return x;
  return x.builder->emit1("psum", {x}, CollectiveAttrs::make(axes, size, groups));
}

Value psum_invariant(Value x, const Strings& axes) {
  if (axes.empty()) return x;
  return x.builder->emit1("psum_invariant", {x}, CollectiveAttrs::make(axes));
}

namespace {

std::vector<Type> psum_infer(const InferArgs& a) {
  check_groups(a, false);
  if (a.inputs[0].dtype == DType::boolean)
    Message(a.op.name)
        .problem("the operand is boolean")
        .rule("sums are over numbers")
        .from(a.loc)
        .advice("convert it to int32 first")
        .raise<DTypeError>();
  return {a.inputs[0]};
}

// The sum over the mapped axis is a sum over the stacked dimension. It is equal for all members, so
// the result is unstacked.
BatchResult psum_batch(const BatchArgs& a) {
  Mapped m = mapped(a, false);
  if (!m.is) return pass_through(a);
  Value y =
      a.dims[0] == kUnbatched ? times(a.inputs[0], a.size) : reduce_sum(a.inputs[0], {a.dims[0]});
  if (!m.rest.empty())
    y = a.b.emit(a.op, std::span<const Value>(&y, 1),
                 CollectiveAttrs::with_axes(a.attrs, m.rest, m.rest_size))[0];
  return {{y}, {kUnbatched}};
}

}  // namespace

void register_psum(Registry& r) {
  Op op =
      make("psum",
           "The elementwise sum of x over the devices of the axes; with `groups`, over the "
           "devices of the own group. An even number of devices is halved, each half summed on "
           "its own and the two sums added; an odd number is added from the first to the last. "
           "Its transpose is itself: the derivative is that of the sum over all devices of what "
           "each computes.",
           "all_reduce", {});
  op.exchange = Exchange::combine;
  op.combiner = Combiner::add;
  op.infer = psum_infer;
  op.transpose = [](const TransposeArgs& a) -> MaybeValues {
    if (!a.cotangents[0]) return {std::nullopt};
    Value ct = *a.cotangents[0];
    return {a.b.emit(a.op, std::span<const Value>(&ct, 1), a.attrs)[0]};
  };
  op.batch = psum_batch;
  op.uniform = removes_axes(true);
  op.examples = [] {
    return std::vector<OpExample>{{{Type(f32, {3})}, CollectiveAttrs::make({"i"}, 4, {})}};
  };
  r.add(std::move(op));

  Op typed = make("psum_invariant",
                  "psum in a typed shard_map: the operand is typed as varying over the axes, the "
                  "result as equal on all devices. "
                  "So its transpose is pvary, which moves nothing.",
                  "all_reduce", {}, false);
  std::erase_if(typed.attrs, [](const AttrSpec& s) { return s.name == CollectiveAttrs::kSize; });
  typed.called = "psum";
  typed.exchange = Exchange::combine;
  typed.combiner = Combiner::add;
  typed.infer = [](const InferArgs& a) {
    for (const auto& n : CollectiveAttrs(a.attrs).axes)
      if (!a.inputs[0].varying.contains(n))
        Message("psum")
            .problem("the operand " + to_string(a.inputs[0]) +
                     " is already the same on all devices along '" + n + "'")
            .rule("a typed sum takes an operand that varies over the axis")
            .from(a.loc)
            .advice("multiply by the size of the axis, or cast with pvary first")
            .raise<CollectiveError>();
    return psum_infer(a);
  };
  typed.transpose = [](const TransposeArgs& a) -> MaybeValues {
    if (!a.cotangents[0]) return {std::nullopt};
    return {pvary(*a.cotangents[0], CollectiveAttrs(a.attrs).axes)};
  };
  typed.batch = psum_batch;
  typed.vary = types_invariant();
  typed.uniform = removes_axes(true);
  typed.examples = [] {
    Type t(f32, {3});
    t.varying = {"i"};
    return std::vector<OpExample>{{{t}, CollectiveAttrs::make({"i"})}};
  };
  r.add(std::move(typed));
}

}  // namespace tessera::inline v0::ops
