// Pictures, and how values are shown.
#include "notebook.h"
#include "runner.h"

#include <array>
#include <span>

namespace ts = tessera;

namespace {

using nb::Picture;

constexpr std::array kColours{"#1f5fa8", "#d1651a", "#2a8c4a", "#a33a8b", "#7a6a1e", "#4a4a4a"};

std::string number(double x) {
  char text[32];
  std::snprintf(text, sizeof text, "%.1f", x);
  std::string s = text;
  if (s.ends_with(".0")) s.resize(s.size() - 2);
  return s == "-0" ? "0" : s;
}

std::string short_number(double x) {
  char text[32];
  std::snprintf(text, sizeof text, "%.3g", x);
  return text;
}

std::string escaped(const std::string& text, bool quotes = false) {
  std::string s;
  for (char c : text)
    s += c == '<' ? "&lt;" : c == '&' ? "&amp;" : c == '"' && quotes ? "&quot;" : std::string(1, c);
  return s;
}

/// An axis of a plot: the range of its values, and where a value lies in the picture.
class Axis {
 public:
  Axis(double begin, double end, bool log) : begin_(begin), end_(end), log_(log) {}
  bool shows(double v) const { return std::isfinite(mapped(v)); }
  void take(double v) {
    if (!shows(v)) return;
    low_ = std::min(low_, mapped(v));
    high_ = std::max(high_, mapped(v));
  }
  double at(double v) const {
    const double part = high_ > low_ ? (mapped(v) - low_) / (high_ - low_) : 0.5;
    return begin_ + (end_ - begin_) * part;
  }
  double begin() const { return begin_; }
  double end() const { return end_; }
  /// Round values on the axis.
  std::vector<double> marks() const {
    std::vector<double> at;
    if (!(low_ <= high_)) return at;
    if (log_) {
      const bool few = high_ - low_ < 2;
      for (double power = std::floor(low_); power <= high_; ++power)
        for (double digit : {1.0, 2.0, 5.0}) {
          const double v = digit * std::pow(10, power);
          if ((few || digit == 1) && mapped(v) >= low_ && mapped(v) <= high_) at.push_back(v);
        }
      return at;
    }
    const double span = std::max(high_ - low_, 1e-12);
    double step = std::pow(10, std::floor(std::log10(span)));
    for (double part : {0.2, 0.5, 1.0})
      if (span / (step * part) <= 6) {
        step *= part;
        break;
      }
    for (double v = std::ceil(low_ / step - 1e-9) * step; v <= high_ + step * 1e-9; v += step)
      at.push_back(std::abs(v) < step * 1e-9 ? 0 : v);
    return at;
  }

 private:
  double mapped(double v) const { return log_ ? std::log10(v) : v; }
  double begin_, end_, low_ = INFINITY, high_ = -INFINITY;
  bool log_;
};

std::string text(double x, double y, const std::string& what, const std::string& attributes) {
  if (what.empty()) return "";
  return "<text x=\"" + number(x) + "\" y=\"" + number(y) + "\" " + attributes + ">" +
         escaped(what) + "</text>\n";
}

std::vector<double> doubles(const ts::Array& x) {
  return ts::ravel(x).astype(ts::f64).to_vector<double>();
}

std::string base64(std::span<const unsigned char> bytes) {
  constexpr const char* kDigits =
      "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  std::string s;
  for (std::size_t i = 0; i < bytes.size(); i += 3) {
    const std::size_t n = std::min<std::size_t>(3, bytes.size() - i);
    std::uint32_t word = 0;
    for (std::size_t k = 0; k < 3; ++k) word = word << 8 | (k < n ? bytes[i + k] : 0u);
    for (std::size_t k = 0; k < 4; ++k) s += k <= n ? kDigits[word >> (18 - 6 * k) & 63] : '=';
  }
  return s;
}

/// The bytes of a PNG file with 8 bits for each of 1 or 3 channels. They are stored and not
/// compressed, which keeps this short.
std::vector<unsigned char> png(const std::vector<unsigned char>& pixels, std::uint32_t height,
                               std::uint32_t width, std::uint32_t channels) {
  std::vector<unsigned char> out{0x89, 'P', 'N', 'G', '\r', '\n', 0x1a, '\n'};
  const auto big = [](std::vector<unsigned char>& to, std::uint32_t n) {
    for (int k = 3; k >= 0; --k) to.push_back(static_cast<unsigned char>(n >> (8 * k)));
  };
  const auto chunk = [&](const std::string& kind, const std::vector<unsigned char>& data) {
    big(out, static_cast<std::uint32_t>(data.size()));
    std::vector<unsigned char> body(kind.begin(), kind.end());
    body.insert(body.end(), data.begin(), data.end());
    std::uint32_t crc = ~0u;
    for (unsigned char byte : body) {
      crc ^= byte;
      for (int k = 0; k < 8; ++k) crc = crc >> 1 ^ (crc & 1 ? 0xedb88320u : 0u);
    }
    out.insert(out.end(), body.begin(), body.end());
    big(out, ~crc);
  };
  std::vector<unsigned char> header;
  big(header, width);
  big(header, height);
  header.insert(header.end(), {8, static_cast<unsigned char>(channels == 1 ? 0 : 2), 0, 0, 0});
  chunk("IHDR", header);
  std::vector<unsigned char> rows;  // each begins with the number of its filter: none
  for (std::uint32_t r = 0; r < height; ++r) {
    rows.push_back(0);
    const auto begin = pixels.begin() + static_cast<std::ptrdiff_t>(r) * width * channels;
    rows.insert(rows.end(), begin, begin + static_cast<std::ptrdiff_t>(width) * channels);
  }
  std::vector<unsigned char> data{0x78, 0x01};
  std::uint32_t a = 1, b = 0;
  for (unsigned char byte : rows) {
    a = (a + byte) % 65521;
    b = (b + a) % 65521;
  }
  for (std::size_t at = 0; at < rows.size(); at += 65535) {
    const std::size_t n = std::min<std::size_t>(65535, rows.size() - at);
    data.push_back(at + n == rows.size());
    for (std::size_t size : {n, ~n}) {
      data.push_back(static_cast<unsigned char>(size & 255));
      data.push_back(static_cast<unsigned char>(size >> 8 & 255));
    }
    data.insert(data.end(), rows.begin() + static_cast<std::ptrdiff_t>(at),
                rows.begin() + static_cast<std::ptrdiff_t>(at + n));
  }
  big(data, b << 16 | a);
  chunk("IDAT", data);
  chunk("IEND", {});
  return out;
}

}  // namespace

