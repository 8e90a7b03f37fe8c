// Determines which values of a per-device program are provably bit-identical on all devices.
#pragma once

#include "ir/program.h"

#include <vector>

namespace tessera::inline v0::spmd {

/// For each variable, the axes along which devices may hold different values, given those of the
/// inputs. This is a forward analysis through collectives, axis_index and control flow; a varying
/// predicate makes every result vary, and loop carries are solved as a fixed point. It ignores the
/// `varying` sets in the types, which serve differentiation. Its precision is that of the rules in
/// `Op::uniform`.
std::vector<AxisSet> uniformity(const Program& p, const std::vector<AxisSet>& inputs);
/// The same, for the outputs only.
std::vector<AxisSet> output_uniformity(const Program& p, const std::vector<AxisSet>& inputs);

/// A program nested in an equation, and the axes over which its inputs vary, given those of the
/// equation's operands; for a loop, at the fixed point. `predicate` holds the axes along which
/// devices may disagree on whether, or how often, to run the program.
struct NestedProgram {
  ProgramPtr program;
  std::vector<AxisSet> inputs;
  AxisSet predicate;
};
std::vector<NestedProgram> nested_programs(const Equation& eqn,
                                           const std::vector<AxisSet>& operands);

/// Finds why variable `v` varies over `axis`, for error messages: the equation or input at which
/// the variation begins. Follows the operands backwards to the source. `equation` is npos for an
/// input; `loc` is then the first line that uses the input on the path to `v`.
struct VaryingSource {
  static constexpr std::size_t npos = static_cast<std::size_t>(-1);
  std::size_t equation = npos;
  std::size_t input = npos;
  SourceLoc loc;
};
VaryingSource why_varying(const Program& p, const std::vector<AxisSet>& varying, Var v,
                          std::string_view axis);

}  // namespace tessera::inline v0::spmd
