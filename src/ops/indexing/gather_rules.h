// Gather's longer rules: shapes with their many conditions, and batching.
#pragma once

#include "ir/op.h"

namespace tessera::inline v0::ops {

std::vector<Type> infer_gather(const InferArgs& a);
BatchResult batch_gather(const BatchArgs& a);
std::vector<OpExample> gather_examples();

}  // namespace tessera::inline v0::ops
