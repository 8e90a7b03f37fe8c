// Reads a file, which may be gzipped, only as far as requested.
#pragma once

#include <tessera/detail/input_file.h>

#include <cstdint>
#include <string>
#include <vector>

struct gzFile_s;

namespace tessera::inline v0::data {

class GzipFile {
 public:
  explicit GzipFile(const std::string& path);
  ~GzipFile();
  GzipFile(const GzipFile&) = delete;
  GzipFile& operator=(const GzipFile&) = delete;

  /// See tessera::detail::InputFile.
  const tessera::detail::InputFile& file() const { return file_; }

  /// Appends the next n bytes to `to`, or fewer at the end of the file. Returns false if they are
  /// corrupt; damage() then describes how.
  bool read(std::vector<unsigned char>& to, std::uint64_t n);
  const std::string& damage() const { return damage_; }
  /// An upper bound of the uncompressed size: deflate does not compress further.
  std::uint64_t most() const;
  /// Whether the file is not compressed.
  bool is_plain() const { return plain_; }

 private:
  tessera::detail::InputFile file_;
  gzFile_s* stream_ = nullptr;
  std::string damage_;
  bool plain_ = true;
};

}  // namespace tessera::inline v0::data
