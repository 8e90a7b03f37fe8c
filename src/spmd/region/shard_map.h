// The attributes of a shard_map equation, read once.
#pragma once

#include "ir/mesh.h"
#include "ir/op.h"
#include "ops/build.h"

#include <vector>

namespace tessera::inline v0::spmd {

struct ShardMap {
  explicit ShardMap(const Attrs& attrs);
  /// `manual_axes` are some of the mesh, in its order; none: all.
  ShardMap(ProgramPtr program, const MeshRef& devices, Strings manual_axes, Specs in, Specs out,
           bool with_types);
  Attrs attrs() const;

  ProgramPtr body;
  MeshRef device_mesh;
  Strings manual;  // as in the attribute: empty where all axes are
  /// The axes along which the body is for one device. Along others that the device mesh has, it is
  /// for all of them together, and is partitioned with what is around it.
  MeshShape mesh;
  Specs in_specs, out_specs;
  bool typed;

  /// Whether the mesh has axes that are not this region's.
  bool is_partial() const { return !manual.empty(); }
  AxisSet axes() const;
  /// Without the region's own axes: those of regions around it.
  AxisSet outer(AxisSet set) const;
  /// Axes of the mesh that `spec` does not name.
  std::vector<std::string> unnamed(const Spec& spec) const;
  /// For each body input the axes along which its blocks differ: those of its spec.
  std::vector<AxisSet> input_axes() const;
};

/// Emits it. In a typed one operands and body come to agree: what differs along axes of regions
/// around this one does so inside too, and a result varies over exactly the axes of its spec.
Values emit_shard_map(Builder& b, ShardMap map, std::span<const Value> inputs);

/// The rules, in shard_map_rules.cc.
JvpBoth shard_map_jvp(const JvpBothArgs& a);
PartialEvalResult shard_map_partial_eval(const PartialEvalArgs& a);
MaybeValues shard_map_transpose(const TransposeArgs& a);
BatchResult shard_map_batch(const BatchArgs& a);

}  // namespace tessera::inline v0::spmd
