// Error messages, and the checks of shapes that come with the user's line.
#pragma once

#include <tessera/message.h>
#include <tessera/shape.h>

#include <string_view>

namespace tessera::inline v0 {

/// broadcast_shapes and normalize_axis of tessera/shape.h, with the user's line in the error.
Shape broadcast_shapes(const Shape& a, const Shape& b, const char* function, const SourceLoc& loc);
int normalize_axis(std::int64_t axis, int rank, const char* function, const SourceLoc& loc);
/// Sizes are computed in 64 bits everywhere: ShapeError for a result that no machine holds, before
/// its size overflows.
void need_countable(std::string_view function, const Shape& shape, const SourceLoc& loc);

}  // namespace tessera::inline v0
