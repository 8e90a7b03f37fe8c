// Powers of two that rescale numbers whose squares would leave the range of their dtype.
#pragma once

#include <tessera/dtype.h>

namespace tessera::inline v0::detail {

/// For sums of squares. If the sum is infinite, the numbers are multiplied by `down` and squared
/// again. If it is less than `least`, so that small squares may have underflowed, they are
/// multiplied by `up`.
struct SquareRange {
  double least, down, up;
};
constexpr SquareRange square_range(DType d) {
  if (d == DType::float64) return {0x1p-900, 0x1p-600, 0x1p700};
  return {0x1p-100, 0x1p-80, 0x1p75};
}

/// For squares of distances from a mean, which may be much smaller than the numbers. These are
/// multiplied by `down` if their mean magnitude exceeds `large`, and by `up` if it is less than
/// `small`.
struct SpreadRange {
  double large, down, small, up;
};
constexpr SpreadRange spread_range(DType d) {
  if (d == DType::float64) return {0x1p400, 0x1p-600, 0x1p-400, 0x1p600};
  return {0x1p40, 0x1p-70, 0x1p-40, 0x1p75};
}

}  // namespace tessera::inline v0::detail
