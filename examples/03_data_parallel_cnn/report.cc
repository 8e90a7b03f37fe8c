#include "report.h"

#include "common/loss_picture.h"
#include "common/outputs.h"

#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <iostream>

namespace {

std::string format(const char* pattern, auto... values) {
  char text[256];
  std::snprintf(text, sizeof text, pattern, values...);
  return text;
}

}  // namespace

Progress::Progress(std::int64_t epochs, std::int64_t steps, std::int64_t batch)
    : epochs_(epochs), steps_(steps), batch_(batch), terminal_(isatty(STDOUT_FILENO)) {}

double Progress::seconds() const {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start_).count();
}
double Progress::images_per_second() const {
  return static_cast<double>(done_ * batch_) / std::max(1e-9, seconds());
}

std::string Progress::line(std::int64_t epoch, std::int64_t step, double loss, double accuracy,
                           bool bar) const {
  double rate = images_per_second();
  double left = static_cast<double>((epochs_ * steps_ - done_) * batch_) / std::max(1.0, rate);
  std::string s =
      format("epoch %2lld/%lld ", static_cast<long long>(epoch), static_cast<long long>(epochs_));
  if (bar) {
    constexpr int kWidth = 24;
    int full = static_cast<int>(kWidth * step / std::max<std::int64_t>(1, steps_));
    s += "[";
    for (int i = 0; i < kWidth; ++i) s += i < full ? "█" : "·";
    s += "] ";
  }
  return s + format("step %lld/%lld  loss %.4f  acc %5.1f%%  %5.0f img/s  ETA %lld:%02lld",
                    static_cast<long long>(step), static_cast<long long>(steps_), loss,
                    100 * accuracy, rate, static_cast<long long>(left) / 60,
                    static_cast<long long>(left) % 60);
}

void Progress::step(std::int64_t epoch, std::int64_t step, double loss, double accuracy) {
  ++done_;
  auto now = std::chrono::steady_clock::now();
  if (!terminal_ || (now - shown_ < std::chrono::milliseconds(80) && step != steps_)) return;
  shown_ = now;
  std::cout << "\r" << line(epoch, step, loss, accuracy, true) << "\033[K" << std::flush;
}

void Progress::end_epoch(std::int64_t epoch, std::int64_t steps, double loss, double accuracy) {
  std::cout << (terminal_ ? "\r" : "") << line(epoch, steps, loss, accuracy, false)
            << (terminal_ ? "\033[K" : "") << std::endl;
}

void write_csv(const std::string& path, const std::vector<Point>& points) {
  std::string s = "epoch,step,loss,accuracy,images_per_second\n";
  for (const Point& p : points)
    s += format("%lld,%lld,%.9g,%.6g,%.1f\n", static_cast<long long>(p.epoch),
                static_cast<long long>(p.step), p.loss, p.accuracy, p.images_per_second);
  write_file(path, s);
}

void write_loss_svg(const std::string& path, const std::vector<Point>& points,
                    const std::string& title) {
  const std::int64_t epochs = points.empty() ? 0 : points.back().epoch;
  const std::int64_t every = std::max<std::int64_t>(1, epochs / 12);
  std::vector<double> losses;
  std::vector<Mark> marks;
  for (std::size_t i = 0; i < points.size(); ++i) {
    losses.push_back(points[i].loss);
    if ((i == 0 || points[i].epoch != points[i - 1].epoch) && (points[i].epoch - 1) % every == 0)
      marks.push_back({i, points[i].epoch});
  }
  write_loss_svg(path, losses, marks, title, "epoch");
}
