// Writing the blocks of one process.
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
  /// By entry; their files are those above.
  std::vector<std::pair<std::size_t, Block>> blocks;
};

/// Writes the pieces as safetensors files of the folder, on several threads, and brings them to the
/// disk. Waits for the values of arrays that are being computed, and lets go of each piece when it
/// is written. Throws Trouble, or what was wrong with the computation of an array.
Written write_shards(const Staging& folder, const Manifest& head, std::vector<ShardPiece>& pieces,
                     int process, int processes);

/// Checksums of pieces, by piece and chunk.
std::vector<std::vector<std::uint64_t>> checksums_of(const Manifest& head,
                                                     const std::vector<ShardPiece>& pieces);

}  // namespace tessera::inline v0::checkpoints
