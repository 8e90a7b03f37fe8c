#include <tessera/detail/replace_file.h>

#include "base/temporary_file.h"

#include <tessera/detail/unfinished_files.h>

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstring>
#include <ctime>
#include <filesystem>

namespace tessera::inline v0::detail {

namespace {

namespace fs = std::filesystem;

// While alive, a write beyond the file size limit fails instead of killing the process.
class NoSignalAtTheLimit {
 public:
  NoSignalAtTheLimit() {
    sigemptyset(&limit_);
    sigaddset(&limit_, SIGXFSZ);
    sigset_t pending;
    sigpending(&pending);
    mine_ = sigismember(&pending, SIGXFSZ) == 0;
    pthread_sigmask(SIG_BLOCK, &limit_, &before_);
  }
  NoSignalAtTheLimit(const NoSignalAtTheLimit&) = delete;
  NoSignalAtTheLimit& operator=(const NoSignalAtTheLimit&) = delete;
  ~NoSignalAtTheLimit() {
    const timespec now{};
    while (mine_ && sigtimedwait(&limit_, nullptr, &now) > 0) {
    }
    pthread_sigmask(SIG_SETMASK, &before_, nullptr);
  }

 private:
  sigset_t limit_{}, before_{};
  bool mine_;
};

// Gives the new file the permissions of the file it replaces, and its owner if this process may
// change owners. If not, drops permissions that would give another group the old file's rights.
bool take_permissions(int file, const struct stat& from) {
  struct stat now {};
  if (::fstat(file, &now) != 0) return false;
  mode_t mode = from.st_mode & 07777;
  if ((now.st_uid != from.st_uid || now.st_gid != from.st_gid) &&
      ::fchown(file, from.st_uid, from.st_gid) != 0) {
    mode &= ~mode_t{S_ISUID | S_ISGID};
    if (now.st_gid != from.st_gid && ::fchown(file, static_cast<uid_t>(-1), from.st_gid) != 0)
      mode &= ~mode_t{S_IRWXG};
  }
  return ::fchmod(file, mode) == 0;
}

}  // namespace

std::string why_not_replaceable(const std::string& path) {
  if (path.empty()) return "The path is empty";
  if (path.find('\0') != std::string::npos) return "Its name holds a zero byte";
  fs::path target(path);
  struct stat old {};
  const bool there = ::stat(path.c_str(), &old) == 0;
  if (!there && errno != ENOENT) return std::strerror(errno);
  if (there && S_ISDIR(old.st_mode)) return "It is a folder";
  if (there && !S_ISREG(old.st_mode)) return "It is not a file";
  if (!target.has_filename()) return "Its name ends in a slash";
  if (there && ::faccessat(AT_FDCWD, path.c_str(), W_OK, AT_EACCESS) != 0)
    return std::strerror(errno);
  if (!follow_links(target)) return std::strerror(ELOOP);
  // The nearest existing folder must be writable.
  std::error_code ec;
  fs::path folder = fs::absolute(target, ec).parent_path();
  while (folder.has_relative_path() && !fs::exists(folder, ec) && !ec)
    folder = folder.parent_path();
  if (::faccessat(AT_FDCWD, folder.c_str(), W_OK | X_OK, AT_EACCESS) != 0)
    return std::strerror(errno);
  if (!fs::is_directory(folder, ec)) return std::strerror(ENOTDIR);
  return {};
}

std::string replace_file(const std::string& path, std::span<const std::string_view> parts) {
  if (std::string why = why_not_replaceable(path); !why.empty()) return why;
  fs::path target(path);
  follow_links(target);
  std::error_code ec;
  const fs::path folder = target.has_parent_path() ? target.parent_path() : fs::path(".");
  fs::create_directories(folder, ec);
  remove_left_temporaries(folder);

  const NoSignalAtTheLimit guard;
  std::string why;
  for (const auto name : {TemporaryFile::Name::later, TemporaryFile::Name::now}) {
    struct stat old {};
    const bool there = ::stat(target.c_str(), &old) == 0;
    TemporaryFile file(folder, there ? old.st_mode & 0777 : 0666, name);
    if (!file.problem().empty()) return file.problem();
    bool done = true;
    for (std::string_view part : parts) done = done && write_file(file.descriptor(), part);
    done = done && (!there || take_permissions(file.descriptor(), old));
    done = done && sync_file(file.descriptor());
    why = done ? file.move_to(target) : std::strerror(errno);
    if (!file.stays_without_a_name()) break;
  }
  return why;
}

}  // namespace tessera::inline v0::detail
