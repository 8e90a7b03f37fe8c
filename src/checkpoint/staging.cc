#include "checkpoint/staging.h"

#include <fmt/format.h>

#include <fcntl.h>
#include <sys/file.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <charconv>
#include <cstdio>
#include <cstring>
#include <ctime>
#include <filesystem>
#include <utility>

namespace tessera::inline v0::checkpoints {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kSaving = ".saving-", kRemoving = ".removing-";
constexpr std::size_t kNonceDigits = 16;

std::string reason() { return std::strerror(errno); }

Descriptor open_folder(const std::string& path) {
  return Descriptor(::open(path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW));
}
bool lock(int fd, int kind) {
  int failed = 0;
  do failed = ::flock(fd, kind | LOCK_NB);
  while (failed && errno == EINTR);
  return !failed;
}
// Where there are no locks nobody removes what is left, either.
bool lock_unless_unsupported(int fd, int kind) { return lock(fd, kind) || errno != EWOULDBLOCK; }

std::optional<std::int64_t> step_of(std::string_view text) {
  std::int64_t n = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), n);
  if (error != std::errc() || end != text.data() + text.size() || n < 0) return {};
  if (fmt::format("{}", n) != text) return {};  // 007 is no step
  return n;
}
bool is_ours(std::string_view name, std::string_view begin) {
  if (!name.starts_with(begin) || name.size() < begin.size() + kNonceDigits + 2) return false;
  const std::string_view digits = name.substr(name.size() - kNonceDigits),
                         step = name.substr(begin.size(),
                                            name.size() - begin.size() - kNonceDigits - 1);
  return name[name.size() - kNonceDigits - 1] == '-' && step_of(step) &&
         digits.find_first_not_of("0123456789abcdef") == std::string_view::npos;
}
std::uint64_t fresh_number() {
  std::uint64_t number = 0;
  if (::getrandom(&number, sizeof number, GRND_NONBLOCK) != sizeof number) {
    static std::atomic<std::uint64_t> count{0};
    timespec now{};
    ::clock_gettime(CLOCK_REALTIME, &now);
    number = (static_cast<std::uint64_t>(::getpid()) << 40) ^
             (static_cast<std::uint64_t>(now.tv_nsec) << 10) ^ ++count;
  }
  return number;
}
std::string staging_path(const std::string& dir, std::int64_t step, std::uint64_t nonce) {
  return fmt::format("{}/{}{}-{:016x}", dir, kSaving, step, nonce);
}
// What names entries of a folder is brought to the disk by whoever may read it, which takes no more
// than the right to enter it to make them.
std::string sync_folder(const std::string& path) {
  const Descriptor folder = open_folder(path);
  if (!folder) return errno == EACCES ? "" : reason();
  return sync_all(folder.get()) ? "" : reason();
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

bool sync_all(int fd) {
  // File systems that cannot bring files to the disk at once say so.
  while (::fsync(fd) != 0) {
    if (errno == EINTR) continue;
    return errno == EINVAL || errno == ENOTSUP;
  }
  return true;
}

std::string step_path(const std::string& dir, std::int64_t step) {
  return fmt::format("{}/{}", dir, step);
}

std::string Staging::make(const std::string& dir, std::int64_t step) {
  std::error_code ec;
  for (fs::path p = dir; !fs::exists(p, ec) && p.has_relative_path(); p = p.parent_path())
    has_new_.push_back(p.parent_path().native());
  fs::create_directories(dir, ec);
  if (ec) return ec.message();
  constexpr int kTries = 100;
  for (int i = 0; i < kTries; ++i) {
    nonce_ = fresh_number();
    path_ = staging_path(dir, step, nonce_);
    if (::mkdir(path_.c_str(), 0777) != 0) {
      if (errno == EEXIST) continue;
      return reason();
    }
    mine_ = true;
    // Whoever looks for what was left may take it for that before it is locked, and remove it.
    lock_ = open_folder(path_);
    if (!lock_ && errno != ENOENT) return reason();
    struct stat now {};
    if (lock_ && lock_unless_unsupported(lock_.get(), LOCK_SH) && ::stat(path_.c_str(), &now) == 0)
      return {};
    mine_ = false;
  }
  return std::strerror(EEXIST);
}

std::string Staging::join(const std::string& dir, std::int64_t step, std::uint64_t nonce) {
  nonce_ = nonce;
  path_ = staging_path(dir, step, nonce);
  lock_ = open_folder(path_);
  if (!lock_) return reason();
  return lock_unless_unsupported(lock_.get(), LOCK_SH) ? "" : reason();
}

Staging::Staging(Staging&& other) noexcept
    : path_(std::move(other.path_)),
      lock_(std::move(other.lock_)),
      has_new_(std::move(other.has_new_)),
      nonce_(other.nonce_),
      mine_(std::exchange(other.mine_, false)) {}

Staging::~Staging() {
  if (!mine_) return;
  std::error_code ec;
  fs::remove_all(path_, ec);
}

std::string Staging::commit(const std::string& dir, std::int64_t step, bool overwrite) {
  const std::string target = step_path(dir, step);
  for (const std::string& folder : has_new_)
    if (std::string why = sync_folder(folder); !why.empty()) return why;
  if (std::string why = sync_folder(path_); !why.empty()) return why;
  unsigned back = 0;
  if (::renameat2(AT_FDCWD, path_.c_str(), AT_FDCWD, target.c_str(), RENAME_NOREPLACE) == 0) {
    mine_ = false;
  } else if (errno == EEXIST && overwrite) {
    // What was there is here then, and goes with this object.
    back = RENAME_EXCHANGE;
    if (::renameat2(AT_FDCWD, path_.c_str(), AT_FDCWD, target.c_str(), back) != 0) return reason();
  } else if (errno == EINVAL && ::access(target.c_str(), F_OK) != 0) {
    // A file system without such renames; a step that came meanwhile is no empty folder, which is
    // all that this one replaces.
    if (::rename(path_.c_str(), target.c_str()) != 0) return reason();
    mine_ = false;
  } else {
    return reason();
  }
  std::string why = sync_folder(dir);
  // Nobody knows whether the disk has the new name: it is taken back, since what is said not to be
  // saved is no step.
  if (!why.empty() && ::renameat2(AT_FDCWD, target.c_str(), AT_FDCWD, path_.c_str(), back) == 0)
    mine_ = true;
  return why;
}

std::vector<std::int64_t> steps_in(const std::string& dir, std::string* problem) {
  std::vector<std::int64_t> steps;
  std::error_code ec;
  for (fs::directory_iterator at(dir, ec), end; !ec && at != end; at.increment(ec)) {
    const auto step = step_of(at->path().filename().native());
    std::error_code unknown;
    if (step && at->is_directory(unknown)) steps.push_back(*step);
  }
  if (problem && ec && ec != std::errc::no_such_file_or_directory) *problem = ec.message();
  std::sort(steps.begin(), steps.end());
  return steps;
}

std::string remove_step(const std::string& dir, std::int64_t step) {
  const std::string away = fmt::format("{}/{}{}-{:016x}", dir, kRemoving, step, fresh_number());
  if (::rename(step_path(dir, step).c_str(), away.c_str()) != 0) return reason();
  // It is no step any more; what stays of it is swept up later.
  std::error_code ec;
  fs::remove_all(away, ec);
  return {};
}

void sweep(const std::string& dir) {
  std::error_code ec;
  std::vector<std::string> left;
  for (fs::directory_iterator at(dir, ec), end; !ec && at != end; at.increment(ec)) {
    const std::string name = at->path().filename().native();
    if (is_ours(name, kSaving) || is_ours(name, kRemoving)) left.push_back(at->path().native());
  }
  for (const std::string& path : left) {
    const Descriptor folder = open_folder(path);
    if (folder && lock(folder.get(), LOCK_EX)) fs::remove_all(path, ec);
  }
}

}  // namespace tessera::inline v0::checkpoints
