#include "processes/listing.h"

#include <algorithm>
#include <cstddef>
#include <string_view>
#include <vector>

namespace tessera::inline v0::processes {
namespace {

struct Line {
  std::size_t indent = 0;
  std::string text;   // without indentation and location; this is compared
  std::string place;  // ", train.cc:12"
  bool header = false;
};

// A program's header contains "{ (a: f32[4]) -> (c)". The arguments are compared there, but the
// results at the end, because the equations in between determine their names.
constexpr std::string_view kInputs = "{ (", kResults = ") -> (";

std::vector<Line> lines_of(std::string_view text) {
  std::vector<Line> lines;
  std::vector<std::string> results;  // of the enclosing programs
  while (!text.empty()) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    std::string_view s = text.substr(0, end);
    text.remove_prefix(std::min(end + 1, text.size()));
    Line line;
    line.indent = std::min(s.find_first_not_of(' '), s.size());
    s.remove_prefix(line.indent);
    if (const std::size_t at = s.rfind("  # "); at != s.npos) {
      std::string_view place = s.substr(at + 4);
      place = place.substr(0, place.find(" in "));
      if (!place.starts_with("in ")) line.place = ", " + std::string(place);
      s = s.substr(0, at);
    }
    const std::size_t inputs = s.find(kInputs), arrow = s.rfind(kResults);
    if (inputs != s.npos && arrow != s.npos && inputs < arrow) {
      line.header = true;
      const bool empty = s.ends_with(" }");
      std::string_view out = s.substr(arrow + kResults.size() - 1);
      out = out.substr(0, out.find(')') + 1);
      line.text = s.substr(inputs + 2, arrow + 1 - (inputs + 2));
      if (empty) {
        lines.push_back(line);
        line = {line.indent, "results " + std::string(out), {}, false};
      } else {
        results.emplace_back(out);
      }
    } else if (s.starts_with("}") && !results.empty()) {
      line.text = "results " + results.back();
      results.pop_back();
    } else {
      line.text = s;
    }
    lines.push_back(std::move(line));
  }
  return lines;
}

bool is_equation(const Line& line) {
  return !line.header && line.text.find(" = ") != std::string::npos;
}

// A line within brackets is shown with the equation that contains it, whose location follows the
// brackets.
std::string shown(const std::vector<Line>& lines, std::size_t k) {
  if (k >= lines.size()) return "none";
  constexpr std::size_t kMost = 160;
  const auto shortened = [](std::string s) {
    if (s.size() > kMost) s = s.substr(0, kMost - 3) + "...";
    return s;
  };
  const Line& line = lines[k];
  std::size_t owner = k;
  if (!is_equation(line)) {
    while (owner > 0 && !(is_equation(lines[owner]) && lines[owner].indent < line.indent)) --owner;
    if (!is_equation(lines[owner])) return shortened(line.text);
  }
  std::string place = lines[owner].place;
  if (lines[owner].text.ends_with("["))
    for (std::size_t end = owner + 1; end < lines.size() && place.empty(); ++end)
      if (lines[end].indent == lines[owner].indent) {
        place = lines[end].place;
        break;
      }
  // Equations that the library adds have no location of their own.
  for (std::size_t before = owner; place.empty() && before-- > 0;)
    if (!lines[before].place.empty()) place = ", behind" + lines[before].place.substr(1);
  std::string text = lines[owner].text;
  if (text.ends_with(" [")) text.resize(text.size() - 2);
  if (owner != k) {
    std::string part = line.text;
    if (part.ends_with(",")) part.pop_back();
    text += " [" + part + "]";
  }
  return shortened(std::move(text)) + place;
}

}  // namespace

std::optional<Difference> first_difference(const std::string& here, const std::string& there) {
  const std::vector<Line> a = lines_of(here), b = lines_of(there);
  for (std::size_t k = 0; k < std::max(a.size(), b.size()); ++k)
    if (k >= a.size() || k >= b.size() || a[k].text != b[k].text)
      return Difference{shown(a, k), shown(b, k)};
  return std::nullopt;
}

}  // namespace tessera::inline v0::processes
