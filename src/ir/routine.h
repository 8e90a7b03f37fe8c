// Compiled work: the common interface of kernels and library calls for the executor. Ops that are
// executed by a routine create it here (`Op::call`).
#pragma once

#include "ir/attrs.h"

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

namespace tessera::inline v0 {

struct Op;

/// The memory that a routine works on: dense row-major buffers in the order of its inputs and
/// outputs, and scratch memory of the size it asked for (64-byte aligned, uninitialised).
struct RoutineArgs {
  const void* const* inputs;
  void* const* outputs;
  void* scratch;
};

/// Runs tasks [begin, end) of one stage. May run on any thread, concurrently with other tasks of
/// the stage.
using TaskFn = std::function<void(const RoutineArgs&, std::int64_t begin, std::int64_t end)>;

/// Stages run in order; the tasks of a stage are independent. How work is divided into tasks
/// depends only on shapes, never on the number of workers, so results do not depend on it either.
struct Stage {
  std::int64_t tasks = 1;
  TaskFn run;
};

struct Routine {
  std::string name;  // shown in profiles: "tanh+mul+add", "dot_general"
  std::vector<Stage> stages;
  std::size_t scratch_bytes = 0;
  std::size_t bytes = 0;  // approximate memory held, e.g. machine code
  /// Whether it calls a library that destroys its static variables when the process ends.
  bool library = false;
  double seconds = 0;  // estimated time on one core, to choose between inline and the pool
  /// Pairs (input, output) that may share memory: every task reads that input only where it writes
  /// that output.
  std::vector<std::pair<int, int>> in_place;
};

/// The equation for which a routine is requested.
struct CallArgs {
  const Op& op;
  const Attrs& attrs;
  std::span<const Type> inputs;
  std::span<const Type> outputs;
};
/// Returns nullptr if there is no routine for these types.
using CallRule = std::function<std::shared_ptr<const Routine>(const CallArgs&)>;

}  // namespace tessera::inline v0
