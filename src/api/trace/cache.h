// What functions that were traced keep, and what is said to it from outside.
#pragma once

#include "api/trace/entry.h"

namespace tessera::inline v0::detail {

/// Whether every call traces again and compares, to find functions that depend on something which
/// changed since their first trace: TESSERA_CHECK_CAPTURES=1, or this.
void set_check_captures(bool on);

/// Lets this thread go of the programs of eager operations that it remembers, and the others at
/// their next operation.
void forget_composites();

}  // namespace tessera::inline v0::detail
