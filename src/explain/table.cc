#include "explain/table.h"

#include <algorithm>

namespace tessera::inline v0::explain {

std::string table(const std::vector<std::string>& head,
                  const std::vector<std::vector<std::string>>& rows,
                  const std::vector<bool>& right) {
  if (rows.empty()) return "";
  std::vector<std::size_t> width;
  for (const std::string& h : head) width.push_back(h.size());
  for (const auto& row : rows)
    for (std::size_t i = 0; i < row.size(); ++i) width[i] = std::max(width[i], row[i].size());
  const auto line = [&](const std::vector<std::string>& cells) {
    std::string s = "  ";
    for (std::size_t i = 0; i < cells.size(); ++i) {
      const std::string space(width[i] - cells[i].size(), ' ');
      s += (right[i] ? space + cells[i] : cells[i] + space) + "  ";
    }
    s.erase(s.find_last_not_of(' ') + 1);
    return s + "\n";
  };
  std::string out = line(head);
  for (const auto& row : rows) out += line(row);
  return out;
}

}  // namespace tessera::inline v0::explain
