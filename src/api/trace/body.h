// What branches and loop bodies share: reordered inputs, and agreement of types.
#pragma once

#include "api/trace/traced.h"

#include <optional>
#include <span>
#include <string>
#include <vector>

namespace tessera::inline v0::detail {

/// The program of a traced body with its captures first: (captures..., explicit inputs...).
ProgramPtr captures_first(const TracedFunction& f);

/// The type that both can be brought to: equal dtypes and shapes, or a weak one that gives way.
/// Weak only if both are.
std::optional<Type> common_type(const Type& a, const Type& b);

/// The program with outputs converted to these dtypes.
ProgramPtr with_output_types(const ProgramPtr& p, std::span<const Type> types);

/// A loop's body, traced so that its carry keeps its types: a weak start value takes the type that
/// the body gives it.
struct LoopBody {
  TracedFunction function;
  std::vector<Type> inputs;     // of the explicit inputs, the carry's promoted
  std::size_t first_carry = 0;  // the carry's place among the explicit inputs
  std::size_t carry = 0;        // how many of them it is; so many outputs of the body come first
};
/// `carry_arg` is the argument that is carried (none: -1), `types` those of the leaves that are not
/// empty. The result is the next carry, or a pair of it and something else when `paired`. Throws
/// TreeError, DTypeError or ShapeError listing the leaves of the carry that change.
LoopBody trace_loop_body(const char* function, Call& body, std::vector<Type> types, int carry_arg,
                         bool paired, const SourceLoc& loc);

}  // namespace tessera::inline v0::detail
