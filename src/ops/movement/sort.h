// The rules that `sort` and `sort_ends` share.
#pragma once

#include "ops/movement/movement.h"

namespace tessera::inline v0::ops {

/// The range of a sorted row of n elements that is returned: all of it, or the first or last
/// `count` elements if the equation has that attribute.
struct SortedRange {
  std::int64_t first, count;
};
SortedRange sorted_range(const Attrs& attrs, std::int64_t n);

std::vector<Type> infer_sort(const InferArgs& a);
JvpBoth jvp_sort(const JvpBothArgs& a);
BatchResult batch_sort(const BatchArgs& a);
void sort_evaluate(const EvalArgs& a);
Cost cost_of_sort(std::span<const Type> in, std::span<const Type> out, const Attrs& attrs);

}  // namespace tessera::inline v0::ops
