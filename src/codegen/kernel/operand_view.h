// Whether a value is a view of another one: the same elements in another order, possibly repeated
// and converted to a wider dtype.
#pragma once

#include "ir/program.h"
#include "ir/routine.h"

#include <optional>

namespace tessera::inline v0::codegen {

/// Whether every value of `from` is a value of `to`, which has more bytes.
bool widens(DType from, DType to);

/// How the only output of a program of emitted ops is read from the program's only input; nothing
/// if it is not a view. The emit rules of the ops say what is read.
std::optional<OperandView> view_of(const Program& p);

}  // namespace tessera::inline v0::codegen
