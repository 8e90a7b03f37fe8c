// The regularised incomplete gamma functions in double-double arithmetic.
#pragma once

#include <tessera/array.h>

namespace tessera::inline v0::detail {

/// For a, x >= 0; NaN elsewhere. Not differentiable.
Array gamma_part(const Array& a, const Array& x, bool upper);

}  // namespace tessera::inline v0::detail
