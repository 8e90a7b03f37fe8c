// Reads files of known size.
#pragma once

#include <tessera/config.h>

#include <cstddef>
#include <cstdint>
#include <string>

namespace tessera::inline v0::detail {

/// A regular file opened for reading. Pipes, folders and devices are rejected without blocking.
class TESSERA_API InputFile {
 public:
  explicit InputFile(const std::string& path);
  ~InputFile();
  InputFile(const InputFile&) = delete;
  InputFile& operator=(const InputFile&) = delete;

  /// Why the file is not open, and what to try; both are empty if it is open.
  const std::string& problem() const { return problem_; }
  const std::string& advice() const { return advice_; }
  bool missing() const { return missing_; }

  std::uint64_t size() const { return size_; }
  int descriptor() const { return file_; }
  /// Reads the next n bytes. Returns false if the file ends before that or cannot be read.
  bool read(void* to, std::size_t n);

 private:
  std::string problem_, advice_;
  std::uint64_t size_ = 0;
  int file_ = -1;
  bool missing_ = false;
};

/// A path for use in a message: on one line, without characters that would end a text.
TESSERA_API std::string shown_path(const std::string& path);

/// The memory of this machine in bytes.
TESSERA_API std::uint64_t machine_memory();

}  // namespace tessera::inline v0::detail
