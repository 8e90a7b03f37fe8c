// The derivative rules of cond.
//
// They split a branch into a known part and a linear part, which reads residuals of the known part.
// A collective in the linear part mixes the values of several members. That is correct if all of
// them take the same branch, but not if vmap lets each take its own. Such conds are marked `split`.
#pragma once

#include "ir/op.h"

#include <string_view>
#include <utility>

namespace tessera::inline v0::ops {

/// The attributes: a view, which must not outlive them.
struct CondAttrs {
  static constexpr const char *kBranches = "branches", *kSplit = "split";

  explicit CondAttrs(const Attrs& attrs)
      : branches(attrs.get<Programs>(kBranches)), split(attrs.has(kSplit)) {}
  explicit CondAttrs(Attrs&& attrs) = delete;
  static Attrs make(Programs branches, bool split = false) {
    Attrs attrs{{kBranches, std::move(branches)}};
    if (split) attrs.set(kSplit, true);
    return attrs;
  }

  const Programs& branches;
  bool split;
};

JvpBoth cond_jvp(const JvpBothArgs& a);
PartialEvalResult cond_partial_eval(const PartialEvalArgs& a);
MaybeValues cond_transpose(const TransposeArgs& a);

/// Like ops::cond of build.h; `split` marks the equation.
Values cond(Value index, const Programs& branches, std::span<const Value> operands, bool split);

/// A collective in one of the programs that runs over `axis`, or over any axis if `axis` is empty;
/// null if there is none.
const Equation* find_collective(const Programs& programs, std::string_view axis);

}  // namespace tessera::inline v0::ops
