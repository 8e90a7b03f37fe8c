// The input of a plan: a traced program and the shardings requested for it.
#pragma once

#include "spmd/partition/program_shardings.h"

#include <tessera/plan.h>

#include <memory>
#include <string>
#include <vector>

namespace tessera::inline v0::runtime {
class Backend;
}

namespace tessera::inline v0::explain {

struct Question {
  std::string name;  // shown to the user
  ProgramPtr program;
  /// Null: the program runs as it is, on one device or through its own shard_map.
  std::shared_ptr<const spmd::ProgramShardings> cutting;
  /// Key paths of the program's inputs and outputs.
  std::vector<std::string> inputs, outputs;
  std::vector<bool> donated = {};  // by input; empty: none
  /// The platform that runs the program; null: the CPU.
  const runtime::Backend* platform = nullptr;
};

Plan make(const Question& question, const PlanOptions& options);

}  // namespace tessera::inline v0::explain
