// Reading boxes of arrays from the shards of a step.
#pragma once

#include "checkpoint/manifest.h"

#include <tessera/shape.h>

#include <cstddef>
#include <cstdint>
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

/// Fills the targets from the files in `folder`, on several threads. Gives what is damaged, by file
/// and key path; nothing where all is as it was written. Without `verify` the bytes of the targets
/// are read and no others, else whole chunks and the headers of their files.
std::vector<std::string> read_targets(const std::string& folder, const Manifest& manifest,
                                      const std::vector<Target>& targets, bool verify);

/// Reads the manifest of a step; gives what is wrong with it, nothing where it is sound.
std::string read_manifest(const std::string& dir, std::int64_t step, Manifest& out);
/// Reads all of a step and gives what is damaged.
std::vector<std::string> verify_step(const std::string& dir, std::int64_t step);

/// Bytes that this process has read of shards.
std::uint64_t bytes_read();

}  // namespace tessera::inline v0::checkpoints
