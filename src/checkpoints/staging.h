// The temporary folder, next to the finished steps, in which a step is written; and the removal of
// steps.
//
// A folder that is being written is locked as long as one of its writers is alive, so that
// leftovers of killed runs can be told from saves in progress.
//
// Only files that saves create are removed (step_names.h). Any other file in a step's folder stays.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace tessera::inline v0::checkpoints {

/// A file descriptor that is closed by the destructor.
class Descriptor {
 public:
  Descriptor() = default;
  explicit Descriptor(int fd) : fd_(fd) {}
  ~Descriptor() { reset(); }
  Descriptor(Descriptor&& other) noexcept : fd_(other.fd_) { other.fd_ = -1; }
  Descriptor& operator=(Descriptor&& other) noexcept;
  int get() const { return fd_; }
  explicit operator bool() const { return fd_ >= 0; }
  void reset();

 private:
  int fd_ = -1;
};

/// Functions that return a string give the system's error text, or an empty string on success.
class Staging {
 public:
  /// Creates `dir` and the temporary folder in it. The folder is removed with this object unless it
  /// was committed.
  std::string make(const std::string& dir, std::int64_t step);
  /// Opens the folder of another process, which creates and removes it.
  std::string join(const std::string& dir, std::int64_t step, std::uint64_t nonce);
  /// A number that is unique to this save.
  std::uint64_t nonce() const { return nonce_; }
  Staging() = default;
  Staging(Staging&& other) noexcept;
  Staging& operator=(Staging&&) = delete;
  ~Staging();

  const std::string& path() const { return path_; }
  std::string path(std::string_view name) const { return path_ + "/" + std::string(name); }
  /// Whether the folder was committed, whatever happened to the step since: the folder was renamed.
  bool was_made() const;
  /// Turns the folder into the step atomically: either everything is on disk, or nothing has
  /// happened. With `overwrite`, it replaces an existing step.
  std::string commit(const std::string& dir, std::int64_t step, bool overwrite);

 private:
  std::string path_;
  Descriptor lock_;
  // Parent folders that received a new entry. The step's writer must sync them, which may take
  // long.
  std::vector<std::string> has_new_;
  std::uint64_t nonce_ = 0;
  bool mine_ = false;
};

/// Removes a step. It is renamed first, so that an incomplete step never appears under a step's
/// name.
std::string remove_step(const std::string& dir, std::int64_t step);
/// Removes what killed runs left behind.
void sweep(const std::string& dir);

/// The absolute path that a save into `dir` writes to; symbolic links are not resolved.
std::string absolute_path(const std::string& dir);

}  // namespace tessera::inline v0::checkpoints
