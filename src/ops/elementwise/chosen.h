// Cotangents of values that a selection did not take.
#pragma once

#include "ir/builder.h"

namespace tessera::inline v0::ops {

/// Whether `v` is a constant whose bytes are all zero, moved or repeated.
bool is_zero(Value v);

/// A cotangent without the selections that made it zero in places. An equation that works element
/// by element is transposed on `raw`, and the selections are made on its result: zero times an
/// infinite derivative is NaN, but an element that no selection took has a cotangent of exactly
/// zero, whatever its derivative is.
class Unselected {
 public:
  /// Looks through selections with a zero on one side, and through what moves or repeats them.
  explicit Unselected(Value cotangent);
  Value raw() const { return raw_; }
  /// `cotangent`, of the shape of `raw`, after the selections.
  Value selected(Value cotangent) const;

 private:
  struct Selection {
    Value condition;
    bool taken;  // the cotangent is zero where the condition is another
  };
  Value whole_, raw_;
  std::vector<Selection> selections_;  // the outermost first
};

/// x + y, where both are cotangents of one value and selections with a zero on one side: of two that
/// go by one condition it is one selection; of others it is known where neither was taken. Absent
/// where x or y is no such selection.
MaybeValue add_selections(Value x, Value y);

}  // namespace tessera::inline v0::ops
