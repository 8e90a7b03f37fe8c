#include "report.h"

#include <tessera/error.h>

#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cmath>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <iostream>
#include <sstream>

namespace {

std::string format(const char* pattern, auto... values) {
  char text[256];
  std::snprintf(text, sizeof text, pattern, values...);
  return text;
}

// Beside the file first, under a name that is nobody's: "x" neither replaces a file nor follows a
// link.
void write_file(const std::string& path, const std::string& text) {
  std::FILE* file = nullptr;
  std::string beside;
  for (int i = 0; i < 100 && !file; ++i) {
    beside = path + "." + std::to_string(getpid()) + "." + std::to_string(i) + ".tmp";
    file = std::fopen(beside.c_str(), "wx");
    if (!file && errno != EEXIST) break;
  }
  if (!file) throw tessera::IoError("cannot write " + path + ": " + std::strerror(errno));
  bool done = std::fwrite(text.data(), 1, text.size(), file) == text.size();
  done = (std::fclose(file) == 0) && done;
  done = done && std::rename(beside.c_str(), path.c_str()) == 0;
  if (done) return;
  const std::string why = std::strerror(errno);
  std::remove(beside.c_str());
  throw tessera::IoError("cannot write " + path + ": " + why);
}

}  // namespace

Outputs::Outputs(std::string folder) : folder_(std::move(folder)) {
  namespace fs = std::filesystem;
  const auto refuse = [](const std::string& what, const std::string& why) {
    throw tessera::IoError(what + ": " + why + "; nothing was trained yet; choose another --out");
  };
  std::error_code ec;
  fs::create_directories(folder_, ec);
  if (ec) refuse("the folder " + folder_ + " cannot be made", ec.message());
  if (access(folder_.c_str(), W_OK | X_OK) != 0)
    refuse("the folder " + folder_ + " cannot be written", std::strerror(errno));
  for (const char* name : {"model.safetensors", "trace.json", "metrics.csv", "loss.svg"}) {
    const std::string file = path(name);
    const fs::file_status found = fs::status(file, ec);
    if (!fs::exists(found)) continue;
    if (!fs::is_regular_file(found))
      refuse(file + " cannot be written",
             fs::is_directory(found) ? "it is a folder" : "it is not a file");
    if (access(file.c_str(), W_OK) != 0) refuse(file + " cannot be written", std::strerror(errno));
  }
}

void Outputs::write(const std::string& name, const std::function<void()>& write) {
  try {
    write();
    if (std::find(written_.begin(), written_.end(), name) == written_.end())
      written_.push_back(name);
  } catch (const std::exception& e) {
    failed_ = true;
    std::cerr << "error: " << e.what() << "\n";
  }
}

std::string Outputs::report() const {
  if (written_.empty()) return "wrote nothing to " + folder_;
  std::string s = "wrote ";
  for (std::size_t i = 0; i < written_.size(); ++i)
    s += (i == 0 ? "" : i + 1 == written_.size() ? " and " : ", ") + written_[i];
  return s + " to " + folder_;
}

void Trace::before_step(std::int64_t done) {
  constexpr std::int64_t kUntraced = 2, kTraced = 20;  // steps that compile, those in the trace
  try {
    if (done == kUntraced) profile_.emplace(path_);
    if (done == kUntraced + kTraced) profile_->finish();
  } catch (...) {
    problem_ = std::current_exception();  // training goes on
  }
}

void Trace::finish() {
  if (problem_) std::rethrow_exception(problem_);
  profile_->finish();
}

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
  constexpr double kWidth = 760, kHeight = 420, kLeft = 64, kRight = 20, kTop = 44, kBottom = 52;
  double lo = INFINITY, hi = 0;
  for (const Point& p : points)
    if (p.loss > 0 && std::isfinite(p.loss)) lo = std::min(lo, p.loss), hi = std::max(hi, p.loss);
  if (!(lo <= hi)) lo = 0.1, hi = 1;
  double low = std::floor(std::log10(lo)), high = std::max(low + 1, std::ceil(std::log10(hi)));
  double n = std::max<double>(1, static_cast<double>(points.size()) - 1);
  auto x = [&](double i) { return kLeft + (kWidth - kLeft - kRight) * i / n; };
  auto y = [&](double loss) {
    double t = (std::log10(std::max(loss, 1e-12)) - low) / (high - low);
    return kHeight - kBottom - (kHeight - kTop - kBottom) * std::clamp(t, 0.0, 1.0);
  };
  std::ostringstream s;
  s << "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 " << kWidth << " " << kHeight
    << "\" font-family=\"sans-serif\" font-size=\"12\">\n<rect width=\"100%\" height=\"100%\" "
       "fill=\"white\"/>\n"
    << "<text x=\"" << kLeft << "\" y=\"26\" font-size=\"16\">" << title << "</text>\n"
    << "<text x=\"" << kWidth - kRight
    << "\" y=\"26\" text-anchor=\"end\" fill=\"#555\">thin: each step, bold: running mean</text>\n";
  for (double d = low; d <= high; ++d) {
    double at = y(std::pow(10, d));
    s << "<line x1=\"" << kLeft << "\" x2=\"" << kWidth - kRight << "\" y1=\"" << at << "\" y2=\""
      << at << "\" stroke=\"#ddd\"/>\n"
      << "<text x=\"" << kLeft - 8 << "\" y=\"" << at + 4 << "\" text-anchor=\"end\">1e" << d
      << "</text>\n";
  }
  std::int64_t epochs = points.empty() ? 0 : points.back().epoch;
  std::int64_t every = std::max<std::int64_t>(1, epochs / 12);
  for (std::size_t i = 0; i < points.size(); ++i)
    if ((i == 0 || points[i].epoch != points[i - 1].epoch) && (points[i].epoch - 1) % every == 0)
      s << "<line x1=\"" << x(double(i)) << "\" x2=\"" << x(double(i)) << "\" y1=\""
        << kHeight - kBottom << "\" y2=\"" << kHeight - kBottom + 5
        << "\" stroke=\"#888\"/>\n<text x=\"" << x(double(i)) << "\" y=\"" << kHeight - kBottom + 19
        << "\" text-anchor=\"middle\">" << points[i].epoch << "</text>\n";
  s << "<text x=\"" << (kLeft + kWidth - kRight) / 2 << "\" y=\"" << kHeight - 12
    << "\" text-anchor=\"middle\">epoch</text>\n"
    << "<text transform=\"translate(16 " << kHeight / 2
    << ") rotate(-90)\" text-anchor=\"middle\">training loss</text>\n";
  auto curve = [&](const char* colour, double width, double keep) {
    double smooth = 0, weight = 0;
    s << "<polyline fill=\"none\" stroke=\"" << colour << "\" stroke-width=\"" << width
      << "\" points=\"";
    for (std::size_t i = 0; i < points.size(); ++i) {
      smooth = keep * smooth + (1 - keep) * points[i].loss;
      weight = keep * weight + (1 - keep);
      if (std::isfinite(smooth)) s << format("%.1f,%.1f ", x(double(i)), y(smooth / weight));
    }
    s << "\"/>\n";
  };
  curve("#b8cfe8", 1, 0);
  curve("#1f5fa8", 2, 0.95);
  s << "</svg>\n";
  write_file(path, s.str());
}
