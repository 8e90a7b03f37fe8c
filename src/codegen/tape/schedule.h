// Ordering of steps: the dependency graph, an order that needs little memory, the rounds between
// communication, and their division into phases.
#pragma once

#include "codegen/tape/context.h"

#include <compare>
#include <limits>

namespace tessera::inline v0::tape {

using StepNumber = std::uint32_t;

/// The dependencies of each step of a draft. `before` are its predecessors and `users` its
/// successors; `behind` are the predecessors whose phase must be over when it begins.
struct StepGraph {
  explicit StepGraph(const DraftTape& draft);
  std::vector<std::vector<StepNumber>> before, users, behind;
};

/// An order of all steps.
struct StepOrder {
  std::vector<StepNumber> steps;
  /// For each step, collectives that allocate more memory than they free, and steps that only
  /// prepare their operands from the caller's arrays. These run as late as possible.
  std::vector<bool> late;
};
StepOrder program_order(const DraftTape& draft);
/// Follows the program's order, with two exceptions: a step that frees at least as much memory as
/// it takes runs as soon as it can, and a `late` step runs just before its first reader.
StepOrder memory_order(const TapeContext& ctx, const DraftTape& draft, const StepGraph& graph);

/// How much memory may wait for communication.
struct Held {
  /// Communication shares a round while at most this many bytes of operands wait for it, or of its
  /// results for their readers. By default all communication that can share a phase does so.
  std::int64_t bytes = kUnbounded;
  /// Late steps run one round before their readers, so that work can overlap them.
  bool round_ahead = false;
  static constexpr std::int64_t kUnbounded = std::numeric_limits<std::int64_t>::max();
  bool operator==(const Held&) const = default;
};

/// The round of each step. A round is one phase of communication and the work that follows it.
std::vector<int> rounds_of(const DraftTape& draft, const StepGraph& graph, const StepOrder& order,
                           const Held& held);
/// Whether a step communicates with other processes.
bool exchanges(const TapeContext& ctx, const Step& step);
/// Moves work to the next round if that round communicates with other processes and none of its
/// communication depends on the work, so that the two overlap.
void put_off(const TapeContext& ctx, const DraftTape& draft, const StepGraph& graph,
             const StepOrder& order, std::vector<int>& rounds);

/// Steps that may share a phase have the same key.
struct PhaseKey {
  enum class Kind { work, collective, together } kind = Kind::work;
  Mask mask = 0;
  auto operator<=>(const PhaseKey&) const = default;
};
struct PhaseOutline {
  PhaseKey key;
  std::vector<StepNumber> steps;
  int begins = 0;  // as in Phase
};
struct Outline {
  std::vector<PhaseOutline> phases;
  /// Seconds of communication with other processes that overlapping work hides.
  double seconds_beside = 0;
};
/// Divides each round into as few phases as possible. If other processes take part, work is
/// overlapped with the communication with them.
Outline phases_of(const TapeContext& ctx, const DraftTape& draft, const StepGraph& graph,
                  const StepOrder& order, const std::vector<int>& rounds);

/// The number of instances of a phase with this key.
std::int64_t instances_of(const Tape& tape, const PhaseKey& key);

}  // namespace tessera::inline v0::tape
