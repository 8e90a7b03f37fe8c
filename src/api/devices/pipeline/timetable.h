// A pipeline schedule as a table from which every device reads its row by its position on the axis.
#pragma once

#include "api/trace/composite.h"

#include <tessera/pipeline.h>

namespace tessera::inline v0::detail {

/// int32 of shape (stages, ticks): the microbatch whose forward pass runs, or -1. Its ticks end
/// with the last forward pass.
Array forward_table(const PipelineSchedule& schedule);

/// The work of a device in a tick; the number is an index of branches.
enum class PipelineStep : std::int32_t { idle, forward, backward, loss_and_backward };
/// Inputs of a stage are kept in one of `slots` buffers from their arrival to their backward pass.
struct TrainingTable {
  /// int32 of shape (stages, ticks, 4): a PipelineStep, the microbatch, its slot, and the slot for
  /// the activation that has just arrived from the previous stage (-1 if none has).
  Array table;
  std::int64_t slots = 1;
};
TrainingTable training_table(const PipelineSchedule& schedule);

}  // namespace tessera::inline v0::detail
