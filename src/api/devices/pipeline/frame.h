// What a call of a pipeline is about: its mesh, and how layers and rows are dealt out on it.
#pragma once

#include "api/trace/traced.h"

#include <tessera/collectives.h>
#include <tessera/partition_spec.h>
#include <tessera/pipeline.h>

#include <cstdint>
#include <string>
#include <vector>

namespace tessera::inline v0::detail {

/// Of a tree those that are not empty.
using Leaves = std::vector<Array>;

struct PipelineFrame {
  Mesh mesh;
  std::string axis, batch_axis;
  std::int64_t stages = 1, replicas = 1;  // devices along the two
  std::int64_t layers = 1;                // on each device
  std::int64_t microbatches = 1;
  Leaves params, batch, targets;

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
/// Rows (m n, ...) as microbatches (m, n, ...), and back.
Leaves in_microbatches(const Leaves& rows, std::int64_t microbatches);
Leaves in_rows(const Leaves& microbatches);

/// The layers of one device as a function of leaves: the user's, called on each layer in turn.
class PipelineLayers {
 public:
  PipelineLayers(const char* function, Call& call, std::int64_t count, const SourceLoc& loc)
      : function_(function), call_(call), count_(count), loc_(loc) {}
  /// Parameters of one layer lose their dimension of layers, and get it back. They do so outside of
  /// loops and branches: what is made in these of a parameter is kept for the derivative at each
  /// tick, and what comes from outside is not.
  Leaves unstacked(const Leaves& params) const;
  Leaves stacked(const Leaves& params) const;
  /// Throws where the activation comes out as it did not go in.
  Leaves operator()(const Leaves& unstacked_params, const Leaves& activation) const;

 private:
  Leaves layer(const Leaves& params, const Leaves& activation) const;

  const char* function_;
  Call& call_;
  std::int64_t count_;
  SourceLoc loc_;
};

}  // namespace tessera::inline v0::detail
