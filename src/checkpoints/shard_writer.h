// Writes the blocks of one process.
#pragma once

#include "checkpoints/manifest.h"
#include "checkpoints/snapshot.h"
#include "checkpoints/staging.h"

#include <cstddef>
#include <utility>
#include <vector>

namespace tessera::inline v0::checkpoints {

struct Written {
  std::vector<File> files;
  /// One for each entry; each block's file is one of the above.
  std::vector<std::pair<std::size_t, Block>> blocks;
};

/// Writes the pieces as safetensors files into the folder, on several threads, and syncs them to
/// disk. Waits for arrays that are still being computed, and releases each piece once it is
/// written. Throws Trouble, or the error of an array's computation.
Written write_shards(const Staging& folder, const Manifest& head, std::vector<ShardPiece>& pieces,
                     int process, int processes);

/// Checksums by piece and chunk.
std::vector<std::vector<std::uint64_t>> checksums_of(const Manifest& head,
                                                     const std::vector<ShardPiece>& pieces);

}  // namespace tessera::inline v0::checkpoints
