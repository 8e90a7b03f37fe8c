#include "common/loss_picture.h"

#include "common/outputs.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <sstream>

namespace {
std::string point(double x, double y) {
  char text[64];
  std::snprintf(text, sizeof text, "%.1f,%.1f ", x, y);
  return text;
}
}  // namespace

void write_loss_svg(const std::string& path, const std::vector<double>& losses,
                    const std::vector<Mark>& marks, const std::string& title,
                    const std::string& below) {
  constexpr double kWidth = 760, kHeight = 420, kLeft = 64, kRight = 20, kTop = 44, kBottom = 52;
  double lo = INFINITY, hi = 0;
  for (double loss : losses)
    if (loss > 0 && std::isfinite(loss)) lo = std::min(lo, loss), hi = std::max(hi, loss);
  if (!(lo <= hi)) lo = 0.1, hi = 1;
  double low = std::floor(std::log10(lo)), high = std::max(low + 1, std::ceil(std::log10(hi)));
  double n = std::max<double>(1, static_cast<double>(losses.size()) - 1);
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
  for (const Mark& mark : marks)
    s << "<line x1=\"" << x(double(mark.at)) << "\" x2=\"" << x(double(mark.at)) << "\" y1=\""
      << kHeight - kBottom << "\" y2=\"" << kHeight - kBottom + 5
      << "\" stroke=\"#888\"/>\n<text x=\"" << x(double(mark.at)) << "\" y=\""
      << kHeight - kBottom + 19 << "\" text-anchor=\"middle\">" << mark.label << "</text>\n";
  s << "<text x=\"" << (kLeft + kWidth - kRight) / 2 << "\" y=\"" << kHeight - 12
    << "\" text-anchor=\"middle\">" << below << "</text>\n"
    << "<text transform=\"translate(16 " << kHeight / 2
    << ") rotate(-90)\" text-anchor=\"middle\">training loss</text>\n";
  auto curve = [&](const char* colour, double width, double keep) {
    double smooth = 0, weight = 0;
    s << "<polyline fill=\"none\" stroke=\"" << colour << "\" stroke-width=\"" << width
      << "\" points=\"";
    for (std::size_t i = 0; i < losses.size(); ++i) {
      smooth = keep * smooth + (1 - keep) * losses[i];
      weight = keep * weight + (1 - keep);
      if (std::isfinite(smooth)) s << point(x(double(i)), y(smooth / weight));
    }
    s << "\"/>\n";
  };
  curve("#b8cfe8", 1, 0);
  curve("#1f5fa8", 2, 0.95);
  s << "</svg>\n";
  write_file(path, s.str());
}
