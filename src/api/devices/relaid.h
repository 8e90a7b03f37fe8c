// Moves an array to another layout.
#pragma once

#include "runtime/array_data.h"

#include <tessera/array.h>

namespace tessera::inline v0::detail {

/// `x` with the given layout. A traced array is returned as it is, since the compiled program
/// decides its placement. Throws TraceError, naming `function`, if the array is abstract or
/// donated.
Array relaid(const char* function, const Operand& x, runtime::Layout layout);

}  // namespace tessera::inline v0::detail
