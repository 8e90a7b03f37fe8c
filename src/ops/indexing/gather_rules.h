// The longer rules of gather: shape inference with its many checks, and batching.
#pragma once

#include "ir/op.h"

namespace tessera::inline v0::ops {

std::vector<Type> gather_infer(const InferArgs& a);
BatchResult gather_batch(const BatchArgs& a);
std::vector<OpExample> gather_examples();
Values gather_local(const LocalArgs& a);  // gather_local.cc

/// The value that "fill" gives to a slice out of bounds: NaN, the smallest integer, the largest
/// unsigned integer, or true.
Literal fill_value(DType dtype);

}  // namespace tessera::inline v0::ops
