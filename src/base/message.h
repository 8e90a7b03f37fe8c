// Error messages, and the checks of shapes that come with the user's line.
#pragma once

#include <tessera/message.h>
#include <tessera/shape.h>

#include <string_view>

namespace tessera::inline v0 {

/// broadcast_shapes and normalize_axis of tessera/shape.h, with the user's line in the error.
Shape broadcast_shapes(const Shape& a, const Shape& b, const char* function, const SourceLoc& loc);
int normalize_axis(std::int64_t axis, int rank, const char* function, const SourceLoc& loc);
/// Dimensions of an array at most: kernels, printing and derivatives nest a loop each. NumPy draws
/// the line at the same place.
inline constexpr int kMostDims = 64;
/// Sizes are computed in 64 bits everywhere: ShapeError for a result that no machine holds, before
/// its size overflows, or of more than kMostDims dimensions.
void need_countable(std::string_view function, const Shape& shape, const SourceLoc& loc);

}  // namespace tessera::inline v0
