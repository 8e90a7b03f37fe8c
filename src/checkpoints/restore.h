// From a step on the disk to arrays on devices.
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

/// An entry that is wanted, and where; nowhere: whole, and not committed.
struct RequestedLeaf {
  std::size_t entry = 0;
  std::optional<Sharding> where;
};

/// What reading came to: arrays, or what of the step cannot be had.
struct RestoredArrays {
  std::vector<Array> arrays;
  std::vector<Problem> problems;
};
/// Reads what the devices of this process need. DeviceError where there is no memory for it.
RestoredArrays read_arrays(const StepFolder& folder, const std::vector<RequestedLeaf>& wanted,
                           bool verify, const SourceLoc& loc);

/// The step that is asked for, or the newest; IoError that lists those that are there.
std::int64_t choose_step(const char* function, const std::string& dir,
                         std::optional<std::int64_t> step, const SourceLoc& loc);
/// Opens the step that is asked for, or the newest; where others remove or replace it at that
/// moment, the one that is there then. IoError where it is damaged or may not be read.
StepFolder open_step(const char* function, const std::string& dir, std::optional<std::int64_t> step,
                     const SourceLoc& loc);
/// The IoError of a step of which something cannot be had: it is damaged, or may not be read.
[[noreturn]] void refuse_step(const char* function, const std::string& dir, std::int64_t step,
                              const std::vector<Problem>& problems, const SourceLoc& loc);

}  // namespace tessera::inline v0::checkpoints
