// The pieces that batching rules are made of.
#pragma once

#include "ir/op.h"

namespace tessera::inline v0::ops {

/// `x` with dimension `from` moved to position `to`, the others in order. Emits nothing when they
/// are equal.
Value move_dim(Value x, int from, int to);

/// `x` with its stacked dimension `dim` at `to`; where `dim` is kUnbatched, `size` copies of it
/// stacked there.
Value stacked_at(Value x, int dim, int to, std::int64_t size);

/// The op over operands that are all stacked along one dimension: that of the first stacked
/// operand. For ops that treat every element, or every index of a dimension they do not name,
/// alike.
BatchResult batch_elementwise(const BatchArgs& a);

/// The results of an op that is mapped over no examples, for rules that would divide by their
/// number.
BatchResult no_examples(const BatchArgs& a);

/// Where dimensions `dims` of an unstacked array are in one that is stacked along `stacked`.
Ints shifted_dims(const Ints& dims, int stacked);

}  // namespace tessera::inline v0::ops
