// The functions that the golden cases of docs/names.md name.
#pragma once

#include <tessera/array.h>
#include <tessera/axis_list.h>

#include <functional>
#include <map>
#include <sstream>
#include <string>
#include <vector>

namespace golden {

using tessera::Array;
using Arrays = std::vector<Array>;

/// The text between the colons of a case's name: words separated by spaces.
struct Arguments {
  explicit Arguments(const std::string& text) {
    std::istringstream in(text);
    for (std::string w; in >> w;) words.push_back(w);
  }
  std::int64_t n(std::size_t i) const { return std::stoll(words.at(i)); }
  double d(std::size_t i) const { return std::stod(words.at(i)); }
  bool flag(std::size_t i) const { return n(i) != 0; }
  const std::string& s(std::size_t i) const { return words.at(i); }
  /// Axes such as "all", "0" or "0,-1".
  tessera::AxisList axes(std::size_t i) const {
    if (words.at(i) == "all") return {};
    std::vector<std::int64_t> out;
    std::istringstream in(words[i]);
    for (std::string w; std::getline(in, w, ',');) out.push_back(std::stoll(w));
    return tessera::AxisList(out);
  }
  std::vector<std::int64_t> all() const {
    std::vector<std::int64_t> out;
    for (std::size_t i = 0; i < words.size(); ++i) out.push_back(n(i));
    return out;
  }
  std::vector<std::string> words;
};

struct Named {
  std::function<Arrays(const Arrays&, const Arguments&)> f;
  /// The units in the last place of the largest magnitude by which results may differ.
  double ulps = 8;
  /// Whether it also runs in traces; it does not if the size of the result depends on values.
  bool traces = true;
  /// Whether the units are those of each result.
  bool relative = false;
};
using Table = std::map<std::string, Named>;

void add_shapes(Table& table);
void add_statistics(Table& table);
void add_sets(Table& table);
void add_special(Table& table);

}  // namespace golden
