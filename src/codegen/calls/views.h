// Routines that read operands where they come from: through a conversion, a repetition, a transpose
// or a slice.
#pragma once

#include "codegen/kernel/operand_view.h"
#include "ir/op.h"

#include <memory>
#include <span>

namespace tessera::inline v0::codegen {

/// How each input of an equation is read. The routine gets the array in place of the input.
using OperandViews = std::span<const OperandView>;

/// What the factory of a routine can do with views.
struct ViewRules {
  /// Whether the routine can read its inputs through the views, with the same bits as if they were
  /// stored, and without copying more of them.
  bool (*takes)(const CallArgs&, OperandViews);
  std::shared_ptr<const Routine> (*call)(const CallArgs&, OperandViews);
};
/// The rules that belong to the factory in the op's row; nullptr if its routines read all operands
/// as they are stored.
const ViewRules* view_rules(const Op& op);

}  // namespace tessera::inline v0::codegen
