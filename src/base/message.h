// Error messages, and the checks of shapes that come with the user's line.
#pragma once

#include <tessera/message.h>
#include <tessera/shape.h>

namespace tessera::inline v0 {

/// broadcast_shapes and normalize_axis of tessera/shape.h, with the user's line in the error.
Shape broadcast_shapes(const Shape& a, const Shape& b, const char* function, const SourceLoc& loc);
int normalize_axis(std::int64_t axis, int rank, const char* function, const SourceLoc& loc);

}  // namespace tessera::inline v0
