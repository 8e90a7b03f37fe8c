// What a save is of: the arrays as they are when it is asked for, and what of them this process
// writes.
#pragma once

#include "checkpoints/manifest.h"

#include <tessera/array.h>
#include <tessera/checkpoint.h>
#include <tessera/message.h>

#include <cstddef>
#include <string>
#include <vector>

namespace tessera::inline v0::checkpoints {

/// A block that this process has. Its memory stays as it is while somebody has the array: a call
/// that the whole is donated to writes over no memory that a part still needs.
struct ShardPiece {
  std::size_t entry = 0;
  Shape start, shape;
  Array data;
};

struct Snapshot {
  Manifest head;  // entries without their blocks, and no files
  /// By entry. What lies on this process's devices alone, of several, is placed nowhere.
  struct Held {
    Array array;
    bool own = false;
  };
  std::vector<Held> held;
  /// A line an entry: what is to be the same in all processes.
  std::vector<std::string> lines;
};

/// What of it this process has, block by block: that takes a while with many devices, and is not for
/// the program's thread.
struct Pieces {
  /// Those that this process is to write.
  std::vector<ShardPiece> written;
  /// Blocks of arrays that are placed nowhere, which each process has for itself; the first one
  /// writes them, and all are to have the same.
  std::vector<ShardPiece> own;
};
Pieces pieces_of(std::vector<Snapshot::Held> held);

/// The name of a leaf in a file: its path with dots.
std::string dotted(std::string path);

/// TraceError and TreeError list the leaves that cannot be saved. Waits for nothing.
Snapshot snapshot_of(std::int64_t step, const std::vector<std::string>& paths,
                     const std::vector<Array>& leaves, const CheckpointSaveOptions& options,
                     const SourceLoc& loc);

}  // namespace tessera::inline v0::checkpoints
