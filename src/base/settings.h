// The TESSERA_ environment variables: the only place that reads and parses them.
//
// The first query checks all TESSERA_ variables that are set. It throws an Error that lists those
// with invalid values, and the valid ones, and warns of names that look like typos. Every query
// throws this Error until the values are corrected. Nothing is read before the first query, so no
// static initialiser throws.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace tessera::inline v0::settings {

/// Each query reads the environment anew. A variable set to the empty string counts as not set.
bool flag(const char* name);  // 1 is true; 0 and not set are false
std::optional<std::int64_t> number(const char* name);
std::string text(const char* name);  // one of the choices, if the variable has choices

/// Reads a variable that is not ours, such as HOME; "" if it is not set.
///
/// These variables, and the paths among the variables below, decide which code is loaded and which
/// files are written. A program that runs with more rights than its caller (set-user-ID,
/// capabilities) treats them as not set.
std::string environment(const char* name);

/// The values that a variable accepts.
struct Variable {
  const char* name;
  /// absolute_path: a path to code, which must not depend on the working directory.
  /// assignments: "name=value,name=value".
  enum class Kind { flag, number, choice, list, path, absolute_path, assignments } kind;
  std::int64_t least = 0, most = 0;       // number
  std::vector<std::string_view> choices;  // for choice and list; for path, words that are not paths
  const char* example;                    // a valid value
};
const std::vector<Variable>& variables();

/// Returns "" if `value` is valid for this variable, else what is wrong, e.g. "no number of
/// devices".
std::string complaint(const Variable& v, std::string_view value);

}  // namespace tessera::inline v0::settings
