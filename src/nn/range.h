// Numbers whose squares are in range, for layers that divide by the root of a mean of squares.
#pragma once

#include <tessera/detail/square_range.h>
#include <tessera/elementwise.h>
#include <tessera/reductions.h>

#include <algorithm>

namespace tessera::inline v0::nn {

/// x times a power of two for each group of elements along `over`, and the layer's epsilon for it.
/// The factor cancels in what the layer gives; it is 1 but where squares of x would be infinite.
struct InRange {
  Array x, epsilon;

  InRange(const Array& given, const AxisList& over, double epsilon_of_layer) {
    const DType d = given.dtype();
    const tessera::detail::SpreadRange range = tessera::detail::spread_range(d);
    const Array large = stop_gradient(mean(abs(given), over, true)) > range.large;
    // Beside scaled squares the epsilon is nothing, and keeps a division by zero away.
    const double least = std::max(epsilon_of_layer * range.down * range.down,
                                  d == DType::float64 ? 0x1p-1000 : 0x1p-120);
    x = given * where(large, range.down, 1.0).astype(d);
    epsilon = where(large, least, epsilon_of_layer).astype(d);
  }
};

}  // namespace tessera::inline v0::nn
