// What a checkpoint is made of: the file that lies beside the shards of a step.
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

/// The length of a manifest's first line, which has a checksum of the others.
inline constexpr std::size_t kHeadBytes = 54;
/// Limits on what is read into memory because a file claims to have it: bytes of a manifest (16
/// digits for each MiB of arrays: those of 50 TiB), and of the header of a shard.
inline constexpr std::uint64_t kMostManifest = std::uint64_t{1} << 30, kMostHeader = 100'000'064;

/// A checksum is of so many bytes of a block, of fewer at its end: what is read of a block is read
/// and compared in these. A multiple of the size of every element.
inline constexpr std::uint64_t kChunk = std::uint64_t{1} << 20;

/// A box of an array that lies in one piece in a file.
struct Block {
  std::size_t file = 0;  // of the manifest's
  std::string tensor;    // its name there
  Shape start, shape;
  std::uint64_t offset = 0, bytes = 0;   // in the file
  std::vector<std::uint64_t> checksums;  // of its chunks
};

struct Entry {
  std::string path;
  DType dtype{};
  /// A scalar that takes the dtype of what it meets; stored as the double or integer that it is.
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
  std::uint64_t header_bytes = 0, header_checksum = 0;  // what is before the first block
};

struct Manifest {
  std::int64_t step = 0;
  std::int64_t time = 0;
  int processes = 1;
  std::string nonce;  // of the save that made it
  std::map<std::string, double> metrics;
  std::map<std::string, std::string> metadata;
  std::vector<File> files;
  std::vector<Entry> entries;

  std::uint64_t bytes() const;
};

std::uint64_t checksum(const void* bytes, std::size_t n);
std::uint64_t chunks_of(std::uint64_t bytes);

/// JSON whose first line has a checksum of the others. IoError in the name of `function` where a
/// name or text is not UTF-8.
std::string to_text(const Manifest& manifest);
/// Whether a text begins as our manifests do, of any version.
bool begins_so(std::string_view text);
/// Gives what is wrong with it; nothing where `out` is what was written, its blocks lie in their
/// arrays and files and fill the arrays.
std::string parse(std::string_view text, Manifest& out);

}  // namespace tessera::inline v0::checkpoints
