// The regularised incomplete gamma functions in pairs of doubles.
#pragma once

#include <tessera/array.h>

namespace tessera::inline v0::detail {

/// Defined for a, x >= 0, NaN elsewhere; not differentiable.
Array gamma_part(const Array& a, const Array& x, bool upper);

}  // namespace tessera::inline v0::detail
