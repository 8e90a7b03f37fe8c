// What the rules share by which ops are computed on parts of their operands (Op::local).
#pragma once

#include "ir/op.h"
#include "ops/build.h"

namespace tessera::inline v0::ops {

/// The rule of an op whose attributes hold extents: `f` gives those of the op on parts.
inline LocalRule with_local_attrs(std::function<Attrs(const LocalArgs&)> f) {
  return [f = std::move(f)](const LocalArgs& a) { return a.b.emit(a.op, a.inputs, f(a)); };
}

/// Which part of a dimension this device has: an int32 scalar, the number of devices along the axes
/// being `parts`.
inline Value part_number(Builder& b, const Strings& axes, std::int64_t parts) {
  return pvary(axis_index(b, axes, parts), axes);
}

/// Where this device's part of a dimension begins, an integer scalar: of so many `parts`, each of
/// the extent `part`.
inline Value part_start(Builder& b, DType dtype, const Strings& axes, std::int64_t parts,
                        std::int64_t part) {
  if (parts == 1) return scalar(b, dtype, 0);
  Value start = part_number(b, axes, parts);
  if (dtype != start.dtype()) start = convert(start, dtype);
  return mul(start, scalar(b, dtype, static_cast<double>(part)));
}

/// A boolean scalar that holds on the first of the devices along the axes.
inline Value is_first(Builder& b, const Strings& axes, std::int64_t size) {
  return eq(part_number(b, axes, size), scalar(b, DType::int32, 0));
}

/// A scalar that changes nothing that it is combined with by a sum, a product, an extremum or, of
/// booleans, a conjunction or disjunction.
Literal neutral_literal(DType dtype, Combiner how);

/// A scalar in every place of the shape.
inline Value everywhere(Value x, const Shape& shape) { return broadcast_in_dim(x, shape, {}); }

}  // namespace tessera::inline v0::ops
