// Which values of a per-device program are provably the same bits on all devices.
#pragma once

#include "ir/program.h"

#include <vector>

namespace tessera::inline v0::spmd {

/// For each variable the axes along which devices may differ, from those of the inputs: a forward
/// analysis over collectives, control flow (a varying predicate makes every result vary; loop
/// carries are a fixpoint) and axis_index. It ignores the `varying` sets in the types, which serve
/// differentiation, and is exact for what the rules in `Op::uniform` say.
std::vector<AxisSet> uniformity(const Program& p, const std::vector<AxisSet>& inputs);
/// Of the outputs only.
std::vector<AxisSet> output_uniformity(const Program& p, const std::vector<AxisSet>& inputs);

/// A program nested in an equation and what its inputs vary over when the equation's operands do as
/// given; for a loop at its fixpoint. `predicate` are the axes along which devices may disagree
/// whether, or how often, to run it.
struct NestedProgram {
  ProgramPtr program;
  std::vector<AxisSet> inputs;
  AxisSet predicate;
};
std::vector<NestedProgram> nested_programs(const Equation& eqn,
                                           const std::vector<AxisSet>& operands);

/// Why variable `v` varies over `axis`: the equation, or input, it first varies at, for error
/// messages. Follows the operands backwards to the source; `equation` is npos for an input, and
/// `loc` is then the line that first uses it on the way to `v`.
struct VaryingSource {
  static constexpr std::size_t npos = static_cast<std::size_t>(-1);
  std::size_t equation = npos;
  std::size_t input = npos;
  SourceLoc loc;
};
VaryingSource why_varying(const Program& p, const std::vector<AxisSet>& varying, Var v,
                          std::string_view axis);

}  // namespace tessera::inline v0::spmd
