// Requested shardings of a whole program, and its partitioning into a per-device program.
#pragma once

#include "ir/combiner.h"
#include "ir/mesh.h"
#include "ir/program.h"
#include "spmd/place/links.h"

#include <optional>
#include <string>
#include <vector>

namespace tessera::inline v0::spmd {

/// The requested sharding of a value: its spec, and the dimensions that propagation may shard
/// further.
struct RequestedSpec {
  Spec spec;
  std::vector<bool> open = {};  // by dimension; false past the end
  /// For outputs: the axes along which the devices keep partial results, and how these combine.
  std::vector<std::string> unreduced = {};
  Combiner combiner = Combiner::add;
};

/// The shardings requested for a program. Inputs and outputs that are missing or absent are free.
struct ProgramShardings {
  MeshRef mesh;
  std::vector<std::optional<RequestedSpec>> inputs = {}, outputs = {};
  /// The mesh has no devices: the program is planned but never run.
  bool abstract = false;
  Links links = {};  // if the user specified link speeds
};

/// The text of the mesh in messages: "Mesh('data': 2, 'model': 4)", "AbstractMesh('data': 64)",
/// "Mesh('data': 2) of 'cuda'".
std::string mesh_text(const ProgramShardings& how);

/// The program to be partitioned. The shardings requested for inputs and outputs are added to it as
/// constraints, so that they hold wherever the program is inlined.
ProgramPtr constrained(const Program& program, const ProgramShardings& how,
                       const SourceLoc& loc = {});

/// Whether another partitioner can divide the program with these shardings: the requested ones
/// divide all extents evenly, and no output is requested as partial results.
bool can_be_left_whole(const Program& program, const ProgramShardings& how);

/// A program whose whole work is one shard_map over the mesh. It has the same types, except that an
/// output requested with `unreduced` axes has a new dimension 0 with a row for each of their
/// positions: the partial results (spmd/partition/partition.h).
ProgramPtr partition_program(const ProgramPtr& program, const ProgramShardings& how);
/// The same program together with the partitioner's report.
struct Partitioned;  // spmd/partition/partition.h
Partitioned partitioned(const ProgramPtr& program, const ProgramShardings& how);

}  // namespace tessera::inline v0::spmd
