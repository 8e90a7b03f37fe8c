// What must hold of a tape before it runs, whatever made it.
#pragma once

#include "codegen/tape/tape.h"

namespace tessera::inline v0::tape {

/// InternalError unless each step runs over the axes along which its operands differ, and writes
/// each place once. A step that runs less often than its operands differ would read one device's
/// value for all of them. Instances that are equal (Slot::same) may be read from the first.
void verify(const Tape& tape);

}  // namespace tessera::inline v0::tape
