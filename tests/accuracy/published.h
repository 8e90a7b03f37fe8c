// The tables of docs/accuracy.md.
#pragma once

#include <gtest/gtest.h>

#include <cstdlib>
#include <fstream>
#include <map>
#include <sstream>
#include <string>
#include <vector>

namespace accuracy {

/// The first `columns` numbers of each row of the table below a heading, by the name in the row; an
/// empty cell is 0.
inline std::map<std::string, std::vector<double>> published(const std::string& heading,
                                                            int columns) {
  const std::string path = std::string(TESSERA_SOURCE_DIR) + "/docs/accuracy.md";
  std::ifstream in(path);
  EXPECT_TRUE(in) << path;
  std::map<std::string, std::vector<double>> bounds;
  bool below = false;
  for (std::string line; std::getline(in, line);) {
    if (line.starts_with("#")) below = line == heading;
    if (!below || !line.starts_with("| `")) continue;
    std::stringstream cells(line.substr(1));
    std::string name, cell;
    std::getline(cells, name, '|');
    name = name.substr(2, name.rfind('`') - 2);
    for (int i = 0; i < columns; ++i) {
      std::getline(cells, cell, '|');
      bounds[name].push_back(std::strtod(cell.c_str(), nullptr));
    }
  }
  EXPECT_FALSE(bounds.empty()) << "no table below " << heading;
  return bounds;
}

inline constexpr const char* kRealTable = "# Accuracy";
inline constexpr const char* kComplexTable = "## Complex numbers";

}  // namespace accuracy
