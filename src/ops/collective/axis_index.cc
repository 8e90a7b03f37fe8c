// axis_index: the position of this device along the axes.
#include "ops/collective/collective.h"

namespace tessera::inline v0::ops {

using namespace collective;

Value axis_index(Builder& b, const Strings& axes, std::int64_t size) {
  return b.emit1("axis_index", std::span<const Value>{}, CollectiveAttrs::make(axes, size));
}

void register_axis_index(Registry& r) {
  Op op =
      make("axis_index",
           "The number of this device along the axes, an int32 scalar; over several axes row-major "
           "in their order: for "
           "('x', 'y') it is x * size(y) + y. It is the position in the mesh, not the device's id.",
           "partition_id", {}, false);
  op.inputs = 0;
  op.position = true;
  op.infer = [](const InferArgs& a) {
    check_size(a);
    return std::vector<Type>{Type(i32, {})};
  };
  op.jvp = [](const JvpArgs&) { return MaybeValues{std::nullopt}; };
  op.batch = [](const BatchArgs& a) -> BatchResult {
    Mapped m = mapped(a, true);
    if (!m.is) return {a.b.emit(a.op, a.inputs, a.attrs), {kUnbatched}};
    Value row = iota(a.b, i32, {a.size}, 0);
    if (m.rest.empty()) return {{row}, {0}};
    Value rest = stacked_at(axis_index(a.b, m.rest, m.rest_size), kUnbatched, 0, a.size);
    return {{m.first ? add(times(row, m.rest_size), rest) : add(times(rest, a.size), row)}, {0}};
  };
  op.uniform = adds_axes();
  op.waived["transpose"] = "it has no operands";
  op.examples = [] { return std::vector<OpExample>{{{}, CollectiveAttrs::make({"i"}, 4)}}; };
  r.add(std::move(op));
}

}  // namespace tessera::inline v0::ops
