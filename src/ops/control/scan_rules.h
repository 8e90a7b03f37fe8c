// The layout of scan's operands, and its derivative rules.
#pragma once

#include "ir/op.h"

#include <optional>
#include <utility>

namespace tessera::inline v0::ops {

/// The operands are consts, carry, xs; the body takes (consts, carry, x) and returns (carry, y). So
/// operand i of the equation is input i of the body, result i is output i of the body, and only xs
/// and ys have the leading loop dimension.
struct ScanLayout {
  static constexpr const char *kBody = "body", *kConsts = "consts", *kCarry = "carry",
                              *kLength = "length", *kReverse = "reverse";

  ProgramPtr body;
  std::size_t consts, carry, xs, ys;
  std::int64_t length;
  bool reverse;

  explicit ScanLayout(const Attrs& attrs)
      : body(attrs.program(kBody)),
        consts(static_cast<std::size_t>(attrs.i(kConsts))),
        carry(static_cast<std::size_t>(attrs.i(kCarry))),
        xs(body->inputs.size() - consts - carry),
        ys(body->outputs.size() - carry),
        length(attrs.i(kLength)),
        reverse(attrs.flag(kReverse)) {}
  static Attrs make(ProgramPtr body, std::size_t consts, std::size_t carry, std::int64_t length,
                    bool reverse) {
    return {{kBody, std::move(body)},
            {kConsts, static_cast<std::int64_t>(consts)},
            {kCarry, static_cast<std::int64_t>(carry)},
            {kLength, length},
            {kReverse, reverse}};
  }
  std::size_t first_x() const { return consts + carry; }
};

/// Hoists part of the branches in the body of a scan whose first `consts` inputs are constants:
/// values that a branch computes from the constants alone, and reads together with values that
/// depend on `unknown` inputs, are computed before the branch.
ProgramPtr constants_out_of_branches(const ProgramPtr& body, std::size_t consts,
                                     const std::vector<bool>& unknown);

/// A sum over all iterations of a body, computed by one equation over all iterations: the summed
/// form of `product`, followed by the equations `then` that rearrange its result.
struct SumOfTurns {
  Equation product;
  std::vector<Equation> then;
};
/// Matches the sum for variable `v` of a body; `fixed` says for each variable whether it is
/// loop-invariant. Returns nullopt if no equation with a summed form computes `v`, if one of its
/// operands is loop-invariant, or if stacking them needs too much memory: more than a quarter of
/// the result's bytes per iteration, or more than `bytes` over `turns` iterations. Operands marked
/// in `stacked` are stacked anyway and do not count.
std::optional<SumOfTurns> sum_of_turns(const Program& body, Var v, const std::vector<bool>& fixed,
                                       const std::vector<bool>& stacked, std::int64_t turns,
                                       std::int64_t bytes);
/// Emits the sum, given the product's operands stacked over all iterations.
Value emit(Builder& b, const SumOfTurns& sum, std::span<const Value> stacks);

JvpBoth scan_jvp(const JvpBothArgs& a);
PartialEvalResult scan_partial_eval(const PartialEvalArgs& a);
MaybeValues scan_transpose(const TransposeArgs& a);
BatchResult scan_batch(const BatchArgs& a);

}  // namespace tessera::inline v0::ops
