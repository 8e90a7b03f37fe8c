// A whole program cut into one that every device of a mesh runs.
#pragma once

#include "ir/mesh.h"
#include "ir/program.h"
#include "spmd/place/links.h"

#include <optional>
#include <string>
#include <vector>

namespace tessera::inline v0::spmd {

/// How a value is to lie: by its spec, and in its open dimensions as the others want it.
struct RequestedSpec {
  Spec spec;
  std::vector<bool> open = {};  // by dimension; none past the end
};

/// What is asked of a program. Inputs and outputs behind the end, and those that are absent, are
/// free.
struct ProgramShardings {
  MeshRef mesh;
  std::vector<std::optional<RequestedSpec>> inputs = {}, outputs = {};
  /// The mesh is one without devices: a program for it is planned and never run.
  bool abstract = false;
  Links links = {};  // where somebody said what they are like
};

/// "Mesh('data': 2, 'model': 4)", "AbstractMesh('data': 64)", as the user's mesh says of itself.
std::string mesh_text(const ProgramShardings& how);

/// The program as it is handed on to be cut: what is asked of its ends stands in it too, as
/// constraints, so that it holds wherever the program is inlined.
ProgramPtr constrained(const Program& program, const ProgramShardings& how,
                       const SourceLoc& loc = {});

/// A program of the same types whose whole work is one shard_map over the mesh.
ProgramPtr partition_program(const ProgramPtr& program, const ProgramShardings& how);
/// That, with what the partitioner says about it.
struct Partitioned;  // spmd/partition/partition.h
Partitioned partitioned(const ProgramPtr& program, const ProgramShardings& how);

}  // namespace tessera::inline v0::spmd
