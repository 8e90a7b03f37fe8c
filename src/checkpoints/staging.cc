#include "checkpoints/staging.h"

#include "checkpoints/manifest.h"
#include "checkpoints/step_folder.h"
#include "checkpoints/step_names.h"

#include <tessera/detail/unfinished_files.h>

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <string_view>
#include <system_error>
#include <utility>

namespace tessera::inline v0::checkpoints {
namespace {

namespace fs = std::filesystem;

std::string reason() { return std::strerror(errno); }

// Opens a folder created by this library, which must not be a symbolic link.
Descriptor open_own(const std::string& path) {
  return Descriptor(::open(path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW));
}
// Opens a user's folder, which may be a symbolic link.
Descriptor open_users(const std::string& path) {
  return Descriptor(::open(path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
}
// Flushes a folder's entries to disk if this process may read the folder. Creating entries only
// requires the right to enter it.
std::string sync_folder(const Descriptor& folder) {
  if (!folder) return errno == EACCES ? "" : reason();
  return detail::sync_file(folder.get()) ? "" : reason();
}

// Some file systems rename a removed file that is still open; it disappears when it is closed.
bool is_removed_already(std::string_view name) {
  return name.starts_with(".nfs") || name.starts_with(".fuse_hidden");
}
struct Entries {
  std::vector<std::string> ours, others;
};
Entries entries_of(const std::string& folder) {
  Entries all;
  std::error_code ec;
  for (fs::directory_iterator at(folder, ec), end; !ec && at != end; at.increment(ec)) {
    const std::string name = at->path().filename().native();
    if (is_removed_already(name)) continue;
    (is_file_of_step(name) ? all.ours : all.others).push_back(name);
  }
  return all;
}

// Removes our files from a folder, and the folder if it is then empty. The manifest goes first,
// because a folder without it is not a step. Returns an errno if the manifest cannot be removed,
// else 0.
int remove_files(const std::string& path) {
  const Descriptor folder = open_own(path);
  if (!folder) return errno;
  if (::unlinkat(folder.get(), kManifest, 0) != 0 && errno != ENOENT) return errno;
  for (const std::string& name : entries_of(path).ours)
    (void)::unlinkat(folder.get(), name.c_str(), 0);
  (void)::rmdir(path.c_str());
  return 0;
}

// If foreign files remain of a removed step, moves its folder back under the step's name.
void give_back(const std::string& removed, const std::string& to) {
  const Entries left = entries_of(removed);
  if (left.ours.empty() && !left.others.empty())
    (void)::renameat2(AT_FDCWD, removed.c_str(), AT_FDCWD, to.c_str(), RENAME_NOREPLACE);
}

// Moves foreign files from a replaced step into the step that replaced it.
void hand_on(const std::string& replaced, const std::string& to) {
  for (const std::string& name : entries_of(replaced).others)
    (void)::renameat2(AT_FDCWD, (replaced + "/" + name).c_str(), AT_FDCWD,
                      (to + "/" + name).c_str(), RENAME_NOREPLACE);
}

}  // namespace

Descriptor& Descriptor::operator=(Descriptor&& other) noexcept {
  std::swap(fd_, other.fd_);
  return *this;
}
void Descriptor::reset() {
  if (fd_ >= 0) ::close(fd_);
  fd_ = -1;
}

std::string absolute_path(const std::string& dir) {
  const fs::path path = fs::absolute(dir);
  std::string text = path.string();
  // Normalising "link/.." lexically would change its meaning.
  if (std::ranges::find(path, fs::path("..")) == path.end())
    text = path.lexically_normal().string();
  while (text.size() > 1 && text.back() == '/') text.pop_back();
  return text;
}

std::string Staging::make(const std::string& dir, std::int64_t step) {
  std::error_code ec;
  fs::path target = dir;
  (void)detail::follow_links(target);  // create_directories reports a cycle
  for (fs::path p = target; !fs::exists(p, ec) && p.has_relative_path(); p = p.parent_path())
    has_new_.push_back(p.parent_path().native());
  fs::create_directories(target, ec);
  if (ec) return ec.message();
  constexpr int kTries = 100;
  for (int i = 0; i < kTries; ++i) {
    nonce_ = detail::fresh_number();
    path_ = saving_path(dir, step, nonce_);
    if (::mkdir(path_.c_str(), 0777) != 0) {
      if (errno == EEXIST) continue;
      return reason();
    }
    mine_ = true;
    // A concurrent sweep() may remove the folder before it is locked.
    lock_ = open_own(path_);
    if (!lock_ && errno != ENOENT) return reason();
    struct stat now {};
    if (lock_ && detail::lock_file_if_supported(lock_.get(), LOCK_SH) &&
        ::stat(path_.c_str(), &now) == 0)
      return {};
    mine_ = false;
  }
  return std::strerror(EEXIST);
}

std::string Staging::join(const std::string& dir, std::int64_t step, std::uint64_t nonce) {
  nonce_ = nonce;
  path_ = saving_path(dir, step, nonce);
  lock_ = open_own(path_);
  if (!lock_) return reason();
  return detail::lock_file_if_supported(lock_.get(), LOCK_SH) ? "" : reason();
}

Staging::Staging(Staging&& other) noexcept
    : path_(std::move(other.path_)),
      lock_(std::move(other.lock_)),
      has_new_(std::move(other.has_new_)),
      nonce_(other.nonce_),
      mine_(std::exchange(other.mine_, false)) {}

Staging::~Staging() {
  if (mine_) (void)remove_files(path_);
}

bool Staging::was_made() const {
  std::error_code ec;
  std::string now = fs::read_symlink("/proc/self/fd/" + std::to_string(lock_.get()), ec).native();
  constexpr std::string_view kDeleted = " (deleted)";
  if (now.ends_with(kDeleted)) now.resize(now.size() - kDeleted.size());
  return !ec && fs::path(now).filename() != fs::path(path_).filename();
}

std::string Staging::commit(const std::string& dir, std::int64_t step, bool overwrite) {
  const std::string target = step_path(dir, step);
  for (const std::string& folder : has_new_)
    if (std::string why = sync_folder(open_users(folder)); !why.empty()) return why;
  if (std::string why = sync_folder(open_own(path_)); !why.empty()) return why;
  unsigned back = 0;
  const int error =
      ::renameat2(AT_FDCWD, path_.c_str(), AT_FDCWD, target.c_str(), RENAME_NOREPLACE) ? errno : 0;
  if (error == 0) {
    mine_ = false;
  } else if (error == EEXIST && overwrite && is_own(standing_of(dir, step))) {
    // After the exchange, path_ is the previous step, which this object removes.
    back = RENAME_EXCHANGE;
    if (::renameat2(AT_FDCWD, path_.c_str(), AT_FDCWD, target.c_str(), back) != 0) return reason();
  } else if (error == EINVAL && ::access(target.c_str(), F_OK) != 0) {
    // The file system does not support such renames. A plain rename is safe, because it only
    // replaces an empty folder, which a finished step is not.
    if (::rename(path_.c_str(), target.c_str()) != 0) return reason();
    mine_ = false;
  } else {
    return std::strerror(error);
  }
  std::string why = sync_folder(open_users(dir));
  // It is unknown whether the new name is on disk. The rename is undone, because a save that failed
  // must not leave a step.
  if (!why.empty() && ::renameat2(AT_FDCWD, target.c_str(), AT_FDCWD, path_.c_str(), back) == 0)
    mine_ = true;
  else if (back == RENAME_EXCHANGE)
    hand_on(path_, target);
  return why;
}

std::string remove_step(const std::string& dir, std::int64_t step) {
  const std::string path = step_path(dir, step),
                    away = removing_path(dir, step, detail::fresh_number());
  // Another process may have removed it already.
  if (::rename(path.c_str(), away.c_str()) != 0) return errno == ENOENT ? "" : reason();
  if (const int error = remove_files(away); error != 0) {
    (void)::renameat2(AT_FDCWD, away.c_str(), AT_FDCWD, path.c_str(), RENAME_NOREPLACE);
    return std::strerror(error);
  }
  // The step is gone. sweep() later removes what could not be removed.
  give_back(away, path);
  return {};
}

void sweep(const std::string& dir) {
  std::error_code ec;
  std::vector<std::string> left;
  for (fs::directory_iterator at(dir, ec), end; !ec && at != end; at.increment(ec)) {
    const std::string name = at->path().filename().native();
    if (saving_step_of(name) || removing_step_of(name)) left.push_back(name);
  }
  for (const std::string& name : left) {
    const std::string path = dir + "/" + name;
    const Descriptor folder = open_own(path);
    if (!folder || !detail::lock_file(folder.get(), LOCK_EX)) continue;
    if (remove_files(path) != 0) continue;
    if (const auto step = removing_step_of(name)) give_back(path, step_path(dir, *step));
  }
}

}  // namespace tessera::inline v0::checkpoints
