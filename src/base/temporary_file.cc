#include "base/temporary_file.h"

#include <tessera/detail/unfinished_files.h>

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <vector>

namespace tessera::inline v0::detail {

namespace {

namespace fs = std::filesystem;

constexpr std::string_view kBegin = ".tessera-", kEnd = ".tmp";

std::string fresh_name() {
  return std::string(kBegin) + digits_of(fresh_number()) + std::string(kEnd);
}

bool is_temporary(std::string_view name) {
  if (!name.starts_with(kBegin) || !name.ends_with(kEnd)) return false;
  name.remove_prefix(kBegin.size());
  return name.size() > kEnd.size() &&
         is_digits_of_number(name.substr(0, name.size() - kEnd.size()));
}

constexpr int kTries = 100;

}  // namespace

TemporaryFile::TemporaryFile(const fs::path& folder, mode_t mode, Name name) : folder_(folder) {
  if ((name == Name::later && open_without_a_name(mode)) || open_with_a_name(mode)) return;
  problem_ = std::strerror(errno);
}

TemporaryFile::~TemporaryFile() {
  if (!name_.empty()) ::unlink(name_.c_str());
  if (file_ >= 0) ::close(file_);
}

bool TemporaryFile::open_without_a_name(mode_t mode) {
#ifdef O_TMPFILE
  file_ = ::open(folder_.c_str(), O_TMPFILE | O_WRONLY | O_CLOEXEC, mode);
  // The file is named later through /proc, which a sandbox may lack.
  if (file_ >= 0 && ::access("/proc/self/fd", X_OK) != 0) {
    ::close(file_);
    file_ = -1;
  }
  // The lock belongs to the file, so it is held before the file has a name.
  if (file_ >= 0) lock_file(file_, LOCK_EX);
#endif
  return file_ >= 0;
}

bool TemporaryFile::open_with_a_name(mode_t mode) {
  for (int i = 0; i < kTries; ++i) {
    const fs::path name = folder_ / fresh_name();
    file_ = ::open(name.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, mode);
    if (file_ < 0 && errno == EEXIST) continue;
    if (file_ < 0) return false;
    // Another process may have removed the file as a leftover before it was locked.
    struct stat now {};
    if (lock_file_if_supported(file_, LOCK_EX) && ::fstat(file_, &now) == 0 && now.st_nlink > 0) {
      name_ = name;
      return true;
    }
    ::unlink(name.c_str());
    ::close(file_);
    file_ = -1;
  }
  errno = EEXIST;
  return false;
}

std::string TemporaryFile::move_to(const fs::path& target) {
  const std::string self = "/proc/self/fd/" + std::to_string(file_);
  for (int i = 0; i < kTries && name_.empty(); ++i) {
    const fs::path name = folder_ / fresh_name();
    if (::linkat(AT_FDCWD, self.c_str(), AT_FDCWD, name.c_str(), AT_SYMLINK_FOLLOW) == 0)
      name_ = name;
    else if (errno != EEXIST) {
      stays_without_a_name_ = true;
      return std::strerror(errno);
    }
  }
  if (name_.empty()) return std::strerror(EEXIST);
  if (::rename(name_.c_str(), target.c_str()) != 0) return std::strerror(errno);
  name_.clear();
  // The rename is flushed by syncing the folder. A failure is ignored, because the file is already
  // in place.
  const int folder = ::open(folder_.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (folder >= 0) {
    (void)sync_file(folder);
    ::close(folder);
  }
  const int file = file_;
  file_ = -1;
  return ::close(file) == 0 || errno == EINTR ? "" : std::strerror(errno);
}

void remove_left_temporaries(const fs::path& folder) {
  std::error_code ec;
  std::vector<fs::path> found;
  for (fs::directory_iterator at(folder, ec), end; !ec && at != end; at.increment(ec))
    if (is_temporary(at->path().filename().native())) found.push_back(at->path());
  for (const fs::path& name : found) {
    const int file = ::open(name.c_str(), O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
    if (file < 0) continue;
    struct stat opened {
    }, named{};
    // The name may refer to another file by the time that this one is open.
    if (::fstat(file, &opened) == 0 && S_ISREG(opened.st_mode) && opened.st_uid == ::geteuid() &&
        lock_file(file, LOCK_EX) && ::lstat(name.c_str(), &named) == 0 &&
        named.st_ino == opened.st_ino && named.st_dev == opened.st_dev)
      ::unlink(name.c_str());
    ::close(file);
  }
}

}  // namespace tessera::inline v0::detail
