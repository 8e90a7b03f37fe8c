// Which values of a per-device program are provably the same bits on all devices.
#pragma once

#include "ir/program.h"

#include <vector>

namespace tessera::inline v0::spmd {

/// For each variable the axes along which devices may differ, from those of the inputs: a forward analysis over collectives,
/// control flow (a varying predicate makes every result vary; loop carries are a fixpoint) and axis_index. It ignores the
/// `varying` sets in the types, which serve differentiation, and is exact for what the rules in `Op::vary` say.
std::vector<AxisSet> uniformity(const Program& p, const std::vector<AxisSet>& inputs);

/// Why variable `v` varies over `axis`: the equation, or input, it first varies at, for error messages. Follows the operands
/// backwards to the source; `equation` is npos for an input.
struct VaryingSource {
  static constexpr std::size_t npos = static_cast<std::size_t>(-1);
  std::size_t equation = npos;
  std::size_t input = npos;
  SourceLoc loc;
};
VaryingSource why_varying(const Program& p, const std::vector<AxisSet>& varying, Var v, std::string_view axis);

}  // namespace tessera::inline v0::spmd
