// The public functions that the table of drawn doubles leaves out.
#pragma once

#include <map>
#include <string>

namespace doubles {

/// Headers without constants and without operands that are numbers, and functions without a row,
/// each with the reason.
const std::map<std::string, std::string>& excluded_headers();
const std::map<std::string, std::string>& excluded_functions();

}  // namespace doubles
