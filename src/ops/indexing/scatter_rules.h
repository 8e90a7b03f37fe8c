// The longer rules of the scatter family.
#pragma once

#include "ir/op.h"

namespace tessera::inline v0::ops {

std::vector<Type> infer_scatter(const InferArgs& a);
BatchResult batch_scatter(const BatchArgs& a);
/// With `replace` the order of updates counts.
FactorRule shard_scatter(const ShardArgs& a, Combiner combiner);
Values local_scatter(const LocalArgs& a);  // scatter_local.cc
std::vector<OpExample> scatter_examples(std::string_view op);

/// scatter_call.cc; by the op's combiner.
std::shared_ptr<const Routine> scatter_call(const CallArgs& a);

/// Whether no two windows overlap: `unique` promises it, or there is one alone.
bool windows_apart(const Attrs& attrs, const Shape& indices);

MaybeValues transpose_scatter_set(const TransposeArgs& a);
MaybeValues transpose_scatter_add(const TransposeArgs& a);
MaybeValues transpose_scatter_mul(const TransposeArgs& a);
MaybeValues jvp_scatter_mul(const JvpArgs& a);
/// Max and min: tangents of all that equal the result in equal parts.
MaybeValues jvp_scatter_extremum(const JvpArgs& a);

}  // namespace tessera::inline v0::ops
