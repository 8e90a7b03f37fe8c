// Compiled work: what kernels and library calls have in common for the executor. Ops that a routine
// carries out make theirs here (`Op::call`).
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

/// Memory that a routine works on: dense row-major buffers, in the order of its inputs and outputs,
/// and scratch of the size that the routine asked for (64-byte aligned, contents undefined).
struct RoutineArgs {
  const void* const* inputs;
  void* const* outputs;
  void* scratch;
};

/// Tasks [begin, end) of one stage; may run on any thread, several at once with distinct tasks.
using TaskFn = std::function<void(const RoutineArgs&, std::int64_t begin, std::int64_t end)>;

/// Stages run in order; the tasks of a stage are independent. How work is cut into tasks depends on
/// shapes alone, never on the number of workers, so results do not either.
struct Stage {
  std::int64_t tasks = 1;
  TaskFn run;
};

struct Routine {
  std::string name;  // shown in profiles: "tanh+mul+add", "dot_general"
  std::vector<Stage> stages;
  std::size_t scratch_bytes = 0;
  std::size_t bytes = 0;  // of machine code and the like, roughly
  /// Whether it calls a library that destroys its variables at the end of the process.
  bool library = false;
  double seconds = 0;  // rough estimate of one execution on one core, to decide inline or pool
  /// Pairs (input, output) that may be given the same memory: every task reads that input only
  /// where it writes that output.
  std::vector<std::pair<int, int>> in_place;
};

/// One equation that a routine is made for.
struct CallArgs {
  const Op& op;
  const Attrs& attrs;
  std::span<const Type> inputs;
  std::span<const Type> outputs;
};
/// nullptr where there is none for these types.
using CallRule = std::function<std::shared_ptr<const Routine>(const CallArgs&)>;

}  // namespace tessera::inline v0
