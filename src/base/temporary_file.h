// A file that is written beside the one it will replace.
#pragma once

#include <sys/types.h>

#include <filesystem>
#include <string>

namespace tessera::inline v0::detail {

/// Without a name where the file system has such files, so that a process that is killed leaves
/// nothing; else under a name that no other file has, ".tessera-<16 hexadecimal digits>.tmp", and
/// locked for as long as it is in use. Gone when this object goes, unless it was moved.
class TemporaryFile {
 public:
  enum class Name { later, now };
  TemporaryFile(const std::filesystem::path& folder, mode_t mode, Name name);
  ~TemporaryFile();
  TemporaryFile(const TemporaryFile&) = delete;
  TemporaryFile& operator=(const TemporaryFile&) = delete;

  /// Why there is none, in the system's words; empty when it is open.
  const std::string& problem() const { return problem_; }
  int descriptor() const { return file_; }
  /// Whether it was made without a name and then could not be given one: some sandboxes forbid
  /// that.
  bool stays_without_a_name() const { return stays_without_a_name_; }
  /// Puts it in the place of `target`, in the same folder. Gives the reason where that fails.
  std::string move_to(const std::filesystem::path& target);

 private:
  bool open_without_a_name(mode_t mode);
  bool open_with_a_name(mode_t mode);
  std::filesystem::path folder_, name_;
  std::string problem_;
  int file_ = -1;
  bool stays_without_a_name_ = false;
};

/// Removes what processes that were killed left in a folder: files of this user with names of the
/// kind above that nobody holds a lock on.
void remove_left_temporaries(const std::filesystem::path& folder);

}  // namespace tessera::inline v0::detail
