// Reports a run: a progress bar while it trains, and metrics.csv and loss.svg afterwards.
#pragma once

#include <chrono>
#include <cstdint>
#include <string>
#include <vector>

struct Point {
  std::int64_t epoch, step;
  double loss, accuracy, images_per_second;
};

/// Shows a bar on a terminal, and a plain line per epoch elsewhere.
class Progress {
 public:
  Progress(std::int64_t epochs, std::int64_t steps_per_epoch, std::int64_t batch);
  void step(std::int64_t epoch, std::int64_t step, double loss, double accuracy);
  /// `steps` is the number of steps that were run in the epoch, which is smaller if training stops
  /// early.
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

/// Throws IoError if the file cannot be written.
void write_csv(const std::string& path, const std::vector<Point>& points);
void write_loss_svg(const std::string& path, const std::vector<Point>& points,
                    const std::string& title);
