// Reads boxes of arrays from the shards of a step.
#pragma once

#include "checkpoints/step_folder.h"

#include <tessera/shape.h>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace tessera::inline v0::checkpoints {

/// A box of an entry's array and the dense memory to read it into. Without memory, the box is only
/// read and compared with its checksums.
struct Target {
  std::size_t entry = 0;
  Shape start, shape;
  std::byte* to = nullptr;
};

/// Fills the targets from the files of the step, on several threads. Returns what cannot be read,
/// by file and key path; empty if all is as it was written. Without `verify`, only the bytes of the
/// targets are read; otherwise whole chunks and the headers of their files.
std::vector<Problem> read_targets(const StepFolder& folder, const std::vector<Target>& targets,
                                  bool verify);

/// Reads a whole step, retrying if other processes replace it meanwhile. Absent if the step does
/// not exist or has been removed.
std::optional<std::vector<Problem>> verify_step(const std::string& dir, std::int64_t step);

/// The number of bytes of shards that this process has read so far.
std::uint64_t bytes_read();

}  // namespace tessera::inline v0::checkpoints
