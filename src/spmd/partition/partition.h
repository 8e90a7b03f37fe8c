// A program over whole arrays as one per-device program with explicit collectives.
#pragma once

#include "ir/mesh.h"
#include "spmd/place/links.h"
#include "spmd/propagate/propagate.h"

#include <optional>
#include <string>
#include <vector>

namespace tessera::inline v0::spmd {

struct PartitionOptions {
  /// Placements over `AtomMesh(*mesh, AtomMesh::Parts::axes)`.
  PropagationOptions wanted;
  Links links;
  /// For tests: what parts hold behind the end of the whole is NaN, or a loud integer, wherever an
  /// equation reads them.
  bool poison = false;
};

/// A collective of a partitioned program, and why it is there.
struct CollectiveCause {
  MoveKind kind = MoveKind::all_gather;
  std::vector<std::string> axes;  // of the mesh
  std::string op;                 // of the equation that needed it, "output" for the end
  SourceLoc loc;
  Type whole;  // of the value that moves
  Placement from, to;
  std::int64_t bytes = 0;              // that a device receives at most, each time
  std::int64_t times = 1;              // by the lengths of the loops around it
  bool in_while = false;               // and by nobody knows how many turns more
  const Equation* equation = nullptr;  // that needed it; null at the end
};
std::string to_string(const AtomMesh& mesh, const CollectiveCause& cause);

struct Partitioned {
  /// Of the same inputs and outputs. All of its work is one typed `shard_map` over the mesh, whose
  /// specs are the placements below.
  ProgramPtr program;
  std::vector<Placement> inputs, outputs;
  /// In the order of the program, what loops hold in its place.
  std::vector<CollectiveCause> collectives;
  /// What was divided: the program, or what was made of it first. Its equations are causes.
  ProgramPtr whole = {};
  /// Of that; keeps its nested programs.
  std::optional<Propagation> where = {};
};

/// Every value is cut along whole axes, as propagation has it (spmd/propagate/propagate.h). Where these do not
/// divide a dimension the last parts are short, or empty: on the device they are as long as the
/// first, and what they hold behind the end of the whole is never part of a result.
/// Each equation's work is divided in the cheapest way (spmd/partition/divide.h); operands are brought to it,
/// once for all readers that need them so; results stay where they come out, partial sums too,
/// until somebody reads them. Factors along which the op says no way to divide it are computed
/// whole. Of sorts whose first or last elements alone are read only these are made
/// (transform/simplify.h). Slices that no axis divides, of what axes divide, are taken into what is put together of
/// them (spmd/partition/uncut_pieces.h).
///
/// Deterministic. Nothing depends on the number of devices or grows with it but sizes of parts.
/// ShardingError where an input or output is asked for in parts that do not divide it, or as
/// partial results, and for constraints and `shard_map`s over other meshes, or without types, in
/// the program. The body of one over this mesh is divided over the axes that it leaves to others;
/// along its own its collectives stand as they are.
Partitioned partition(const ProgramPtr& program, const MeshRef& mesh,
                      const PartitionOptions& options = {});

}  // namespace tessera::inline v0::spmd
