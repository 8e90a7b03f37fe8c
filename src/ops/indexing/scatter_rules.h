// The longer rules of the scatter family.
#pragma once

#include "ir/op.h"

namespace tessera::inline v0::ops {

std::vector<Type> infer_scatter(const InferArgs& a);
BatchResult batch_scatter(const BatchArgs& a);
/// With Combiner::replace the order of updates matters.
FactorRule shard_scatter(const ShardArgs& a, Combiner combiner);
Values local_scatter(const LocalArgs& a);  // scatter_local.cc
std::vector<OpExample> scatter_examples(std::string_view op);

/// The routine of a scatter with the op's combiner; scatter_call.cc.
std::shared_ptr<const Routine> scatter_call(const CallArgs& a);

/// Whether no two windows overlap: because `unique` promises it or because there is only one.
bool windows_apart(const Attrs& attrs, const Shape& indices);

MaybeValues transpose_scatter_set(const TransposeArgs& a);
MaybeValues transpose_scatter_add(const TransposeArgs& a);
MaybeValues transpose_scatter_mul(const TransposeArgs& a);
MaybeValues jvp_scatter_mul(const JvpArgs& a);
/// For max and min: the mean of the tangents of all elements that equal the result.
MaybeValues jvp_scatter_extremum(const JvpArgs& a);

}  // namespace tessera::inline v0::ops
