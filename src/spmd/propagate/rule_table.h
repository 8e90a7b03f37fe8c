// Builds the propagation rules of equations, each once.
#pragma once

#include "base/numbered.h"
#include "ir/program.h"
#include "spmd/propagate/cut_rule.h"

#include <cstdint>
#include <deque>
#include <vector>

namespace tessera::inline v0::spmd {

class RuleTable {
 public:
  static constexpr std::uint32_t none = static_cast<std::uint32_t>(-1);

  explicit RuleTable(std::deque<CutRule>& rules) : rules_(rules) {}

  /// The rule for an op, its attributes and its shapes; elementwise ops share rules. `none` if the
  /// equation propagates nothing.
  std::uint32_t of(const Program& program, const Equation& eqn);
  /// The rule that ties `operands` values, and a result if `result`, to the same sharding.
  std::uint32_t identity(const Shape& shape, std::size_t operands, bool result,
                         Toward toward = Toward::all);
  /// The rule between the stacked rows of a loop and one row: the stacked dimension has no
  /// counterpart in the row. The row is the result if `cut`, otherwise the operand.
  std::uint32_t row(const Shape& stacked, bool cut);
  /// The rule between an array and its block inside a region that cuts dimension d into parts[d].
  std::uint32_t block(const Shape& whole, const std::vector<std::int64_t>& parts, bool cut);

 private:
  struct Known {
    const Program* program;
    const Equation* eqn;
    std::uint32_t rule;
  };
  struct Edge {
    std::vector<std::int64_t> key;
    std::uint32_t rule;
  };
  std::uint32_t add(CutRule rule);
  std::uint32_t edge(std::vector<std::int64_t> key, const FactorRule& rule,
                     const std::vector<Shape>& inputs, const std::vector<Shape>& outputs,
                     Toward toward = Toward::all);

  std::deque<CutRule>& rules_;
  Numbered<Known> known_;
  Numbered<Edge> edges_;
};

}  // namespace tessera::inline v0::spmd
