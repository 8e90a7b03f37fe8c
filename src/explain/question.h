// What a plan is made of: a traced program, and how it is to be cut.
#pragma once

#include "spmd/partition/program_shardings.h"

#include <tessera/plan.h>

#include <memory>
#include <string>
#include <vector>

namespace tessera::inline v0::explain {

struct Question {
  std::string name;  // for people
  ProgramPtr program;
  /// Null: it runs as it is, on one device or by a shard_map of its own.
  std::shared_ptr<const spmd::ProgramShardings> cutting;
  /// Of the program's inputs and outputs.
  std::vector<std::string> inputs, outputs;
  std::vector<bool> donated = {};  // by input; none: nothing is
};

Plan make(const Question& question, const PlanOptions& options);

}  // namespace tessera::inline v0::explain
