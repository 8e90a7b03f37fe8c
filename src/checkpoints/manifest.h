// The manifest of a checkpoint: the file next to the shards of a step that describes them.
#pragma once

#include <tessera/dtype.h>
#include <tessera/mesh.h>
#include <tessera/partition_spec.h>
#include <tessera/shape.h>

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace tessera::inline v0::checkpoints {

inline constexpr const char* kManifest = "manifest.json";

/// The length of the manifest's first line, which holds a checksum of the other lines.
inline constexpr std::size_t kHeadBytes = 54;
/// Limits on the memory allocated because a file claims a size: for a manifest (it has 16 digits
/// per MiB of arrays, so this suffices for 50 TiB), and for the header of a shard.
inline constexpr std::uint64_t kMostManifest = std::uint64_t{1} << 30, kMostHeader = 100'000'064;

/// Each checksum covers this many bytes of a block, fewer at its end. Blocks are read and compared
/// in these chunks. The size is a multiple of every element size.
inline constexpr std::uint64_t kChunk = std::uint64_t{1} << 20;

/// A box of an array that is stored contiguously in a file.
struct Block {
  std::size_t file = 0;  // index in the manifest's files
  std::string tensor;    // its name in that file
  Shape start, shape;
  std::uint64_t offset = 0, bytes = 0;   // position in the file
  std::vector<std::uint64_t> checksums;  // of its chunks
};

struct Entry {
  std::string path;
  DType dtype{};
  /// A weakly typed scalar, stored as the double or integer that it is.
  bool weak = false;
  Shape shape;
  std::vector<Mesh::Axis> mesh;
  PartitionSpec spec;
  std::vector<Block> blocks;

  DType stored() const;
};

struct File {
  std::string name;
  std::uint64_t bytes = 0;
  std::uint64_t header_bytes = 0, header_checksum = 0;  // of everything before the first block
};

struct Manifest {
  std::int64_t step = 0;
  std::int64_t time = 0;
  int processes = 1;
  std::string nonce;  // of the save that wrote it
  std::map<std::string, double> metrics;
  std::map<std::string, std::string> metadata;
  std::vector<File> files;
  std::vector<Entry> entries;

  std::uint64_t bytes() const;
};

std::uint64_t checksum(const void* bytes, std::size_t n);
std::uint64_t chunks_of(std::uint64_t bytes);

/// JSON whose first line holds a checksum of the others. Throws IoError in the name of `function`
/// if a name or text is not UTF-8.
std::string to_text(const Manifest& manifest);
/// Whether a text begins like a manifest of any version.
bool begins_so(std::string_view text);
/// Parses a manifest. Returns a description of the first error, or an empty string if `out` is what
/// was written and its blocks lie within their arrays and files and cover the arrays.
std::string parse(std::string_view text, Manifest& out);

}  // namespace tessera::inline v0::checkpoints
