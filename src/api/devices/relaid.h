// An array at another place.
#pragma once

#include "runtime/array_data.h"

#include <tessera/array.h>

namespace tessera::inline v0::detail {

/// The values of `x` laid out as `layout` says. A traced array is itself: placement is the compiled
/// program's business. TraceError in the name of `function` for one that is abstract or donated.
Array relaid(const char* function, const Operand& x, runtime::Layout layout);

}  // namespace tessera::inline v0::detail
