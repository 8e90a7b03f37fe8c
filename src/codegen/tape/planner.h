// Turns a program into a tape.
#pragma once

#include "base/machine.h"
#include "codegen/tape/tape.h"
#include "ir/program.h"

#include <cstdint>
#include <memory>
#include <span>
#include <string_view>
#include <vector>

namespace tessera::inline v0::tape {

/// Mesh axes along which devices have separate memories. Along them a device reads another's values
/// only through communication, so each device computes and stores its own.
struct Apart {
  bool all = false;
  AxisSet axes;
};

/// Processes that run one program together. Device d belongs to process d / devices.
struct Together {
  int count = 1, rank = 0;
  std::int64_t devices = 0;  // per process
  bool operator==(const Together&) const = default;
};

struct TapeOptions {
  Apart apart;
  Together together;
  bool evaluate =
      false;  // run the ops' evaluators without fusion: the reference for compiled execution
  int workers = 1;
  std::vector<bool> uniform;  // by input: all devices have the same block
  std::vector<bool> donated;  // by input
  /// Communication may get a separate phase, to save memory, if values of this many bytes wait for
  /// it. With 0 it always does, so that tests order small programs like large ones.
  std::int64_t bytes_worth_a_phase = machine::kBytesWorthAPhase;
  /// The program as the user wrote it, to report programs that differ between processes. Null if
  /// there are no other processes.
  std::shared_ptr<const processes::Listed> listed;
};

/// The planner's passes by name, in the order in which they run: "joint_products", "operands",
/// "updates", "fuse", "stretches", "nests", "panels", "forms". Each runs through PassRun
/// (transform/pass.h).
std::span<const std::string_view> tape_passes();

/// Flattens shard_maps into one list of equations, chooses the axes over which each is executed,
/// fuses, compiles, orders the steps into few phases and assigns memory by liveness. Only values
/// that are stored per device make the tape grow with the number of devices. Rethrows the user's
/// errors of called ops; thread-safe.
std::shared_ptr<const Tape> make_tape(const Program& p, const TapeOptions& options);

}  // namespace tessera::inline v0::tape
