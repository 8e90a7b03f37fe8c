// The longer rules of the scatter family.
#pragma once

#include "ir/op.h"

namespace tessera::inline v0::ops {

std::vector<Type> scatter_infer(const InferArgs& a);
BatchResult scatter_batch(const BatchArgs& a);
/// With Combiner::replace the order of updates matters.
FactorRule scatter_sharding(const ShardArgs& a, Combiner combiner);
Values scatter_local(const LocalArgs& a);  // scatter_local.cc
std::vector<OpExample> scatter_examples(std::string_view op);

/// The routine of a scatter with the op's combiner; scatter_call.cc.
std::shared_ptr<const Routine> scatter_call(const CallArgs& a);

/// Whether no two windows overlap: because `unique` promises it or because there is only one.
bool windows_apart(const Attrs& attrs, const Shape& indices);

MaybeValues scatter_set_transpose(const TransposeArgs& a);
MaybeValues scatter_add_transpose(const TransposeArgs& a);
MaybeValues scatter_mul_transpose(const TransposeArgs& a);
MaybeValues scatter_mul_jvp(const JvpArgs& a);
/// For max and min: the mean of the tangents of all elements that equal the result.
MaybeValues scatter_extremum_jvp(const JvpArgs& a);

}  // namespace tessera::inline v0::ops
