// What a run shows while it goes and leaves behind: a progress bar, metrics.csv, loss.svg.
#pragma once

#include <chrono>
#include <cstdint>
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

/// IoError when it cannot be written.
void write_csv(const std::string& path, const std::vector<Point>& points);
void write_loss_svg(const std::string& path, const std::vector<Point>& points,
                    const std::string& title);
