// Checks invariants of a tape before it runs, whichever way it was made.
#pragma once

#include "codegen/tape/tape.h"

namespace tessera::inline v0::tape {

/// Throws InternalError unless each step runs over the axes along which its operands differ, and
/// writes each place once. A step that ran over fewer axes would use one device's value for all of
/// them. Instances that are equal (Slot::same) may be read from the first.
void verify(const Tape& tape);

}  // namespace tessera::inline v0::tape
