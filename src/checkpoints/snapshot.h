// The content of a save: the arrays as they are when it is requested, and the blocks that this
// process writes.
#pragma once

#include "checkpoints/manifest.h"

#include <tessera/array.h>
#include <tessera/checkpoint.h>
#include <tessera/message.h>

#include <cstddef>
#include <string>
#include <vector>

namespace tessera::inline v0::checkpoints {

/// A block that this process holds. Its memory stays unchanged while `data` is alive: if the whole
/// array is donated to a call, the call does not overwrite memory that a part still needs.
struct ShardPiece {
  std::size_t entry = 0;
  Shape start, shape;
  Array data;
};

struct Snapshot {
  Manifest head;  // entries without their blocks, and no files
  /// One for each entry. `own`: in a run with several processes, the array is on this process's
  /// devices only; every process then has its own copy.
  struct Held {
    Array array;
    bool own = false;
  };
  std::vector<Held> held;
  /// One line per entry that must be equal in all processes.
  std::vector<std::string> lines;
};

/// The blocks that this process holds. Computing them can take a while with many devices, so it is
/// not done on the program's thread.
struct Pieces {
  /// Blocks that this process must write.
  std::vector<ShardPiece> written;
  /// Blocks of arrays that are `own`. The first process writes them, and their contents must be
  /// equal in all processes.
  std::vector<ShardPiece> own;
};
Pieces pieces_of(std::vector<Snapshot::Held> held);

/// A leaf's name in a file: its key path with dots.
std::string dotted(std::string path);

/// Throws TraceError or TreeError that lists the leaves that cannot be saved. Does not wait for
/// values.
Snapshot snapshot_of(std::int64_t step, const std::vector<std::string>& paths,
                     const std::vector<Array>& leaves, const CheckpointSaveOptions& options,
                     const SourceLoc& loc);

}  // namespace tessera::inline v0::checkpoints
