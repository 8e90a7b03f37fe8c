// The outputs of a run: a folder of files, and a trace of some steps.
#pragma once

#include <tessera/profile.h>

#include <cstdint>
#include <exception>
#include <functional>
#include <optional>
#include <string>
#include <vector>

/// The folder of a run. It is created if it does not exist. Throws IoError if the outputs of a run
/// could not be written there.
class Outputs {
 public:
  Outputs(std::string folder, const std::vector<std::string>& files,
          const std::vector<std::string>& folders = {});
  std::string path(const std::string& name) const { return folder_ + "/" + name; }
  /// Calls `write` in the process that reports. A failure is reported and remembered; the other
  /// outputs are still written.
  void write(const std::string& name, const std::function<void()>& write);
  /// Calls `write` in all processes, which write the output together.
  void write_together(const std::string& name, const std::function<void()>& write);
  bool failed() const { return failed_; }
  /// "wrote a, b and c to the folder", which lists the outputs that were written.
  std::string report() const;

 private:
  std::string folder_;
  std::vector<std::string> written_;
  bool failed_ = false;
};

/// Whether this process reports: of several processes the first one does. The others write no
/// files, and after this call they print only errors.
bool reports();
void leave_reports_to_the_first();

/// Writes a file beside the target and renames it. Throws IoError if that fails.
void write_file(const std::string& path, const std::string& text);

/// A profile of some steps in all processes. It starts after the steps that compile.
class Trace {
 public:
  explicit Trace(std::string path) : path_(std::move(path)) {}
  /// `done` is the number of finished steps of this run.
  void before_step(std::int64_t done);
  /// Whether there is a trace, or a reason why there is none.
  bool recorded() const { return profile_ || problem_; }
  /// Ends the trace after training, in all processes. Training may have been shorter than the trace
  /// was to be.
  void end();
  /// Throws the exception that prevented the trace, if there was one.
  void finish() const;

 private:
  std::string path_;
  std::optional<tessera::Profile> profile_;
  std::exception_ptr problem_;
};
