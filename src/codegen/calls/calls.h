// Routines of called ops, made by the ops' factories (Op::call) and cached by content. Factories
// that use oneDNN or OpenBLAS are in this folder, one file per family; the others are next to their
// ops.
#pragma once

#include "ir/op.h"
#include "ir/routine.h"

#include <memory>
#include <span>

namespace tessera::inline v0::codegen {

/// The routine for one equation of an op that has a factory or whose lowering is `called`. If the
/// factory does not support the types, this is the op's own loop nest, or nullptr if it has none
/// (the planner then uses the evaluator, with a warning). Routines are cached by op, attributes and
/// types. Thread-safe.
std::shared_ptr<const Routine> prepare_call(const Op& op, const Attrs& attrs,
                                            std::span<const Type> inputs,
                                            std::span<const Type> outputs);

}  // namespace tessera::inline v0::codegen
