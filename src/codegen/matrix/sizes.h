// Sizes in panels and blocks.
#pragma once

#include "codegen/matrix/micro_kernel.h"

#include <algorithm>
#include <cstdint>

namespace tessera::inline v0::codegen::matrix {

inline std::int64_t round_up(std::int64_t n, std::int64_t to) { return (n + to - 1) / to * to; }
inline std::int64_t parts_of(std::int64_t n, std::int64_t each) { return (n + each - 1) / each; }

/// Lines that are a multiple of a page apart share a few sets of a cache.
inline constexpr std::int64_t kPage = 4096;

/// The number of steps that are packed for all panels before the next steps, so that rows of B are
/// read in long pieces.
inline constexpr std::int64_t kPackedSteps = 16;
/// How many steps ahead rows of B are prefetched if they are read in place.
inline constexpr std::int64_t kStepsAhead = 8;
/// The number of panels of A up to which reading B in place costs less than packing it.
inline constexpr std::int64_t kPanelsInPlace = 5;

/// The number of elements of B that one task packs for all tasks.
inline constexpr std::int64_t kSharedElements = 1 << 17;

/// The number of rows up to which the time of a product is that of reading B once from memory.
inline constexpr int kRowsStreamed = 3;

/// Divides rows evenly into panels; the first panels may be one row taller than the others.
struct Heights {
  std::int64_t panels, each = 0, higher = 0;
  explicit Heights(std::int64_t m, std::int64_t tallest = most_rows())
      : panels(parts_of(m, tallest)) {
    if (panels) each = m / panels, higher = m % panels;
  }
  std::int64_t of(std::int64_t panel) const { return each + (panel < higher); }
  std::int64_t first_row(std::int64_t panel) const {
    return panel * each + std::min(panel, higher);
  }
};

}  // namespace tessera::inline v0::codegen::matrix
