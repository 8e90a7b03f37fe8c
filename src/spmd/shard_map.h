// The attributes of a shard_map equation, read once.
#pragma once

#include "ir/mesh.h"
#include "ir/op.h"
#include "ops/build.h"

#include <vector>

namespace tessera::inline v0::spmd {

struct ShardMap {
  explicit ShardMap(const Attrs& attrs);

  ProgramPtr body;
  MeshRef device_mesh;
  const DeviceMesh& mesh;
  Specs in_specs, out_specs;
  bool typed;

  /// Axes of the mesh that `spec` does not name.
  std::vector<std::string> unnamed(const Spec& spec) const;
  /// For each body input the axes along which its blocks differ: those of its spec.
  std::vector<AxisSet> input_axes() const;
};

/// The rules, in shard_map_rules.cc.
JvpBoth shard_map_jvp(const JvpBothArgs& a);
PartialEvalResult shard_map_partial_eval(const PartialEvalArgs& a);
MaybeValues shard_map_transpose(const TransposeArgs& a);
BatchResult shard_map_batch(const BatchArgs& a);

}  // namespace tessera::inline v0::spmd
