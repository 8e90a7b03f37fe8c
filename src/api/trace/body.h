// Helpers that branches and loop bodies share: reordering inputs, and making types agree.
#pragma once

#include "api/trace/traced.h"

#include <optional>
#include <span>
#include <string>
#include <vector>

namespace tessera::inline v0::detail {

/// The program of a traced body with its captures first: (captures..., explicit inputs...).
ProgramPtr captures_first(const TracedFunction& f);

/// The common type of the two: dtypes and shapes must be equal, or one is weak and takes the
/// other's dtype. The result is weak only if both are.
std::optional<Type> common_type(const Type& a, const Type& b);

/// The program with its outputs converted to the dtypes of `types`.
ProgramPtr with_output_types(const ProgramPtr& p, std::span<const Type> types);

/// The body of a loop, traced so that its carry keeps its types: a weak initial value takes the
/// type that the body returns for it.
struct LoopBody {
  TracedFunction function;
  std::vector<Type> inputs;     // types of the explicit inputs; those of the carry are promoted
  std::size_t first_carry = 0;  // index of the carry's first explicit input
  std::size_t carry = 0;        // inputs in the carry; as many first outputs are the next carry
};
/// `carry_arg` is the carried argument (-1: none); `types` are those of the non-empty leaves of all
/// arguments. The result is the next carry or, if `paired`, a pair of the next carry and another
/// value. Throws TreeError, DTypeError or ShapeError, listing the leaves of the carry that change.
LoopBody trace_loop_body(const char* function, Call& body, std::vector<Type> types, int carry_arg,
                         bool paired, const SourceLoc& loc);

}  // namespace tessera::inline v0::detail
