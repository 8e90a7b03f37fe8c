#include "checkpoints/step_folder.h"

#include "checkpoints/step_names.h"

#include <fmt/format.h>

#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <new>
#include <utility>

namespace tessera::inline v0::checkpoints {
namespace {

namespace fs = std::filesystem;

// Opens a folder for access to its files, which does not require permission to list it.
Descriptor enter(const std::string& path) {
  int fd = -1;
  do fd = ::open(path.c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC);
  while (fd < 0 && errno == EINTR);
  return Descriptor(fd);
}

// Reads the first `most` bytes, or fewer if the file is shorter. Returns an errno or 0.
int read_front(int fd, std::string& text, std::size_t most) {
  text.resize(most);
  std::size_t got = 0;
  while (got < most) {
    const ssize_t n = ::pread(fd, text.data() + got, most - got, static_cast<off_t>(got));
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) return errno;
    if (n == 0) break;
    got += static_cast<std::size_t>(n);
  }
  text.resize(got);
  return 0;
}

// The checksum of the manifest's first line, which contains a checksum of the rest. Absent if there
// is no manifest.
std::optional<std::uint64_t> mark_in(int folder) {
  const StepFile file(folder, kManifest);
  std::string head;
  if (file.problem() || read_front(file.descriptor(), head, kHeadBytes) != 0) return {};
  return checksum(head.data(), head.size());
}

bool has_shards(const std::string& path) {
  std::error_code ec;
  for (fs::directory_iterator at(path, ec), end; !ec && at != end; at.increment(ec))
    if (is_shard(at->path().filename().native())) return true;
  return false;
}

// For a path that is not a folder, or a folder that may not be entered.
Standing standing_without_folder(int error) {
  return error == EACCES || error == EPERM ? Standing::unreadable : Standing::foreign;
}

Standing standing_in(int folder, const std::string& path) {
  struct stat found {};
  if (::fstatat(folder, kManifest, &found, AT_SYMLINK_NOFOLLOW) != 0)
    return standing_without_folder(errno);
  const StepFile file(folder, kManifest);
  if (file.problem() && file.problem()->kind == Problem::Kind::unreadable)
    return Standing::unreadable;
  std::string head;
  if (!file.problem() && read_front(file.descriptor(), head, kHeadBytes) == 0 && begins_so(head))
    return Standing::made;
  return has_shards(path) ? Standing::damaged : Standing::foreign;
}

}  // namespace

Problem problem_of(int error, const std::string& what) {
  switch (error) {
    case ENOENT:
    case ENOTDIR: return {Problem::Kind::gone, "there is no such file"};
    case ESTALE: return {Problem::Kind::gone, what + std::strerror(error)};
    case EACCES:
    case EPERM:
    case EMFILE:
    case ENFILE:
    case ENOMEM: return {Problem::Kind::unreadable, what + std::strerror(error)};
    default: return {Problem::Kind::damaged, what + std::strerror(error)};
  }
}

StepFile::StepFile(int folder, const std::string& name) {
  int fd = -1;
  // O_NONBLOCK, because opening a pipe would wait for a writer.
  do fd = ::openat(folder, name.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOFOLLOW);
  while (fd < 0 && errno == EINTR);
  const int error = errno;
  file_ = Descriptor(fd);
  struct stat found {};
  if (fd < 0 && error == ELOOP) {
    problem_ = {Problem::Kind::damaged,
                "it is a symbolic link, and a step's files are in its own folder"};
  } else if (fd < 0) {
    problem_ = problem_of(error, "it cannot be opened: ");
  } else if (::fstat(fd, &found) != 0) {
    problem_ = problem_of(errno, "it cannot be opened: ");
  } else if (!S_ISREG(found.st_mode)) {
    problem_ = {Problem::Kind::damaged, "it is not a file"};
  } else {
    size_ = static_cast<std::uint64_t>(found.st_size);
  }
}

