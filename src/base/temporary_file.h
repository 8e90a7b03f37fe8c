// A file that is written next to the file it will replace.
#pragma once

#include <sys/types.h>

#include <filesystem>
#include <string>

namespace tessera::inline v0::detail {

/// The file has no name if the file system supports that, so a killed process leaves nothing
/// behind. Otherwise it has a unique name, ".tessera-<16 hexadecimal digits>.tmp", and is locked
/// while in use. The destructor removes it unless it was moved.
class TemporaryFile {
 public:
  enum class Name { later, now };
  TemporaryFile(const std::filesystem::path& folder, mode_t mode, Name name);
  ~TemporaryFile();
  TemporaryFile(const TemporaryFile&) = delete;
  TemporaryFile& operator=(const TemporaryFile&) = delete;

  /// The system's message if the file could not be opened; else empty.
  const std::string& problem() const { return problem_; }
  int descriptor() const { return file_; }
  /// Whether the file was made without a name and could not be given one later: some sandboxes
  /// forbid that.
  bool stays_without_a_name() const { return stays_without_a_name_; }
  /// Moves the file over `target`, which must be in the same folder. Returns the reason on failure.
  std::string move_to(const std::filesystem::path& target);

 private:
  bool open_without_a_name(mode_t mode);
  bool open_with_a_name(mode_t mode);
  std::filesystem::path folder_, name_;
  std::string problem_;
  int file_ = -1;
  bool stays_without_a_name_ = false;
};

/// Removes files in `folder` that killed processes left behind: files of this user with names of
/// the form above that are not locked.
void remove_left_temporaries(const std::filesystem::path& folder);

}  // namespace tessera::inline v0::detail
