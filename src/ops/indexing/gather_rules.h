// Gather's longer rules: shapes with their many conditions, and batching.
#pragma once

#include "ir/op.h"

namespace tessera::inline v0::ops {

std::vector<Type> infer_gather(const InferArgs& a);
BatchResult batch_gather(const BatchArgs& a);
std::vector<OpExample> gather_examples();
Values local_gather(const LocalArgs& a);  // gather_local.cc

/// What "fill" puts where a slice does not lie inside: NaN, the least integer, the largest unsigned
/// one, true.
Literal fill_value(DType dtype);

}  // namespace tessera::inline v0::ops
