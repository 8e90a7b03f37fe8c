// Reading a file that may be gzipped, never further than asked.
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

  /// As of tessera::detail::InputFile.
  const tessera::detail::InputFile& file() const { return file_; }

  /// Appends the next n bytes to `to`, or those that there are. False where they are damaged;
  /// damage says how.
  bool read(std::vector<unsigned char>& to, std::uint64_t n);
  const std::string& damage() const { return damage_; }
  /// Bytes of contents that the file can hold at most: deflate does not compress further.
  std::uint64_t most() const;
  /// Whether it holds its contents as they are.
  bool is_plain() const { return plain_; }

 private:
  tessera::detail::InputFile file_;
  gzFile_s* stream_ = nullptr;
  std::string damage_;
  bool plain_ = true;
};

}  // namespace tessera::inline v0::data
