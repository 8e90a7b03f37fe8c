// Walks a tape.
#pragma once

#include "codegen/tape/tape.h"
#include "runtime/work_ledger.h"

#include <vector>

namespace tessera::inline v0::runtime {

class CallGiven;

/// Memory of one execution of a tape: pointers of arguments and results, temporaries, and
/// temporaries of each worker.
struct Frame {
  std::byte** table = nullptr;
  std::byte* arena = nullptr;
  std::byte* local = nullptr;
  CallGiven* given = nullptr;  // what its exchanges tell others of the call; that of bodies too

  Frame() = default;
  /// Lays a frame out in `memory`, which has tape.frame_bytes.
  Frame(const tape::Tape& tape, std::byte* memory, CallGiven* given = nullptr);
};

struct Coords {
  std::int64_t at[32] = {};
};

/// Who runs a step: a lane (which local memory is its own), whether it may spread over the
/// workers, and who counts what bodies inside do.
struct Lane {
  std::int64_t index = 0;
  bool spread = false;
  WorkShare counted = {};
};

/// Runs all phases. The table of the frame must be filled. Exceptions of evaluators and
/// CollectiveErrors pass through.
void execute(const tape::Tape& tape, const Frame& frame, bool spread, WorkShare counted = {});

/// A tape that is nothing but routines and copies, run once each: the body of a small loop. Its
/// operands are looked up once, so that a turn costs the routines and little else.
class StraightLine {
 public:
  static bool fits(const tape::Tape& tape);
  /// `frame` must outlive it; the pointers in its table may change between runs.
  StraightLine(const tape::Tape& tape, const Frame& frame);
  /// As execute().
  void run(bool spread, WorkShare counted);

 private:
  struct Moving {
    std::size_t pointer;
    std::byte* const* entry;  // of the frame's table
    std::int64_t offset;
  };
  struct Item {
    const tape::Step* step;
    std::size_t inputs, outputs;  // where its pointers begin
    void* scratch;
  };
  std::vector<Item> items_;
  std::vector<void*> pointers_;
  std::vector<Moving> moving_;  // those that come from the table
  Work work_;                   // of a turn
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
/// Sets `c` to each instance of `mask` that this process has in turn, in the order of instance
/// numbers, and calls f(number).
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
/// The collectives of a phase as one parallel loop, and what they exchange with other processes.
void run_collectives(const tape::Tape& tape, const Frame& frame, const tape::Phase& phase,
                     bool spread);
/// scan, while and cond.
void run_control(const tape::Tape& tape, const Frame& frame, const tape::Step& step,
                 const Coords& c, Lane lane);

/// Work below this runs where it is; handing it to the workers would cost more.
inline constexpr double kWorthSpreading = 2e-5;

}  // namespace tessera::inline v0::runtime
