// Decides which folders are steps, and reads a step.
//
// A folder is a step if its name is a number and it holds a manifest that a finished save wrote.
// Everything else in a checkpoint folder belongs to others: it is not listed, counted, replaced or
// removed.
//
// Other processes may replace or remove a step while it is read. Its folder is therefore opened
// once, and its files are opened relative to it, so that all of them belong to one save, whatever
// folder has the step's name by then.
#pragma once

#include "checkpoints/manifest.h"
#include "checkpoints/staging.h"

#include <algorithm>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace tessera::inline v0::checkpoints {

/// The state of the folder entry with a step's name.
enum class Standing {
  none,        // nothing
  foreign,     // something that no save made
  unreadable,  // a folder that this process may not read
  damaged,     // a step whose manifest does not begin like ours
  linked,      // a symbolic link to a step elsewhere: readable, never replaced or removed
  made,        // a step
};
/// Reads only the beginning of the manifest.
Standing standing_of(const std::string& dir, std::int64_t step);
/// Whether a restore may request it: any step, even if it is damaged or unreadable.
inline bool is_listed(Standing s) { return s > Standing::foreign; }
/// Whether a save made it in this folder, so that another save may replace it.
inline bool is_own(Standing s) { return s == Standing::made || s == Standing::damaged; }

/// The entries whose names are numbers, ascending, whatever they are. If the folder cannot be read,
/// the list is empty and `problem` gives the reason, unless the folder does not exist.
std::vector<std::int64_t> numbers_in(const std::string& dir, std::string* problem = nullptr);
/// The entries that is_listed() accepts.
std::vector<std::int64_t> steps_in(const std::string& dir, std::string* problem = nullptr);
/// The last of steps_in(), without looking at the others.
std::optional<std::int64_t> newest_in(const std::string& dir, std::string* problem = nullptr);

/// Why a part of a step cannot be read.
struct Problem {
  enum class Kind {
    gone,        // it does not exist, or has been removed
    unreadable,  // this process has no permission
    damaged,     // its content is not what was written
  };
  Kind kind = Kind::damaged;
  std::string text;
};
/// Whether some problem is more than missing permissions.
inline bool is_damaged(const std::vector<Problem>& problems) {
  return std::ranges::any_of(problems,
                             [](const Problem& p) { return p.kind != Problem::Kind::unreadable; });
}
/// A Problem from the errno of opening or reading a file.
Problem problem_of(int error, const std::string& what);

/// An open file of a step.
class StepFile {
 public:
  StepFile() = default;
  StepFile(int folder, const std::string& name);
  const std::optional<Problem>& problem() const { return problem_; }
  std::uint64_t size() const { return size_; }
  int descriptor() const { return file_.get(); }

 private:
  Descriptor file_;
  std::uint64_t size_ = 0;
  std::optional<Problem> problem_;
};

class StepFolder {
 public:
  StepFolder() = default;
  /// Opens the folder and reads its manifest.
  StepFolder(const std::string& dir, std::int64_t step);

  /// Why there is no manifest; absent if it is valid.
  const std::optional<Problem>& problem() const { return problem_; }
  const Manifest& manifest() const { return manifest_; }
  /// A number that is unique to the save that wrote the manifest; absent without a manifest.
  std::optional<std::uint64_t> mark() const { return mark_; }
  StepFile open(const std::string& name) const { return StepFile(folder_.get(), name); }

  /// Whether the step's name still refers to the folder that this object opened. If not, the step
  /// was replaced or removed, which may explain any other problem.
  bool is_current() const;
  /// Whether files may have been overwritten in place since the manifest was read.
  bool is_torn() const;

 private:
  std::optional<Problem> read(std::int64_t step);

  std::string path_;
  Descriptor folder_;
  Manifest manifest_;
  std::optional<std::uint64_t> mark_;
  std::optional<Problem> problem_;
};

/// How often a step that others replace or remove during reading is looked up again.
inline constexpr int kTries = 100;

}  // namespace tessera::inline v0::checkpoints