Standing standing_of(const std::string& dir, std::int64_t step) {
  const std::string path = step_path(dir, step);
  struct stat found {};
  if (::lstat(path.c_str(), &found) != 0)
    return errno == EACCES || errno == EPERM ? Standing::unreadable : Standing::none;
  const Descriptor folder = enter(path);
  const Standing standing =
      folder ? standing_in(folder.get(), path) : standing_without_folder(errno);
  return S_ISLNK(found.st_mode) && is_own(standing) ? Standing::linked : standing;
}

std::vector<std::int64_t> numbers_in(const std::string& dir, std::string* problem) {
  std::vector<std::int64_t> all;
  std::error_code ec;
  for (fs::directory_iterator at(dir, ec), end; !ec && at != end; at.increment(ec))
    if (const auto step = step_of(at->path().filename().native())) all.push_back(*step);
  if (problem && ec && ec != std::errc::no_such_file_or_directory) *problem = ec.message();
  std::ranges::sort(all);
  // A name that is replaced during the listing may appear twice.
  const auto twice = std::ranges::unique(all);
  all.erase(twice.begin(), twice.end());
  return all;
}

std::vector<std::int64_t> steps_in(const std::string& dir, std::string* problem) {
  std::vector<std::int64_t> steps = numbers_in(dir, problem);
  std::erase_if(steps, [&](std::int64_t s) { return !is_listed(standing_of(dir, s)); });
  return steps;
}

std::optional<std::int64_t> newest_in(const std::string& dir, std::string* problem) {
  const std::vector<std::int64_t> all = numbers_in(dir, problem);
  const auto newest = std::find_if(all.rbegin(), all.rend(),
                                   [&](std::int64_t s) { return is_listed(standing_of(dir, s)); });
  return newest == all.rend() ? std::nullopt : std::optional(*newest);
}

StepFolder::StepFolder(const std::string& dir, std::int64_t step)
    : path_(step_path(dir, step)), folder_(enter(path_)) {
  problem_ = folder_ ? read(step) : problem_of(errno, "its folder cannot be opened: ");
  if (problem_) problem_->text = std::string(kManifest) + ": " + problem_->text;
}

std::optional<Problem> StepFolder::read(std::int64_t step) {
  const auto damaged = [](std::string text) {
    return Problem{Problem::Kind::damaged, std::move(text)};
  };
  const StepFile file(folder_.get(), kManifest);
  if (file.problem()) return file.problem();
  std::string text;
  const std::string unread = "it cannot be read: ";
  if (const int error = read_front(file.descriptor(), text, kHeadBytes); error != 0)
    return problem_of(error, unread);
  mark_ = checksum(text.data(), text.size());
  // Check size and beginning before allocating memory for the file.
  if (file.size() > kMostManifest)
    return damaged(
        fmt::format("it has {} bytes, and a manifest has at most {}", file.size(), kMostManifest));
  if (!begins_so(text)) return damaged("it does not have the checksum in its first line");
  try {
    if (const int error = read_front(file.descriptor(), text, file.size()); error != 0)
      return problem_of(error, unread);
    if (std::string why = parse(text, manifest_); !why.empty()) return damaged(std::move(why));
  } catch (const std::bad_alloc&) {
    return Problem{Problem::Kind::unreadable,
                   fmt::format("there is no memory to read its {} bytes", file.size())};
  }
  if (manifest_.step != step) return damaged(fmt::format("it is of step {}", manifest_.step));
  return {};
}

bool StepFolder::is_current() const {
  // A folder without a manifest is not a step, or has been removed.
  if (problem_ && problem_->kind == Problem::Kind::gone) return false;
  const Descriptor now = enter(path_);
  return (now ? mark_in(now.get()) : std::nullopt) == mark_;
}
bool StepFolder::is_torn() const {
  const std::optional<std::uint64_t> now = mark_in(folder_.get());
  return now && *now != mark_;
}

}  // namespace tessera::inline v0::checkpoints
