// Which folders are steps, and a step that is being read.
//
// A folder is a step if its name is a number and it holds a manifest that a finished save wrote.
// Everything else in a folder of checkpoints belongs to somebody else: it is not listed, counted,
// replaced or removed.
//
// Other processes may replace or remove a step while it is read. Its folder is therefore opened
// once and its files are opened relative to it, so that all of them are of one save, whatever the
// step's name stands for by then.
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

/// What stands at the name of a step.
enum class Standing {
  none,        // nothing
  foreign,     // something that no save made
  unreadable,  // a folder into which this process may not look
  damaged,     // a step whose manifest does not begin as ours do
  linked,      // a symbolic link to a step elsewhere: it is read, never replaced or removed
  made,        // a step
};
/// Looks at the beginning of the manifest only.
Standing standing_of(const std::string& dir, std::int64_t step);
/// Whether a restore may name it: a step, also one that is damaged or cannot be looked into.
inline bool is_listed(Standing s) { return s > Standing::foreign; }
/// Whether a save made it here, so that another one may replace it.
inline bool is_own(Standing s) { return s == Standing::made || s == Standing::damaged; }

/// Names that are numbers, ascending, whatever they stand for. A folder that cannot be read has
/// none, and `problem` says why unless the folder is missing.
std::vector<std::int64_t> numbers_in(const std::string& dir, std::string* problem = nullptr);
/// The listed steps of these.
std::vector<std::int64_t> steps_in(const std::string& dir, std::string* problem = nullptr);
/// The last of them, without looking at the others.
std::optional<std::int64_t> newest_in(const std::string& dir, std::string* problem = nullptr);

/// Why something of a step cannot be had.
struct Problem {
  enum class Kind {
    gone,        // it is not there, or not any more
    unreadable,  // the system does not let this process have it
    damaged,     // it is not what was written
  };
  Kind kind = Kind::damaged;
  std::string text;
};
/// Whether something is not as it was written; else all of it only cannot be had by this process.
inline bool is_damaged(const std::vector<Problem>& problems) {
  return std::ranges::any_of(problems,
                             [](const Problem& p) { return p.kind != Problem::Kind::unreadable; });
}
/// The text of an errno that opening or reading a file gave.
Problem problem_of(int error, const std::string& what);

/// A file of a step, open.
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
  /// Opens it and reads the manifest.
  StepFolder(const std::string& dir, std::int64_t step);

  /// Why there is no manifest; nothing where it is sound.
  const std::optional<Problem>& problem() const { return problem_; }
  const Manifest& manifest() const { return manifest_; }
  /// A number that no other save's manifest has; none where there is no manifest.
  std::optional<std::uint64_t> mark() const { return mark_; }
  StepFile open(const std::string& name) const { return StepFile(folder_.get(), name); }

  /// Whether the step's name stands for what it stood for when this object was made. If not, others
  /// replaced or removed the step, which may be all that is wrong with it.
  bool is_current() const;
  /// Whether the files may have been written over in place since the manifest was read.
  bool is_torn() const;

 private:
  std::optional<Problem> read(std::int64_t step);

  std::string path_;
  Descriptor folder_;
  Manifest manifest_;
  std::optional<std::uint64_t> mark_;
  std::optional<Problem> problem_;
};

/// How often a step that others replace or remove while it is read is looked for again.
inline constexpr int kTries = 100;

}  // namespace tessera::inline v0::checkpoints
