// Turns a program into a tape.
#pragma once

#include "codegen/tape/tape.h"
#include "ir/program.h"

#include <atomic>
#include <memory>
#include <span>
#include <string_view>
#include <vector>

namespace tessera::inline v0::tape {

/// Mesh axes along which devices have memories of their own: what lies on one of them another
/// reads by communication only, so that each computes and stores its own.
struct Apart {
  bool all = false;
  AxisSet axes;
};

/// Processes that run one program together: device d is of process d / devices.
struct Together {
  int count = 1, rank = 0;
  std::int64_t devices = 0;  // of each
  bool operator==(const Together&) const = default;
};

struct TapeOptions {
  Apart apart;
  Together together;
  bool evaluate =
      false;  // the ops' evaluators only, nothing fused: the oracle of compiled execution
  int workers = 1;
  std::vector<bool> uniform;  // by input: its blocks are one block
  std::vector<bool> donated;  // by input
  /// The program as the user wrote it, for processes that come to different ones; null: there are no others.
  std::shared_ptr<const processes::Listed> listed;
};

/// Communication that holds up so many bytes is worth a phase of its own where that saves memory: a
/// phase costs 5 us on the workers' barrier, a twentieth of the time that memory of 10 GB/s takes for
/// them. Tests set 0, at which it always has one, so that small programs are put in order as large ones.
extern std::atomic<std::int64_t> bytes_worth_a_phase;

/// The passes of the planner by name, in the order in which it runs them: "joint_products",
/// "updates", "fuse", "stretches". They go through the door of transform/pass.h.
std::span<const std::string_view> tape_passes();

/// Flattens shard_maps into one list of equations, decides over which axes each is executed, fuses,
/// compiles, orders the steps into few phases and assigns memory by liveness. Nothing in the tape
/// grows with the number of devices but the values that each of them has. Throws the user's errors
/// of called ops; thread-safe.
std::shared_ptr<const Tape> make_tape(const Program& p, const TapeOptions& options);

}  // namespace tessera::inline v0::tape
