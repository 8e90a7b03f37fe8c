// The parts of scan: how its operands are laid out, and its derivative rules.
#pragma once

#include "ir/op.h"

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

JvpBoth scan_jvp(const JvpBothArgs& a);
PartialEvalResult scan_partial_eval(const PartialEvalArgs& a);
MaybeValues scan_transpose(const TransposeArgs& a);
BatchResult scan_batch(const BatchArgs& a);

}  // namespace tessera::inline v0::ops
