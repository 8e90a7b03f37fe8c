// The rules of equations, each built once.
#pragma once

#include "ir/program.h"
#include "spmd/propagate/cut_rule.h"

#include <deque>
#include <unordered_map>

namespace tessera::inline v0::spmd {

class RuleTable {
 public:
  static constexpr std::uint32_t none = static_cast<std::uint32_t>(-1);

  explicit RuleTable(std::deque<CutRule>& rules) : rules_(rules) {}

  /// By op, attributes and shapes; the others' for elementwise ops. `none` where no axis goes from
  /// one of its values to another.
  std::uint32_t of(const Program& program, const Equation& eqn);
  /// Of `operands` values and one result that all are one another, or of operands alone.
  std::uint32_t identity(const Shape& shape, std::size_t operands, bool result,
                         Toward toward = Toward::all);
  /// Of a row and all rows stacked: the stacked dimension has nothing inside to cut. The row is the
  /// result where `cut`, else the operand.
  std::uint32_t row(const Shape& stacked, bool cut);
  /// Of an array and its block inside a region that cuts dimension d into parts[d].
  std::uint32_t block(const Shape& whole, const std::vector<std::int64_t>& parts, bool cut);

 private:
  struct Known {
    const Program* program;
    const Equation* eqn;
    std::uint32_t rule;
  };
  std::uint32_t add(CutRule rule);
  std::uint32_t edge(std::vector<std::int64_t> key, const FactorRule& rule,
                     const std::vector<Shape>& inputs, const std::vector<Shape>& outputs,
                     Toward toward = Toward::all);

  std::deque<CutRule>& rules_;
  std::unordered_multimap<std::size_t, Known> known_;
  std::unordered_multimap<std::size_t, std::pair<std::vector<std::int64_t>, std::uint32_t>> edges_;
};

}  // namespace tessera::inline v0::spmd
