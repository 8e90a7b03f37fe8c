// The setup of a pipeline call: its mesh, and how layers and rows are distributed over it.
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
  std::int64_t stages = 1, replicas = 1;  // devices along `axis` and `batch_axis`
  std::int64_t layers = 1;                // per device
  std::int64_t microbatches = 1;
  Leaves params, batch, targets, head;

  PartitionSpec layer_spec() const { return P(axis); }
  PartitionSpec row_spec() const { return batch_axis.empty() ? P() : P(batch_axis); }
  /// From each stage to the next, and to the previous one.
  Permutation onwards() const;
  Permutation back() const;
};

/// `loss` may be null. Throws the errors documented in tessera/pipeline.h.
PipelineFrame pipeline_frame(const char* function, const Call& stage, const Call* loss,
                             const PipelineOptions& options, const SourceLoc& loc);

/// "f32[8,3]".
std::string type_text(const Array& x);
/// Lists the leaves of an argument in `m`, under the name that the user knows it by.
void list_leaves(Message& m, const Call& call, std::size_t argument, const std::string& name);

/// The non-empty leaves of an argument.
Leaves argument_leaves(const Call& call, std::size_t argument);
/// The leaves typed as varying over the pipeline's devices, so that their derivatives are summed
/// over devices once, where the values come from, rather than at each use inside loops.
Leaves own_values(const Leaves& leaves, const PipelineFrame& frame);

}  // namespace tessera::inline v0::detail
