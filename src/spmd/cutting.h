// A whole program cut into one that every device of a mesh runs.
#pragma once

#include "ir/mesh.h"
#include "ir/program.h"

#include <optional>
#include <vector>

namespace tessera::inline v0::spmd {

/// How a value is to lie: by its spec, and in its open dimensions as the others want it.
struct SpecWanted {
  Spec spec;
  std::vector<bool> open = {};  // by dimension; none past the end
};

/// What is asked of a program. Inputs and outputs behind the end, and those that are absent, are
/// free.
struct Cutting {
  MeshRef mesh;
  std::vector<std::optional<SpecWanted>> inputs = {}, outputs = {};
};

/// A program of the same types whose whole work is one shard_map over the mesh.
ProgramPtr cut(const ProgramPtr& program, const Cutting& how);

}  // namespace tessera::inline v0::spmd
