// The parts of scan: how its operands are laid out, and its derivative rules.
#pragma once

#include "ir/op.h"

#include <optional>

namespace tessera::inline v0::ops {

/// Operands are consts, carry, xs; the body takes (consts, carry, x) and gives (carry, y). So
/// operand i of the equation is input i of the body, result i is the body's output i, and only xs
/// and ys have the leading loop dimension.
struct ScanLayout {
  ProgramPtr body;
  std::size_t consts, carry, xs, ys;
  std::int64_t length;
  bool reverse;

  explicit ScanLayout(const Attrs& attrs)
      : body(attrs.program("body")),
        consts(static_cast<std::size_t>(attrs.i("consts"))),
        carry(static_cast<std::size_t>(attrs.i("carry"))),
        xs(body->inputs.size() - consts - carry),
        ys(body->outputs.size() - carry),
        length(attrs.i("length")),
        reverse(attrs.flag("reverse")) {}
  std::size_t first_x() const { return consts + carry; }
};

/// `body` of a scan with so many constants, where what a branch computes of these alone, and reads
/// together with what depends on the inputs that are `unknown`, is computed before the branch.
ProgramPtr constants_out_of_branches(const ProgramPtr& body, std::size_t consts,
                                     const std::vector<bool>& unknown);

/// What a body adds up turn by turn, as one equation over all turns: `product`, and what follows
/// from its result, in order.
struct SumOfTurns {
  Equation product;
  std::vector<Equation> then;
};
/// Of variable `v` of a body, and by variable whether it is the same in all turns. None where no
/// equation says it, or where operands of all turns together, of which those in `stacked` are kept
/// anyway, would be too large: a turn's as large as a quarter of its result, or in `turns` turns
/// more than `bytes`.
std::optional<SumOfTurns> sum_of_turns(const Program& body, Var v, const std::vector<bool>& fixed,
                                       const std::vector<bool>& stacked, std::int64_t turns,
                                       std::int64_t bytes);
/// The sum, of the product's operands of all turns.
Value emit(Builder& b, const SumOfTurns& sum, std::span<const Value> stacks);

JvpBoth scan_jvp(const JvpBothArgs& a);
PartialEvalResult scan_partial_eval(const PartialEvalArgs& a);
MaybeValues scan_transpose(const TransposeArgs& a);
BatchResult scan_batch(const BatchArgs& a);

}  // namespace tessera::inline v0::ops
