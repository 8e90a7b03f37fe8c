// Partitions a program over whole arrays into one per-device program with explicit collectives.
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
  /// For tests: fill padding with NaN (or an extreme integer) before every equation, so that any
  /// read of padding shows up in the result.
  bool poison = false;
};

/// A collective of a partitioned program and the reason for it.
struct CollectiveCause {
  MoveKind kind = MoveKind::all_gather;
  std::vector<std::string> axes;  // of the mesh
  std::string op;                 // of the equation that needed it; "output" at the end
  SourceLoc loc;
  Type whole;  // of the moved value
  Placement from, to;
  std::int64_t bytes = 0;              // received per device at most, each time
  std::int64_t times = 1;              // product of the lengths of enclosing loops
  bool in_while = false;               // and an unknown number of while iterations
  const Equation* equation = nullptr;  // that needed it; null at the end
};
std::string to_string(const AtomMesh& mesh, const CollectiveCause& cause);

struct Partitioned {
  /// A program with the same inputs and outputs whose whole work is one typed `shard_map` over the
  /// mesh. The specs are the placements below. An output that is requested as partial results has a
  /// new dimension 0, which the unreduced axes partition into rows, each a partial result; the
  /// combiner reduces the rows to the output.
  ProgramPtr program;
  std::vector<Placement> inputs, outputs;
  /// In program order, with those of loops in place.
  std::vector<CollectiveCause> collectives;
  /// The program that was divided: the given one, or its rewritten form. `equation` in the causes
  /// points into it.
  ProgramPtr whole = {};
  /// The placements of `whole`; keeps its nested programs alive.
  std::optional<Propagation> where = {};
};

/// Partitions every value along whole axes, as propagation decided (spmd/propagate/propagate.h). If
/// the axes do not divide a dimension, the last parts are short or empty. On the device they are
/// padded to the length of the first, and padding never reaches a result. Each equation's work is
/// divided in the cheapest way (spmd/partition/divide.h). Operands are resharded to it, once for
/// all readers that need the same placement. Results, including partial sums, keep the placement in
/// which they come out until something reads them. Factors along which the op cannot be divided are
/// computed whole. If only the first or last elements of a sort are read, only these are computed
/// (transform/simplify.h). Slices of partitioned dimensions whose own extents no axis divides are
/// merged into the operations that reassemble them (spmd/partition/uncut_pieces.h).
///
/// Deterministic. Nothing except the sizes of parts depends on the number of devices. Throws
/// ShardingError if an input or output is requested in parts that do not divide it, if an input is
/// requested as a partial result, and if the program contains constraints or `shard_map`s over
/// other meshes or untyped ones. The body of a `shard_map` over this mesh is partitioned over the
/// axes that are not manual in it; its collectives along its own axes are kept.
Partitioned partition(const ProgramPtr& program, const MeshRef& mesh,
                      const PartitionOptions& options = {});

}  // namespace tessera::inline v0::spmd
