// The input of a plan: a traced program and the shardings requested for it.
#pragma once

#include "spmd/partition/program_shardings.h"

#include <tessera/plan.h>

#include <functional>
#include <memory>
#include <string>
#include <vector>

namespace tessera::inline v0::explain {

struct DeviceMemory;   // explain/memory.h
struct ProgramOnMesh;  // explain/program_on_mesh.h

/// Plans the memory of one device of a platform (runtime/backend.h). `donated` is by input, and
/// empty if there are none.
using MemoryPlanner = std::function<DeviceMemory(
    const ProgramOnMesh& program, const std::vector<bool>& donated, const PlanOptions& options)>;

struct Question {
  std::string name;  // shown to the user
  ProgramPtr program;
  /// Null: the program runs as it is, on one device or through its own shard_map.
  std::shared_ptr<const spmd::ProgramShardings> cutting;
  /// Key paths of the program's inputs and outputs.
  std::vector<std::string> inputs, outputs;
  std::vector<bool> donated = {};  // by input; empty: none
  MemoryPlanner plan_memory = {};  // of the platform that runs the program; empty: memory_of
};

Plan make(const Question& question, const PlanOptions& options);

}  // namespace tessera::inline v0::explain
