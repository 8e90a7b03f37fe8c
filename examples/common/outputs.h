// What a run leaves behind: a folder, a trace of some steps.
#pragma once

#include <tessera/profile.h>

#include <cstdint>
#include <exception>
#include <functional>
#include <optional>
#include <string>
#include <vector>

/// The folder of a run. Made where it is missing; IoError where what a run writes could not be put
/// there.
class Outputs {
 public:
  Outputs(std::string folder, const std::vector<std::string>& files,
          const std::vector<std::string>& folders = {});
  std::string path(const std::string& name) const { return folder_ + "/" + name; }
  /// Runs `write` where this process reports. A failure is reported and remembered, and does not keep the others from being
  /// written.
  void write(const std::string& name, const std::function<void()>& write);
  /// What all processes write together.
  void write_together(const std::string& name, const std::function<void()>& write);
  bool failed() const { return failed_; }
  /// "wrote a, b and c to the folder", of what was written.
  std::string report() const;

 private:
  std::string folder_;
  std::vector<std::string> written_;
  bool failed_ = false;
};

/// Of several processes the first one reports: the others write no files, and from here on print
/// nothing but errors.
bool reports();
void leave_reports_to_the_first();

/// Writes beside the file and renames. IoError when that fails.
void write_file(const std::string& path, const std::string& text);

/// A profile of some steps, of all processes, begun when those that compile are through.
class Trace {
 public:
  explicit Trace(std::string path) : path_(std::move(path)) {}
  /// `done`: steps of this run.
  void before_step(std::int64_t done);
  /// Whether there is a trace, or a reason why there is none.
  bool recorded() const { return profile_ || problem_; }
  /// When training is over, in all processes: it may have been shorter than what is traced.
  void end();
  /// Throws what there was to say of it.
  void finish() const;

 private:
  std::string path_;
  std::optional<tessera::Profile> profile_;
  std::exception_ptr problem_;
};
