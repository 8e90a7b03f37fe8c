// Shared by the targets of libFuzzer. Each target parses bytes with one parser, which may throw
// errors of the library only.
#pragma once

#include <tessera/error.h>

#include <sys/mman.h>
#include <unistd.h>

#include <cstdint>
#include <cstdlib>
#include <string>

namespace fuzz {

/// A file in memory that has a path, for parsers that take one.
class File {
 public:
  File(const std::uint8_t* data, std::size_t size) : file_(::memfd_create("fuzz", 0)) {
    if (file_ < 0 || ::write(file_, data, size) != static_cast<ssize_t>(size)) std::abort();
  }
  ~File() { ::close(file_); }
  File(const File&) = delete;
  File& operator=(const File&) = delete;
  std::string path() const { return "/proc/self/fd/" + std::to_string(file_); }

 private:
  int file_;
};

/// Any other exception ends the run and is thus a finding.
template <class F>
int refuses_or_reads(F&& f) {
  try {
    f();
  } catch (const tessera::Error&) {
  }
  return 0;
}

}  // namespace fuzz
