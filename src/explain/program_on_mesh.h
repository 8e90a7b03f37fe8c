// A program and the one that each device runs, with what is asked of one device.
#pragma once

#include "explain/question.h"
#include "spmd/partition/partition.h"
#include "transform/messages.h"

#include <optional>
#include <string_view>

namespace tessera::inline v0::explain {

struct ProgramOnMesh {
  MeshRef mesh;  // without axes: one device, or several meshes
  spmd::AtomMesh atoms;
  spmd::Links links;
  MessageSize message_size;               // of the program, whatever a plan is priced by
  std::optional<spmd::Partitioned> made;  // where the partitioner made it
  ProgramPtr whole;                       // as traced, kept for the causes
  /// What the platforms compile: the device's program stands in it as a region.
  ProgramPtr simplified;
  std::vector<spmd::Placement> inputs, outputs;

  /// Whose values have placements and whose equations are causes: the program, or what the
  /// partitioner made of it first, of the same inputs and outputs.
  const Program& placed() const { return made ? *made->whole : *whole; }
  /// What a device runs: the region's body, or all of it.
  ProgramPtr of_device() const;
  std::string spec(const spmd::Placement& p) const { return atoms.to_string(p); }
  Type part(const Type& whole_type, const spmd::Placement& p) const {
    return Type(whole_type.dtype, atoms.local_shape(whole_type.shape, p), whole_type.weak);
  }
};

/// Whose devices are neighbours along an axis of a mesh.
struct Spread {
  std::int64_t processes = 1, machines = 1;
};
Spread spread_along(const DeviceMesh& mesh, std::size_t axis);

/// Speeds along the axes of a mesh.
spmd::Links links_of(const DeviceMesh& mesh, const spmd::ProgramShardings* cutting,
                     const PlanOptions& options);

/// The bytes that a link carries while a message waits for its latency. The links are those that the
/// program was cut for, or default ones.
MessageSize message_size_of(const MeshRef& mesh, const spmd::ProgramShardings* cutting);

/// By the cutting; else by the shard_maps in it, where they are over one mesh; else one device has
/// all of it. What shard_maps neither take nor give is whole.
ProgramOnMesh program_on_mesh(const ProgramPtr& program, const spmd::ProgramShardings* cutting,
                              const PlanOptions& options);

}  // namespace tessera::inline v0::explain
