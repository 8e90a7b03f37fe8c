// Columns for the terminal.
#pragma once

#include <string>
#include <vector>

namespace tessera::inline v0::explain {

/// Rows of cells under headings, each column as wide as its widest cell, indented by two; those in
/// `right` are set to the right. Nothing for no rows.
std::string table(const std::vector<std::string>& head,
                  const std::vector<std::vector<std::string>>& rows,
                  const std::vector<bool>& right);

}  // namespace tessera::inline v0::explain
