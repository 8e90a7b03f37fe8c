// What a call of a pipeline is about: its mesh, and how layers and rows are dealt out on it.
#pragma once

#include "api/devices/pipeline/leaves.h"
#include "api/trace/traced.h"

#include <tessera/collectives.h>
#include <tessera/partition_spec.h>
#include <tessera/pipeline.h>

#include <cstdint>
#include <string>
#include <vector>

namespace tessera::inline v0::detail {

struct PipelineFrame {
  Mesh mesh;
  std::string axis, batch_axis;
  std::int64_t stages = 1, replicas = 1;  // devices along the two
  std::int64_t layers = 1;                // on each device
  std::int64_t microbatches = 1;
  Leaves params, batch, targets, head;

  PartitionSpec layer_spec() const { return P(axis); }
  PartitionSpec row_spec() const { return batch_axis.empty() ? P() : P(batch_axis); }
  /// To the next stage, and to the one before.
  Permutation onwards() const;
  Permutation back() const;
};

/// `loss` is null without one. Errors as in tessera/pipeline.h.
PipelineFrame pipeline_frame(const char* function, const Call& stage, const Call* loss,
                             const PipelineOptions& options, const SourceLoc& loc);

/// "f32[8,3]".
std::string type_text(const Array& x);
/// Lists the leaves of an argument under the name that it has for the user.
void list_leaves(Message& m, const Call& call, std::size_t argument, const std::string& name);

/// The leaves of an argument that are not empty.
Leaves argument_leaves(const Call& call, std::size_t argument);
/// Typed as each device's own: derivatives are not summed over devices where the values are used,
/// which is in loops, but where they come from.
Leaves own_values(const Leaves& leaves, const PipelineFrame& frame);

}  // namespace tessera::inline v0::detail
