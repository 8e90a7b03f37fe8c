// The text of an SVG file, for the functions of pictures.h.
#pragma once

#include <cstdio>
#include <fstream>
#include <stdexcept>
#include <string>

namespace lesson_svg {

/// A number with at most one digit behind the point.
inline std::string number(double x) {
  char text[32];
  std::snprintf(text, sizeof text, "%.1f", x);
  std::string s = text;
  if (s.ends_with(".0")) s.resize(s.size() - 2);
  return s == "-0" ? "0" : s;
}

inline std::string escaped(const std::string& text) {
  std::string s;
  for (char c : text) s += c == '<' ? "&lt;" : c == '&' ? "&amp;" : std::string(1, c);
  return s;
}

/// The file of the same picture for narrow windows, which the site shows there.
inline std::string narrow(const std::string& path) {
  return path.substr(0, path.size() - 4) + "_narrow.svg";
}

/// An SVG with a white ground, so that it can also be read on a dark page.
class Drawing {
 public:
  Drawing(double width, double height)
      : text_("<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 " + number(width) + " " +
              number(height) + "\" width=\"" + number(width) + "\" height=\"" + number(height) +
              "\" font-family=\"sans-serif\" font-size=\"13\">\n"
              "<rect width=\"100%\" height=\"100%\" fill=\"white\"/>\n") {}
  void text(double x, double y, const std::string& what, const std::string& more = "") {
    text_ += "<text x=\"" + number(x) + "\" y=\"" + number(y) + "\" " + more + ">" + escaped(what) +
             "</text>\n";
  }
  void line(double x1, double y1, double x2, double y2, const std::string& colour,
            double width = 1) {
    text_ += "<path d=\"M" + number(x1) + " " + number(y1) + "L" + number(x2) + " " + number(y2) +
             "\" stroke=\"" + colour + "\" stroke-width=\"" + number(width) + "\"/>\n";
  }
  void rect(double x, double y, double width, double height, const std::string& fill,
            const std::string& more = "") {
    text_ += "<rect x=\"" + number(x) + "\" y=\"" + number(y) + "\" width=\"" + number(width) +
             "\" height=\"" + number(height) + "\" fill=\"" + fill + "\" " + more + "/>\n";
  }
  void raw(const std::string& element) { text_ += element + "\n"; }
  void save(const std::string& path) const {
    std::ofstream file(path);
    file << text_ << "</svg>\n";
    if (!file.flush()) throw std::runtime_error("cannot write " + path);
  }

 private:
  std::string text_;
};

}  // namespace lesson_svg
