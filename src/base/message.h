// Error messages, and shape checks whose errors name the user's source line.
#pragma once

#include <tessera/message.h>
#include <tessera/shape.h>

#include <string>
#include <string_view>

namespace tessera::inline v0 {

/// "name.cc:12" without the directory.
std::string file_and_line(std::string_view file, int line);

/// broadcast_shapes and normalize_axis of tessera/shape.h, with the user's source line in the
/// error.
Shape broadcast_shapes(const Shape& a, const Shape& b, const char* function, const SourceLoc& loc);
int normalize_axis(std::int64_t axis, int rank, const char* function, const SourceLoc& loc);
/// The maximum number of dimensions of an array: kernels, printing and derivatives nest one loop
/// per dimension. NumPy has the same limit.
inline constexpr int kMostDims = 64;
/// Sizes are computed in 64 bits everywhere. Throws ShapeError for a result that no machine could
/// hold, before its size overflows, or for more than kMostDims dimensions.
void need_countable(std::string_view function, const Shape& shape, const SourceLoc& loc);

}  // namespace tessera::inline v0
