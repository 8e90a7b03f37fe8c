// The shape check of losses that compare two arrays.
#pragma once

#include <tessera/array.h>

namespace tessera::inline v0::nn {

/// Throws ShapeError unless the shapes are equal: broadcasting (n, 1) with (n,) would pair every
/// element with every other.
void need_pairs(const char* function, const char* first, const Operand& x, const char* second,
                const Operand& y);

}  // namespace tessera::inline v0::nn
