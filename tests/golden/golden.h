// The functions that golden cases name, and the cases themselves.
#pragma once

#include <tessera/array.h>

#include <functional>
#include <map>
#include <string>
#include <vector>

namespace golden {

using tessera::Array;
using Inputs = std::vector<Array>;
/// Returns the results for the inputs; `variant` holds the static arguments as the script wrote
/// them.
using Function = std::function<std::vector<Array>(const Inputs&, const std::string& variant)>;

struct Case {
  std::string name, function, variant;
  Inputs in;
  std::vector<Array> out;
};

std::vector<Case> load_cases();

void add_elementwise(std::map<std::string, Function>& table);
void add_arrays(std::map<std::string, Function>& table);
void add_random(std::map<std::string, Function>& table);
void add_derivatives(std::map<std::string, Function>& table);
void add_ops(std::map<std::string, Function>& table);

/// The numbers of a text such as "0,-1".
std::vector<std::int64_t> numbers(const std::string& text);

}  // namespace golden
