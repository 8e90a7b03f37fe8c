// The functions that the public headers declare, and those that the table of drawn cases leaves
// out.
#pragma once

#include <map>
#include <string>
#include <vector>

namespace integers {

struct Declared {
  std::string header;
  std::string name;  // "add", "operator+", "Array::sum"
};
/// Free functions of all namespaces except `detail`, and the public member functions of Array, At
/// and All, read from the text of the headers.
std::vector<Declared> declared_functions(const std::string& folder);

/// Headers without functions of integers, and functions without a row: each with the reason.
const std::map<std::string, std::string>& excluded_headers();
const std::map<std::string, std::string>& excluded_functions();

}  // namespace integers
