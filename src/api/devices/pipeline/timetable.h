// A timetable as a table that every device can read its row of, by its place along the axis.
#pragma once

#include "api/trace/composite.h"

#include <tessera/pipeline.h>

namespace tessera::inline v0::detail {

/// (stages, ticks) int32: the microbatch whose forward it is, else -1; while there are forwards.
Array forward_table(const PipelineSchedule& schedule);

/// What a device does in a tick, as a number: an index of branches.
enum class PipelineStep : std::int32_t { idle, forward, backward, loss_and_backward };
/// What goes into a stage waits in one of `slots` places, from its arrival to its backward.
struct TrainingTable {
  /// (stages, ticks, 4) int32: a PipelineStep, the microbatch, its slot, and the slot for what has
  /// just arrived from the stage before, -1 where nothing has.
  Array table;
  std::int64_t slots = 1;
};
TrainingTable training_table(const PipelineSchedule& schedule);

}  // namespace tessera::inline v0::detail
