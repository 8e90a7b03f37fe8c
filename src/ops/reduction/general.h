// Reductions by a body: any function of two elements, or of two tuples of elements, that is
// associative. A body takes (accumulators..., elements...), scalars, and gives the next
// accumulators.
#pragma once

#include "ops/body.h"
#include "ops/build.h"

namespace tessera::inline v0::ops {

/// StableHLO's reduce: folds the elements of arrays of one shape together over `axes`, in row-major
/// order, each fold beginning with the element of `inits`, scalars, or arrays of the result's
/// shape. {body: program, axes: ints}
Values reduce(std::span<const Value> xs, std::span<const Value> inits, const ProgramPtr& body,
              const Ints& axes);
/// StableHLO's reduce_window: the same over windows; as XLA has it padding and holes do not count,
/// so that an init that is no identity counts once. {body: program, the window attributes}
Values reduce_window(std::span<const Value> xs, std::span<const Value> inits,
                     const ProgramPtr& body, const WindowDims& dims);
/// StableHLO's select_and_scatter: of each window of x the element that `select` (a boolean of an
/// earlier and a later element) keeps; `scatter` combines the window's element of `source` into its
/// place, which begins as `init`.
Value select_and_scatter(Value x, Value source, Value init, const ProgramPtr& select,
                         const ProgramPtr& scatter, const WindowDims& dims);

/// The derivative of an op with such a body: its results are the op's, their tangents those of
/// `spelled`, which computes the same from ops that have derivatives.
JvpBoth jvp_spelled(const JvpBothArgs& a,
                    const std::function<Values(Builder&, std::span<const Value>)>& spelled);
/// What of the operands is reduced, and their inits.
struct Reduced {
  std::span<const Value> xs, inits;
};
inline Reduced reduced(std::span<const Value> inputs) {
  return {inputs.first(inputs.size() / 2), inputs.subspan(inputs.size() / 2)};
}
/// The types of the results, elements and accumulators alike; throws unless the operands and the
/// body fit together. `shape_of_result` is asked once the operands are known to have one shape.
std::vector<Type> infer_reduced(const InferArgs& a,
                                const std::function<Shape(const Type&)>& shape_of_result);
/// Operands stacked in front; inits too unless they are scalars for all.
Values stacked_operands(const BatchArgs& a, const Shape& result);
/// A body for examples and tests: "affine" x y + x + y, "first_max" the greater of two with its
/// place.
ProgramPtr example_body(const std::string& which, DType dtype);

}  // namespace tessera::inline v0::ops
