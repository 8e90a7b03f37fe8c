// Building blocks of batching rules.
#pragma once

#include "ir/op.h"

namespace tessera::inline v0::ops {

/// Returns `x` with dimension `from` moved to position `to` and the others kept in order. Emits
/// nothing if the two are equal.
Value move_dim(Value x, int from, int to);

/// Returns `x` with its stacked dimension `dim` moved to `to`; if `dim` is kUnbatched, `size`
/// copies of x stacked there.
Value stacked_at(Value x, int dim, int to, std::int64_t size);

/// The operands, all stacked along `dim`, the dimension of the first stacked operand.
struct Stacked {
  Values operands;
  int dim;
};
Stacked stacked_alike(const BatchArgs& a);

/// Applies the op to operands that are all stacked along one dimension, that of the first stacked
/// operand. For ops that treat every element alike, or every index of a dimension they do not name.
BatchResult batch_elementwise(const BatchArgs& a);

/// The results of an op mapped over zero examples, for rules that would otherwise divide by zero.
BatchResult no_examples(const BatchArgs& a);

/// The positions of dimensions `dims` of an unstacked array in the array stacked along `stacked`.
Ints shifted_dims(const Ints& dims, int stacked);

}  // namespace tessera::inline v0::ops
