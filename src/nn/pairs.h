// What losses check of the two things that they compare.
#pragma once

#include <tessera/array.h>

namespace tessera::inline v0::nn {

/// ShapeError unless both have one shape: broadcasting (n, 1) with (n,) would pair all with all.
void need_pairs(const char* function, const char* first, const Operand& x, const char* second,
                const Operand& y);

}  // namespace tessera::inline v0::nn
