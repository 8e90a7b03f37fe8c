// Scales values so that their squares do not overflow, for layers that divide by a root mean
// square.
#pragma once

#include <tessera/detail/square_range.h>
#include <tessera/elementwise.h>
#include <tessera/reductions.h>

#include <algorithm>

namespace tessera::inline v0::nn {

/// x scaled by a power of two for each group of elements along `over`, and the layer's epsilon
/// scaled to match. The factor cancels in the layer's result; it is 1 unless squares of x would
/// overflow.
struct InRange {
  Array x, epsilon;

  InRange(const Array& given, const AxisList& over, double epsilon_of_layer) {
    const DType d = given.dtype();
    const tessera::detail::SpreadRange range = tessera::detail::spread_range(d);
    const Array large = stop_gradient(mean(abs(given), over, true)) > range.large;
    // The epsilon is negligible against scaled squares, and only prevents division by zero.
    const double least = std::max(epsilon_of_layer * range.down * range.down,
                                  d == DType::float64 ? 0x1p-1000 : 0x1p-120);
    x = given * where(large, range.down, 1.0).astype(d);
    epsilon = where(large, least, epsilon_of_layer).astype(d);
  }
};

}  // namespace tessera::inline v0::nn
