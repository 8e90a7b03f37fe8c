// Cotangents that are zero where a select did not take the value.
#pragma once

#include "ir/builder.h"

namespace tessera::inline v0::ops {

/// Whether `v` is a constant with all bytes zero, possibly moved or broadcast.
bool is_zero(Value v);

/// A cotangent stripped of the selects that made some of its elements zero. An elementwise equation
/// is transposed on `raw`, and the selects are applied to its result: zero times an infinite
/// derivative is NaN, but an element that no select took has a cotangent of exactly zero, whatever
/// its derivative.
class Unselected {
 public:
  /// Looks through selects with zero on one side, and through ops that move or broadcast them.
  explicit Unselected(Value cotangent);
  Value raw() const { return raw_; }
  /// Applies the selects to `cotangent`, which has the shape of `raw`.
  Value selected(Value cotangent) const;

 private:
  struct Selection {
    Value condition;
    bool taken;  // the cotangent is zero where the condition differs
  };
  Value whole_, raw_;
  std::vector<Selection> selections_;  // outermost first
};

/// x + y for cotangents of one value that are both selects with zero on one side. If both have the
/// same condition the sum is one select; otherwise the sum is zero wherever neither was taken.
/// Absent if x or y is not such a select.
MaybeValue add_selections(Value x, Value y);

}  // namespace tessera::inline v0::ops
