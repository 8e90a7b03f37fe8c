// The loops of one stage of a kernel: where rows begin, which dimensions run as one, which of them
// is vectorised or tiled, and how the work is cut into tasks.
#pragma once

#include "codegen/kernel/kernel_schedule.h"
#include "codegen/kernel/tracer.h"

#include <span>

namespace tessera::inline v0::codegen {

/// Where rows begin: after the dimensions that the innermost loop's reductions depend on; 0 where
/// no rows are worth it. `at` are the indices of the space, `t` has run over it.
std::size_t row_start(const Shape& shape, std::span<const Index> at, const Tracer& t);

struct LoopsAsked {
  int widest = 1;           // bytes of the widest lane
  std::int64_t chunks = 0;  // of a split reduction, the first dimension; 0: there are none
  bool vectorised_inside = false;
  bool small = false;  // a program whose tiles may be unrolled
};
/// Fills in what StageSchedule says of loops, rows, tiles, units and seconds, from its kind and shape.
void choose_loops(StageSchedule& s, std::span<const Index> at, const Tracer& t,
                  const LoopsAsked& asked);
/// Lets the units of a stage with tiles follow one another in the order in which operands lie in
/// memory: for results that go past the caches.
void tile_along_rows(StageSchedule& s);

}  // namespace tessera::inline v0::codegen
