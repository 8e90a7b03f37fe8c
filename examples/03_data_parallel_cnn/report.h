// What a run shows while it goes and leaves behind: a progress bar, metrics.csv, loss.svg.
#pragma once

#include <tessera/profile.h>

#include <chrono>
#include <cstdint>
#include <exception>
#include <functional>
#include <optional>
#include <string>
#include <vector>

struct Point {
  std::int64_t epoch, step;
  double loss, accuracy, images_per_second;
};

/// A bar on a terminal, a plain line an epoch elsewhere.
class Progress {
 public:
  Progress(std::int64_t epochs, std::int64_t steps_per_epoch, std::int64_t batch);
  void step(std::int64_t epoch, std::int64_t step, double loss, double accuracy);
  /// `steps` of the epoch were run: fewer than all where training stops early.
  void end_epoch(std::int64_t epoch, std::int64_t steps, double loss, double accuracy);
  double images_per_second() const;
  double seconds() const;

 private:
  std::string line(std::int64_t epoch, std::int64_t step, double loss, double accuracy,
                   bool bar) const;
  std::int64_t epochs_, steps_, batch_, done_ = 0;
  bool terminal_;
  std::chrono::steady_clock::time_point start_ = std::chrono::steady_clock::now(), shown_{};
};

/// The folder of a run. Made where it is missing; IoError where what a run writes could not be put
/// there.
class Outputs {
 public:
  explicit Outputs(std::string folder);
  std::string path(const std::string& name) const { return folder_ + "/" + name; }
  /// Runs `write`. A failure is reported and remembered, and does not keep the others from being
  /// written.
  void write(const std::string& name, const std::function<void()>& write);
  bool failed() const { return failed_; }
  /// "wrote a, b and c to the folder", of what was written.
  std::string report() const;

 private:
  std::string folder_;
  std::vector<std::string> written_;
  bool failed_ = false;
};

/// A profile of some steps, begun when those that compile are through.
class Trace {
 public:
  explicit Trace(std::string path) : path_(std::move(path)) {}
  void before_step(std::int64_t done);
  /// Whether there is a trace, or a reason why there is none.
  bool recorded() const { return profile_ || problem_; }
  void finish();

 private:
  std::string path_;
  std::optional<tessera::Profile> profile_;
  std::exception_ptr problem_;
};

/// Each writes beside the file and renames. IoError when that fails.
void write_csv(const std::string& path, const std::vector<Point>& points);
void write_loss_svg(const std::string& path, const std::vector<Point>& points,
                    const std::string& title);
