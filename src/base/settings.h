// The environment's TESSERA_ variables: the one place that reads and parses them.
//
// The first question looks at all that are set: an Error lists those whose values are no such
// thing, with what there is, and a warning those that look like a slip of the pen. Until that Error
// is mended every question throws it. Nothing is read before the first question, so that no error
// comes out of a static initialiser.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace tessera::inline v0::settings {

/// Of those below; they are read anew at each question. A variable that is set to nothing counts as
/// not set.
bool flag(const char* name);  // 1 is true; 0 and not set are false
std::optional<std::int64_t> number(const char* name);
std::string text(const char* name);  // one of the choices, where there are any

/// A variable of others, such as HOME; "" where it is not set.
///
/// These, and paths among the variables below, decide which code is loaded and which files are
/// written. A program that runs with more rights than whoever started it (set-user-ID, capabilities)
/// takes them for not set.
std::string environment(const char* name);

/// What a variable takes.
struct Variable {
  const char* name;
  /// absolute_path: of code, which no change of the working folder may exchange.
  enum class Kind { flag, number, choice, list, path, absolute_path } kind;
  std::int64_t least = 0, most = 0;       // number
  std::vector<std::string_view> choices;  // choice, list; words that stand for no path
  const char* example;                    // a value that it takes
};
const std::vector<Variable>& variables();

/// "" where `value` is one for this variable, else what it is not: "no number of devices".
std::string complaint(const Variable& v, std::string_view value);

}  // namespace tessera::inline v0::settings
