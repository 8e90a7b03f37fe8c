// The dimensions of a contraction, by role.
#pragma once

#include "ir/routine.h"
#include "ops/build.h"

namespace tessera::inline v0::ops {

DotDims dot_dims(const Attrs& attrs);
Attrs dot_attrs(const DotDims& dims, DType result);

/// The dimensions of [0, rank) that are in neither list, ascending.
Ints free_dims(int rank, const Ints& contracting, const Ints& batch);

/// Whether the op's own loops, which fuse with their consumers and sum in order, compute this
/// product fastest: outer products, and products of vectors with small matrices, where a library
/// call costs more than the arithmetic. Decided by types alone, so the same product has the same
/// bits everywhere.
bool multiplies_in_loops(const Type& lhs, const Type& rhs, const Type& result, const DotDims& dims);

/// The library routine, for the types that it supports. Defined in codegen/calls/dot.cc, the only
/// place that knows the libraries.
std::shared_ptr<const Routine> dot_general_call(const CallArgs& a);

/// The cotangent of one operand of a contraction, given the cotangent of the result and the other
/// operand.
Value dot_general_transpose(Value cotangent, Value other, const DotDims& dims, const Type& operand,
                            bool operand_is_lhs);

}  // namespace tessera::inline v0::ops
