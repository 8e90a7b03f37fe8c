// Routines of called ops: what their own factories make (Op::call), kept by content. Those that
// need a library, oneDNN or OpenBLAS, are here, one file a family; the others are next to their
// ops.
#pragma once

#include "ir/op.h"
#include "ir/routine.h"

#include <memory>
#include <span>

namespace tessera::inline v0::codegen {

/// The routine for one equation of an op that has a factory or whose lowering is `called`: the
/// factory's, or where that takes no such types the op's own loop nest, or nullptr when it has none
/// (the planner then falls back on the evaluator, with a warning). Prepared routines are cached by
/// op, attributes and types. Thread-safe.
std::shared_ptr<const Routine> prepare_call(const Op& op, const Attrs& attrs,
                                            std::span<const Type> inputs,
                                            std::span<const Type> outputs);

}  // namespace tessera::inline v0::codegen
