// The attributes of a shard_map equation in parsed form.
#pragma once

#include "ir/mesh.h"
#include "ir/op.h"
#include "ir/region_attrs.h"
#include "ops/build.h"

#include <vector>

namespace tessera::inline v0::spmd {

struct ShardMap {
  explicit ShardMap(const Attrs& attrs);
  explicit ShardMap(const RegionAttrs& attrs);
  /// `manual_axes` is a subset of the mesh axes, in mesh order; empty means all of them.
  ShardMap(ProgramPtr program, const MeshRef& devices, Strings manual_axes, Specs in, Specs out,
           bool with_types);
  Attrs attrs() const;

  ProgramPtr body;
  MeshRef device_mesh;
  Strings manual;  // as in the attribute: empty if all axes are manual
  /// The axes along which the body is a per-device program. Along the other axes of the device mesh
  /// the body is written for all devices together, and is partitioned with the surrounding program.
  MeshShape mesh;
  Specs in_specs, out_specs;
  bool typed;

  /// Whether the mesh has axes that are not manual in this region.
  bool is_partial() const { return !manual.empty(); }
  AxisSet axes() const;
  /// The set without this region's own axes, which leaves those of enclosing regions.
  AxisSet outer(AxisSet set) const;
  /// Axes of the mesh that `spec` does not name.
  std::vector<std::string> unnamed(const Spec& spec) const;
  /// For each body input, the axes along which its blocks differ: those of its spec.
  std::vector<AxisSet> input_axes() const;
};

/// Emits the equation. If it is typed, the varying axes of operands and body are reconciled: a
/// value that varies along axes of an enclosing region does so inside, too, and a result varies
/// over exactly the axes of its spec.
Values emit_shard_map(Builder& b, ShardMap map, std::span<const Value> inputs);

/// Transformation rules, defined in shard_map_rules.cc.
JvpBoth shard_map_jvp(const JvpBothArgs& a);
PartialEvalResult shard_map_partial_eval(const PartialEvalArgs& a);
MaybeValues shard_map_transpose(const TransposeArgs& a);
BatchResult shard_map_batch(const BatchArgs& a);

}  // namespace tessera::inline v0::spmd
