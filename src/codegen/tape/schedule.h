// How steps are put in order: what waits for what, the order that memory wants, the rounds between
// communication, and phases of them.
#pragma once

#include "codegen/tape/context.h"

#include <compare>
#include <limits>

namespace tessera::inline v0::tape {

using StepNumber = std::uint32_t;

/// By step of a draft: those that come before it and after it, and those of the former whose phase
/// has to be over when it begins.
struct StepGraph {
  explicit StepGraph(const DraftTape& draft);
  std::vector<std::vector<StepNumber>> before, users, behind;
};

/// An order of all steps.
struct StepOrder {
  std::vector<StepNumber> steps;
  /// By step: communication that takes more memory than it frees, and what only prepares that of what
  /// the caller has. It comes as late as it can.
  std::vector<bool> late;
};
StepOrder program_order(const DraftTape& draft);
/// That of the program, but that a step comes as soon as it can where it frees as much as it takes,
/// and one that is `late` just before the first that needs it.
StepOrder memory_order(const TapeContext& ctx, const DraftTape& draft, const StepGraph& graph);

/// What communication may hold up.
struct Held {
  /// While no more than so many bytes of operands wait for communication, or of results for their
  /// readers, it is one round. Default: all communication waits for as much other as can share its
  /// phase.
  std::int64_t bytes = kUnbounded;
  /// What is late comes a round before its readers', so that there is work beside it.
  bool round_ahead = false;
  static constexpr std::int64_t kUnbounded = std::numeric_limits<std::int64_t>::max();
  bool operator==(const Held&) const = default;
};

/// By step, its round. A round is one phase of communication and the work that follows.
std::vector<int> rounds_of(const DraftTape& draft, const StepGraph& graph, const StepOrder& order,
                           const Held& held);
/// Whether a step exchanges something with other processes.
bool exchanges(const TapeContext& ctx, const Step& step);
/// Rounds in which work that no communication of the next round waits for is that round's: it is
/// done beside what is exchanged with other processes then.
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
  int begins = 0;  // as Phase's
};
struct Outline {
  std::vector<PhaseOutline> phases;
  /// What communication with other processes takes less because work goes on beside it.
  double seconds_beside = 0;
};
/// The fewest phases within each round; and where other processes take part, work beside what is
/// exchanged with them.
Outline phases_of(const TapeContext& ctx, const DraftTape& draft, const StepGraph& graph,
                  const StepOrder& order, const std::vector<int>& rounds);

/// Instances of the steps of such a phase.
std::int64_t instances_of(const Tape& tape, const PhaseKey& key);

}  // namespace tessera::inline v0::tape
