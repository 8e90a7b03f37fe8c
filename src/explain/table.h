// Formats tables for the terminal.
#pragma once

#include <string>
#include <vector>

namespace tessera::inline v0::explain {

/// Formats rows of cells under headings, indented by two, each column as wide as its widest cell.
/// Columns marked in `right` are right-aligned. Empty if there are no rows.
std::string table(const std::vector<std::string>& head,
                  const std::vector<std::vector<std::string>>& rows,
                  const std::vector<bool>& right);

}  // namespace tessera::inline v0::explain
