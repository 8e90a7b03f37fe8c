// Reading boxes of arrays from the shards of a step.
#pragma once

#include "checkpoints/step_folder.h"

#include <tessera/shape.h>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace tessera::inline v0::checkpoints {

/// A box of an entry's array, and the dense memory that it goes to; without memory it is read and
/// compared only.
struct Target {
  std::size_t entry = 0;
  Shape start, shape;
  std::byte* to = nullptr;
};

/// Fills the targets from the files of the step, on several threads. Gives what cannot be had, by
/// file and key path; nothing where all is as it was written. Without `verify` the bytes of the
/// targets are read and no others, else whole chunks and the headers of their files.
std::vector<Problem> read_targets(const StepFolder& folder, const std::vector<Target>& targets,
                                  bool verify);

/// Reads all of a step, and again where others replace it meanwhile. Nothing where it is not there,
/// or not any more.
std::optional<std::vector<Problem>> verify_step(const std::string& dir, std::int64_t step);

/// Bytes that this process has read of shards.
std::uint64_t bytes_read();

}  // namespace tessera::inline v0::checkpoints