namespace nb {

Picture svg(const std::string& text) {
  return {{{"image/svg+xml", text}, {"text/plain", "<an SVG picture>"}}};
}

Picture html(const std::string& text) {
  std::string shown = text;
  if (text.starts_with("<!") || text.starts_with("<html"))
    shown = "<iframe style=\"width:100%;height:480px;border:1px solid #ccc\" srcdoc=\"" +
            escaped(text, true) + "\"></iframe>";
  return {{{"text/html", shown}, {"text/plain", "<a part of a page>"}}};
}

Picture markdown(const std::string& text) {
  return {{{"text/markdown", text}, {"text/plain", text}}};
}

Picture plot(const std::vector<Curve>& curves, const PlotTexts& texts) {
  constexpr double kWidth = 640, kHeight = 360;
  Axis x(66, kWidth - 20, false), y(kHeight - 52, 46, texts.log_y);
  for (const Curve& c : curves) {
    if (c.x.size() != c.y.size())
      throw std::invalid_argument("nb::plot: the curve \"" + c.name + "\" has " +
                                  std::to_string(c.x.size()) + " values of x and " +
                                  std::to_string(c.y.size()) + " of y");
    for (double v : c.x) x.take(v);
    for (double v : c.y) y.take(v);
  }
  const std::string size = "width=\"" + number(kWidth) + "\" height=\"" + number(kHeight) + "\"";
  std::string s = "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 640 360\" " + size +
                  " font-family=\"sans-serif\" font-size=\"13\">\n<rect " + size +
                  " fill=\"white\"/>\n";
  s += text(x.begin(), 24, texts.title, "font-size=\"16\"");
  for (double v : y.marks()) {
    s += "<path d=\"M" + number(x.begin()) + " " + number(y.at(v)) + "H" + number(x.end()) +
         "\" stroke=\"#ddd\"/>\n";
    s += text(x.begin() - 8, y.at(v) + 4, short_number(v), "text-anchor=\"end\"");
  }
  for (double v : x.marks())
    s += text(x.at(v), y.begin() + 18, short_number(v), "text-anchor=\"middle\"");
  s += text((x.begin() + x.end()) / 2, kHeight - 12, texts.x, "text-anchor=\"middle\"");
  if (!texts.y.empty())
    s += "<text transform=\"translate(16 " + number((y.begin() + y.end()) / 2) +
         ") rotate(-90)\" text-anchor=\"middle\">" + escaped(texts.y) + "</text>\n";
  double name_end = x.end();
  for (std::size_t k = 0; k < curves.size(); ++k) {
    const Curve& c = curves[k];
    const std::string colour = kColours[k % kColours.size()];
    std::string path;
    bool joined = false;
    for (std::size_t i = 0; i < c.x.size(); ++i) {
      const bool drawn = x.shows(c.x[i]) && y.shows(c.y[i]);
      if (drawn)
        path += (joined && !c.dots ? "L" : "M") + number(x.at(c.x[i])) + " " +
                number(y.at(c.y[i])) + (c.dots ? "h0" : "");
      joined = drawn;
    }
    s += "<path d=\"" + path + "\" fill=\"none\" stroke=\"" + colour + "\" stroke-width=\"" +
         (c.dots ? "7" : "2") + "\" stroke-linecap=\"round\" stroke-linejoin=\"round\"/>\n";
    s += text(name_end, 40, c.name, "text-anchor=\"end\" fill=\"" + colour + "\"");
    if (!c.name.empty()) name_end -= 12 + 7.0 * static_cast<double>(c.name.size());
  }
  return svg(s + "</svg>\n");
}

Picture plot(const ts::Array& y, const PlotTexts& texts) { return plot(doubles(y), texts); }
Picture plot(const ts::Array& x, const ts::Array& y, const PlotTexts& texts) {
  return plot(std::vector<Curve>{{"", doubles(x), doubles(y)}}, texts);
}

Picture image(const ts::Array& pixels, int zoom) {
  const ts::Shape shape = pixels.shape();
  const bool colours = shape.size() == 3 && shape[2] == 3;
  if (!(shape.size() == 2 || colours) || pixels.size() == 0)
    throw ts::ShapeError(
        "nb::image: an image has the shape (height, width) or (height, width, 3), and "
        "this array has " +
        ts::to_string(shape));
  const auto height = static_cast<std::size_t>(shape[0]),
             width = static_cast<std::size_t>(shape[1]);
  if (zoom <= 0) zoom = std::max(1, static_cast<int>(320 / std::max(height, width)));
  std::vector<double> values = doubles(pixels);
  double low = 0, high = pixels.dtype() == ts::u8 ? 255 : 1;
  if (!colours && pixels.dtype() != ts::u8) {
    low = INFINITY, high = -INFINITY;
    for (double v : values)
      if (std::isfinite(v)) low = std::min(low, v), high = std::max(high, v);
  }
  const std::size_t channels = colours ? 3 : 1, scale = static_cast<std::size_t>(zoom);
  std::vector<unsigned char> bytes;
  bytes.reserve(height * width * channels * scale * scale);
  for (std::size_t r = 0; r < height * scale; ++r)
    for (std::size_t c = 0; c < width * scale; ++c)
      for (std::size_t k = 0; k < channels; ++k) {
        const double v = values[((r / scale) * width + c / scale) * channels + k];
        const double part = high > low && std::isfinite(v) ? (v - low) / (high - low) : 0;
        bytes.push_back(static_cast<unsigned char>(std::lround(255 * std::clamp(part, 0.0, 1.0))));
      }
  const auto side = [&](std::size_t n) { return static_cast<std::uint32_t>(n * scale); };
  return {{{"image/png",
            base64(png(bytes, side(height), side(width), static_cast<std::uint32_t>(channels)))},
           {"text/plain", "<an image of " + ts::to_string(shape) + ">"}}};
}

Picture sharding(const ts::Array& x) {
  Picture p = svg(ts::sharding_svg(x.shape(), x.sharding()));
  p.contents[1].second = ts::visualize_sharding(x, {.color = false});
  return p;
}

void display(const Picture& picture) {
  // The texts of a message are pairs of a type and its contents.
  std::string packed;
  for (const auto& [type, data] : picture.contents)
    packed += type + "\n" + std::to_string(data.size()) + "\n" + data;
  tessera_notebook::send('D', {packed});
}

}  // namespace nb

namespace tessera_notebook {

Picture shown(const Picture& x) { return x; }
Picture shown(const std::string& x) {
  if (x.starts_with("<svg")) return nb::svg(x);
  if (x.starts_with("<!doctype html") || x.starts_with("<!DOCTYPE html")) return nb::html(x);
  return {{{"text/plain", x}}};
}
Picture shown(const char* x) { return shown(std::string(x)); }
Picture shown(bool x) { return {{{"text/plain", x ? "true" : "false"}}}; }
Picture shown(const ts::Plan& x) {
  Picture p = nb::html(ts::to_html(x));
  p.contents[1].second = ts::to_string(x);
  return p;
}
Picture shown(const ts::PipelineSchedule& x) {
  Picture p = nb::svg(ts::schedule_svg(x));
  p.contents[1].second = ts::to_string(x);
  return p;
}

void result(const Picture& x) {
  std::string packed;
  for (const auto& [type, data] : x.contents)
    packed += type + "\n" + std::to_string(data.size()) + "\n" + data;
  send('R', {packed});
}

std::string leaf_text(const ts::Array& x) {
  std::ostringstream s;
  s << x.dtype() << ts::to_string(x.shape());
  return s.str();
}

}  // namespace tessera_notebook
