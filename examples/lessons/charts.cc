// Charts, heat maps and arrows.
#include "lessons/pictures.h"
#include "lessons/svg.h"

#include <tessera/tessera.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>

namespace ts = tessera;
using lesson_svg::Drawing;
using lesson_svg::number;

namespace {

constexpr std::array kColours{"#1f5fa8", "#d1651a", "#2a8c4a", "#a33a8b", "#7a6a1e", "#4a4a4a"};
// From dark to light, so that larger values are brighter.
constexpr std::array kHeat{"#100b35", "#2b0f5e", "#4b1273", "#6a1b78", "#892777", "#a8356f",
                           "#c54761", "#dd5f4f", "#ef7f3d", "#f9a331", "#fbc93f", "#f6f08c"};

/// The range of some values, and where a value lies on an axis of the picture.
struct Scale {
  double low = INFINITY, high = -INFINITY, begin = 0, end = 1;
  bool log = false;
  double mapped(double v) const { return log ? std::log10(v) : v; }
  void take(double v) {
    if (!std::isfinite(mapped(v))) return;
    low = std::min(low, mapped(v));
    high = std::max(high, mapped(v));
  }
  double at(double v) const {
    const double t = high > low ? (mapped(v) - low) / (high - low) : 0.5;
    return begin + (end - begin) * t;
  }
};

/// Round numbers between the ends of a scale.
std::vector<double> ticks(const Scale& s) {
  std::vector<double> at;
  if (s.log) {
    // Powers of ten, and 2 and 5 times these where there are few of them.
    const bool few = s.high - s.low < 2;
    for (double k = std::floor(s.low); k <= s.high; ++k)
      for (double digit : {1.0, 2.0, 5.0})
        if (const double v = digit * std::pow(10, k);
            (few || digit == 1) && s.mapped(v) >= s.low && s.mapped(v) <= s.high)
          at.push_back(v);
    return at;
  }
  const double span = std::max(s.high - s.low, 1e-12);
  double step = std::pow(10, std::floor(std::log10(span)));
  for (double part : {0.2, 0.5, 1.0, 2.0})
    if (span / (step * part) <= 6) {
      step *= part;
      break;
    }
  for (double v = std::ceil(s.low / step - 1e-9) * step; v <= s.high + step * 1e-9; v += step)
    at.push_back(std::abs(v) < step * 1e-9 ? 0 : v);
  return at;
}

std::string short_number(double v) {
  char text[32];
  std::snprintf(text, sizeof text, "%.3g", v);
  return text;
}

/// A narrow chart has the names of its curves below it.
void draw_chart(const std::string& path, const std::vector<Curve>& curves, const ChartTexts& texts,
                double width, double height, bool narrow) {
  const double bottom = narrow ? 300 : height;
  Scale x{.begin = narrow ? 58.0 : 66.0, .end = width - 20};
  Scale y{.begin = bottom - 52, .end = narrow ? 36.0 : 46.0};
  y.log = texts.log_y;
  for (const Curve& c : curves) {
    for (double v : c.x) x.take(v);
    for (double v : c.y) y.take(v);
  }
  double below = bottom + 4, at = 14;
  // Where the names of a narrow chart stand.
  std::vector<std::pair<double, double>> places;
  for (const Curve& c : curves) {
    const double needs = 12 + 7.4 * static_cast<double>(c.name.size());
    if (at + needs > width && at > 14) at = 14, below += 17;
    places.emplace_back(at, below + 6);
    at += c.name.empty() ? 0 : needs;
  }
  Drawing d(width, narrow ? below + 18 : height);
  d.text(narrow ? 14 : x.begin, narrow ? 20 : 24, texts.title,
         narrow ? "font-size=\"13\"" : "font-size=\"16\"");
  for (double v : ticks(y)) {
    d.line(x.begin, y.at(v), x.end, y.at(v), "#ddd");
    d.text(x.begin - 8, y.at(v) + 4, short_number(v), "text-anchor=\"end\"");
  }
  for (double v : ticks(x))
    d.text(x.at(v), y.begin + 18, short_number(v), "text-anchor=\"middle\"");
  d.text((x.begin + x.end) / 2, bottom - 12, texts.x, "text-anchor=\"middle\"");
  d.raw("<text transform=\"translate(16 " + number((y.begin + y.end) / 2) +
        ") rotate(-90)\" text-anchor=\"middle\">" + lesson_svg::escaped(texts.y) + "</text>");
  double named = x.end;
  for (std::size_t k = 0; k < curves.size(); ++k) {
    const Curve& c = curves[k];
    const std::string colour = kColours[k % kColours.size()];
    std::string points;
    for (std::size_t i = 0; i < c.x.size(); ++i)
      if (std::isfinite(y.mapped(c.y[i])))
        points += (points.empty() ? "M"
                   : c.dots       ? "M"
                                  : "L") +
                  number(x.at(c.x[i])) + " " + number(y.at(c.y[i])) + (c.dots ? "h0" : "");
    d.raw("<path d=\"" + points + "\" fill=\"none\" stroke=\"" + colour + "\" stroke-width=\"" +
          (c.dots ? "7" : "2") + "\" stroke-linecap=\"round\" stroke-linejoin=\"round\"/>");
    if (c.name.empty()) continue;
    if (narrow) {
      d.text(places[k].first, places[k].second, c.name, "fill=\"" + colour + "\"");
      continue;
    }
    d.text(named, 40, c.name, "text-anchor=\"end\" fill=\"" + colour + "\"");
    named -= 12 + 7.0 * static_cast<double>(c.name.size());
  }
  d.save(path);
}

}  // namespace

