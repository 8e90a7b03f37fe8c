// A program, the program that each device runs, and the placements of its values.
#pragma once

#include "explain/question.h"
#include "spmd/partition/partition.h"
#include "transform/messages.h"

#include <optional>
#include <string_view>

namespace tessera::inline v0::explain {

struct ProgramOnMesh {
  MeshRef mesh;  // without axes if there is one device or several meshes
  spmd::AtomMesh atoms;
  spmd::Links links;
  MessageSize message_size;               // for the program, whatever speeds the plan assumes
  std::optional<spmd::Partitioned> made;  // absent if the partitioner did not run
  ProgramPtr whole;                       // as traced; keeps the equations of causes alive
  /// The program that the platforms compile; the device's program is a region in it.
  ProgramPtr simplified;
  std::vector<spmd::Placement> inputs, outputs;

  /// The program whose values have placements and whose equations are causes: the traced program or
  /// the partitioner's rewritten form of it, which has the same inputs and outputs.
  const Program& placed() const { return made ? *made->whole : *whole; }
  /// The program that a device runs: the region's body, or the whole program.
  ProgramPtr of_device() const;
  std::string spec(const spmd::Placement& p) const { return atoms.to_string(p); }
  Type part(const Type& whole_type, const spmd::Placement& p) const {
    return Type(whole_type.dtype, atoms.local_shape(whole_type.shape, p), whole_type.weak);
  }
};

/// How many processes and machines the devices along a mesh axis are spread over.
struct Spread {
  std::int64_t processes = 1, machines = 1;
};
Spread spread_along(const DeviceMesh& mesh, std::size_t axis);

/// Link speeds along the axes of a mesh.
spmd::Links links_of(const DeviceMesh& mesh, const spmd::ProgramShardings* cutting,
                     const PlanOptions& options);

/// The number of bytes that a link could carry during its latency. Uses the links that the program
/// was partitioned for, or default ones.
MessageSize message_size_of(const MeshRef& mesh, const spmd::ProgramShardings* cutting);

/// Partitions the program according to `cutting`. Without it, follows the shard_maps in the program
/// if they are all over one mesh; otherwise one device holds everything. Values that are not inputs
/// or outputs of a shard_map are whole.
ProgramOnMesh program_on_mesh(const ProgramPtr& program, const spmd::ProgramShardings* cutting,
                              const PlanOptions& options);

}  // namespace tessera::inline v0::explain
