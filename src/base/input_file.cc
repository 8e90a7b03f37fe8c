#include <tessera/detail/input_file.h>
#include <tessera/detail/visible.h>

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

namespace tessera::inline v0::detail {

InputFile::InputFile(const std::string& path) {
  if (path.find('\0') != std::string::npos) {
    problem_ = "its name holds a zero byte";
    advice_ = "check how the path is made";
    return;
  }
  // O_NONBLOCK: opening a pipe would otherwise wait for its writer.
  do file_ = ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  while (file_ < 0 && errno == EINTR);
  struct stat found {};
  const bool known = (file_ >= 0 ? ::fstat(file_, &found) : ::stat(path.c_str(), &found)) == 0;
  if (known && !S_ISREG(found.st_mode)) {
    problem_ = "it is not a file";
    advice_ = "name the file itself";
  } else if (file_ < 0 && (errno == ENOENT || errno == ENOTDIR)) {
    missing_ = true;
    problem_ = "there is no such file";
    advice_ = "check the path";
  } else if (file_ < 0 || !known) {
    problem_ = std::string("it cannot be opened: ") + std::strerror(errno);
    advice_ = errno == EACCES ? "check its permissions, and those of the folders that it is in"
                              : "check the path";
  } else {
    size_ = static_cast<std::uint64_t>(found.st_size);
  }
}

InputFile::~InputFile() {
  if (file_ >= 0) ::close(file_);
}

bool InputFile::read(void* to, std::size_t n) {
  auto* at = static_cast<char*>(to);
  while (n > 0) {
    const ssize_t got = ::read(file_, at, std::min(n, std::size_t{1} << 30));
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) return false;
    at += got;
    n -= static_cast<std::size_t>(got);
  }
  return true;
}

std::string shown_path(const std::string& path) {
  if (path.empty()) return "''";
  return visible(path);
}

std::uint64_t machine_memory() {
  const long pages = ::sysconf(_SC_PHYS_PAGES), bytes = ::sysconf(_SC_PAGESIZE);
  return pages > 0 && bytes > 0
             ? static_cast<std::uint64_t>(pages) * static_cast<std::uint64_t>(bytes)
             : ~std::uint64_t{0};
}

}  // namespace tessera::inline v0::detail
