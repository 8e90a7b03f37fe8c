// Library routines for called ops: oneDNN, OpenBLAS, sorts. One file a
// family.
#pragma once

#include "ir/op.h"
#include "ir/routine.h"

#include <memory>
#include <span>

namespace tessera::inline v0::codegen {

/// Whether a routine puts the operands of a concatenation in their places, piece by piece.
bool copies_pieces(const Equation& eqn);

/// The routine for one equation of an op whose lowering is `called`, of dynamic_update_slice or of
/// a concatenation: a
/// library's, or where none takes these types the op's own loop nest, or nullptr when it has none
/// (the planner then falls back on the evaluator, with a warning). Prepared routines are cached by
/// op, attributes and types. Thread-safe.
std::shared_ptr<const Routine> prepare_call(const Op& op, const Attrs& attrs,
                                            std::span<const Type> inputs,
                                            std::span<const Type> outputs);

}  // namespace tessera::inline v0::codegen
