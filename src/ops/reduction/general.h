// Reductions by a body: any associative function of two elements, or of two tuples of elements. A
// body takes scalars (accumulators..., elements...) and returns the next accumulators.
#pragma once

#include "ops/body.h"
#include "ops/build.h"

namespace tessera::inline v0::ops {

/// StableHLO's reduce: folds the elements of arrays of one shape over `axes` in row-major order.
/// Each fold starts from `inits`, which are scalars or arrays of the result's shape. {body:
/// program, axes: ints}
Values reduce(std::span<const Value> xs, std::span<const Value> inits, const ProgramPtr& body,
              const Ints& axes);
/// StableHLO's reduce_window: the same over windows. Like XLA, padding and holes are skipped, so an
/// init that is not an identity counts once. {body: program, the window attributes}
Values reduce_window(std::span<const Value> xs, std::span<const Value> inits,
                     const ProgramPtr& body, const WindowDims& dims);
/// StableHLO's select_and_scatter: `select` (a boolean of an earlier and a later element) picks one
/// element of each window of x; `scatter` combines the window's element of `source` into the result
/// at that position, which starts as `init`.
Value select_and_scatter(Value x, Value source, Value init, const ProgramPtr& select,
                         const ProgramPtr& scatter, const WindowDims& dims);

/// The derivative of an op with a body: its results are those of the op, their tangents those of
/// `spelled`, which computes the same with differentiable ops.
JvpBoth jvp_spelled(const JvpBothArgs& a,
                    const std::function<Values(Builder&, std::span<const Value>)>& spelled);

/// The same computation as that of an op with a body, spelled with differentiable ops.
using Spelling = Values (*)(Builder& b, std::span<const Value> inputs, const Attrs& attrs);
/// Gives an op with a body the derivative of its spelling, and decomposes it to that where kernels
/// cannot compose the body, for example because it has loops inside.
void spell(Op& op, Spelling spelling);
/// The cost of an op that runs its body this many times.
Cost body_cost(double times, std::span<const Type> in, std::span<const Type> out,
               const Attrs& attrs);
/// The operands to be reduced, and their initial values.
struct Reduced {
  std::span<const Value> xs, inits;
};
inline Reduced reduced(std::span<const Value> inputs) {
  return {inputs.first(inputs.size() / 2), inputs.subspan(inputs.size() / 2)};
}
/// The types of the results; elements and accumulators have the same dtypes. Throws unless the
/// operands and the body fit together. `shape_of_result` is called only once the operands are known
/// to have one shape.
std::vector<Type> infer_reduced(const InferArgs& a,
                                const std::function<Shape(const Type&)>& shape_of_result);
/// The operands stacked along dimension 0, also the inits unless they are scalars shared by all
/// examples.
Values stacked_operands(const BatchArgs& a, const Shape& result);
/// The factors of operands that all have `in` and of inits and results that have `out`.
void factors_of_reduced(FactorRule& rule, const ShardArgs& a, const std::vector<int>& in,
                        const std::vector<int>& out);
/// The evaluator: for each position of the results, `each` calls `take` with the flat positions of
/// the elements that are folded there, in order.
void evaluate_folds(const EvalArgs& a,
                    FunctionRef<void(const Shape& at, FunctionRef<void(std::int64_t)> take)> each);
/// The initial accumulators of the element at `at` of n results.
std::vector<Lane> initial_lanes(Emitter& e, int n, std::span<const Index> at);
/// A body for examples and tests: "affine" is x y + x + y, "first_max" the greater of two elements
/// with its position.
ProgramPtr example_body(const std::string& which, DType dtype);

}  // namespace tessera::inline v0::ops
