// The folder in which a step is made, beside those of the steps that are there, and how steps go.
//
// A folder that is being written has a lock for as long as one of its writers lives, so that what a
// killed run left can be told from what another one writes just now.
//
// Only files that saves make are removed (step_names.h). Whatever else lies in the folder of a step
// stays there.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace tessera::inline v0::checkpoints {

/// A descriptor that is closed.
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

/// All problems are in the system's words, and empty where there is none.
class Staging {
 public:
  /// Makes `dir` and the folder in it; it goes with this object unless it was committed.
  std::string make(const std::string& dir, std::int64_t step);
  /// That of another process, which makes it and removes it.
  std::string join(const std::string& dir, std::int64_t step, std::uint64_t nonce);
  /// A number that no other one has.
  std::uint64_t nonce() const { return nonce_; }
  Staging() = default;
  Staging(Staging&& other) noexcept;
  Staging& operator=(Staging&&) = delete;
  ~Staging();

  const std::string& path() const { return path_; }
  std::string path(std::string_view name) const { return path_ + "/" + std::string(name); }
  /// Whether it was made a step, whatever became of the step since: its folder has another name
  /// than the one that it was made under.
  bool was_made() const;
  /// Makes the step of it: all of it is on the disk, or nothing has happened. With `overwrite` it
  /// takes the place of a step that is there.
  std::string commit(const std::string& dir, std::int64_t step, bool overwrite);

 private:
  std::string path_;
  Descriptor lock_;
  // Folders of which an entry was made on the way, for the step's writer to bring to the disk: that
  // may take long.
  std::vector<std::string> has_new_;
  std::uint64_t nonce_ = 0;
  bool mine_ = false;
};

/// Removes a step, under another name first, so that no part of a step is ever there as a step.
std::string remove_step(const std::string& dir, std::int64_t step);
/// Removes what killed runs left.
void sweep(const std::string& dir);

/// The path from the root that a save into `dir` writes to. Links stay in it.
std::string absolute_path(const std::string& dir);

/// Brings a file or a folder to the disk; false with errno.
bool sync_all(int fd);

}  // namespace tessera::inline v0::checkpoints
