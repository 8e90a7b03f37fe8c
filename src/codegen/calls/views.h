// Routines that read an operand through a view of another array: a conversion, a broadcast, a
// transpose or a slice that is never stored.
#pragma once

#include "codegen/kernel/operand_view.h"
#include "ir/op.h"

#include <memory>
#include <span>

namespace tessera::inline v0::codegen {

/// The view through which each input of an equation is read. The routine gets the viewed array in
/// place of the input.
using OperandViews = std::span<const OperandView>;

/// The rules of a routine's factory for views.
struct ViewRules {
  /// Whether the routine can read its inputs through the views, with the same bits as if they were
  /// stored, and without copying more of them.
  bool (*takes)(const CallArgs&, OperandViews);
  std::shared_ptr<const Routine> (*call)(const CallArgs&, OperandViews);
};
/// The rules of the factory in the op's row; nullptr if its routines cannot read views.
const ViewRules* view_rules(const Op& op);

}  // namespace tessera::inline v0::codegen
