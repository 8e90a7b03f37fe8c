// Shared by local rules, which compute ops on shards of their operands (Op::local).
#pragma once

#include "ir/op.h"
#include "ops/build.h"

namespace tessera::inline v0::ops {

/// The rule of an op whose attributes contain extents: `f` returns the attributes for the shards.
inline LocalRule with_local_attrs(std::function<Attrs(const LocalArgs&)> f) {
  return [f = std::move(f)](const LocalArgs& a) { return a.b.emit(a.op, a.inputs, f(a)); };
}

/// The index of this device's shard of a dimension, an int32 scalar; the axes have `parts` devices.
inline Value part_number(Builder& b, const Strings& axes, std::int64_t parts) {
  return pvary(axis_index(b, axes, parts), axes);
}

/// The start of this device's shard of a dimension, an integer scalar, for `parts` shards of extent
/// `part`.
inline Value part_start(Builder& b, DType dtype, const Strings& axes, std::int64_t parts,
                        std::int64_t part) {
  if (parts == 1) return scalar(b, dtype, 0);
  Value start = part_number(b, axes, parts);
  if (dtype != start.dtype()) start = convert(start, dtype);
  return mul(start, scalar(b, dtype, static_cast<double>(part)));
}

/// A boolean scalar that is true on the first of the devices along the axes.
inline Value is_first(Builder& b, const Strings& axes, std::int64_t size) {
  return eq(part_number(b, axes, size), scalar(b, DType::int32, 0));
}

/// The scalar that is neutral under a sum, a product, an extremum or, for booleans, a conjunction
/// or disjunction.
Literal neutral_literal(DType dtype, Combiner how);

/// The scalar broadcast to the shape.
inline Value everywhere(Value x, const Shape& shape) { return broadcast_in_dim(x, shape, {}); }

}  // namespace tessera::inline v0::ops
