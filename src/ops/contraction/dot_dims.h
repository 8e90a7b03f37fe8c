// The dimensions of a contraction, by role.
#pragma once

#include "ir/routine.h"
#include "ops/build.h"

namespace tessera::inline v0::ops {

DotDims dot_dims(const Attrs& attrs);
Attrs dot_attrs(const DotDims& dims, DType result);

/// The dimensions of [0, rank) that are in neither list, ascending.
Ints free_dims(int rank, const Ints& contracting, const Ints& batch);

/// Whether the op's own loops, which fuse with what follows and add up in order, multiply these
/// best: outer products, and vectors times small matrices, for which a library's call costs more
/// than the arithmetic. By types alone, so that the same product is the same bits everywhere.
bool multiplies_in_loops(const Type& lhs, const Type& rhs, const Type& result, const DotDims& dims);

/// The library's routine, for types that it multiplies. Defined in codegen/calls/dot.cc, where the
/// libraries are known.
std::shared_ptr<const Routine> dot_general_call(const CallArgs& a);

/// Cotangent of one operand of a contraction, given that of the result and the other operand.
Value dot_general_transpose(Value cotangent, Value other, const DotDims& dims, const Type& operand,
                            bool operand_is_lhs);

}  // namespace tessera::inline v0::ops