void save_chart(const std::string& path, const std::vector<Curve>& curves,
                const ChartTexts& texts) {
  draw_chart(path, curves, texts, 640, 360, false);
  draw_chart(lesson_svg::narrow(path), curves, texts, 352, 0, true);
}

void save_heatmap(const std::string& path, const ts::Array& values, const std::string& title) {
  const auto [rows, columns] = values.shape().unpack<2>();
  const std::vector<float> v = values.astype(ts::f32).to_vector<float>();
  float low = INFINITY, high = -INFINITY;
  for (float x : v)
    if (std::isfinite(x)) low = std::min(low, x), high = std::max(high, x);
  const double cell = std::max(2.0, std::floor(560.0 / static_cast<double>(columns)));
  const double top = 36;
  // One path for each colour, in which equal neighbours of a row are one rectangle.
  std::array<std::string, kHeat.size()> paths;
  const auto level = [&](std::int64_t r, std::int64_t c) {
    const float x = v[static_cast<std::size_t>(r * columns + c)];
    if (!std::isfinite(x) || high <= low) return 0;
    return std::min<int>(kHeat.size() - 1,
                         static_cast<int>((x - low) / (high - low) * float(kHeat.size())));
  };
  for (std::int64_t r = 0; r < rows; ++r)
    for (std::int64_t c = 0; c < columns;) {
      const int here = level(r, c);
      std::int64_t end = c + 1;
      while (end < columns && level(r, end) == here) ++end;
      if (here != 0)
        paths[static_cast<std::size_t>(here)] += "M" + std::to_string(c) + " " + std::to_string(r) +
                                                 "h" + std::to_string(end - c) + "v1h-" +
                                                 std::to_string(end - c) + "z";
      c = end;
    }
  const double width = cell * static_cast<double>(columns), height = cell * double(rows);
  Drawing d(width, height + top);
  d.text(4, 23, title, "font-size=\"16\"");
  d.rect(0, top, width, height, kHeat[0]);
  d.raw("<g transform=\"translate(0 " + number(top) + ") scale(" + number(cell) +
        ")\" shape-rendering=\"crispEdges\">");
  for (std::size_t k = 1; k < kHeat.size(); ++k)
    if (!paths[k].empty())
      d.raw("<path fill=\"" + std::string(kHeat[k]) + "\" d=\"" + paths[k] + "\"/>");
  d.raw("</g>");
  d.save(path);
}

void save_arrows(const std::string& path, const ts::Array& points, const ts::Array& directions,
                 const std::string& title) {
  const std::vector<float> p = points.astype(ts::f32).to_vector<float>();
  const std::vector<float> v = directions.astype(ts::f32).to_vector<float>();
  Scale x{.begin = 30, .end = 530}, y{.begin = 556, .end = 66};
  double longest = 0;
  for (std::size_t i = 0; i < p.size(); i += 2) {
    x.take(p[i]);
    y.take(p[i + 1]);
    longest = std::max(longest, std::hypot(double(v[i]), double(v[i + 1])));
  }
  const double size = 0.9 * 500 / std::sqrt(double(p.size()) / 2);
  std::array<std::string, 10> paths;  // one for each colour
  Drawing d(560, 586);
  d.text(16, 26, title, "font-size=\"16\"");
  for (std::size_t i = 0; i < p.size(); i += 2) {
    const double length = std::hypot(double(v[i]), double(v[i + 1]));
    if (!(length > 0)) continue;
    // Short arrows are drawn longer than they are, so that their directions can be seen.
    const double drawn = size * std::sqrt(length / longest);
    const double dx = v[i] / length * drawn, dy = -v[i + 1] / length * drawn;
    const double bx = x.at(p[i]) - dx / 2, by = y.at(p[i + 1]) - dy / 2;
    const double ex = bx + dx, ey = by + dy;
    const auto level = std::min<std::size_t>(9, static_cast<std::size_t>(10 * length / longest));
    paths[level] += "M" + number(bx) + " " + number(by) + "L" + number(ex) + " " + number(ey) +
                    "M" + number(ex - 0.3 * dx - 0.2 * dy) + " " +
                    number(ey - 0.3 * dy + 0.2 * dx) + "L" + number(ex) + " " + number(ey) + "L" +
                    number(ex - 0.3 * dx + 0.2 * dy) + " " + number(ey - 0.3 * dy - 0.2 * dx);
  }
  for (std::size_t k = 0; k < paths.size(); ++k)
    if (!paths[k].empty())
      d.raw("<path d=\"" + paths[k] + "\" fill=\"none\" stroke=\"" + kHeat[k] +
            "\" stroke-width=\"1.5\"/>");
  d.save(path);
}
