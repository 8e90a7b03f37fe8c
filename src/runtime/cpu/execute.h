// Interprets a tape.
#pragma once

#include "codegen/tape/tape.h"
#include "runtime/work_ledger.h"

#include <vector>

namespace tessera::inline v0::runtime {

class CallForms;
class CallGiven;

/// The memory of one execution of a tape: pointers to arguments and results, temporaries, and each
/// worker's local temporaries.
struct Frame {
  std::byte** table = nullptr;
  std::byte* arena = nullptr;
  std::byte* local = nullptr;
  CallGiven* given = nullptr;  // identifies the call's inputs in exchanges, also for bodies
  CallForms* forms = nullptr;  // of operands that do not change; null for bodies

  Frame() = default;
  /// Lays out a frame in `memory`, which has tape.frame_bytes bytes.
  Frame(const tape::Tape& tape, std::byte* memory, CallGiven* given = nullptr);
};

struct Coords {
  std::int64_t at[32] = {};
};

/// The context of a step: a lane with its own local memory, whether it may spread over the workers,
/// and where bodies count their work.
struct Lane {
  std::int64_t index = 0;
  bool spread = false;
  WorkShare counted = {};
};

/// Runs all phases. The frame's table must be filled. Exceptions of evaluators and CollectiveErrors
/// propagate.
void execute(const tape::Tape& tape, const Frame& frame, bool spread, WorkShare counted = {});

/// A tape that consists only of routines, copies and native loops, each run once, such as the body
/// of a small loop. Operands are looked up once, so that an iteration costs little more than the
/// routines.
class StraightLine {
 public:
  static bool fits(const tape::Tape& tape);
  /// `frame` must outlive it; the pointers in its table may change between runs.
  StraightLine(const tape::Tape& tape, const Frame& frame);
  /// Like execute().
  void run(bool spread, WorkShare counted);

 private:
  struct Moving {
    std::size_t pointer;
    std::byte* const* entry;  // in the frame's table
    std::int64_t offset;
  };
  struct Item {
    const tape::Step* step = nullptr;
    const Routine* routine = nullptr;  // null: a copy of `box`
    const Routine* reader = nullptr;   // runs if there is a form; null if there never is
    std::size_t form = 0;              // its pointer
    const BoxCopy* box = nullptr;
    const tape::Native* loop = nullptr;   // whose function `routine` is
    std::size_t inputs = 0, outputs = 0;  // the start of its pointers
    void* scratch = nullptr;
  };
  std::vector<Item> items_;
  std::vector<void*> pointers_;
  std::vector<Moving> moving_;  // pointers that come from the table
  Work work_;                   // of one iteration
};

std::byte* address(const tape::Tape& tape, const Frame& frame, std::int64_t lane,
                   const tape::Ref& ref, const Coords& c);

/// The coordinates of instance `number` of `mask`.
inline void set_instance(const tape::Tape& tape, tape::Mask mask, std::int64_t number, Coords& c) {
  for (std::size_t a = tape.axes.size(); a-- > 0;)
    if (mask >> a & 1) {
      c.at[a] = number % tape.axes[a].size;
      number /= tape.axes[a].size;
    }
}
/// Sets `c` to each instance of `mask` that this process holds, in the order of instance numbers,
/// and calls f(number).
template <class F>
void for_instances(const tape::Tape& tape, tape::Mask mask, Coords& c, F&& f) {
  if (const std::vector<std::int64_t>* here = tape.instances_here(mask)) {
    for (const std::int64_t number : *here) {
      set_instance(tape, mask, number, c);
      f(number);
    }
    return;
  }
  int axes[32], n = 0;
  for (std::size_t a = 0; a < tape.axes.size(); ++a)
    if (mask >> a & 1) axes[n++] = static_cast<int>(a), c.at[a] = 0;
  for (std::int64_t number = 0;; ++number) {
    f(number);
    int d = n - 1;
    while (d >= 0 && ++c.at[axes[d]] == tape.axes[static_cast<std::size_t>(axes[d])].size)
      c.at[axes[d--]] = 0;
    if (d < 0) return;
  }
}
/// Runs the collectives of a phase as one parallel loop, including their exchanges with other
/// processes.
void run_collectives(const tape::Tape& tape, const Frame& frame, const tape::Phase& phase,
                     bool spread);
/// Runs control flow. `kind` is that of the step.
void run_control(const tape::Tape& tape, const Frame& frame, const tape::Step& step,
                 const tape::ScanStep& kind, const Coords& c, Lane lane);
void run_control(const tape::Tape& tape, const Frame& frame, const tape::Step& step,
                 const tape::WhileStep& kind, const Coords& c, Lane lane);
void run_control(const tape::Tape& tape, const Frame& frame, const tape::Step& step,
                 const tape::CondStep& kind, const Coords& c, Lane lane);

/// Work shorter than this (in seconds) runs on the caller, because using the workers would cost
/// more.
inline constexpr double kWorthSpreading = 2e-5;

}  // namespace tessera::inline v0::runtime
