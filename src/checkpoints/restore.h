// Restores arrays on devices from a step on disk.
#pragma once

#include "checkpoints/step_folder.h"

#include <tessera/array.h>
#include <tessera/message.h>
#include <tessera/sharding.h>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace tessera::inline v0::checkpoints {

/// An entry to restore and its sharding; without one, the array is whole and uncommitted.
struct RequestedLeaf {
  std::size_t entry = 0;
  std::optional<Sharding> where;
};

/// The result of reading: arrays, or the problems with the step.
struct RestoredArrays {
  std::vector<Array> arrays;
  std::vector<Problem> problems;
};
/// Reads what the devices of this process need. Throws DeviceError if there is not enough memory.
RestoredArrays read_arrays(const StepFolder& folder, const std::vector<RequestedLeaf>& wanted,
                           bool verify, const SourceLoc& loc);

/// The requested step, or the newest. Throws IoError, which lists the existing steps, if there is
/// none.
std::int64_t choose_step(const char* function, const std::string& dir,
                         std::optional<std::int64_t> step, const SourceLoc& loc);
/// Opens the requested step, or the newest. If other processes remove or replace it meanwhile,
/// opens the one that exists then. Throws IoError if it is damaged or not readable.
StepFolder open_step(const char* function, const std::string& dir, std::optional<std::int64_t> step,
                     const SourceLoc& loc);
/// Throws the IoError for a step that is damaged or not readable.
[[noreturn]] void refuse_step(const char* function, const std::string& dir, std::int64_t step,
                              const std::vector<Problem>& problems, const SourceLoc& loc);

}  // namespace tessera::inline v0::checkpoints
