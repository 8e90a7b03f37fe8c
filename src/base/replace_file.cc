#include <tessera/detail/replace_file.h>

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <filesystem>

namespace tessera::inline v0::detail {

namespace {

namespace fs = std::filesystem;

bool write_all(int file, std::string_view part) {
  while (!part.empty()) {
    const ssize_t n = ::write(file, part.data(), part.size());
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) return false;
    part.remove_prefix(static_cast<std::size_t>(n));
  }
  return true;
}

}  // namespace

std::string replace_file(const std::string& path, std::span<const std::string_view> parts) {
  std::error_code ec;
  fs::path target(path);
  // A link may lead to what is not there yet.
  for (int links = 0; links < 40 && fs::is_symlink(target, ec); ++links) {
    const fs::path to = fs::read_symlink(target, ec);
    target = to.is_absolute() ? to : target.parent_path() / to;
  }
  if (fs::exists(target, ec) && !fs::is_regular_file(target, ec))
    return fs::is_directory(target, ec) ? "It is a folder" : "It is not a file";
  if (target.has_parent_path()) fs::create_directories(target.parent_path(), ec);
  fs::path beside = target;
  beside += ".tmp" + std::to_string(::getpid());
  const int file = ::open(beside.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
  if (file < 0) return std::strerror(errno);
  bool done = true;
  for (std::string_view part : parts) done = done && write_all(file, part);
  // File systems that cannot bring files to the disk at once say so.
  done = done && (::fsync(file) == 0 || errno == EINVAL || errno == ENOTSUP);
  std::string why = done ? "" : std::strerror(errno);
  if (::close(file) != 0 && done) why = std::strerror(errno);
  if (why.empty() && ::rename(beside.c_str(), target.c_str()) != 0) why = std::strerror(errno);
  if (!why.empty()) ::unlink(beside.c_str());
  return why;
}

}  // namespace tessera::inline v0::detail
