// Reading a file whose size is known before.
#pragma once

#include <tessera/config.h>

#include <cstddef>
#include <cstdint>
#include <string>

namespace tessera::inline v0::detail {

/// A regular file open for reading. Pipes, folders and devices are refused without waiting for
/// them.
class TESSERA_API InputFile {
 public:
  explicit InputFile(const std::string& path);
  ~InputFile();
  InputFile(const InputFile&) = delete;
  InputFile& operator=(const InputFile&) = delete;

  /// Why it is not open, and what to try; empty when it is.
  const std::string& problem() const { return problem_; }
  const std::string& advice() const { return advice_; }
  bool missing() const { return missing_; }

  std::uint64_t size() const { return size_; }
  int descriptor() const { return file_; }
  /// The next n bytes; false where the file ends before, or cannot be read.
  bool read(void* to, std::size_t n);

 private:
  std::string problem_, advice_;
  std::uint64_t size_ = 0;
  int file_ = -1;
  bool missing_ = false;
};

/// A path for a message: in one line, with nothing in it that ends a text.
TESSERA_API std::string shown_path(const std::string& path);

/// Bytes of memory that this machine has.
TESSERA_API std::uint64_t machine_memory();

}  // namespace tessera::inline v0::detail
