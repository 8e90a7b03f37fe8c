// Chooses the loops of one stage of a kernel: where rows begin, which dimensions are collapsed,
// which loop is vectorised or tiled, and how the work is divided into tasks.
#pragma once

#include "codegen/kernel/kernel_schedule.h"
#include "codegen/kernel/tracer.h"

#include <span>

namespace tessera::inline v0::codegen {

/// The dimension where rows begin: after those that the innermost loop's reductions depend on; 0 if
/// rows do not pay off. `at` are the indices of the space, `t` has run over it.
std::size_t row_start(const Shape& shape, std::span<const Index> at, const Tracer& t);

struct LoopsAsked {
  int widest = 1;  // bytes of the widest lane
  // number of chunks of a split reduction, which are the first dimension; 0: none
  std::int64_t chunks = 0;
  bool vectorised_inside = false;
  bool small = false;  // the program is small enough for unrolled tiles
  // If nonzero, the dimension at which the rows of `panels` begin.
  std::size_t panel_dims = 0;
  PanelForm panels;
};
/// Sets the loops, rows, tiles, units and seconds of a StageSchedule from its kind and shape.
void choose_loops(StageSchedule& s, std::span<const Index> at, const Tracer& t,
                  const LoopsAsked& asked);
/// Orders the units of a tiled stage as the operands lie in memory, for results that are stored
/// non-temporally.
void tile_along_rows(StageSchedule& s);

}  // namespace tessera::inline v0::codegen
